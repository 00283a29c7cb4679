/**
 * Fees for what a provider runs stay within what is held or kept free, however the calls of tools are bounded and whichever way the request
 * comes; what a limit cannot pay of them is an entry of the ledger.
 */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { startScene } from '../../support/scene.ts'
import { Gate, jsonAnswer } from '../../support/upstream.ts'

const APP = 'sk-router-v1-app56789abcdef0123456789abcdef'
const BOSS = { authorization: 'Bearer sk-router-v1-boss56789abcdef0123456789abcdef' }

const TOOLS = '{ x_search: "0.005", code_interpreter: "0.005", file_search: "0.0025", document_search: "0.01" }'
const PRICE = `{ prompt: "1.00", completion: "1.00", web_search: "0.01", container: "0.03", tools: ${TOOLS} }`

/** Calls of a tool cost up to a cent each, and tokens $1 a million in a context of 1,000. */
async function scene(t: Test, { limit, calls = {}, output = [] }: { limit: string; calls?: JsonObject; output?: readonly JsonObject[] }) {
  const gate = new Gate()
  const text = { type: 'output_text', text: 'x', annotations: [] }
  const message = { type: 'message', id: 'm', role: 'assistant', status: 'completed', content: [text] }
  const usage = { input_tokens: 10, output_tokens: 10, total_tokens: 20, server_side_tool_usage_details: calls }
  const reply = { id: 'r', object: 'response', status: 'completed', model: 'up', output: [...output, message], usage }
  const place = await startScene(t, {
    answer: async () => {
      await gate.opened
      return jsonAnswer(reply)
    },
    config: (url) => `
auth:
  keys:
    - { name: app, key: "${APP}", limit: "${limit}", pass_through: true }
    - { name: boss, key: "sk-router-v1-boss56789abcdef0123456789abcdef", management: true }
providers: { grok: { dialect: openai-responses, base_url: "${url}/v1", key: sk-up, pass_through: { price: "0" } } }
models:
  m/grok: { context: 1000, max_output: 100, input: [text, file], endpoints: [ { provider: grok, model: up, price: ${PRICE} } ] }
  m/bare: { context: 1000, max_output: 100, endpoints: [ { provider: grok, model: bare, price: { prompt: "1.00", completion: "1.00" } } ] }
`,
  })
  const send = (path: string, body: JsonObject): Promise<Response> =>
    place.gateway.post(path, { max_output_tokens: 16, ...body }, { authorization: `Bearer ${APP}` })
  const row = async (id: string | null) =>
    ((await (await place.gateway.get(`/v1/generation?id=${id}`, BOSS)).json()) as { data: JsonObject }).data
  const entries = async (): Promise<JsonObject[]> =>
    ((await (await place.gateway.get('/v1/ledger/entries', BOSS)).json()) as { data: JsonObject[] }).data
  return { ...place, gate, send, row, entries }
}

const OWN = '/v1/responses'
const PASSED = '/v1/passage/grok/responses'

const file = (part: JsonObject): JsonObject[] => [{ role: 'user', content: [{ type: 'input_file', ...part }] }]
const INLINE = file({ filename: 'a.txt', file_data: 'data:text/plain;base64,aGVsbG8=' })
const MCP = { type: 'mcp', server_label: 'a', server_url: 'https://a.example/mcp', require_approval: 'never' }

/** Each may cost more in fees than a few searches. @see scene */
const COSTLY: readonly [what: string, path: string, body: JsonObject][] = [
  ['a file in the body', OWN, { model: 'm/grok', input: INLINE }],
  ['a file in the body, passed through', PASSED, { model: 'up', input: INLINE }],
  ['a file by its id, passed through', PASSED, { model: 'up', input: file({ file_id: 'file_1' }) }],
  ['an earlier response, passed through', PASSED, { model: 'up', input: 'x', previous_response_id: 'resp_1' }],
  ['a tool without a bound beside searches', OWN, { model: 'm/grok', input: 'x', tools: [MCP, { type: 'web_search' }] }],
  ['a search that is passed through', PASSED, { model: 'up', input: 'x', tools: [{ type: 'web_search' }] }],
  [
    'a search among the items, passed through',
    PASSED,
    {
      model: 'up',
      input: [
        { type: 'additional_tools', tools: [{ type: 'web_search' }] },
        { role: 'user', content: 'x' },
      ],
    },
  ],
  ['the same tool many times', OWN, { model: 'm/grok', input: 'x', tools: Array.from({ length: 40 }, () => ({ type: 'x_search' })) }],
]

t.test('what the fees may be is kept free while a request runs', async (t) => {
  await every(t, 'each request', async (t) => {
    for (const [what, path, body] of COSTLY) {
      const { send, gate, upstream } = await scene(t, { limit: '0.90' })
      const first = send(path, body)
      await upstream.request(0)
      const second = send(OWN, { model: 'm/grok', input: 'x', tools: [{ type: 'web_search' }] })
      t.equal(await Promise.race([second.then(({ status }) => status), upstream.request(1).then(() => 'sent')]), 402, what)
      gate.open()
      t.equal((await first).status, 200, what)
      t.equal((await send(OWN, { model: 'm/grok', input: 'x', tools: [{ type: 'web_search' }] })).status, 200, `${what}: free at the end`)
    }
  })
})

t.test('calls of tools are sent with a bound, also beside a tool without a fee', async (t) => {
  const { send, gate, upstream } = await scene(t, { limit: '5.00' })
  gate.open()
  for (const [tools, bound] of [
    [[{ type: 'web_search' }], 10],
    [[MCP, { type: 'web_search' }], 99],
    [[MCP], undefined],
  ] as const) {
    t.equal((await send(OWN, { model: 'm/grok', input: 'x', tools: [...tools] })).status, 200)
    t.equal(upstream.requests.at(-1)?.json.max_tool_calls, bound, JSON.stringify(tools))
  }
  for (const item of [
    { type: 'additional_tools', role: 'developer', tools: [{ type: 'web_search' }] },
    { type: 'tool_search_output', call_id: 'c', status: 'completed', execution: 'client', tools: [{ type: 'web_search' }] },
  ]) {
    const reply = await send(OWN, { model: 'm/grok', input: [item, { role: 'user', content: 'x' }] })
    t.equal(reply.status, 200, await reply.text())
    t.equal(upstream.requests.at(-1)?.json.max_tool_calls, 10, `added by ${item.type}`)
  }
})

t.test('fees beyond a limit are entries of the ledger', async (t) => {
  const requests: readonly [path: string, body: JsonObject][] = [
    [OWN, { model: 'm/grok', input: INLINE }],
    [PASSED, { model: 'up', input: INLINE }],
    [PASSED, { model: 'up', input: file({ file_id: 'file_1' }) }],
  ]
  await every(t, 'each request', async (t) => {
    for (const [path, body] of requests) {
      const { send, gate, row, entries } = await scene(t, { limit: '0.50', calls: { document_search_calls: 900 } })
      gate.open()
      const reply = await send(path, body)
      t.equal(reply.status, 200, await reply.text())
      t.equal((await row(reply.headers.get('x-generation-id'))).total_cost, 0.5, `${path}: the whole limit`)
      t.match(await entries(), [{ kind: 'unrecovered', amount: 8.50002 }], path)
    }
  })
})

t.test('more searches of files than can be true are disputed', async (t) => {
  const requests: readonly [path: string, body: JsonObject][] = [
    [OWN, { model: 'm/grok', input: INLINE }],
    [OWN, { model: 'm/grok', input: 'no file' }],
    [PASSED, { model: 'up', input: INLINE }],
    [PASSED, { model: 'up', input: 'no file' }],
  ]
  await every(t, 'each request', async (t) => {
    for (const [path, body] of requests) {
      const { send, gate, entries } = await scene(t, { limit: '50.00', calls: { document_search_calls: 5_000 } })
      gate.open()
      const reply = await send(path, body)
      t.equal(reply.status, 200, await reply.text())
      const [entry] = await entries()
      t.equal(entry?.kind, 'disputed', `${path} ${JSON.stringify(body)}`)
      t.ok(Number(entry?.amount) > 39, `${path}: $${String(entry?.amount)} of $50`)
    }
  })
})

t.test('containers of the pass-through are charged, and a tool without a price is refused', async (t) => {
  const { send, gate, row, upstream } = await scene(t, { limit: '5.00', calls: { code_interpreter_calls: 2 } })
  gate.open()
  const tools = [{ type: 'code_interpreter', container: { type: 'auto' } }]
  const reply = await send(PASSED, { model: 'up', input: 'x', tools, max_tool_calls: 3 })
  t.equal(reply.status, 200, await reply.text())
  t.equal((await row(reply.headers.get('x-generation-id'))).total_cost, 0.04002, 'a container, two calls, twenty tokens')
  const refused = await send(PASSED, { model: 'bare', input: 'x', tools })
  t.equal(refused.status, 403)
  t.match(await refused.text(), /code_interpreter, of which no price is known/)
  t.equal(upstream.requests.length, 1)
})
