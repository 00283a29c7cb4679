/** A gateway on the simulator that has charged requests of many kinds over two months, with corrections, a refund and a write-off. */
import { createHash } from 'node:crypto'
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { adminFetch } from './admin.ts'
import { FakeClock } from './clock.ts'
import { type Gateway, startGateway } from './gateway.ts'

const BOSS = 'sk-router-v1-boss0000000000000000000000'
const KEYS = [
  'sk-router-v1-ada00000000000000000000000',
  'sk-router-v1-bob00000000000000000000000',
  'sk-router-v1-eve00000000000000000000000',
]

const CONFIGURATION = `
server: { host: 127.0.0.1, port: 0 }
budgets: { team-a: { lifetime: "100000" } }
auth:
  keys:
    - { name: ada, key: "${KEYS[0]}", parent: team-a }
    - { name: bob, key: "${KEYS[1]}" }
    - { name: eve, key: "${KEYS[2]}", limit: "50000" }
    - { name: boss, key: "${BOSS}", management: true }
providers:
  one: { dialect: sim, name: "One, Inc." }
  two: { dialect: sim, name: Two }
models:
  acme/echo: { endpoints: [ { provider: one, model: echo, price: { prompt: "0.15", completion: "0.6000001" } } ] }
  acme/think: { endpoints: [ { provider: one, model: think, price: { prompt: "3", completion: "15", reasoning: "7.77", cached: "0.3" } } ] }
  globex/story: { endpoints: [ { provider: two, model: story, price: { prompt: "0.033", completion: "0.1", request: "0.000123" } } ] }
  globex/tools: { endpoints: [ { provider: two, model: tools, price: { prompt: "1", completion: "2", request: "0.05" } } ] }
  plain/free: { endpoints: [ { provider: two, model: echo, price: { prompt: "0", completion: "0" } } ] }
  plain/fails: { endpoints: [ { provider: two, model: fail-500, price: { prompt: "1", completion: "1" } } ] }
`

const MODELS = ['acme/echo', 'acme/think', 'globex/story', 'globex/tools', 'plain/free', 'plain/fails']

export interface FocusGateway {
  readonly gateway: Gateway
  readonly clock: FakeClock
  /** Nano-dollars of all settled generations, and what entries have moved. */
  charged(): { generations: bigint; entries: bigint }
  /** The export as CSV. */
  focus(query?: string): Promise<string>
}

/** @param count of requests. */
export async function startFocusGateway(t: Test, count: number): Promise<FocusGateway> {
  const clock = new FakeClock()
  const gateway = await startGateway(CONFIGURATION, { clock })
  t.teardown(() => gateway.close())
  const ids: string[] = []
  for (let at = 0; at < count; at += 20) {
    await clock.advance(20 * 60_000)
    const batch = Array.from({ length: Math.min(20, count - at) }, (_, each) => ask(gateway, at + each))
    ids.push(...(await Promise.all(batch)))
  }
  const moved = await addEntries(gateway, clock, ids)
  return {
    gateway,
    clock,
    charged: () => {
      let generations = 0n
      for (const { settled } of gateway.running.store.journal.export()) generations += BigInt(settled?.cost ?? 0)
      return { generations, entries: moved }
    },
    focus: async (query = '') => (await adminFetch(`${gateway.admin}/ledger/export?format=focus${query}`)).text(),
  }
}

async function ask(gateway: Gateway, at: number): Promise<string> {
  const model = MODELS[at % MODELS.length]
  const text = `=Hello, "world" ${'word '.repeat(at % 97)}`
  const body: JsonObject = { model: model ?? '', stream: at % 2 === 0, messages: [{ role: 'user', content: text }] }
  if (at % 5 === 0) body.user = `=user ${at % 7}`
  const headers = {
    authorization: `Bearer ${KEYS[at % KEYS.length]}`,
    ...(at % 3 === 0 ? { 'x-title': at % 2 === 0 ? 'Reports, "monthly"' : '+Chat' } : {}),
    ...(at % 11 === 0 ? { 'x-session-id': `session-${at % 4}` } : {}),
  }
  const response = await gateway.post('/v1/chat/completions', body, headers)
  await response.text()
  return response.headers.get('x-generation-id') ?? ''
}

/** @returns nano-dollars that they move. */
async function addEntries(gateway: Gateway, clock: FakeClock, ids: readonly string[]): Promise<bigint> {
  const enter = async (body: JsonObject): Promise<void> => {
    const headers = { authorization: `Bearer ${BOSS}`, 'content-type': 'application/json' }
    const reply = await fetch(`${gateway.url}/v1/ledger/entries`, { method: 'POST', headers, body: JSON.stringify(body) })
    if (reply.status !== 201) throw new Error(await reply.text())
  }
  await clock.advance(31 * 86_400_000)
  const hash = createHash('sha256')
    .update(KEYS[1] ?? '')
    .digest('hex')
  // Of a request of a month that is over, and of now.
  await enter({ kind: 'refund', amount: 0.000000123, generation_id: ids[1] ?? '', reason: '=Cut off, "half" of it' })
  await enter({ kind: 'correction', amount: 1.25, api_key_hash: hash, reason: 'Ticket 4711' })
  await enter({ kind: 'correction', amount: -0.5, api_key_hash: hash, reason: 'Ticket 4712' })
  return 1_250_000_000n - 500_000_000n - 123n
}
