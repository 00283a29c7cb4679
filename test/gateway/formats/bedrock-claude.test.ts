/** Claude's own format on Amazon Bedrock behind the gateway: its stream in every client format, what is sent, and how it fails. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { bodyText } from '../../support/body-text.ts'
import { EVENT_STREAM_TYPE, event, exception } from '../../support/event-stream.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { CLIENTS } from '../../support/matrix/clients.ts'
import { type Answer, jsonAnswer, type Seen, startUpstream, type Upstream } from '../../support/upstream.ts'
import { answerFor, type Utterance } from '../../support/wire.ts'
import { chunk, claudeEvents } from '../../support/wire-bedrock-claude.ts'

// Dozens of gateways: a minute on a busy machine.
t.setTimeout(280_000)

const MODEL = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const UTTERANCES: Utterance = {
  reasoning: ['I look ', 'it up.'],
  signature: 'c2lnbmVk',
  text: ['Grüß ', 'dich, 世界\n'],
  calls: [{ id: 'toolu_a', name: 'weather', args: ['{"ci', 'ty":"Oslo"}'] }],
  usage: { input: 20, output: 5, cached: 6, written: 8 },
}

interface Scene {
  gateway: Gateway
  upstream: Upstream
}

async function scene(t: Test, answer: (index: number, seen: Seen) => Answer | undefined = () => undefined, more = ''): Promise<Scene> {
  let index = 0
  const upstream = await startUpstream((request) => answer(index++, request) ?? answerFor(request, UTTERANCES))
  t.teardown(() => upstream.close())
  const settings = `preset: bedrock-claude, key: bedrock-api-key, base_url: "${upstream.url}"`
  const gateway = await startGateway(
    `
providers:
  aws: { ${settings} }
  other: { ${settings} }
models:
  aws/claude:
    max_output: 20000
    endpoints: [ { provider: aws, model: "${MODEL}", price: { prompt: "3", completion: "15", cached: "0.3", cache_write: "3.75" }${more} } ]
  aws/two:
    endpoints:
      - { provider: aws, model: first, price: free }
      - { provider: other, model: second, price: free }
`,
    { env: { AWS_REGION: 'us-east-1' } },
  )
  t.teardown(() => gateway.close())
  return { gateway, upstream }
}

const ask = (model: string, stream: boolean, client = CLIENTS[0]): JsonObject => ({
  model,
  stream,
  ...client.write({
    turns: [{ user: [{ text: 'Hello' }] }],
    tools: [{ name: 'weather', description: 'The weather', schema: { type: 'object', properties: {} } }],
  }),
})

t.test('every client format gets the same of a reply, streamed in single bytes or whole', async (t) => {
  const { gateway, upstream } = await scene(t)
  upstream.script = (request) => ({ ...answerFor(request, UTTERANCES), split: request.path.endsWith('-stream') ? 1 : undefined })
  await every(t, 'every client, streamed and not', async (t) => {
    for (const client of CLIENTS)
      for (const stream of [false, true]) {
        const name = `${client.id}${stream ? ', streamed' : ''}`
        const response = await gateway.post(client.path, ask('aws/claude', stream, client))
        const text = await bodyText(response)
        const reply = stream ? client.foldStream(text) : client.fold(JSON.parse(text) as JsonObject)
        t.equal(response.status, 200, name)
        t.equal(reply.text, 'Grüß dich, 世界\n', name)
        t.same(
          reply.calls.map(({ name, args }) => [name, JSON.parse(args)]),
          [['weather', { city: 'Oslo' }]],
          name,
        )
        const found = (await (await gateway.get(`/v1/generation?id=${response.headers.get('x-generation-id')}`)).json()) as JsonObject
        // 6 fresh, 6 read and 8 written tokens, and 5 of output.
        const { total_cost: cost } = object(found.data)
        t.equal(Number(cost).toFixed(10), ((6 * 3 + 6 * 0.3 + 8 * 3.75 + 5 * 15) / 1e6).toFixed(10), `${name}: what it cost`)
        const sent = upstream.requests.at(-1)
        t.equal(sent?.path, `/model/${encodeURIComponent(MODEL)}/${stream ? 'invoke-with-response-stream' : 'invoke'}`, name)
        t.match(sent?.json, { anthropic_version: 'bedrock-2023-05-31', model: undefined, stream: undefined }, name)
        t.match(sent?.headers, { authorization: 'Bearer bedrock-api-key', 'anthropic-version': undefined }, name)
      }
  })
  t.equal(upstream.requests.at(-1)?.headers.accept, EVENT_STREAM_TYPE)
})

const stream = (...messages: readonly Buffer[]): Answer => ({ headers: { 'content-type': EVENT_STREAM_TYPE }, body: messages })

t.test('events with line ends, and others than Claude’s, in both lanes', async (t) => {
  const { gateway } = await scene(t, () =>
    stream(event('initial-response', {}), ...claudeEvents(UTTERANCES).map((each) => chunk(JSON.stringify(each, null, 2)))),
  )
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS) {
      const text = await bodyText(await gateway.post(client.path, ask('aws/claude', true, client)))
      t.equal(client.foldStream(text).text, 'Grüß dich, 世界\n', client.id)
    }
  })
})

const opening = claudeEvents({ text: ['Half an answer'] })
  .slice(0, 4)
  .map((each) => chunk(JSON.stringify(each)))
const [start] = opening

t.test('calls another provider after a failure before any content', async (t) => {
  for (const [name, failure] of Object.entries({
    exception: stream(start, exception('throttlingException', 'Too many tokens')),
    'wrong checksum': stream(Buffer.concat([start.subarray(0, -1), Buffer.from([(start.at(-1) ?? 0) ^ 1])])),
    'no bytes': stream(start, event('chunk', {})),
    'no JSON': stream(start, chunk('{"type":')),
    'overloaded model': stream(start, chunk('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}')),
    'closed early': { ...stream(start), after: 'close' as const },
    'other framing': { headers: { 'content-type': 'text/event-stream' }, body: ['data: {}\n\n'] },
    'status 503': jsonAnswer({ message: 'Unavailable' }, 503),
  }))
    await every(t, name, async (t) => {
      for (const client of CLIENTS) {
        const { gateway, upstream } = await scene(t, (index) => (index === 0 ? failure : undefined))
        const text = await bodyText(await gateway.post(client.path, ask('aws/two', true, client)))
        t.equal(client.foldStream(text).text, 'Grüß dich, 世界\n', client.id)
        t.equal(upstream.requests.length, 2, `${client.id}: the second endpoint was called`)
      }
    })
})

t.test('ends the stream with one error after a failure behind content', async (t) => {
  const broken = Buffer.from(opening[3] ?? [])
  broken[20] = (broken[20] ?? 0) ^ 1
  await every(t, 'every failure and client', async (t) => {
    for (const [name, failure, code] of [
      ['exception', stream(...opening, exception('modelStreamErrorException', 'secret detail of the model')), 502],
      ['throttled', stream(...opening, exception('throttlingException', 'Too many tokens')), 429],
      ['wrong checksum', stream(...opening, broken), 502],
      ['closed early', { ...stream(...opening), after: 'close' as const }, 502],
    ] as const) {
      const { gateway } = await scene(t, () => failure)
      for (const client of CLIENTS) {
        const text = await bodyText(await gateway.post(client.path, ask('aws/claude', true, client)))
        t.ok(text.includes('Half an answer'), `${name}, ${client.id}: what came is shown`)
        t.equal(text.includes('secret detail'), false, `${name}, ${client.id}: the sentence of the provider’s own failure is not`)
        if (client.id === 'chat') t.equal(object(client.foldStream(text).error).code, code, `${name}, ${client.id}`)
        else t.ok(client.foldStream(text).error, `${name}, ${client.id}: an error`)
      }
    }
  })
})

t.test('refusals of the service and of the model', async (t) => {
  await every(t, 'every refusal', async (t) => {
    for (const [status, type, message, expected, shown] of [
      [400, 'ValidationException', 'messages.0.content: Input should be a valid list', 400, '"field":"messages.0.content"'],
      [400, 'ValidationException', 'The model returned the following errors: max_tokens: Field required', 400, '"provider_field'],
      [400, 'ValidationException', 'prompt is too long: 300000 tokens > 200000 maximum', 400, 'context'],
      [429, 'ThrottlingException', 'Too many requests', 429, 'ThrottlingException'],
      [403, 'AccessDeniedException', "You don't have access to the model with the specified model ID.", 502, 'AccessDeniedException'],
    ] as const) {
      const { gateway } = await scene(t, () => jsonAnswer({ message }, status, { 'x-amzn-errortype': type }))
      const response = await gateway.post('/v1/chat/completions', ask('aws/claude', true))
      t.equal(response.status, expected, message)
      t.match(await bodyText(response), shown, message)
    }
  })
})

/** The body that was sent for one of a Messages caller. */
async function sentFor({ gateway, upstream }: Scene, body: JsonObject, headers: Record<string, string> = {}): Promise<Seen> {
  const messages = [{ role: 'user', content: 'Hello' }]
  const response = await gateway.post('/v1/messages', { model: 'aws/claude', max_tokens: 2000, messages, ...body }, headers)
  if (response.status !== 200) throw new Error(await bodyText(response))
  return upstream.requests.at(-1) as Seen
}

t.test('fits requests of callers of the format to the service', async (t) => {
  const made = await scene(t)
  const betas = { 'anthropic-beta': 'claude-code-20250219,context-1m-2025-08-07' }
  const first = await sentFor(made, { betas: ['effort-2025-11-24'], anthropic_beta: ['oauth-2025-04-20'], anthropic_version: 'x' }, betas)
  t.same(first.json.anthropic_beta, ['context-1m-2025-08-07', 'effort-2025-11-24'], 'betas that the service knows, in the body')
  t.match(first.json, { anthropic_version: 'bedrock-2023-05-31', betas: undefined })
  t.equal(first.headers['anthropic-beta'], undefined)

  const tool = { name: 'a', input_schema: { type: 'object' }, eager_input_streaming: true }
  const second = await sentFor(made, {
    tools: [tool],
    cache_control: { type: 'ephemeral', ttl: '1h' },
    thinking: { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } },
    'amazon-bedrock-guardrailConfig': { streamProcessingMode: 'ASYNCHRONOUS' },
    service_tier: 'standard_only',
  })
  t.same(second.json.tools, [{ name: 'a', input_schema: { type: 'object' } }])
  t.same(second.json.anthropic_beta, ['fine-grained-tool-streaming-2025-05-14'], 'arguments as they are written')
  t.same(second.json.messages, [
    { role: 'user', content: [{ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral', ttl: '1h' } }] },
  ])
  t.same(second.json.thinking, { type: 'adaptive', block_binding: { mismatch_behavior: 'drop_block' } })
  t.match(second.json, { cache_control: undefined, service_tier: undefined, 'amazon-bedrock-guardrailConfig': undefined })
  t.equal(second.headers['x-amzn-bedrock-service-tier'], 'default')
})

t.test('an endpoint of a tier requests it by the header of the service', async (t) => {
  await every(t, 'both tiers', async (t) => {
    for (const tier of ['flex', 'priority']) {
      const made = await scene(t, undefined, `, tier: ${tier}`)
      const sent = await sentFor(made, { service_tier: tier })
      t.equal(sent.headers['x-amzn-bedrock-service-tier'], tier)
      t.equal(sent.json.service_tier, undefined, tier)
    }
  })
})

t.test('schemas stand in words where the model takes none, for callers of every format', async (t) => {
  const made = await scene(t, undefined, ', quirks: { json_schema: words }')
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }
  const strict = [{ name: 'a', input_schema: schema, strict: true }]
  const sent = await sentFor(made, { output_config: { format: { type: 'json_schema', schema } }, tools: strict })
  t.match(sent.json, { output_config: undefined, system: /valid against this JSON Schema.*"city"/ })
  t.same(sent.json.tools, [{ name: 'a', input_schema: schema }])
  const response_format = { type: 'json_schema', json_schema: { name: 'city', schema, strict: true } }
  await made.gateway.post('/v1/chat/completions', { ...ask('aws/claude', false), response_format })
  t.match(made.upstream.requests.at(-1)?.json, { output_config: undefined, system: /"city"/ })
})

t.test('tokens are counted by the service, with the body as it would be sent', async (t) => {
  const { gateway, upstream } = await scene(t, (_index, seen) =>
    seen.path.endsWith('count-tokens') ? jsonAnswer({ inputTokens: 7 }) : undefined,
  )
  const messages = [{ role: 'user', content: 'Hello' }]
  const response = await gateway.post('/v1/messages/count_tokens', { model: 'aws/claude', messages })
  t.same(await response.json(), { input_tokens: 7 })
  const [sent] = upstream.requests
  t.equal(sent?.path, `/model/${encodeURIComponent(MODEL)}/count-tokens`)
  const { body } = object(object(sent?.json.input).invokeModel)
  t.match(JSON.parse(Buffer.from(String(body), 'base64').toString('utf8')), { anthropic_version: 'bedrock-2023-05-31', messages })
})
