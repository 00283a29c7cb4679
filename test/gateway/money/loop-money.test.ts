/** Cost of a tool loop: every turn is a call that the provider bills, whether or not it says how much it used. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import type { Gateway } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import type { Seen } from '../../support/upstream.ts'
import { answerFor, type Utterance } from '../../support/wire.ts'

const CALLS: Utterance = {
  text: ['let me see '],
  calls: [{ id: 'call_1', name: 'router_datetime', args: ['{}'] }],
  usage: { input: 100, output: 10 },
}
const DONE: Utterance = { text: ['done'], usage: { input: 200, output: 20 } }
const PICTURE = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }

/** Prices in nano-dollars: 1,000 and 2,000 per token, and one dollar per image. */
async function twoTurns(t: Test, reports: boolean): Promise<Gateway> {
  const hasResult = (seen: Seen): boolean => /"role":"tool"/.test(seen.body)
  const { gateway } = await startScene(t, {
    answer: (seen) => {
      const answer = answerFor(seen, hasResult(seen) ? DONE : CALLS)
      if (reports || hasResult(seen)) return answer
      const silent = (text: string): string => text.replace(/"usage":\{[^{}]*(\{[^{}]*\}[^{}]*)*\}/g, '"usage":null')
      return { ...answer, body: answer.body?.map((piece) => silent(String(piece))) }
    },
    config: (url) => `
providers:
  first: { dialect: openai-chat, base_url: "${url}/v1", key: "sk-provider-secret" }
models:
  acme/one:
    input: [text, image]
    endpoints:
      - { provider: first, model: upstream-model, price: { prompt: "1.00", completion: "2.00", image: "1.00" } }
`,
  })
  return gateway
}

interface Row {
  cost: number
  input: number
  output: number
  estimated: boolean
}

/** One loop of two turns. @returns what stands in the ledger. */
async function loop(gateway: Gateway, stream: boolean, content: JsonObject[] | string = 'Hello'): Promise<Row | undefined> {
  const body = { model: 'acme/one', stream, messages: [{ role: 'user', content }], tools: [{ type: 'router:datetime' }] }
  const text = await (await gateway.post('/v1/chat/completions', body)).text()
  if (!text.includes('done')) throw new Error(text)
  return [...gateway.running.store.journal.export()].at(-1)?.settled
}

t.test('a turn whose usage nobody reported is charged by estimate', async (t) => {
  const told = await twoTurns(t, true)
  const silent = await twoTurns(t, false)
  await every(t, 'streamed or not', async (t) => {
    for (const stream of [false, true]) {
      t.match(await loop(told, stream), { input: 300, output: 30, cost: 360_000, estimated: false })
      const row = await loop(silent, stream)
      t.equal(row?.estimated, true)
      t.ok(row && row.input > 200 && row.output > 20, 'the second turn is not all')
      t.equal(row?.cost, (row?.input ?? 0) * 1000 + (row?.output ?? 0) * 2000)
    }
  })
})

t.test('images are sent with every turn, and paid with every turn', async (t) => {
  const gateway = await twoTurns(t, true)
  for (const stream of [false, true])
    t.match(await loop(gateway, stream, [{ type: 'text', text: 'What is it?' }, PICTURE]), { input: 300, output: 30, cost: 2_000_360_000 })
})

t.test('charges the cost of a turn beyond its hold before the next turn', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    answer: (seen) => answerFor(seen, { ...CALLS, usage: { input: 100, output: 5000 } }),
    config: (url) => `
auth: { keys: [ { name: small, key: "sk-router-v1-0123456789abcdef", limit: "0.01" } ] }
providers:
  first: { dialect: openai-chat, base_url: "${url}/v1", key: "sk-provider-secret" }
models:
  acme/one: { endpoints: [ { provider: first, model: upstream-model, price: { prompt: "1.00", completion: "2.00" } } ] }
`,
  })
  const body = { model: 'acme/one', max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }], tools: [{ type: 'router:datetime' }] }
  const reply = await gateway.post('/v1/chat/completions', body)
  t.equal(reply.status, 402)
  t.equal(upstream.requests.length, 1, 'the second turn is not begun')
  const row = [...gateway.running.store.journal.export()].at(-1)
  t.match(row?.settled, { cost: 10_000_000 }, 'the whole limit')
  t.match(JSON.parse(row?.settled?.facts ?? '{}'), { unrecovered_nano: 100_000 })
})
