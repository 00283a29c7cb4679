/** Guardrails in a real browser at the real gateway: the bench, those in force, and what they have found. */
import t from 'tap'
import { axeProblems, noBrowser, overflow, picture, SIMULATED, startRoom } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { HOSTILE } from './now-status.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'
const GUARDED = `${SIMULATED.replace('keys: [', `keys: [ { name: boss, key: ${BOSS}, management: true },`)}
guardrails:
  - name: no-secrets
    content_filter_builtins: [ { slug: email, action: redact }, { slug: credit-card, action: block } ]
    phrases: ['${HOSTILE}']
    action: flag
    audit: full
`

t.test('guardrails', { skip: noBrowser, timeout: 280_000 }, async (t) => {
  const room = await startRoom(t, GUARDED)

  t.test('a text is tested on the bench', async (t) => {
    const { page, context, complaints } = await room.open()
    await page.goto('/control-room/guardrails')
    await page.getByRole('rowheader', { name: /^no-secrets/ }).waitFor()
    await page.getByLabel('Text', { exact: true }).fill(`Hello ${HOSTILE} to ann@example.com and ANN@example.com`)
    await page.getByRole('button', { name: 'Test it' }).click()
    await page.getByText('It is sent with placeholders').waitFor()
    t.same(await page.locator('mark').evaluateAll((all) => all.map((each) => each.firstChild?.textContent)), [
      HOSTILE,
      'ann@example.com',
      'ANN@example.com',
    ])
    t.equal(await page.getByText(`Hello ${HOSTILE} to [EMAIL] and [EMAIL]`).count(), 1, 'as it would be sent')
    t.equal(await page.locator('main img, main script').count(), 0, 'a text is no markup')
    t.same(await axeProblems(page), [], 'axe finds nothing on the result')
    await picture(page, 'guardrails-bench-1440-light')
    await page.getByRole('button', { name: 'Use a sample' }).click()
    await page.getByRole('button', { name: 'Test it' }).click()
    await page.getByText('The request is refused with 403').waitFor()
    t.equal(await page.locator('mark.bad').count(), 1)
    await page.getByLabel('As part of').selectOption('output')
    await page.getByRole('button', { name: 'Test it' }).click()
    await page.getByText('No guardrail in force reads this text').waitFor()
    t.same(complaints, [])
    await context.close()
    const phone = await room.open({ width: 390, scheme: 'dark' })
    await phone.page.goto('/control-room/guardrails')
    await phone.page.getByRole('button', { name: 'Use a sample' }).click()
    await phone.page.getByRole('button', { name: 'Test it' }).click()
    await phone.page.locator('mark').first().waitFor()
    t.equal(await overflow(phone.page), 0)
    t.same(await axeProblems(phone.page), [])
    await picture(phone.page, 'guardrails-bench-390-dark')
    await phone.context.close()
  })

  t.test('findings are for the operator', async (t) => {
    const chat = { model: 'sim/echo', messages: [{ role: 'user', content: `${HOSTILE} ann@example.com` }] }
    const headers = { authorization: 'Bearer sk-router-v1-dev', 'content-type': 'application/json' }
    const { status } = await fetch(`${room.gateway.url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(chat) })
    t.equal(status, 200)
    const { page, context, complaints } = await room.open()
    const findings = page.getByRole('table', { name: 'What guardrails have found' })
    const shown = await eventually('a finding on the page: the audit trail is written behind the reply', async () => {
      await page.goto('/control-room/guardrails?days=1')
      await page
        .getByText(/Nothing found in this time|Show it/)
        .first()
        .waitFor()
      return (await findings.locator('tbody tr').count()) || undefined
    })
    t.ok(shown > 0)
    t.equal(await findings.getByText(HOSTILE).count(), 1, 'the text, where it is kept')
    t.equal(await page.locator('main img, main script').count(), 0, 'a text is no markup')
    await page.getByRole('searchbox', { name: 'Key' }).fill('boss')
    await page.keyboard.press('Enter')
    await page.getByText('Nothing found in this time').waitFor()
    t.match(page.url(), /days=1&key=boss/, 'the address has the filter')
    t.same(complaints, [])
    await context.close()

    const manager = await room.open({ signedIn: false })
    const own = { 'x-control-room': '1' }
    await manager.context.request.post('/control-room/session', { data: { key: BOSS }, headers: own })
    await manager.page.goto('/control-room/guardrails')
    await manager.page.getByText('Findings are for the operator').waitFor()
    const refused = await manager.context.request.post('/guardrails/command', { data: { verb: 'audit' }, headers: own })
    t.equal(refused.status(), 401, 'the server decides it')
    await manager.context.close()
  })
})
