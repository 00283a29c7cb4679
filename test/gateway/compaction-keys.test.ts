/** Keys of compaction items: items outlive restarts, new secrets and new keys, and end with the key that made them. */
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { adminFetch } from '../support/admin.ts'
import { FakeClock } from '../support/clock.ts'
import { BOSS, compactionScene, goingOn, madeItem, OTHER, send, WORD } from '../support/compaction.ts'
import { list, object } from '../support/fold.ts'
import type { Gateway } from '../support/gateway.ts'

async function command(gateway: Gateway, body: JsonObject): Promise<{ status: number; keys: JsonObject[]; text: string }> {
  const headers = { 'content-type': 'application/json' }
  const reply = await adminFetch(`${gateway.admin}/compaction/command`, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await reply.text()
  return { status: reply.status, keys: list(object(JSON.parse(text)).data), text }
}

t.test('a compaction made on one model is used on another after a restart, and by no other key', async (t) => {
  const { gateway, seen } = await compactionScene(t, { store: `sqlite:${join(t.testdir(), 'ledger.db')}` })
  const item = await madeItem(gateway, 'anthropic')
  await gateway.restart()
  t.equal((await send(gateway, goingOn('gemini', item))).status, 200)
  t.match(seen.at(-1)?.body, WORD)
  t.match(await send(gateway, goingOn('gemini', item), { key: OTHER }), { status: 400, text: /made for another API key/ })
  await gateway.restart()
  t.equal((await send(gateway, goingOn('openai-chat', await madeItem(gateway, 'openai-responses')))).status, 200)
})

t.test('items go on with a new secret of their key', async (t) => {
  const { gateway } = await compactionScene(t)
  const boss = { authorization: `Bearer ${BOSS}` }
  const made = object((await (await gateway.post('/v1/keys', { name: 'app' }, boss)).json()) as JsonObject)
  const item = await madeItem(gateway, 'openai-chat', String(made.key))
  const rotated = await adminFetch(`${gateway.admin}/keys/command`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ verb: 'rotate', key: 'app' }),
  })
  const { key } = object((await rotated.json()) as JsonObject)
  t.not(key, made.key)
  t.equal((await send(gateway, goingOn('anthropic', item), { key: String(key) })).status, 200, 'the identity is the same')
  t.equal((await send(gateway, goingOn('anthropic', item), { key: String(made.key) })).status, 401)
  const twin = object((await (await gateway.post('/v1/keys', { name: 'app' }, boss)).json()) as JsonObject)
  t.equal((await send(gateway, goingOn('anthropic', item), { key: String(twin.key) })).status, 400, 'the name is not the identity')
})

t.test('keys are rotated and removed', async (t) => {
  const clock = new FakeClock()
  const { gateway } = await compactionScene(t, { clock })
  const old = await madeItem(gateway)
  t.match((await command(gateway, { verb: 'list' })).keys, [{ number: 1, encrypts: true }])
  const rotated = await command(gateway, { verb: 'rotate' })
  t.match(rotated.keys, [
    { number: 1, encrypts: false },
    { number: 2, encrypts: true },
  ])
  t.notMatch(rotated.text, /value/)
  t.match((await madeItem(gateway)).encrypted_content, /^hgc1\.1\./, 'a process reads the keys once a minute')
  await clock.advance(60_001)
  const fresh = await madeItem(gateway)
  t.match(fresh.encrypted_content, /^hgc1\.2\./)
  for (const item of [old, fresh]) t.equal((await send(gateway, goingOn('gemini', item))).status, 200, 'both open')
  t.match(await command(gateway, { verb: 'remove', key: 2 }), { status: 409 })
  t.match(await command(gateway, { verb: 'remove', key: 7 }), { status: 404 })
  t.match(await command(gateway, { verb: 'remove' }), { status: 400 })
  t.match(await command(gateway, { verb: 'print' }), { status: 400 })
  t.match((await command(gateway, { verb: 'remove', key: 1 })).keys, [{ number: 2 }])
  await clock.advance(60_001)
  t.match(await send(gateway, goingOn('gemini', old)), { status: 400, text: /with a key that the gateway no longer has/ })
  t.equal((await send(gateway, goingOn('gemini', fresh))).status, 200)
})

t.test('an item of a key that another process has just made waits for the next reading, an invented one as well', async (t) => {
  const clock = new FakeClock()
  const { gateway } = await compactionScene(t, { clock })
  const item = await madeItem(gateway)
  const invented = { ...item, encrypted_content: String(item.encrypted_content).replace('hgc1.1.', 'hgc1.9.') }
  const waiting = send(gateway, goingOn('gemini', invented))
  t.equal((await send(gateway, goingOn('gemini', item))).status, 200, 'others do not wait')
  await clock.advance(1_000)
  t.match(await waiting, { status: 400, text: /no longer has/ })
})
