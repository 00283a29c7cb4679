/** Every action of the audit log stands on the page "Changes" in words, the newest first, with its actor and its fields. */
import t from 'tap'
import { AUDIT_ACTIONS, type AuditAction } from '../../src/core/audit-entries.ts'
import { axeProblems, noBrowser, overflow, picture } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { startFilledRoom } from './filled-gateway.ts'

t.test('changes', { skip: noBrowser, timeout: 280_000 }, async (t) => {
  const { room } = await startFilledRoom(t)
  const { auditLog } = room.gateway.running.store
  const actions = Object.keys(AUDIT_ACTIONS) as AuditAction[]
  const origin = { actor: { kind: 'management_key' as const, id: 'boss', name: `a\u202eb${'W'.repeat(80)}` }, address: '192.0.2.7' }
  const states = { before: { limit_nano: 5 }, after: { limit_nano: 7 }, reason: 'ticket 4711' }
  await auditLog.add(actions.map((action) => ({ ...origin, action, subject: 'x'.repeat(64), ...states })))
  await t.test('all are there', async (t) => {
    const { page, context, complaints } = await room.open()
    await page.goto('/control-room/changes')
    const rows = page.getByRole('table', { name: 'Changes' }).locator('tbody tr')
    await rows.first().waitFor()
    const texts = await rows.allInnerTexts()
    // The sign-in of this browser may have come behind them.
    const first = texts.findIndex((text) => text.includes('ticket 4711'))
    t.ok(first >= 0)
    const words = new Set<string>()
    for (const [index, action] of actions.toReversed().entries()) {
      const text = texts[first + index] ?? ''
      t.notMatch(text, action, `${action} has words of the page`)
      t.match(text, /5 → 7/)
      t.match(text, /192\.0\.2\.7/)
      words.add(text.split('\t')[2] ?? text)
    }
    t.equal(words.size, actions.length, 'and each other ones')
    await page.getByLabel('Change', { exact: true }).selectOption('key.rotated')
    await eventually('one action alone', async () => (await rows.allInnerTexts()).every((text) => /Key has a new secret/.test(text)))
    t.same(complaints, [])
    await context.close()
  })
  await t.test('it fits a phone', async (t) => {
    const { page, context } = await room.open({ width: 390, scheme: 'dark' })
    await page.goto('/control-room/changes')
    await page.getByRole('table', { name: 'Changes' }).locator('tbody tr').first().waitFor()
    t.equal(await overflow(page), 0)
    t.same(await axeProblems(page), [])
    t.match(await page.locator('main').innerText(), /a\\u202ebWWW/, 'signs that disguise a text are written out')
    await picture(page, 'changes-390-dark')
    await context.close()
  })
})
