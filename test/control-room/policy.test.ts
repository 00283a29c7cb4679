/** The page "Policy" in a real browser: against the gateway itself, and against replies that its configuration does not have. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { axeProblems, noBrowser, overflow, picture, SIMULATED, startRoom } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { CHECK, CONFIGURATION, POLICY_REPLIES, REHEARSAL, TEXT } from './policy-data.ts'

const SECRET = 'sk-router-v1-dev'

const yamlFile = (name: string, text: string) => ({ name, mimeType: 'text/yaml', buffer: Buffer.from(text) })

t.test('policy', { skip: noBrowser, timeout: 400_000 }, async (t) => {
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
    t.equal(await page.getByRole('button', { name: 'Plan them' }).isDisabled(), true, 'nor to plan')
    t.equal(await page.getByRole('heading', { name: 'What differs from the running file' }).count(), 0)

    await page.getByLabel('Open a file').setInputFiles(yamlFile('headgate.yaml', SIMULATED.replaceAll('\n', '\r\n')))
    const text = page.getByLabel('Text of the configuration')
    // The browser reads it in its own time.
    t.equal(await eventually('the file is read', () => text.inputValue().then((value) => value !== '' && value)), SIMULATED)
    await page.getByRole('button', { name: 'Check it' }).click()
    // A thread loads the program first, which takes its time on a busy machine.
    await page.getByText('No problem', { exact: true }).waitFor({ timeout: 90_000 })
    await page.getByText('Providers: 1, models: 5, keys: 1').waitFor()
    const changes = page.getByRole('table', { name: 'Lines that differ' })
    await changes.waitFor()
    const rows = (): Promise<string[]> => changes.locator('tbody tr:is(.added, .removed)').allTextContents()
    // What the test adds to the file before it starts the gateway.
    const before = await rows()
    t.ok(before.length > 0 && before.every((row) => row.includes('removed: ')), 'the text has nothing that does not run')
    t.notOk((await page.content()).includes(SECRET), 'no secret is among the lines')

    const wrong = SIMULATED.replace('dialect: sim,', 'dialect: simulated,').replace('"Sim: Echo"', '"Sim: Another"')
    await text.fill(wrong)
    await page.getByText('The text has changed since').first().waitFor()
    await page
      .getByLabel('Add policy tests')
      .setInputFiles(yamlFile('tests.yaml', 'tests:\n  - name: an echo\n    request: { model: sim/echo }\n    expect: { nothing: 1 }\n'))
    await page.getByText('tests.yaml').waitFor()
    await page.getByRole('button', { name: 'Check it' }).click()
    await page.getByRole('table', { name: 'Problems', exact: true }).getByText('providers.sim.dialect').waitFor()
    await page.getByRole('table', { name: 'Problems of the policy tests' }).waitFor()
    const both = (await rows()).filter((row) => !before.includes(row)).map((row) => row.replace(/^\d+/, ''))
    t.same(both, [
      '− removed:     dialect: sim',
      '+ added:     dialect: simulated',
      '− removed:     name: "Sim: Echo"',
      '+ added:     name: "Sim: Another"',
    ])
    t.same(await axeProblems(page), [])
    await page.getByRole('button', { name: /^Line 3, column/ }).click()
    const selected = await text.evaluate((area: { value: string; selectionStart: number }) => area.value.slice(area.selectionStart))
    t.match(selected, /^simulated/, 'a problem leads to its place')
    t.match(await page.locator('.editor-lines').textContent(), /● 3\n4\n/, 'its line is marked')
    await text.fill('a: [')
    await page.getByRole('button', { name: 'Check it' }).click()
    await page.getByText('The text is no YAML').waitFor()
    t.same(complaints, [])
    await context.close()
  })

  t.test('plans what was recorded under the text', async (t) => {
    const { page, context, complaints } = await room.open()
    await page.goto('/control-room/now')
    await page.getByRole('button', { name: 'Make sample traffic' }).click()
    await page.getByText('60 sample requests were answered').waitFor({ timeout: 120_000 })
    await page.goto('/control-room/policy')
    await page.getByLabel('Text of the configuration').fill(SIMULATED.replaceAll('sim/echo', 'sim/other'))
    await page.getByLabel('Requests', { exact: true }).selectOption('the last 20')
    await page.getByRole('button', { name: 'Plan them' }).click()
    const requests = page.getByRole('table', { name: 'Requests' })
    await requests.waitFor({ timeout: 90_000 })
    t.equal(await requests.locator('tbody tr').count(), 20)
    const echo = requests.locator('tbody tr', { hasText: 'sim/echo' })
    t.equal(await echo.count(), await requests.locator('tbody tr', { hasText: 'Refused with 404' }).count(), 'what is gone is refused')
    await picture(page, 'policy-rehearsed')
    await requests.locator('tbody a').first().click()
    await page.getByText('Settled as completed').waitFor()
    t.same(complaints, [])
    await context.close()
  })

  for (const [width, scheme] of [
    [1440, 'light'],
    [390, 'dark'],
    [1440, 'dark'],
    [390, 'light'],
  ] as const)
    t.test(`shows all that a check and a rehearsal find, ${width} wide, ${scheme}`, async (t) => {
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
      await page.getByRole('button', { name: 'Check it' }).click()
      const problems = page.getByRole('table', { name: 'Problems', exact: true })
      await problems.waitFor()
      t.equal(await problems.locator('tbody tr').count(), CHECK.problems.length)
      await page.getByText('Policy tests: 1 passed, 1 failed').waitFor()
      await page.getByText('Not checked: 1 values').click()
      await page.getByRole('button', { name: 'Line 3, column 16' }).waitFor()
      const changes = page.getByRole('table', { name: 'Lines that differ' })
      t.equal(await changes.locator('tbody tr').count(), CHECK.difference.lines.length)
      await changes.getByText('4 lines without a change').waitFor()
      await page.getByText('12 lines more are not shown').waitFor()
      await page.getByLabel('Model that served').fill('acme/large')
      await page.keyboard.press('Tab')
      await page.getByRole('button', { name: 'Plan them' }).click()
      const requests = page.getByRole('table', { name: 'Requests' })
      await requests.waitFor()
      t.equal(await requests.locator('tbody tr').count(), REHEARSAL.requests.length)
      t.equal(await requests.locator('tbody a').first().getAttribute('href'), '/control-room/requests/gen-3', 'each leads to its request')
      await page.getByText('Different: 2 of 3').waitFor()
      await page.getByText('left out: 5 requests').click()
      await page.getByText('Requests whose key is gone: 1').waitFor()
      t.same(sent.slice(1), [{ text: TEXT }, { text: TEXT, limit: 50, model: 'acme/large' }], 'the text is sent, and nothing else')
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
