/** Entries of the ledger: what no key was charged for, and what an operator corrects, gives back or writes off. */
import { join } from 'node:path'
import t from 'tap'
import { ledgerEntries } from '../../../src/cli/ledger-entries.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { ADMIN_TOKEN, adminFetch } from '../../support/admin.ts'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import type { Gateway } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { answerFor } from '../../support/wire.ts'

const APP = 'sk-router-v1-app56789abcdef0123456789abcdef'
const BOSS = { authorization: 'Bearer sk-router-v1-boss56789abcdef0123456789abcdef' }
const MODEL = 'acme/one'

let usage = { input: 100, output: 10 }
const directory = t.testdir()
const clock = new FakeClock()
const { gateway, upstream } = await startScene(t, {
  clock,
  directory,
  answer: (seen) => answerFor(seen, { text: ['fine'], usage }),
  config: (url) => `
store: { url: "sqlite:${join(directory, 'data.db')}" }
auth:
  keys:
    - { name: app, key: ${APP}, limit: "1.00" }
    - { name: boss, key: sk-router-v1-boss56789abcdef0123456789abcdef, management: true }
providers: { first: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up } }
models:
  acme/one: { context: 1000000, max_output: 1000, endpoints: [ { provider: first, model: m, price: { prompt: "1.00", completion: "2.00" } } ] }
`,
})

/** @returns the id of the generation. */
async function ask(of: Gateway = gateway): Promise<{ id: string; status: number }> {
  const body = { model: MODEL, max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }], session_id: 'talk' }
  const reply = await of.post('/v1/chat/completions', body, { authorization: `Bearer ${APP}` })
  await reply.text()
  return { id: reply.headers.get('x-generation-id') ?? '', status: reply.status }
}

interface Entry extends JsonObject {
  id: string
  amount_nano: number
}

async function add(body: JsonObject, expected = 201): Promise<Entry> {
  const reply = await gateway.post('/v1/ledger/entries', body, BOSS)
  const text = await reply.text()
  if (reply.status !== expected) throw new Error(`${reply.status}: ${text}`)
  return (JSON.parse(text) as { data: Entry }).data
}

const list = async (query = ''): Promise<Entry[]> =>
  ((await (await gateway.get(`/v1/ledger/entries${query}`, BOSS)).json()) as { data: Entry[] }).data

interface Key extends JsonObject {
  hash: string
  usage: number
  usage_daily: number
  limit_remaining: number
}

async function app(): Promise<Key> {
  const { data } = (await (await gateway.get('/v1/keys', BOSS)).json()) as { data: Key[] }
  const found = data.find(({ name }) => name === 'app')
  if (!found) throw new Error('expected the key')
  return found
}

const verdict = async (): Promise<JsonObject> => (await (await adminFetch(`${gateway.admin}/ledger/verify/full`)).json()) as JsonObject

t.test('usage beyond all limits is an entry, a line of the key, an event, a metric, and a figure of the check', async (t) => {
  usage = { input: 900_000, output: 100_000 }
  const { id } = await ask()
  usage = { input: 100, output: 10 }
  const [entry] = await list('?kind=unrecovered')
  t.match(entry, {
    kind: 'unrecovered',
    amount: 0.1,
    amount_nano: 100_000_000,
    generation_id: id,
    api_key_name: 'app',
    actor: 'gateway',
    counted_at: null,
  })
  t.match(await app(), { usage: 1, unrecovered: 0.1, unrecovered_open: 0.1, disputed: 0 })
  t.match(await verdict(), { ok: true, entries: { unrecovered: 100_000_000, open: 100_000_000 } })
  t.match(await (await fetch(`${gateway.admin}/metrics`)).text(), /headgate_unrecovered_usd_total 0\.1\n/)
  const event = await eventually('the event', async () => {
    const { data } = (await (await gateway.get('/v1/events?type=headgate.ledger.loss', BOSS)).json()) as { data: JsonObject[] }
    return data[0]
  })
  t.match(event, { subject: id, data: { kind: 'unrecovered', usd: '0.10', generation: id, provider: 'first' } })
  t.equal((await ask()).status, 402, 'the key is spent')
})

t.test('a refund makes room under the limit at once, once, with who and why', async (t) => {
  const [{ generation_id: generation } = { generation_id: null }] = await list()
  const body = { kind: 'refund', amount: 0.25, generation_id: generation, reason: 'It was cut off', idempotency_key: 'ticket-1' }
  const first = await add(body)
  t.match(first, { kind: 'refund', actor: 'boss', reason: 'It was cut off', counted_at: clock.now() > 0 ? String : null })
  t.equal((await add(body, 200)).id, first.id)
  await t.rejects(add({ ...body, amount: 0.5 }), /409.*that of another entry/)
  t.match(await app(), { usage: 0.75, usage_daily: 0.75, limit_remaining: 0.25 })
  t.equal((await ask()).status, 200)
  const { data } = (await (await gateway.get(`/v1/activity/keys?since=2026-01-01`, BOSS)).json()) as { data: JsonObject[] }
  const cost = data.reduce((sum, row) => sum + Number(row.usage ?? row.cost ?? 0), 0)
  t.ok(Math.abs(cost - Number((await app()).usage)) < 1e-9, `sums of use have it: ${cost}`)
  const { data: sessions } = (await (await gateway.get('/v1/sessions', BOSS)).json()) as { data: JsonObject[] }
  t.ok(Math.abs(Number(sessions[0]?.usage) - Number((await app()).usage)) < 1e-9, `the session has it: ${sessions[0]?.usage}`)
  t.match(await verdict(), { ok: true, problems: [], entries: { refund: 250_000_000 } })
})

t.test('corrections go both ways; what was lost is written off or charged, never twice', async (t) => {
  const before = (await app()).usage
  const { hash } = await app()
  await add({ kind: 'correction', amount: 0.01, api_key_hash: hash, reason: 'The price was wrong' })
  await add({ kind: 'correction', amount: -0.02, api_key_hash: hash, reason: 'The other way' })
  t.ok(Math.abs((await app()).usage - (before - 0.01)) < 1e-9)
  const [lost] = await list('?kind=unrecovered')
  const settles = lost?.id ?? ''
  await add({ kind: 'write_off', amount: 0.06, settles, reason: 'Paid by the house' })
  await t.rejects(add({ kind: 'write_off', amount: 0.05, settles, reason: 'Too much' }), /409/)
  await add({ kind: 'correction', amount: 0.04, settles, reason: 'The key pays' })
  t.match(await app(), { unrecovered: 0.1, unrecovered_open: 0 })
  const { data } = (await (await gateway.get('/v1/activity/keys?since=2026-01-01&group_by=provider', BOSS)).json()) as {
    data: JsonObject[]
  }
  t.same(
    data.map(({ provider_name: name }) => name).toSorted(),
    ['', 'first'],
    'what settles a loss counts at the provider of its generation, what is about a key at none',
  )
  const costs: unknown[] = []
  for (let cursor: unknown = ''; cursor !== null; ) {
    const path = `/v1/activity/keys?since=2026-01-01&group_by=provider&limit=1&cursor=${cursor}`
    const page = (await (await gateway.get(path, BOSS)).json()) as { data: JsonObject[]; next: string | null }
    costs.push(...page.data.map(({ usage: cost }) => Number(cost)))
    cursor = page.next
  }
  t.ok(costs.length === 2 && Number(costs[1]) < 0, `in pages as well, of a sum below zero: ${costs}`)
  t.match(await verdict(), { ok: true, entries: { open: 0, write_off: 60_000_000 } })
})

t.test('bad entries are refused by name, and by other keys', async (t) => {
  const { hash } = await app()
  const good = { kind: 'refund', amount: 0.01, api_key_hash: hash, reason: 'x' }
  for (const [body, expected] of [
    [{ ...good, kind: 'unrecovered' }, /400.*kind/],
    [{ ...good, amount: -1 }, /400.*amount/],
    [{ ...good, amount: 0 }, /400.*amount/],
    [{ ...good, amount: 1e-12 }, /400.*amount/],
    [{ ...good, reason: '' }, /400.*reason/],
    [{ ...good, generation_id: 'gen-1-x' }, /400.*one of/],
    [{ ...good, api_key_hash: 'f'.repeat(64) }, /404/],
    [{ kind: 'refund', amount: 1, generation_id: 'gen-1-abcdefghijkl', reason: 'x' }, /404/],
    [{ kind: 'write_off', amount: 1, settles: 'ent_none', reason: 'x' }, /404/],
    [{ ...good, amount: 500 }, /409.*spent less/],
    [{ ...good, misspelt: 1 }, /400.*misspelt/],
  ] as [JsonObject, RegExp][])
    await t.rejects(add(body), expected, JSON.stringify(body))
  const own = { authorization: `Bearer ${APP}` }
  t.equal((await gateway.post('/v1/ledger/entries', good, own)).status, 403)
  t.equal((await gateway.get('/v1/ledger/entries', own)).status, 403)
})

t.test('all of it outlives a restart, and the command line shows and adds it', async (t) => {
  const before = await app()
  const entries = await list()
  await gateway.restart()
  t.match(await app(), { usage: before.usage, limit_remaining: before.limit_remaining, unrecovered: 0.1, unrecovered_open: 0 })
  t.same(await list(), entries)
  t.match(await verdict(), { ok: true, problems: [] })
  const lines: string[] = []
  const streams = { out: (text: string) => lines.push(text), error: (text: string) => lines.push(text) }
  const config = join(directory, 'command.yaml')
  const { writeFileSync } = await import('node:fs')
  const admin = new URL(gateway.admin)
  writeFileSync(
    config,
    `admin: { host: ${admin.hostname}, port: ${admin.port}, token: ${ADMIN_TOKEN} }\nstore: { url: "sqlite:${join(directory, 'data.db')}" }\nproviders: { sim: { dialect: sim } }\nmodels: { sim/echo: { endpoints: [ { provider: sim, model: echo, price: free } ] } }\n`,
  )
  t.equal(await ledgerEntries(['refund', '0.05'], { config, key: 'app', reason: 'From a terminal' }, streams), 0, lines.join('\n'))
  t.equal(await ledgerEntries(['entries'], { config, kind: 'refund' }, streams), 0)
  t.match(lines.at(-1), /From a terminal/)
  t.match(lines.at(-1), /command line/)
  t.equal(await ledgerEntries(['refund', 'much'], { config, key: 'app', reason: 'x' }, streams), 2)
  t.ok(Math.abs((await app()).usage - (before.usage - 0.05)) < 1e-9)
  t.equal(upstream.requests.length, 2)
})
