/** The policy in a real browser: edited, checked, tried out and taken along; and a gateway that does not show it. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { axeProblems, noBrowser, overflow, picture, startRoom } from '../support/browser.ts'
import { HOSTILE } from './now-status.ts'
import { CHECK, CONFIGURATION, POLICY_REPLIES, REHEARSAL, TEXT } from './policy-data.ts'

t.test('policy', { skip: noBrowser, timeout: 280_000 }, async (t) => {
  const room = await startRoom(t)

  for (const [width, scheme] of [
    [1440, 'light'],
    [390, 'dark'],
  ] as const)
    t.test(`a text is checked and tried out, ${width} wide`, async (t) => {
      const { page, context, complaints } = await room.open({ width, scheme })
      const sent: unknown[] = []
      for (const [route, json] of Object.entries(POLICY_REPLIES))
        await page.route(
          (url) => url.pathname === route.split(' ')[1],
          (call) => {
            sent.push(call.request().postDataJSON())
            return call.fulfill({ json })
          },
        )
      await page.goto('/control-room/policy')
      const text = page.getByLabel('Text of the configuration')
      t.equal(await text.inputValue(), TEXT)
      await page.getByText('Nothing: it is the running text').waitFor()
      const changed = `${TEXT.replace('sort: price', 'sort: latency')}# ${HOSTILE}\n`
      await text.fill(changed)
      await page.getByText('2 lines added, 1 removed').waitFor()
      t.equal(await page.locator('.diff-line.new').count(), 2)
      await page.getByRole('button', { name: 'Check it' }).click()
      const problems = page.getByRole('table', { name: 'Problems' })
      await problems.waitFor()
      t.equal(await problems.locator('tbody tr').count(), CHECK.problems.length)
      t.equal(await page.getByText('Policy tests: 1 passed, 1 failed').count(), 1)
      await page.getByRole('button', { name: 'Try recorded requests' }).click()
      await page.getByRole('table', { name: 'Requests that would go otherwise' }).waitFor()
      t.same(sent.slice(1), [{ text: changed }, { text: changed }], 'the text of the page is sent, and nothing else')
      await picture(page, `policy-checked-${width}-${scheme}`)
      t.same(await axeProblems(page), [])
      t.equal(await overflow(page), 0)
      t.equal(await page.locator('main img, main script').count(), 0, 'no text is markup')
      await page.getByRole('button', { name: 'Line 3, column 13' }).click()
      const start = TEXT.split('\n').slice(0, 2).join('\n').length + 1 + 12
      t.equal(
        await text.evaluate((area) => (area as unknown as { selectionStart: number }).selectionStart),
        start,
        'a problem leads to its place',
      )
      t.match(await page.locator('.editor-lines').textContent(), /● 3\n4\n/, 'its line is marked')
      const saved = page.waitForEvent('download')
      await page.getByRole('link', { name: 'Save as a file' }).click()
      const download = await saved
      t.equal(download.suggestedFilename(), 'headgate.yaml')
      t.equal(readFileSync(await download.path(), 'utf8'), changed)
      await text.fill(`${changed}#`)
      await page.getByText('The text has changed since').first().waitFor()
      await page.getByRole('button', { name: 'Back to the running text' }).click()
      t.equal(await text.inputValue(), CONFIGURATION.text)
      await page
        .getByLabel('Open a file')
        .setInputFiles({ name: 'other.yaml', mimeType: 'text/yaml', buffer: Buffer.from('models: {}\r\n') })
      await page.getByText('1 lines added').waitFor()
      t.equal(await text.inputValue(), 'models: {}\n')
      t.equal(REHEARSAL.changed.length, await page.getByRole('table', { name: 'Requests that would' }).locator('tbody tr').count())
      t.same(complaints, [])
      await context.close()
    })

  t.test('a gateway without it says so', async (t) => {
    const { page, context } = await room.open()
    await page.route('**/v1/configuration', (call) =>
      call.fulfill({ status: 404, json: { error: { code: 404, message: 'No such path' } } }),
    )
    await page.goto('/control-room/policy')
    await page.getByText('This gateway does not show its configuration over the API').waitFor()
    t.same(await axeProblems(page), [])
    await context.close()
  })
})
