/** The page "Policy" in a real browser: against the gateway itself, and against replies that its configuration does not have. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { axeProblems, noBrowser, overflow, picture, SIMULATED, startRoom } from '../support/browser.ts'
import { CHECK, CONFIGURATION, POLICY_REPLIES, TEXT } from './policy-data.ts'

const SECRET = 'sk-router-v1-dev'

const fileOf = (name: string, text: string) => ({ name, mimeType: 'text/yaml', buffer: Buffer.from(text) })

t.test('policy', { skip: noBrowser, timeout: 280_000 }, async (t) => {
  const room = await startRoom(t)

  t.test('shows what runs, and checks and compares the file that the visitor opens', async (t) => {
    const { page, context, complaints } = await room.open()
    await page.goto('/control-room/policy')
    const running = page.getByRole('table', { name: 'Running settings' })
    await running.getByText('Sim: Echo').waitFor()
    const key = running.locator('tr', { hasText: 'auth.keys[0].key' })
    t.match(await key.textContent(), /\*\*\*.*secret/, 'a secret is not shown')
    t.notOk((await page.content()).includes(SECRET))
    await page.getByLabel('Settings that begin with').fill('auth')
    await page.keyboard.press('Enter')
    await running.getByText('Sim: Echo').waitFor({ state: 'detached' })
    await running.getByText('auth.keys[0].name').waitFor()
    t.equal(await page.getByRole('button', { name: 'Check it' }).isDisabled(), true, 'nothing is there to check')
    t.equal(await page.getByRole('heading', { name: 'What differs from the running file' }).count(), 0)

    await page.getByLabel('Open a file').setInputFiles(fileOf('headgate.yaml', SIMULATED.replaceAll('\n', '\r\n')))
    const changes = page.getByRole('table', { name: 'Settings that differ' })
    await changes.getByText('admin').first().waitFor()
    const rows = (): Promise<string[]> => changes.locator('tbody tr').allTextContents()
    // What the test adds to the file before it starts the gateway.
    const before = await rows()
    t.ok(
      before.every((row) => row.endsWith('not there')),
      'the text has nothing that does not run',
    )
    const text = page.getByLabel('Text of the configuration')
    t.equal(await text.inputValue(), SIMULATED)
    await page.getByRole('button', { name: 'Check it' }).click()
    await page.getByText('No problem', { exact: true }).waitFor()
    await page.getByText('Providers: 1, models: 5, keys: 1').waitFor()

    const wrong = SIMULATED.replace('dialect: sim,', 'dialect: simulated,').replace('"Sim: Echo"', '"Sim: Another"')
    await text.fill(wrong)
    await changes.getByText('simulated').waitFor()
    const both = (await rows()).filter((row) => !before.includes(row))
    t.same(both, ['providers.sim.dialectsimsimulated', 'models["sim/echo"].nameSim: EchoSim: Another'])
    await page.getByText('The text has changed since').waitFor()
    await page
      .getByLabel('Add policy tests')
      .setInputFiles(fileOf('tests.yaml', 'tests:\n  - name: an echo\n    request: { model: sim/echo }\n    expect: { nothing: 1 }\n'))
    await page.getByText('tests.yaml').waitFor()
    await page.getByRole('button', { name: 'Check it' }).click()
    await page.getByRole('table', { name: 'Problems', exact: true }).getByText('providers.sim.dialect').waitFor()
    await page.getByRole('table', { name: 'Problems of the policy tests' }).waitFor()
    t.same(await axeProblems(page), [])
    await page.getByRole('button', { name: /^Line 3, column/ }).click()
    const selected = await text.evaluate((area: { value: string; selectionStart: number }) => area.value.slice(area.selectionStart))
    t.match(selected, /^simulated/, 'a problem leads to its place')
    t.match(await page.locator('.editor-lines').textContent(), /● 3\n4\n/, 'its line is marked')
    await text.fill('a: [')
    await page.getByText('The text is no YAML').waitFor()
    t.same(complaints, [])
    await context.close()
  })

  for (const [width, scheme] of [
    [1440, 'light'],
    [390, 'dark'],
  ] as const)
    t.test(`shows all that a check finds, ${width} wide`, async (t) => {
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
      await page.getByText('50 of 304 are shown').waitFor()
      await page.getByText('12 more than the gateway lists').waitFor()
      await page.getByLabel('Text of the configuration').fill(TEXT)
      const changes = page.getByRole('table', { name: 'Settings that differ' })
      await changes.waitFor()
      t.same(
        await changes.locator('tbody tr').allTextContents(),
        ['routing.sortpricelatency', 'server.portnot there9000'],
        'neither secrets nor catalogue files are compared',
      )
      await page.getByText('the gateway does not show them: 1 ').waitFor()
      await page.getByRole('button', { name: 'Check it' }).click()
      const problems = page.getByRole('table', { name: 'Problems', exact: true })
      await problems.waitFor()
      t.equal(await problems.locator('tbody tr').count(), CHECK.problems.length)
      await page.getByText('Policy tests: 1 passed, 1 failed').waitFor()
      await page.getByText('Not checked: 1 values').click()
      await page.getByRole('button', { name: 'Line 3, column 16' }).waitFor()
      t.same(sent.slice(1), [{ text: TEXT }], 'the text of the page is sent, and nothing else')
      await picture(page, `policy-checked-${width}-${scheme}`)
      t.same(await axeProblems(page), [])
      t.equal(await overflow(page), 0)
      t.equal(await page.locator('main img, main script').count(), 0, 'no text is markup')
      const saved = page.waitForEvent('download')
      await page.getByRole('link', { name: 'Save as a file' }).click()
      const download = await saved
      t.equal(download.suggestedFilename(), 'headgate.yaml')
      t.equal(readFileSync(await download.path(), 'utf8'), TEXT)
      await page.getByRole('button', { name: 'Show all' }).click()
      await page.getByText('50 of 304 are shown').waitFor({ state: 'detached' })
      t.equal(await page.getByRole('table', { name: 'Running settings' }).locator('tbody tr').count(), CONFIGURATION.entries.length)
      t.same(complaints, [])
      await context.close()
    })
})
