/** Texts that callers and providers choose, on every page that shows them: signs that disguise a text are written out, and long ones fit a phone. */
import type { Page } from 'playwright-core'
import t from 'tap'
import { axeProblems, noBrowser, overflow, picture, startRoom } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { KEY } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'
import { upstreamError } from '../support/wire.ts'
import { BOSS, startFilledRoom } from './filled-gateway.ts'
import { HOSTILE } from './now-status.ts'

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

/** A list of models and a refusal as a hostile provider sends them. */
const LISTED = [`${HOSTILE}`, `turned/\u202egnp.exe`, `long/${'W'.repeat(150)}`, 'escape/\u001b[2J', 'quote/"\';--', 'space/a b']

t.test('names of models, from the configuration and from the list of a provider', { skip: noBrowser, timeout: 280_000 }, async (t) => {
  const upstream = await startUpstream((seen) =>
    seen.method === 'GET'
      ? {
          status: 200,
          headers: { 'content-type': 'application/json' },
          body: [JSON.stringify({ data: LISTED.map((id) => ({ id, object: 'model' })) })],
        }
      : upstreamError(400, `${HOSTILE} ${TURNED}`),
  )
  t.teardown(() => upstream.close())
  const markup = JSON.stringify(HOSTILE)
  const room = await startRoom(
    t,
    `
auth: { keys: [ { name: test, key: "${KEY}" } ] }
providers:
  listed: { dialect: openai-chat, name: ${markup}, base_url: "${upstream.url}/v1", key: sk-up, discover: true }
models:
  m/markup: { name: ${markup}, context: 100000, endpoints: [ { provider: listed, model: ${markup}, price: free } ] }
  m/long: { name: ${'W'.repeat(150)}, context: 100000, endpoints: [ { provider: listed, model: ${'W'.repeat(150)}, price: free } ] }
# ${TURNED.replace(/[^\u0020-\u007e\u202e\u200b]/g, '')}
`,
  )
  await eventually('the list has been read', async () => {
    const { data } = (await (await room.gateway.get('/v1/models')).json()) as { data: { id: string }[] }
    return data.length > 2
  })
  const reply = await room.gateway.post('/v1/chat/completions', { model: 'm/markup', messages: [{ role: 'user', content: 'Hello' }] })
  const { message: refused } = ((await reply.json()) as { error: { message: string } }).error
  const shown = async (path: string, act: (page: Page) => Promise<unknown>): Promise<void> =>
    t.test(path, async (t) => {
      const { page, context, complaints } = await room.open({ width: 390, scheme: 'dark' })
      const dialogs: string[] = []
      page.on('dialog', (dialog) => {
        dialogs.push(dialog.message())
        void dialog.dismiss()
      })
      await page.goto(`/control-room/${path}`)
      await page.locator('main h1').waitFor()
      await act(page)
      const text = (await page.locator('main').textContent()) ?? ''
      const found = DISGUISES.exec(text)
      t.equal(found, null, found ? JSON.stringify(text.slice(Math.max(0, found.index - 40), found.index + 40)) : 'nothing disguises a text')
      t.equal(await page.locator('main img, main script').count(), 0, 'no text is markup')
      t.same(dialogs, [])
      t.equal(await overflow(page), 0, 'nothing is wider than a phone')
      t.same(await axeProblems(page), [])
      t.same(
        complaints.filter((each) => !each.includes('status of 400')),
        [],
      )
      await picture(page, `hostile-models-${path.replaceAll('/', '-').slice(0, 20)}-390-dark`)
      await context.close()
    }) as unknown as Promise<void>
  const row = (page: Page): Promise<unknown> => page.getByText('onerror').first().waitFor()
  await shown('models', row)
  await shown('models/m/markup', row)
  await shown('models/m/long', (page) => page.getByText('Parameters it takes').first().waitFor())
  await shown('models/compare?models=m%2Fmarkup,m%2Flong', (page) => page.locator('main table').getByText('onerror').first().waitFor())
  await shown('models/playground?model=m%2Fmarkup', async (page) => {
    await page.getByLabel('Key that pays').fill(KEY)
    await page.getByRole('button', { name: 'Send' }).click()
    // As much of the provider's sentence as goes to callers.
    await page.locator('main').getByText(refused.slice(0, 40)).first().waitFor()
  })
  await shown('policy', (page) => page.getByText('In force').first().waitFor())
  await shown('now', row)
})
