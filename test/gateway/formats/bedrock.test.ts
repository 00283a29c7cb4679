/** Amazon Bedrock behind the gateway: its binary stream in every client format, however it is cut, and how it fails. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { bodyText } from '../../support/body-text.ts'
import { EVENT_STREAM_TYPE, event, exception } from '../../support/event-stream.ts'
import { every } from '../../support/every.ts'
import { list, object } from '../../support/fold.ts'
import { startGateway } from '../../support/gateway.ts'
import { CLIENTS } from '../../support/matrix/clients.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer } from '../../support/upstream.ts'
import { answerFor, type Utterance } from '../../support/wire.ts'
import { bedrockFrames } from '../../support/wire-bedrock.ts'

const MODEL = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const UTTERANCES: Utterance = {
  reasoning: ['I look ', 'it up.'],
  signature: 'c2lnbmVk',
  text: ['Grüß ', 'dich, 世界'],
  calls: [{ id: 'tooluse_a', name: 'weather', args: ['{"ci', 'ty":"Oslo"}'] }],
  usage: { input: 20, output: 5, cached: 6, written: 8 },
}

function bedrock(t: Test, answer: (index: number) => Answer | undefined) {
  let index = 0
  return startScene(t, {
    answer: (request) => answer(index++) ?? answerFor(request, UTTERANCES),
    config: (url) => `
providers:
  aws: { preset: bedrock, key: bedrock-api-key, base_url: "${url}" }
  other: { preset: bedrock, key: bedrock-api-key, base_url: "${url}" }
models:
  aws/claude:
    max_output: 20000
    endpoints: [ { provider: aws, model: "${MODEL}", price: { prompt: "3", completion: "15", cached: "0.3", cache_write: "3.75" } } ]
  aws/two:
    endpoints:
      - { provider: aws, model: first, price: free }
      - { provider: other, model: second, price: free }
`,
    env: { AWS_REGION: 'us-east-1' },
  })
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
  const { gateway, upstream } = await bedrock(t, () => undefined)
  upstream.script = (request) => ({ ...answerFor(request, UTTERANCES), split: request.path.endsWith('-stream') ? 1 : undefined })
  await every(t, 'every client, streamed and not', async (t) => {
    for (const client of CLIENTS)
      for (const stream of [false, true]) {
        const name = `${client.id}${stream ? ', streamed' : ''}`
        const response = await gateway.post(client.path, ask('aws/claude', stream, client))
        const text = await bodyText(response)
        const reply = stream ? client.foldStream(text) : client.fold(JSON.parse(text) as JsonObject)
        t.equal(response.status, 200, name)
        t.equal(reply.text, 'Grüß dich, 世界', name)
        t.same(
          reply.calls.map(({ name, args }) => [name, JSON.parse(args)]),
          [['weather', { city: 'Oslo' }]],
          name,
        )
        const found = (await (await gateway.get(`/v1/generation?id=${response.headers.get('x-generation-id')}`)).json()) as JsonObject
        // 6 fresh, 6 read and 8 written tokens, and 5 of output.
        const { total_cost: cost } = object(found.data)
        t.equal(Number(cost).toFixed(10), ((6 * 3 + 6 * 0.3 + 8 * 3.75 + 5 * 15) / 1e6).toFixed(10), `${name}: what it cost`)
      }
  })
  const last = upstream.requests.at(-1)
  t.equal(last?.path, `/model/${encodeURIComponent(MODEL)}/converse-stream`)
  t.match(last?.headers, { authorization: 'Bearer bedrock-api-key', accept: EVENT_STREAM_TYPE })
  t.equal(last?.json.stream, undefined, 'the operation says whether it streams')
})

const stream = (...messages: readonly Buffer[]): Answer => ({ headers: { 'content-type': EVENT_STREAM_TYPE }, body: messages })
const [start, first] = bedrockFrames({ text: ['Half an answer'] }).map((frame) => Buffer.from(frame, 'latin1'))

t.test('calls another provider after a failure before any content', async (t) => {
  await every(t, 'every failure', async (t) => {
    for (const [name, failure] of Object.entries({
      exception: stream(start, exception('throttlingException', 'Too many tokens')),
      'wrong checksum': stream(start, Buffer.concat([first.subarray(0, -1), Buffer.from([(first.at(-1) ?? 0) ^ 1])])),
      'closed early': { ...stream(start), after: 'close' as const },
      'other framing': { headers: { 'content-type': 'text/event-stream' }, body: ['data: {}\n\n'] },
      'status 503': jsonAnswer({ message: 'Unavailable' }, 503),
    })) {
      const { gateway, upstream } = await bedrock(t, (index) => (index === 0 ? failure : undefined))
      const text = await bodyText(await gateway.post('/v1/chat/completions', ask('aws/two', true)))
      t.equal(CLIENTS[0].foldStream(text).text, 'Grüß dich, 世界', name)
      t.equal(upstream.requests.length, 2, `${name}: the second endpoint was called`)
    }
  })
})

t.test('ends the stream with one error after a failure behind content', async (t) => {
  const broken = [...first]
  broken[20] = (broken[20] ?? 0) ^ 1
  await every(t, 'every failure', async (t) => {
    for (const [name, failure, code] of [
      ['exception', stream(start, first, exception('modelStreamErrorException', 'secret detail of the model')), 502],
      ['throttled', stream(start, first, exception('throttlingException', 'Too many tokens')), 429],
      ['wrong checksum', stream(start, first, Buffer.from(broken)), 502],
      ['closed early', { ...stream(start, first, event('contentBlockStop', { contentBlockIndex: 0 })), after: 'close' as const }, 502],
    ] as const) {
      const { gateway } = await bedrock(t, () => failure)
      await every(t, 'every client', async (t) => {
        for (const client of CLIENTS) {
          const text = await bodyText(await gateway.post(client.path, ask('aws/claude', true, client)))
          t.ok(text.includes('Half an answer'), `${name}, ${client.id}: what came is shown`)
          t.equal(text.includes('secret detail'), false, `${name}, ${client.id}: the sentence of the provider’s own failure is not`)
          if (client.id === 'chat') t.equal(object(client.foldStream(text).error).code, code, `${name}, ${client.id}`)
          else t.ok(client.foldStream(text).error, `${name}, ${client.id}: an error`)
        }
      })
    }
  })
})

t.test('a refusal reaches the caller with the provider’s sentence and place', async (t) => {
  const message = 'The text field in the ContentBlock object at messages.0.content.0 is blank. Add text to the text field, and try again.'
  const { gateway } = await bedrock(t, () => jsonAnswer({ message }, 400))
  const response = await gateway.post('/v1/chat/completions', ask('aws/claude', true))
  t.equal(response.status, 400)
  t.match(await response.json(), { error: { message: /is blank/ } })
})

t.test('reasoning that the model refuses is left out in the next call', async (t) => {
  const message = 'User messages cannot contain reasoning content. Please remove the reasoning content and try again.'
  const { gateway, upstream } = await bedrock(t, (index) => (index === 0 ? jsonAnswer({ message }, 400) : undefined))
  const body = {
    model: 'aws/claude',
    max_tokens: 2000,
    messages: [
      { role: 'user', content: 'Hello' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm', signature: 'c2ln' },
          { type: 'text', text: 'Hi' },
        ],
      },
      { role: 'user', content: 'And?' },
    ],
  }
  const response = await gateway.post('/v1/messages', body)
  t.equal(response.status, 200)
  const blocks = (index: number): string[] =>
    list(object(list(upstream.requests[index]?.json.messages)[1]).content).flatMap((block) => Object.keys(block))
  t.same([blocks(0), blocks(1)], [['reasoningContent', 'text'], ['text']])
})

t.test('settings of the operator override fields of callers', async (t) => {
  const quirks = `{ body: { set: { guardrailConfig: { guardrailIdentifier: ours, guardrailVersion: "1" }, performanceConfig: { latency: optimized } } }, model_fields: { top_k: 7 } }`
  const { gateway, upstream } = await bedrock(t, () => undefined)
  t.equal(upstream.requests.length, 0)
  const set = await startGateway(
    `
providers:
  aws: { preset: bedrock, key: bedrock-api-key, base_url: "${upstream.url}", quirks: ${quirks} }
models:
  aws/claude: { endpoints: [ { provider: aws, model: m, price: free } ] }
`,
    { env: { AWS_REGION: 'us-east-1' } },
  )
  t.teardown(() => set.close())
  const guardrailConfig = { guardrailIdentifier: 'theirs', guardrailVersion: '1' }
  const body = { ...ask('aws/claude', false), guardrailConfig, additionalModelRequestFields: { top_k: 1, max_tokens: 99 } }
  t.equal((await set.post('/v1/chat/completions', body)).status, 200)
  t.match(upstream.requests.at(-1)?.json, {
    guardrailConfig: { guardrailIdentifier: 'ours' },
    performanceConfig: { latency: 'optimized' },
    additionalModelRequestFields: { top_k: 7, max_tokens: undefined },
  })
  t.equal((await gateway.post('/v1/chat/completions', body)).status, 200)
  t.match(upstream.requests.at(-1)?.json, { additionalModelRequestFields: { top_k: 1, max_tokens: undefined } })
})

t.test('callers use only guardrails that the operator names, since AWS bills them', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    answer: (request) => answerFor(request, UTTERANCES),
    config: (url) => `
providers:
  aws: { preset: bedrock, key: bedrock-api-key, base_url: "${url}" }
models:
  aws/none: { endpoints: [ { provider: aws, model: m, price: free } ] }
  aws/some: { endpoints: [ { provider: aws, model: m, price: free, quirks: { guardrails: [ "gr-any", "gr-one:1" ] } } ] }
`,
    env: { AWS_REGION: 'us-east-1' },
  })
  await every(t, 'every guardrail', async (t) => {
    for (const [model, name, version, isSent] of [
      ['none', 'gr-any', '1', false],
      ['some', 'gr-any', 'DRAFT', true],
      ['some', 'gr-one', '1', true],
      ['some', 'gr-one', '2', false],
      ['some', 'gr-other', '1', false],
    ] as const) {
      const guardrailConfig = { guardrailIdentifier: name, guardrailVersion: version }
      const response = await gateway.post('/v1/chat/completions', { ...ask(`aws/${model}`, false), guardrailConfig })
      const id = response.headers.get('x-generation-id')
      const found = object(((await (await gateway.get(`/v1/generation?id=${id}`)).json()) as JsonObject).data)
      t.same(upstream.requests.at(-1)?.json.guardrailConfig, isSent ? guardrailConfig : undefined, `${model} ${name} ${version}`)
      t.equal(JSON.stringify(found).includes('"guardrailConfig"'), !isSent, `${model} ${name} ${version}: recorded where it is left out`)
    }
  })
})
