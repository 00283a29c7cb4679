/** Cost that no limit of a key could pay is an entry of the ledger, a line of the key, a figure of the check, a metric and an event, whichever way the request came. */
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { adminFetch } from '../../support/admin.ts'
import { eventually } from '../../support/eventually.ts'
import { startScene } from '../../support/scene.ts'
import { answerFor } from '../../support/wire.ts'

const APP = 'sk-router-v1-app56789abcdef0123456789abcdef'
const BOSS = { authorization: 'Bearer sk-router-v1-boss56789abcdef0123456789abcdef' }
const QUESTION = { max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] }

const WAYS: Readonly<Record<string, readonly [path: string, body: JsonObject]>> = {
  'an operation of the gateway': ['/v1/chat/completions', { ...QUESTION, model: 'acme/one' }],
  'a stream of it': ['/v1/chat/completions', { ...QUESTION, model: 'acme/one', stream: true }],
  'another wire': ['/v1/messages', { ...QUESTION, model: 'acme/one' }],
  'the pass-through': ['/v1/passage/first/chat/completions', { ...QUESTION, model: 'm' }],
  'a stream of the pass-through': ['/v1/passage/first/chat/completions', { ...QUESTION, model: 'm', stream: true }],
}

for (const [way, [path, body]] of Object.entries(WAYS))
  t.test(way, async (t) => {
    const { gateway } = await startScene(t, {
      answer: (seen) => answerFor(seen, { text: ['fine'], usage: { input: 900_000, output: 100_000 } }),
      config: (url) => `
store: { url: "sqlite:${join(t.testdir(), 'data.db')}" }
auth:
  keys:
    - { name: app, key: ${APP}, limit: "0.50", pass_through: true }
    - { name: boss, key: sk-router-v1-boss56789abcdef0123456789abcdef, management: true }
providers: { first: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up, pass_through: { price: "0" } } }
models:
  acme/one: { context: 1000000, max_output: 1000, endpoints: [ { provider: first, model: m, price: { prompt: "1.00", completion: "2.00" } } ] }
`,
    })
    const reply = await gateway.post(path, body, { authorization: `Bearer ${APP}` })
    await reply.text()
    t.equal(reply.status, 200)
    const read = async (from: string) => (await (await gateway.get(from, BOSS)).json()) as { data: JsonObject[] }
    const [entry] = (await read('/v1/ledger/entries?kind=unrecovered')).data
    const nano = Number(entry?.amount_nano)
    t.ok(nano > 300_000_000, `${nano}`)
    t.match(entry, { generation_id: reply.headers.get('x-generation-id'), api_key_name: 'app' })
    t.match(
      (await read('/v1/keys')).data.find(({ name }) => name === 'app'),
      { usage: 0.5, unrecovered: nano / 1e9 },
    )
    t.match(await (await adminFetch(`${gateway.admin}/ledger/verify/full`)).json(), { ok: true, entries: { unrecovered: nano } })
    const metric = /^headgate_unrecovered_usd_total (\S+)$/m.exec(await (await fetch(`${gateway.admin}/metrics`)).text())?.[1]
    t.equal(Math.round(Number(metric) * 1e9), nano)
    const event = await eventually('the event', async () =>
      (await read('/v1/events?type=headgate.ledger.loss')).data.find(({ data }) => (data as JsonObject).kind === 'unrecovered'),
    )
    t.match(event.data, { generation: reply.headers.get('x-generation-id'), provider: 'first' })
  })
