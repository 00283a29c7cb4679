/**
 * Sends every recorded request that a real provider accepted with a key that has $5 left: none may be refused that a key without a limit
 * is served, and none may be held at more than twice what the body and the output cap alone are held at. Runs with
 * `npm run test:recordings`.
 */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { usd } from '../../src/core/money.ts'
import { KEY, startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'
import { says } from '../support/wire.ts'
import { accepted } from './arrival.ts'
import { exchangeName, readRecordings } from './cassettes.ts'
import { list } from './expected.ts'
import { requiredFolder } from './folder.ts'
import { configuration, modelFor } from './providers.ts'
import { exchangeCaller, passedHeaders } from './requests.ts'

const LIMITED = 'sk-router-v1-1111111111111111aaaaaaaaaaaaaaaa'
const LIMIT = 5
/** Dollars per million tokens, of a model of the middle class with a context of 1,000,000 tokens. */
const PRICE =
  'price: { prompt: "3.00", completion: "15.00", cache_write: "3.75", web_search: "0.01", tools: { code_interpreter: "0.03", file_search: "0.0025" }, container: "0.03" }'

/** The model that the tool of the provider calls has no price here, so that keys with a limit are refused with or without outside input. */
const isAdvised = ({ tools }: JsonObject): boolean => list(tools).some(({ type }) => String(type).startsWith('advisor'))

t.setTimeout(880_000)
const folder = requiredFolder(t)
if (folder !== undefined)
  await t.test('recorded requests under a limit', async (t) => {
    const upstream = await startUpstream(says({ text: ['Fine.'] }))
    t.teardown(() => upstream.close())
    const keys = `auth: { keys: [ { name: open, key: "${KEY}", provider_ids: [ "*" ] }, { name: limited, key: "${LIMITED}", provider_ids: [ "*" ], limit: "${LIMIT}", limit_reset: daily } ] }`
    const gateway = await startGateway(configuration(upstream.url, keys).replaceAll('price: free', PRICE))
    t.teardown(() => gateway.close())
    const { journal } = gateway.running.store
    const held = new Map<string, number>()
    /** Dollars that were not free while the provider worked on the request under a limit. */
    let taken = 0
    let watching = false
    upstream.script = async (seen, index) => {
      if (watching) {
        const { data } = (await (await gateway.get('/v1/key', { authorization: `Bearer ${LIMITED}` })).json()) as {
          data: { limit_remaining: number; usage: number }
        }
        taken = LIMIT - data.usage - data.limit_remaining
      }
      return says({ text: ['Fine.'] })(seen, index)
    }
    const send = async (path: string, body: JsonObject, headers: Record<string, string>, key: string) => {
      const reply = await gateway.post(path, body, { ...headers, authorization: `Bearer ${key}` })
      const text = await reply.text()
      await journal.committed()
      for (const row of journal.export()) if (row.id === reply.headers.get('x-generation-id')) held.set(row.id, row.hold.hold)
      return { status: reply.status, hold: held.get(reply.headers.get('x-generation-id') ?? '') ?? 0, text }
    }
    const beside: { name: string; hold: number; free: number }[] = []
    let compared = 0
    for (const exchange of readRecordings(folder).exchanges) {
      const client = exchangeCaller(exchange)
      if (!client || exchange.status >= 300 || isAdvised(exchange.request)) continue
      const { provider: _, ...request } = exchange.request
      const body = { ...accepted(client, request).body, model: modelFor(exchange) }
      watching = false
      const open = await send(client.path, body, passedHeaders(exchange), KEY)
      if (open.status !== 200) continue
      watching = true
      const limited = await send(client.path, body, passedHeaders(exchange), LIMITED)
      compared++
      t.equal(limited.status, 200, `${exchangeName(exchange)}: ${limited.text.slice(0, 300)}`)
      t.ok(limited.hold <= 2 * open.hold, `${exchangeName(exchange)} is held at ${usd(limited.hold)} in place of ${usd(open.hold)}`)
      const free = taken - usd(limited.hold)
      if (free > 1e-6) beside.push({ name: exchangeName(exchange), hold: usd(limited.hold), free })
    }
    t.ok(compared > 300, `${compared} requests`)
    beside.sort((a, b) => b.free - a.free)
    t.comment(`${beside.length} of ${compared} have credit kept free beside the hold; the most:`)
    for (const { name, hold, free } of beside.slice(0, 5)) t.comment(`${name}: hold $${hold.toFixed(4)}, kept free $${free.toFixed(4)}`)
  })
