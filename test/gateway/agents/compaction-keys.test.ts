/** Keys of compaction items: items outlive restarts, new secrets and new keys, and end with the key that made them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { adminFetch } from '../../support/admin.ts'
import { FakeClock } from '../../support/clock.ts'
import { BOSS, compactionScene, goingOn, madeItem, OTHER, send, WORD } from '../../support/compaction.ts'
import { list, object } from '../../support/fold.ts'
import type { Gateway } from '../../support/gateway.ts'

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

const FIRST_KEY = 'first-key-of-the-operator-0123456789'
const SECOND_KEY = 'second-key-of-the-operator-012345678'

t.test("with the operator's key, keys stand in the store encrypted with it, those that were there before as well", async (t) => {
  const file = join(t.testdir(), 'ledger.db')
  const stored = (): string[] => {
    const db = new DatabaseSync(file)
    try {
      return db
        .prepare('SELECT value FROM compaction_key ORDER BY number')
        .all()
        .map(({ value }) => String(value))
    } finally {
      db.close()
    }
  }
  const begin = (more: string) => compactionScene(t, { store: `sqlite:${file}`, more })
  // A running gateway has the file to itself.
  const before = await begin('')
  const old = await madeItem(before.gateway)
  await before.gateway.close()
  const plain = stored()
  t.match(plain, [/^[\w-]{43}$/], 'without one as they are')

  const first = await begin(`compaction: { key: "${FIRST_KEY}" }`)
  t.equal((await send(first.gateway, goingOn('gemini', old))).status, 200)
  const rotated = await command(first.gateway, { verb: 'rotate' })
  t.match(rotated.keys, [{ number: 1 }, { number: 2, encrypts: true }])
  t.notMatch(rotated.text, /hgk1/)
  await first.gateway.close()
  const firsts = stored()
  t.match(firsts, [/^hgk1\./, /^hgk1\./])
  t.notOk(readFileSync(file, 'latin1').includes(plain[0] ?? '-'), 'the file no longer has the key')

  const second = await begin(`compaction: { key: "${SECOND_KEY}", former_keys: [ "${FIRST_KEY}" ] }`)
  const fresh = await madeItem(second.gateway)
  t.match(fresh.encrypted_content, /^hgc1\.2\./)
  await second.gateway.close()
  const seconds = stored()
  t.notOk(
    seconds.some((value, at) => value === firsts[at]),
    'both are under the new one',
  )

  const alone = await begin(`compaction: { key: "${SECOND_KEY}" }`)
  for (const item of [old, fresh])
    t.equal((await send(alone.gateway, goingOn('gemini', item))).status, 200, 'the former one is needed no longer')
  await alone.gateway.close()
  t.same(stored(), seconds, 'what stands there well is not written again')

  for (const more of ['', `compaction: { key: "${FIRST_KEY}" }`]) {
    const { gateway } = await begin(more)
    t.match(await send(gateway, goingOn('gemini', fresh)), { status: 503, text: /neither compaction\.key nor in compaction\.former_keys/ })
    t.match(await command(gateway, { verb: 'list' }), { status: 503 })
    if (more !== '') t.match(gateway.logs.join(''), /keys of compaction items cannot be read/)
    t.notMatch(gateway.logs.join(''), /key-of-the-operator|hgk1/)
    await gateway.close()
  }
  t.same(stored(), seconds, 'and nothing was lost')
})
