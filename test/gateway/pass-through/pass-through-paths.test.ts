/**
 * No path of the pass-through is free: of a key with a limit, a reply is charged by its report, in full where it has none, and what the
 * gateway does not know costs what the operator has stated, or is refused. Of other keys it is recorded that the cost is not known.
 */
import { globSync, readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { EVENT_STREAM_TYPE, event } from '../../support/event-stream.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { RawClient } from '../../support/raw.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer, type Script } from '../../support/upstream.ts'
import { chunk } from '../../support/wire-bedrock-claude.ts'

const KEYS = { limited: 'sk-router-v1-limited-0123456789abcdef', open: 'sk-router-v1-open-0123456789abcdef012' }
const LIMITED = { authorization: `Bearer ${KEYS.limited}` }
const OPEN = { authorization: `Bearer ${KEYS.open}` }

const price = 'price: { prompt: "1.00", completion: "10.00" }'
/** One request costs a tenth of a cent, and tokens $1 and $10 a million. */
const scene = (t: Test, answer: Script, { unread = '', priority = false } = {}) =>
  startScene(t, {
    answer,
    config: (url) => `
auth:
  keys:
    - { name: limited, key: "${KEYS.limited}", limit: "1000.00", pass_through: true }
    - { name: open, key: "${KEYS.open}", pass_through: true }
providers:
  first: { dialect: openai-chat, base_url: "${url}", key: sk-provider, pass_through: { price: "0.001"${unread} } }
models:
  acme/one:
    context: 1000000
    max_output: 1000
    endpoints:
      - { provider: first, model: m, ${price} }
${priority ? '      - { provider: first, model: m, tier: priority, price: { prompt: "2.00", completion: "20.00" } }' : ''}
  acme/other: { endpoints: [ { provider: first, model: unbounded, ${price} } ] }
`,
  })

type Place = Awaited<ReturnType<typeof scene>>

/** Cost of one request, and its record. */
async function ask({ gateway }: Place, path: string, body: Json, headers: Record<string, string> = LIMITED) {
  const reply = await gateway.post(`/v1/passage/first${path}`, body, headers)
  const bytes = Buffer.from(await reply.arrayBuffer())
  const id = reply.headers.get('x-generation-id')
  const record = async () => ((await (await gateway.get(`/v1/generation?id=${id}`, headers)).json()) as { data: Record_ }).data
  return { ...(id === null ? {} : await record()), status: reply.status, bytes }
}
interface Record_ {
  readonly total_cost: number
  readonly estimated: boolean
  readonly price_unknown: boolean
  readonly tokens_prompt: number
  readonly disputed_nano: number
}

const sse = (events: readonly (JsonObject | string)[], named = false): Answer => ({
  headers: { 'content-type': 'text/event-stream' },
  body: events.map((each) =>
    typeof each === 'string' ? `data: ${each}\n\n` : `${named ? `event: ${String(each.type)}\n` : ''}data: ${JSON.stringify(each)}\n\n`,
  ),
})
const aws = (messages: readonly Buffer[]): Answer => ({ headers: { 'content-type': EVENT_STREAM_TYPE }, body: messages })

const chatUsage = { prompt_tokens: 200_000, completion_tokens: 100, total_tokens: 200_100 }
const chatChunk = (more: JsonObject): JsonObject => ({ id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'm', ...more })
const utterance = { role: 'assistant', content: 'hi' }
const chatStream = (of: number, usage: JsonObject[]): Answer =>
  sse([
    ...Array.from({ length: of }, (_, index) => chatChunk({ choices: [{ index, delta: utterance, finish_reason: null }] })),
    ...Array.from({ length: of }, (_, index) => chatChunk({ choices: [{ index, delta: {}, finish_reason: 'stop' }] })),
    ...usage.map((each) => chatChunk({ choices: [], usage: each })),
    '[DONE]',
  ])

const text = { object: 'text_completion', id: 'cmpl-1', model: 'm' }
const written = (finish: string | null) => ({ choices: [{ index: 0, text: 'hi', finish_reason: finish, logprobs: null }] })

const output = [
  { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'hi', annotations: [] }] },
]
const response = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'm',
  output,
  usage: { input_tokens: 200_000, output_tokens: 100, total_tokens: 200_100 },
}

const claude = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
}
const claudeUsage = { input_tokens: 200_000, output_tokens: 100 }
const claudeEvents: readonly JsonObject[] = [
  { type: 'message_start', message: { ...claude, content: [], stop_reason: null, usage: { input_tokens: 200_000, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 100 } },
  { type: 'message_stop' },
]

const usageMetadata = { promptTokenCount: 200_000, candidatesTokenCount: 100, totalTokenCount: 200_100 }
const candidate = (finishReason?: string) => ({
  content: { role: 'model', parts: [{ text: 'hi' }] },
  index: 0,
  ...(finishReason ? { finishReason } : {}),
})
const geminiReplies = [{ candidates: [candidate()] }, { candidates: [candidate('STOP')], usageMetadata }]

const converseUsage = { inputTokens: 200_000, outputTokens: 100, totalTokens: 200_100 }
const counted = { 'x-amzn-bedrock-input-token-count': '200000', 'x-amzn-bedrock-output-token-count': '100' }
const metrics = { 'amazon-bedrock-invocationMetrics': { inputTokenCount: 200_000, outputTokenCount: 100, invocationLatency: 9 } }

const messages = [{ role: 'user', content: 'x' }]
const ofModel = (more: JsonObject = {}): JsonObject => ({ model: 'm', messages, ...more })
const contents = { contents: [{ parts: [{ text: 'x' }] }] }

/** Each reports 200,000 tokens of input and 100 of output: $0.201. */
const REPORTING: readonly [name: string, path: string, body: JsonObject, reply: Answer][] = [
  [
    'chat',
    '/v1/chat/completions',
    ofModel(),
    jsonAnswer({ ...chatChunk({}), choices: [{ index: 0, message: utterance, finish_reason: 'stop' }], usage: chatUsage }),
  ],
  [
    'chat, two answers',
    '/v1/chat/completions',
    ofModel({ n: 2 }),
    jsonAnswer({
      ...chatChunk({}),
      choices: [0, 1].map((index) => ({ index, message: utterance, finish_reason: 'stop' })),
      usage: chatUsage,
    }),
  ],
  ['chat, streamed', '/chat/completions', ofModel({ stream: true }), chatStream(1, [chatUsage])],
  ['chat, two answers streamed', '/chat/completions', ofModel({ stream: true, n: 2 }), chatStream(2, [chatUsage])],
  ['a deployment', '/openai/deployments/m/chat/completions?api-version=1', { messages }, chatStream(1, [chatUsage])],
  ['completions', '/v1/completions', { model: 'm', prompt: 'x' }, jsonAnswer({ ...text, ...written('stop'), usage: chatUsage })],
  [
    'completions, streamed',
    '/v1/completions',
    { model: 'm', prompt: 'x', stream: true },
    sse([{ ...text, ...written(null) }, { ...text, ...written('stop') }, { ...text, choices: [], usage: chatUsage }, '[DONE]']),
  ],
  ['responses', '/v1/responses', { model: 'm', input: 'x' }, jsonAnswer(response)],
  [
    'responses, streamed',
    '/v1/responses',
    { model: 'm', input: 'x', stream: true },
    sse(
      [
        { type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } },
        { type: 'response.output_item.added', output_index: 0, item: { ...output[0], status: 'in_progress', content: [] } },
        { type: 'response.output_item.done', output_index: 0, item: output[0] ?? {} },
        { type: 'response.completed', response },
      ],
      true,
    ),
  ],
  ['messages', '/v1/messages', ofModel({ max_tokens: 500 }), jsonAnswer({ ...claude, usage: claudeUsage })],
  ['messages, streamed', '/v1/messages', ofModel({ max_tokens: 500, stream: true }), sse(claudeEvents, true)],
  [
    'rawPredict',
    '/v1/projects/p/locations/l/publishers/anthropic/models/m:rawPredict',
    { messages },
    jsonAnswer({ ...claude, usage: claudeUsage }),
  ],
  ['gemini', '/v1beta/models/m:generateContent', contents, jsonAnswer({ candidates: [candidate('STOP')], usageMetadata })],
  ['gemini, streamed', '/v1beta/models/m:streamGenerateContent?alt=sse', contents, sse(geminiReplies)],
  [
    'gemini, streamed as a list',
    '/v1beta/models/m:streamGenerateContent',
    contents,
    { headers: { 'content-type': 'application/json' }, body: [JSON.stringify(geminiReplies)] },
  ],
  [
    'converse',
    '/model/m/converse',
    { messages: [] },
    jsonAnswer({ output: { message: { role: 'assistant', content: [{ text: 'hi' }] } }, stopReason: 'end_turn', usage: converseUsage }),
  ],
  [
    'converse, streamed',
    '/model/m/converse-stream',
    { messages: [] },
    aws([
      event('messageStart', { role: 'assistant' }),
      event('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'hi' } }),
      event('contentBlockStop', { contentBlockIndex: 0 }),
      event('messageStop', { stopReason: 'end_turn' }),
      event('metadata', { usage: converseUsage }),
    ]),
  ],
  [
    'invoke',
    '/model/m/invoke',
    { anthropic_version: 'bedrock-2023-05-31', messages, max_tokens: 500 },
    jsonAnswer({ ...claude, usage: claudeUsage }),
  ],
  [
    'invoke, streamed',
    '/model/m/invoke-with-response-stream',
    { anthropic_version: 'bedrock-2023-05-31', messages, max_tokens: 500 },
    aws(claudeEvents.map((each) => chunk(JSON.stringify(each)))),
  ],
  [
    'invoke of another format',
    '/model/m/invoke',
    { prompt: 'x' },
    { ...jsonAnswer({ generation: 'hi' }), headers: { 'content-type': 'application/json', ...counted } },
  ],
  [
    'invoke of another format, streamed',
    '/model/m/invoke-with-response-stream',
    { prompt: 'x' },
    aws([chunk('{"generation":"hi"}'), chunk(JSON.stringify({ generation: '', stop_reason: 'stop', ...metrics }))]),
  ],
]

t.test('what a reply reports is charged, whatever its form', async (t) => {
  let reply: Answer = {}
  const place = await scene(t, () => reply)
  for (const [name, path, body, answer] of REPORTING) {
    reply = answer
    const came = await ask(place, path, body)
    t.match(came, { status: 200, total_cost: 0.201, estimated: false, price_unknown: false, tokens_prompt: 200_000 }, name)
    const sent = Buffer.concat((answer.body ?? []).map((each) => Buffer.from(each as string)))
    t.ok(came.bytes.equals(sent), `${name}: byte for byte`)
  }
})

t.test('vectors are charged by their report, and at what their input can be where there is none', async (t) => {
  let reply: Answer = {}
  const place = await scene(t, () => reply)
  const data = [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }]
  reply = jsonAnswer({ object: 'list', data, model: 'm', usage: { prompt_tokens: 200_000, total_tokens: 200_000 } })
  t.match(await ask(place, '/v1/embeddings', { model: 'm', input: 'x' }), { total_cost: 0.2, estimated: false })
  reply = jsonAnswer({ embeddings: [{ values: [0.5] }], usageMetadata: { promptTokenCount: 200_000 } })
  const requests = [{ model: 'models/m', content: { parts: [{ text: 'x' }] } }]
  t.match(await ask(place, '/v1beta/models/m:batchEmbedContents', { requests }), { total_cost: 0.2, estimated: false })
  reply = jsonAnswer({ embeddings: [{ values: [0.5] }] })
  const unreported = await ask(place, '/v1beta/models/m:batchEmbedContents', { requests: [...requests, { text: 'x'.repeat(500_000) }] })
  t.ok(unreported.total_cost && unreported.total_cost > 0.5 && unreported.total_cost < 0.51, String(unreported.total_cost))
  t.equal(unreported.estimated, true)
})

/** The most that the request may have cost: its body, some 1,100 tokens of tools' prompts in it, and the longest answer, or the cap. */
const SILENT: readonly [name: string, path: string, body: JsonObject, reply: Answer, answer: number][] = [
  ['a stream without its usage', '/v1/chat/completions', ofModel({ stream: true }), chatStream(1, []), 1000],
  ['the same with a cap', '/v1/chat/completions', ofModel({ stream: true, max_tokens: 300 }), chatStream(1, []), 300],
  [
    'no longest answer',
    '/v1/chat/completions',
    { ...ofModel({ stream: true, max_tokens: 50_000 }), model: 'unbounded' },
    chatStream(1, []),
    50_000,
  ],
  ['three answers', '/v1/chat/completions', ofModel({ n: 3, max_tokens: 200, stream: true }), chatStream(3, []), 600],
  ['a cap of another format', '/v1/responses', { model: 'm', input: 'x', max_tokens: 1 }, jsonAnswer({ ...response, usage: null }), 1000],
  [
    'in the background',
    '/v1/responses',
    { model: 'm', input: 'x', background: true, max_output_tokens: 700 },
    jsonAnswer({ ...response, status: 'queued', output: [], usage: null }),
    700,
  ],
  ['a stream that breaks off', '/v1/messages', ofModel({ max_tokens: 500, stream: true }), sse(claudeEvents.slice(0, 3), true), 500],
  [
    'fields that leave the usage out',
    '/v1beta/models/m:generateContent?fields=candidates',
    { ...contents, generationConfig: { maxOutputTokens: '400', candidateCount: 2 } },
    jsonAnswer({ candidates: [candidate('STOP')] }),
    800,
  ],
  [
    'a batch',
    '/v1/messages/batches',
    {
      requests: [
        { custom_id: 'a', params: ofModel({ max_tokens: 300 }) },
        { custom_id: 'b', params: ofModel({ max_tokens: 200 }) },
      ],
    },
    jsonAnswer({ id: 'msgbatch_1', type: 'message_batch', processing_status: 'in_progress' }),
    500,
  ],
  [
    'a coding of its own',
    '/v1/messages',
    ofModel({ max_tokens: 500 }),
    { ...jsonAnswer({ ...claude, usage: claudeUsage }), gzip: true },
    500,
  ],
  ['something else', '/v1/messages', ofModel({ max_tokens: 500 }), { headers: { 'content-type': 'text/html' }, body: ['<html>'] }, 500],
]

t.test('a reply without a report costs all that was held for it', async (t) => {
  let reply: Answer = {}
  const place = await scene(t, () => reply)
  for (const [name, path, body, answer, longest] of SILENT) {
    reply = answer
    const { status, total_cost: cost = 0, estimated } = await ask(place, path, body)
    t.equal(status, 200, name)
    const least = longest / 100_000
    t.ok(cost >= least + 0.001 && cost < least + 0.003, `${name}: $${cost}, of which $${least} are the answer`)
    t.equal(estimated, true, name)
  }
})

t.test('a caller that leaves is charged what its answer may have cost', async (t) => {
  const place = await scene(t, () => ({ ...sse(claudeEvents.slice(0, 3), true), after: 'stall' }))
  const { gateway } = place
  const body = JSON.stringify(ofModel({ max_tokens: 900, stream: true }))
  const head = `POST /v1/passage/first/v1/messages HTTP/1.1\r\nHost: g\r\nAuthorization: ${LIMITED.authorization}\r\nContent-Length: ${body.length}\r\n\r\n`
  const client = await RawClient.open(gateway.url)
  client.send(head + body)
  await eventually('the answer', () => client.text.includes('text_delta'))
  client.reset()
  await eventually('the charge', async () => {
    const { data } = (await (await gateway.get('/v1/key', LIMITED)).json()) as { data: { usage: number } }
    return data.usage > 0.009
  })
})

t.test(
  'what a provider refuses, or fails at in its own words before any content, costs the price; behind content what has come',
  async (t) => {
    let reply: Answer = jsonAnswer({ type: 'error', error: { type: 'invalid_request_error', message: 'no' } }, 400)
    const place = await scene(t, () => reply)
    t.match(await ask(place, '/v1/messages', ofModel({ max_tokens: 500 })), { status: 400, total_cost: 0.001 })
    const failing = (events: number) =>
      sse([...claudeEvents.slice(0, events), { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }], true)
    reply = failing(2)
    t.match(await ask(place, '/v1/messages', ofModel({ max_tokens: 500, stream: true })), { status: 200, total_cost: 0.001 })
    reply = failing(3)
    // The input as reported. What is not reported is charged within the hold, which is less.
    t.match(await ask(place, '/v1/messages', ofModel({ max_tokens: 500, stream: true })), { status: 200, total_cost: 0.2 })
  },
)

t.test('the tier that served decides, and without a word of it the dearest that was requested', async (t) => {
  let tier: JsonObject = {}
  const reply = () =>
    jsonAnswer({ ...chatChunk({}), choices: [{ index: 0, message: utterance, finish_reason: 'stop' }], usage: chatUsage, ...tier })
  const place = await scene(t, reply, { priority: true })
  const cost = async (more: JsonObject) => (await ask(place, '/v1/chat/completions', ofModel(more))).total_cost
  t.equal(await cost({}), 0.201)
  t.equal(await cost({ service_tier: 'priority' }), 0.402)
  tier = { service_tier: 'default' }
  t.equal(await cost({ service_tier: 'priority' }), 0.201)
  tier = { service_tier: 'priority' }
  t.equal(await cost({}), 0.402)
})

/** Paths of POST requests in an SDK, each with ids. */
function sdkPosts(folder: string): string[] {
  const found = new Set<string>()
  for (const file of globSync(`${folder}/**/*.mjs`))
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/_client\.post\((?:path ?)?[`']([^`']+)[`']/g))
      found.add(path.replaceAll(/\$\{\w+\}/g, 'id_1').replace(/\?.*/, ''))
  return [...found]
}

/** Other APIs that generate, rank, draw, speak, train or keep agents, by their references. */
const OTHERS = [
  // A server may end the path where parameters or a query begin.
  ...['/chat/completions;x:countTokens', '/chat/completions%3Fx:countTokens', '/chat/completions%23/model/m/count-tokens'],
  ...[
    '/v1/rerank',
    '/v2/rerank',
    '/v2/chat',
    '/v1/classify',
    '/v2/embed',
    '/v1/agents/completions',
    '/v1/conversations',
    '/v1/ocr',
    '/v1/complete',
  ],
  ...['/v1beta/models/m:predict', '/v1beta/models/m:predictLongRunning', '/v1beta/models/m:batchGenerateContent', '/v1beta/cachedContents'],
  ...['/v1beta/models/m:asyncBatchEmbedContent', '/v1beta/interactions', '/v1beta/tunedModels', '/batch/v1beta'],
  ...[
    '/async-invoke',
    '/model-invocation-job',
    '/guardrail/g/version/1/apply',
    '/agents/a/agentAliases/b/sessions/c/text',
    '/retrieveAndGenerate',
  ],
  ...['/v1/sessions', '/v1/sessions/id_1/events', '/v1/deployments/id_1/run', '/v1/dreams', '/v1/agents', '/v1/fine_tuning/jobs'],
  ...[
    '/api/generate',
    '/api/chat',
    '/v1/images/generations',
    '/v1/video/generations',
    '/ai/run/@cf/meta/llama-3',
    '/v1/async/chat/completions',
  ],
  ...['/other/models/dear/v1/chat/completions', '/v1/%2563hat/completions'],
]

/** Of the SDK, what a key with a limit may send for the price: nothing works for it. */
const IDLE = [
  '/files',
  '/uploads',
  '/uploads/id_1/cancel',
  '/uploads/id_1/complete',
  '/uploads/id_1/parts',
  '/responses/input_tokens',
  '/responses/id_1/cancel',
  '/batches/id_1/cancel',
  '/fine_tuning/jobs/id_1/cancel',
]
const READ = ['/chat/completions', '/completions', '/embeddings', '/responses', '/responses/compact']

t.test('an operation that the gateway does not know is refused for a key with a limit, and the refusal names the setting', async (t) => {
  const place = await scene(t, () => jsonAnswer({ fine: true }))
  const posts = sdkPosts('node_modules/openai/resources').filter((path) => !READ.includes(path))
  t.ok(posts.length > 100)
  const idle: string[] = []
  await every(t, 'paths', async (t) => {
    for (const path of [...posts, ...OTHERS]) {
      const sent = place.upstream.requests.length
      const reply = await place.gateway.post(`/v1/passage/first${path}`, { model: 'm' }, LIMITED)
      if (reply.status === 200) {
        idle.push(path)
        continue
      }
      t.equal(reply.status, 403, path)
      t.match(await reply.text(), /providers\.first\.pass_through\.unread_price/, path)
      t.equal(place.upstream.requests.length, sent, path)
    }
  })
  t.same(idle.toSorted(), IDLE.toSorted())
  for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override'])
    t.equal((await place.gateway.get('/v1/passage/first/files', { ...LIMITED, [name]: 'POST' })).status, 403, name)
})

t.test('with the setting it costs that, and of a key without a limit it is recorded that its cost is not known', async (t) => {
  const place = await scene(t, () => jsonAnswer({ fine: true }), { unread: ', unread_price: "0.25"' })
  for (const path of ['/v1/images/generations', '/v1/audio/speech', '/v1/batches', '/v1/threads/runs', '/async-invoke']) {
    t.match(await ask(place, path, { model: 'm' }), { status: 200, total_cost: 0.25, price_unknown: true }, path)
    t.match(await ask(place, path, { model: 'm' }, OPEN), { status: 200, total_cost: 0.001, price_unknown: true }, path)
  }
  t.match(await ask(place, '/v1/chat/completions', { model: 'dear', messages }), { total_cost: 0.25, price_unknown: true })
  t.match(await ask(place, '/v1/chat/completions', ofModel(), OPEN), { total_cost: 0.001, price_unknown: true })
  t.match(await ask(place, '/v1/files', {}, OPEN), { total_cost: 0.001, price_unknown: false })
  t.match(await ask(place, '/v1/files', {}), { total_cost: 0.001, price_unknown: false })
})
