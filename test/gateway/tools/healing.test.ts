/** Broken JSON is mended in every client dialect, in streams as well (docs/contract.md#plugins). */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { bodyText } from '../../support/body-text.ts'
import { every } from '../../support/every.ts'
import { type Gateway, oneModel, startGateway } from '../../support/gateway.ts'
import { sseAnswer, startUpstream, type Upstream } from '../../support/upstream.ts'
import { answerFor, framesFor, says, type Utterance } from '../../support/wire.ts'

const SCHEMA: JsonObject = { type: 'object', properties: { name: { type: 'string' }, age: { type: 'integer' } }, required: ['name', 'age'] }
const PROVIDERS = ['openai-chat', 'openai-responses', 'anthropic', 'gemini'] as const
const META = { 'x-router-metadata': 'enabled' }
const PLUGIN = { id: 'response-healing' }

/** Places in which a dialect asks for JSON, and answers. */
interface Client {
  path: string
  body(mode: string): JsonObject
  /** The text of a whole reply, and of one event of a stream. */
  whole(reply: JsonObject): unknown
  delta(event: JsonObject): unknown
}

interface Shape {
  output: { content?: { text: string }[] }[]
  choices: { message: { content: string }; delta?: { content?: string } }[]
  content: { text?: string }[]
  delta: { text?: string }
}
const shape = (reply: JsonObject): Shape => reply as unknown as Shape

const CLIENTS: Record<string, Client> = {
  responses: {
    path: '/v1/responses',
    body: (mode) => ({
      input: 'Hello',
      text: { format: mode === 'json_object' ? { type: mode } : { type: mode, name: 'x', schema: SCHEMA } },
    }),
    whole: (reply) => shape(reply).output.flatMap(({ content }) => content ?? [])[0].text,
    delta: (event) => (event.type === 'response.output_text.delta' ? event.delta : undefined),
  },
  chat: {
    path: '/v1/chat/completions',
    body: (mode) => ({
      messages: [{ role: 'user', content: 'Hello' }],
      response_format: mode === 'json_object' ? { type: mode } : { type: mode, json_schema: { name: 'x', schema: SCHEMA } },
    }),
    whole: (reply) => shape(reply).choices[0].message.content,
    delta: (event) => shape(event).choices?.[0]?.delta?.content,
  },
  messages: {
    path: '/v1/messages',
    body: () => ({
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Hello' }],
      output_config: { format: { type: 'json_schema', schema: SCHEMA } },
    }),
    whole: (reply) =>
      shape(reply)
        .content.map(({ text }) => text ?? '')
        .join(''),
    delta: (event) => (event.type === 'content_block_delta' ? shape(event).delta.text : undefined),
  },
}

const upstreams = new Map<string, Upstream>()
let gateway: Gateway

t.before(async () => {
  let yaml = 'providers:\n'
  let models = 'models:\n'
  for (const dialect of PROVIDERS) {
    const upstream = await startUpstream(() => ({ status: 500 }))
    upstreams.set(dialect, upstream)
    yaml += `  ${dialect}: { dialect: ${dialect}, base_url: "${upstream.url}${dialect === 'anthropic' ? '' : '/v1'}", key: "sk-provider-secret" }\n`
    models += `  acme/${dialect}: { context: 128000, endpoints: [ { provider: ${dialect}, model: up, price: { prompt: "1.00", completion: "2.00" } } ] }\n`
  }
  gateway = await startGateway(yaml + models)
})
t.teardown(async () => {
  await gateway.close()
  for (const upstream of upstreams.values()) await upstream.close()
})

function scripted(dialect: string, utterance: Utterance): void {
  const upstream = upstreams.get(dialect)
  if (upstream) upstream.script = says(utterance)
}

interface Asked {
  text: string
  metadata: JsonObject | undefined
  status: number
}

async function ask(client: Client, dialect: string, body: JsonObject): Promise<Asked> {
  const response = await gateway.post(client.path, { model: `acme/${dialect}`, ...body }, META)
  if (body.stream !== true) {
    const reply = (await response.json()) as JsonObject
    return { status: response.status, text: response.ok ? String(client.whole(reply)) : '', metadata: reply.router_metadata as JsonObject }
  }
  const asked: Asked = { status: response.status, text: '', metadata: undefined }
  for (const line of (await bodyText(response)).split('\n')) {
    if (!line.startsWith('data: ') || line === 'data: [DONE]') continue
    const event = JSON.parse(line.slice(6)) as JsonObject
    const text = client.delta(event)
    if (typeof text === 'string') asked.text += text
    const inner = event.response as JsonObject | undefined
    asked.metadata ??= (event.router_metadata ?? inner?.router_metadata) as JsonObject | undefined
  }
  return asked
}

const metadataStage = (metadata: JsonObject | undefined): JsonObject | undefined =>
  (metadata?.pipeline as JsonObject[] | undefined)?.find(({ type }) => type === 'response_healing')

const BROKEN: readonly (readonly [name: string, pieces: readonly string[]])[] = [
  ['fence', ['Sure:\n', '```json\n{"name": "Al', 'ice", "age"', ': 30}\n```']],
  ['comma', ['{"name": "Alice", ', '"age": 30,', '}']],
  ['unquoted key', ['{na', 'me: "Alice", age', ': 30}']],
]

for (const [name, client] of Object.entries(CLIENTS))
  t.test(`mends ${name}`, async (t) => {
    const modes = name === 'messages' ? ['json_schema'] : ['json_object', 'json_schema']
    await every(t, 'every dialect', async (t) => {
      for (const dialect of PROVIDERS)
        for (const [damage, pieces] of BROKEN)
          for (const mode of modes)
            for (const stream of [false, true]) {
              scripted(dialect, { text: pieces })
              const { text, metadata, status } = await ask(client, dialect, { ...client.body(mode), stream, plugins: [PLUGIN] })
              const what = `${damage}, ${mode}, ${stream ? 'streamed' : 'whole'}, from ${dialect}`
              t.equal(status, 200, what)
              let value: unknown
              try {
                value = JSON.parse(text)
              } catch {
                value = text
              }
              t.same(value, { name: 'Alice', age: 30 }, what)
              t.match(metadataStage(metadata), {
                type: 'response_healing',
                name: 'response-healing',
                data: {
                  mode,
                  improved: true,
                  valid: true,
                  original_length: pieces.join('').length,
                  healed_length: text.length,
                  held_bytes: stream ? Number : undefined,
                  schema_valid: mode === 'json_schema' ? true : undefined,
                },
              })
            }
    })
  })

t.test('leaves a text unchanged where the plugin is off, or the text is cut or valid', async (t) => {
  const broken: Utterance = { text: ['{"name": "Alice",', '}'] }
  const cut: Utterance = { text: ['{"name": "Alice", "age": [1,'], end: 'length' }
  const sound: Utterance = { text: ['{ "name" : "Al', 'ice" }\n'] }
  await every(t, 'every case', async (t) => {
    for (const [name, client] of Object.entries(CLIENTS))
      for (const stream of [false, true]) {
        const cases: [what: string, utterance: Utterance, body: JsonObject, improved: boolean | undefined][] = [
          ['switched off', broken, { plugins: [{ ...PLUGIN, enabled: false }] }, undefined],
          ['not asked for', broken, {}, undefined],
          ['cut off', cut, { plugins: [PLUGIN] }, false],
          ['sound', sound, { plugins: [PLUGIN] }, false],
        ]
        for (const [what, utterance, more, improved] of cases) {
          scripted('openai-chat', utterance)
          const { text, metadata } = await ask(client, 'openai-chat', { ...client.body('json_schema'), stream, ...more })
          t.equal(text, (utterance.text ?? []).join(''), `${what}, ${name}, ${stream ? 'streamed' : 'whole'}`)
          t.equal((metadataStage(metadata)?.data as JsonObject | undefined)?.improved, improved)
        }
      }
  })
  scripted('openai-chat', { text: ['no JSON,', '}'] })
  const plain = await ask(CLIENTS.chat, 'openai-chat', { messages: [{ role: 'user', content: 'Hello' }], plugins: [PLUGIN] })
  t.equal(plain.text, 'no JSON,}', 'without a JSON mode')
  t.equal(metadataStage(plain.metadata), undefined)
})

t.test('a member that got no value is left out, and the schema says what is missing', async (t) => {
  for (const stream of [false, true]) {
    scripted('openai-chat', { text: ['{"name": "Alice", ', '"age":'] })
    const { text, metadata } = await ask(CLIENTS.chat, 'openai-chat', { ...CLIENTS.chat.body('json_schema'), stream, plugins: [PLUGIN] })
    t.same(JSON.parse(text), { name: 'Alice' }, stream ? 'streamed' : 'whole')
    t.match(metadataStage(metadata), { data: { improved: true, valid: true, schema_valid: false } })
  }
})

t.test('certain bytes leave before the next ones come', async (t) => {
  const upstream = upstreams.get('openai-chat')
  if (!upstream) return
  let release = (): void => {}
  const waiting = new Promise<void>((resolve) => {
    release = resolve
  })
  const frame = (content: string): string =>
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'up', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`
  upstream.script = () => ({
    headers: { 'content-type': 'text/event-stream' },
    body: [
      frame('```json\n{"name": "Alice in'),
      async () => {
        await waiting
        return `${frame(' Wonderland",}')}data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"up","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`
      },
    ],
  })
  const body = { model: 'acme/openai-chat', stream: true, ...CLIENTS.chat.body('json_object'), plugins: [PLUGIN] }
  const response = await gateway.post('/v1/chat/completions', body)
  let seen = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    seen += decoder.decode(chunk as Uint8Array, { stream: true })
    if (seen.includes('Alice in')) release()
  }
  t.match(seen, /Alice in/, 'the first half came while the provider waited for it to be read')
  t.match(seen, /Wonderland/)
})

t.test('an operator switches it on for all, and a request off for itself', async (t) => {
  const upstream = await startUpstream(says({ text: ['{"name": "Alice", "age": 30,}'] }))
  const own = await startGateway(
    `plugins: { defaults: { response-healing: { enabled: true } } }\n${oneModel(upstream.url, 'openai-chat', { model: 'name: One' })}`,
  )
  const ask = async (more: JsonObject): Promise<string> => {
    const response = await own.post('/v1/chat/completions', { model: 'acme/one', ...CLIENTS.chat.body('json_object'), ...more })
    return shape((await response.json()) as JsonObject).choices[0].message.content
  }
  t.equal(await ask({}), '{"name": "Alice", "age": 30}')
  t.equal(await ask({ plugins: [{ ...PLUGIN, enabled: false }] }), '{"name": "Alice", "age": 30,}')
  const wrong = await own.post('/v1/chat/completions', {
    model: 'acme/one',
    ...CLIENTS.chat.body('json_object'),
    plugins: [{ ...PLUGIN, enabled: 1 }],
  })
  t.equal(wrong.status, 400)
  t.match(await wrong.json(), { error: { message: /plugins\[0\]\.enabled/ } })
  await own.close()
  await upstream.close()
})

t.test('a turn with a server tool: what was said before the call stays, the answer is mended', async (t) => {
  const upstream = upstreams.get('openai-chat')
  if (!upstream) return
  for (const stream of [false, true]) {
    let turns = 0
    upstream.script = (request) =>
      answerFor(
        request,
        turns++ === 0
          ? { text: ['I look at the clock.'], calls: [{ id: 'c1', name: 'router_datetime', args: ['{}'] }] }
          : { text: ['{name: "Ali', 'ce", age: 30'] },
      )
    const { text, metadata } = await ask(CLIENTS.responses, 'openai-chat', {
      ...CLIENTS.responses.body('json_object'),
      stream,
      tools: [{ type: 'router:datetime' }],
      plugins: [PLUGIN],
    })
    t.equal(turns, 2)
    if (stream) t.equal(text, 'I look at the clock.{"name": "Alice", "age": 30}')
    else t.equal(text, 'I look at the clock.')
    t.match(metadataStage(metadata), { data: { improved: true, valid: true, original_length: 23 } })
  }
})

t.test('an answer that breaks off: what was held of it still goes out', async (t) => {
  const upstream = upstreams.get('openai-chat')
  if (!upstream) throw new Error('no upstream')
  for (const [name, client] of Object.entries(CLIENTS)) {
    upstream.script = (request) => {
      const frames = framesFor(request.path, { text: ['{"name": "Alice", "age": 30', ',', 'never'] })
      const at = frames.findIndex((frame) => frame.includes('never'))
      return sseAnswer(frames.slice(0, at), { after: 'reset' })
    }
    const mode = name === 'messages' ? 'json_schema' : 'json_object'
    const { text } = await ask(client, 'openai-chat', { ...client.body(mode), stream: true, plugins: [PLUGIN] })
    t.equal(text, '{"name": "Alice", "age": 30,', name)
  }
})
