/** Texts that callers and providers choose, on every page that shows them: signs that disguise a text are written out, and long ones fit a phone. */
import t from 'tap'
import { axeProblems, noBrowser, overflow, picture } from '../support/browser.ts'
import { BOSS, startFilledRoom } from './filled-gateway.ts'

/** Turned by U+202E, with an escape and a mark that is not seen; and without a place to break. */
const TURNED = `ops\u202egnp.exe\u001b[2J\u200b${'W'.repeat(180)}`
const WRITTEN = 'ops\\u202egnp.exe\\u001b[2J\\u200b'
const DISGUISES = /[^\P{Cc}\n\t\r]|[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/u

t.test('texts of callers', { skip: noBrowser, timeout: 280_000 }, async (t) => {
  const { room, hash } = await startFilledRoom(t)
  const { gateway } = room
  const body = { model: 'm/well', max_tokens: 50, user: TURNED, session_id: TURNED, messages: [{ role: 'user', content: 'Hello' }] }
  const reply = await gateway.post('/v1/chat/completions', body, { 'x-title': 'T'.repeat(200), 'user-agent': 'agent/'.repeat(40) })
  const id = reply.headers.get('x-generation-id') ?? ''
  t.equal(reply.status, 200, await reply.text())
  const management = { authorization: `Bearer ${BOSS}` }
  const entry = { kind: 'refund', amount: 0.001, generation_id: id, reason: TURNED }
  t.equal((await gateway.post('/v1/ledger/entries', entry, management)).status, 201)
  await gateway.post('/v1/keys', { name: `team-${'W'.repeat(150)}`, creator_user_id: 'W'.repeat(150), limit: 3 }, management)
  for (const [path, showsIt] of [
    ['now', false],
    ['requests', false],
    [`requests/${id}`, true],
    ['keys', false],
    [`keys/${hash}`, true],
    ['guardrails', false],
    ['ledger', true],
    ['events', false],
  ] as const)
    await t.test(path, async (t) => {
      const { page, context, complaints } = await room.open({ width: 390, scheme: 'dark' })
      await page.goto(`/control-room/${path}`)
      await page.locator('main h1').waitFor()
      await page.locator('main .loading').first().waitFor({ state: 'detached' })
      if (showsIt) await page.getByText(WRITTEN).first().waitFor()
      const text = (await page.locator('main').textContent()) ?? ''
      const found = DISGUISES.exec(text)
      t.equal(
        found,
        null,
        found ? JSON.stringify(text.slice(Math.max(0, found.index - 40), found.index + 40)) : 'no sign that disguises a text',
      )
      t.equal(await overflow(page), 0, 'nothing is wider than a phone')
      t.same(await axeProblems(page), [])
      t.same(complaints, [])
      await picture(page, `hostile-${path.replace('/', '-').slice(0, 20)}-390-dark`)
      await context.close()
    })
})
