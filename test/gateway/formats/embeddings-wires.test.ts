/** Embeddings at every kind of provider: requests, replies, and the fields that a format lacks. */
import t from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { EMBEDDING, GENERATING } from '../../../src/dialects/quirks.ts'
import { embeddingWires, upstreamDialects } from '../../../src/dialects/registry.ts'
import { FakeClock } from '../../support/clock.ts'
import {
  cohereVectors,
  geminiVectors,
  inputNumbers,
  marks,
  numbersIn,
  openaiVectors,
  readError,
  readVectors,
  type Speaks,
  type Vectors,
  voyageVectors,
} from '../../support/embedder.ts'
import { every } from '../../support/every.ts'
import { startGateway } from '../../support/gateway.ts'
import { jsonAnswer, type Script, type Seen, startUpstream } from '../../support/upstream.ts'

const PATH = '/v1/embeddings'

interface Wire {
  dialect: string
  base: string
  speak: (how?: Speaks) => Script
  /** Header of the key. */
  key: [name: string, value: string]
  /** Most inputs of one call. */
  most: number
}

const bearer: [string, string] = ['authorization', 'Bearer sk-up']
const WIRES: readonly Wire[] = [
  { dialect: 'openai-chat', base: '/v1', speak: openaiVectors, key: bearer, most: 2048 },
  { dialect: 'openai-responses', base: '/v1', speak: openaiVectors, key: bearer, most: 2048 },
  { dialect: 'gemini', base: '/v1beta', speak: geminiVectors, key: ['x-goog-api-key', 'sk-up'], most: 100 },
  { dialect: 'cohere', base: '/v2', speak: cohereVectors, key: bearer, most: 96 },
  { dialect: 'voyage', base: '/v1', speak: voyageVectors, key: bearer, most: 1000 },
]

const clock = new FakeClock(5)
const upstream = await startUpstream(openaiVectors())
const fallback = await startUpstream(openaiVectors())
const model = (dialect: string, name: string, more: string): string =>
  `  ${dialect}/${name}: { kind: embedding, ${more} endpoints: [ { provider: ${dialect}, model: m, price: { prompt: "1.00", image: "0.01", image_token: "4.00", audio: "9.00" } } ] }`
const gateway = await startGateway(
  `
providers:
${WIRES.map(({ dialect, base }) => `  ${dialect}: { dialect: ${dialect}, base_url: "${upstream.url}${base}", key: sk-up, headers: { x-own: mine } }`).join('\n')}
  fallback: { dialect: openai-chat, base_url: "${fallback.url}/v1", key: sk-up, quirks: { embeddings_path: "/deployments/{model}/vectors" } }
models:
${WIRES.flatMap(({ dialect }) => [
  model(dialect, 'text', ''),
  model(dialect, 'joint', 'input: [text, image, audio, video, file],'),
  model(dialect, 'cut', 'long_input: truncate, context: 50,'),
  model(dialect, 'strict', 'long_input: reject, context: 50,'),
]).join('\n')}
${WIRES.map(({ dialect }) => `  ${dialect}/safe: { kind: embedding, input: [text, image], endpoints: [ { provider: ${dialect}, model: m, price: free }, { provider: fallback, model: m, price: free, quirks: { input_parts: true } } ] }`).join('\n')}
`,
  { clock },
)
t.teardown(async () => {
  await gateway.close()
  await Promise.all([upstream.close(), fallback.close()])
})

const ask = (body: JsonObject, headers?: Record<string, string>): Promise<Response> => gateway.post(PATH, body, headers)
const embed = async (body: JsonObject): Promise<Vectors> => {
  const response = await ask(body)
  if (response.status !== 200) throw new Error(`${body.model}: ${response.status} ${await response.text()}`)
  return readVectors(response)
}
const seen = (): Seen => {
  const last = upstream.requests.at(-1)
  if (!last) throw new Error('no request has reached the provider')
  return last
}
const PICTURE = 'data:image/png;base64,aGVsbG8='
const ADDRESS = 'https://example.com/cat.png'
const words = (text: string): JsonObject => ({ type: 'text', text })
const image = (url: string): JsonObject => ({ type: 'image_url', image_url: { url } })
const joint = (...content: JsonObject[]): JsonObject => ({ content })

t.test('the configuration and the registry have the same formats', async (t) => {
  t.same([...embeddingWires.keys()].sort(), [...EMBEDDING].sort())
  t.same([...upstreamDialects.keys()].sort(), [...GENERATING].sort())
})

for (const { dialect, speak, key, most } of WIRES) {
  t.test(`${dialect}: returns vectors in order as floats and base64, splits long lists, and charges them`, async (t) => {
    await every(t, 'every form', async (t) => {
      for (const form of dialect === 'gemini' ? [undefined] : ([undefined, 'float', 'base64'] as const)) {
        upstream.script = speak({ form, dimensions: 9 })
        const body = { model: `${dialect}/text`, input: ['a 3', 'b 1', 'c 2'] }
        const floats = await embed({ ...body, encoding_format: 'float' })
        t.same(
          floats.data.map(({ embedding }) => embedding),
          [3, 1, 2].map((mark) => inputNumbers(mark, 9)),
        )
        const base64 = await embed({ ...body, encoding_format: 'base64' })
        t.same(
          base64.data.map(({ embedding }) => numbersIn(String(embedding))),
          floats.data.map(({ embedding }) => embedding),
        )
        t.match(floats.usage, { prompt_tokens: 7, total_tokens: 7, cost: 0.000007 })
      }
    })
    upstream.script = speak()
    const before = upstream.requests.length
    const many = await embed({ model: `${dialect}/text`, input: Array.from({ length: most + 5 }, (_, i) => `text ${i}`) })
    t.same(
      marks(many),
      Array.from({ length: most + 5 }, (_, i) => i),
    )
    t.equal(upstream.requests.length - before, 2)
    t.equal(many.usage.prompt_tokens, 14)
    const [name, value] = key
    t.match(seen().headers, { [name]: value, 'x-own': 'mine', 'content-type': 'application/json' })
    upstream.script = speak({ usage: null })
    t.ok((await embed({ model: `${dialect}/text`, input: 'eight words or so' })).usage.prompt_tokens > 3, 'estimated')
    upstream.script = speak()
    t.equal(((await embed({ model: `${dialect}/text`, input: 'x', dimensions: 6 })).data[0].embedding as number[]).length, 6)
  })

  t.test(`${dialect}: calls the next provider after a garbled or refused reply`, async (t) => {
    const spoilt: ((reply: JsonObject) => Json)[] = [
      () => ({}),
      () => ({ data: 3, embeddings: 3 }),
      (reply) => ({ ...reply, data: [], embeddings: [] }),
      (reply) => ({ ...reply, data: [null], embeddings: [null] }),
      (reply) => ({ ...reply, data: [{ embedding: 'x' }], embeddings: { float: [[1, 2], [3]] } }),
      (reply) => ({ ...reply, data: [{ embedding: [1] }], embeddings: { float: [1, 2] } }),
    ]
    await every(t, 'every garbled reply', async (t) => {
      for (const spoil of spoilt) {
        upstream.script = speak({ spoil })
        t.equal((await embed({ model: `${dialect}/safe`, input: ['a', 'b'], provider: { order: [dialect] } })).provider, 'fallback')
        await clock.advance(3_600_000)
      }
    })
    t.equal(fallback.requests.at(-1)?.path, '/v1/deployments/m/vectors', 'the path of the quirk embeddings_path')
    await every(t, 'every status', async (t) => {
      for (const status of [401, 429, 500, 503]) {
        upstream.script = () => jsonAnswer({ message: 'no', detail: 'no', error: { message: 'no', code: status } }, status)
        t.equal((await embed({ model: `${dialect}/safe`, input: 'a', provider: { order: [dialect] } })).provider, 'fallback')
        await clock.advance(3_600_000)
      }
    })
    upstream.script = () =>
      jsonAnswer({ message: 'invalid', detail: 'invalid', error: { message: 'invalid', status: 'INVALID_ARGUMENT' } }, 400)
    t.equal((await ask({ model: `${dialect}/safe`, input: 'a', provider: { order: [dialect] } })).status, 400)
    const long = 'the input text exceeds the maximum number of tokens: maximum context length is 8 tokens, sk-up'
    upstream.script = () => jsonAnswer({ message: long, detail: long, error: { message: long, status: 'INVALID_ARGUMENT' } }, 400)
    const response = await ask({ model: `${dialect}/text`, input: 'a' })
    const error = await readError(response)
    t.match(error, { code: 400, metadata: { error_type: 'context_length_exceeded' } })
    t.notMatch(JSON.stringify(error), /sk-up/, 'the key is removed')
    t.match(error.message, /: the input text exceeds the maximum number of tokens/)
    upstream.script = speak()
  })

  t.test(`${dialect}: sends no end user where the format has no such field`, async (t) => {
    const response = await ask({ model: `${dialect}/text`, input: 'x', user: 'me' }, { 'X-Router-Metadata': 'enabled' })
    const { router_metadata: metadata } = await readVectors(response)
    const sent = dialect.startsWith('openai')
    t.equal(seen().json.user, sent ? 'me' : undefined)
    t.match(metadata, { attempts: [sent ? { dropped: undefined } : { dropped: ['user'] }] })
  })
}

t.test('sends Gemini its own fields for inputs, types and media', async (t) => {
  upstream.script = geminiVectors()
  await embed({ model: 'gemini/text', input: ['one', 'two'], dimensions: 8, input_type: 'search_query' })
  t.equal(seen().path, '/v1beta/models/m:batchEmbedContents')
  const request = (text: string): JsonObject => ({
    model: 'models/m',
    content: { parts: [{ text }] },
    taskType: 'RETRIEVAL_QUERY',
    outputDimensionality: 8,
  })
  t.same(seen().json, { requests: [request('one'), request('two')] })
  for (const [type, task] of [
    ['document', 'RETRIEVAL_DOCUMENT'],
    ['SEMANTIC_SIMILARITY', 'SEMANTIC_SIMILARITY'],
    ['clustering', 'CLUSTERING'],
    ['classification', 'CLASSIFICATION'],
    ['odd', undefined],
    [undefined, undefined],
  ]) {
    await embed({ model: 'gemini/text', input: 'x', ...(type === undefined ? {} : { input_type: type }) })
    t.equal((seen().json.requests as JsonObject[])[0].taskType, task, `${type}`)
  }
  const audio = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }
  const video = { type: 'input_video', input_video: { data: 'AAAA', format: 'mp4' } }
  const file = { type: 'input_file', input_file: { data: 'JVBERi0=', format: 'pdf' } }
  const reply = await embed({
    model: 'gemini/joint',
    input: [joint(words('a 1'), image(PICTURE), audio, video, file), joint(words('b 2'))],
  })
  t.equal(reply.data.length, 2)
  t.equal(reply.usage.cost, 0.010007)
  t.same((seen().json.requests as JsonObject[])[0].content, {
    parts: [
      { text: 'a 1' },
      { inlineData: { mimeType: 'image/png', data: 'aGVsbG8=' } },
      { inlineData: { mimeType: 'audio/wav', data: 'UklGRg==' } },
      { inlineData: { mimeType: 'video/mp4', data: 'AAAA' } },
      { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } },
    ],
  })
})

t.test('sends Cohere its own fields for inputs, types and truncation', async (t) => {
  upstream.script = cohereVectors()
  await embed({ model: 'cohere/text', input: ['one', 'two'], dimensions: 8, input_type: 'query', encoding_format: 'base64' })
  t.equal(seen().path, '/v2/embed')
  t.same(seen().json, { model: 'm', input_type: 'search_query', embedding_types: ['base64'], texts: ['one', 'two'], output_dimension: 8 })
  await embed({ model: 'cohere/text', input: 'x' })
  t.same(seen().json, { model: 'm', input_type: 'search_document', embedding_types: ['float'], texts: ['x'] }, 'the type is required there')
  const odd = await readVectors(
    await ask({ model: 'cohere/text', input: 'x', input_type: 'similarity' }, { 'X-Router-Metadata': 'enabled' }),
  )
  t.match(odd.router_metadata, { attempts: [{ dropped: ['input_type'] }] })
  await embed({ model: 'cohere/cut', input: 'x' })
  t.equal(seen().json.truncate, 'END')
  await embed({ model: 'cohere/strict', input: 'x'.repeat(500) })
  t.equal(seen().json.truncate, 'NONE', 'the provider counts better than we do')
  await embed({ model: 'cohere/joint', input: [joint(words('a 1'), image(PICTURE)), joint(words('b 2'))] })
  t.same(seen().json.inputs, [{ content: [words('a 1'), image(PICTURE)] }, { content: [words('b 2')] }])
  t.equal(seen().json.texts, undefined)
})

t.test('sends Voyage its own fields and paths for texts and media', async (t) => {
  upstream.script = voyageVectors()
  await embed({ model: 'voyage/text', input: ['one', 'two'], dimensions: 8, input_type: 'search_document', encoding_format: 'base64' })
  t.equal(seen().path, '/v1/embeddings')
  t.same(seen().json, { model: 'm', input: ['one', 'two'], input_type: 'document', output_dimension: 8, encoding_format: 'base64' })
  await embed({ model: 'voyage/cut', input: 'x' })
  t.equal(seen().json.truncation, true)
  await embed({ model: 'voyage/strict', input: 'x'.repeat(500) })
  t.equal(seen().json.truncation, false)
  const reply = await embed({ model: 'voyage/joint', input: [joint(words('a 1'), image(PICTURE))], encoding_format: 'base64' })
  t.equal(seen().path, '/v1/multimodalembeddings')
  t.same(seen().json, {
    model: 'm',
    inputs: [{ content: [words('a 1'), { type: 'image_base64', image_base64: PICTURE }] }],
    output_encoding: 'base64',
  })
  t.match(reply.usage, { prompt_tokens: 7, cost: 0.010007 }, 'pixels are in the price of an image')
  await embed({ model: 'voyage/joint', input: [joint(words('a'), image(ADDRESS))] })
  t.same(seen().json.inputs, [{ content: [words('a'), { type: 'image_url', image_url: ADDRESS }] }])
  await embed({ model: 'voyage/joint', input: 'text alone' })
  t.same(seen().json, { model: 'm', inputs: [{ content: [words('text alone')] }] }, 'such a model has one operation for all')
})

for (const { dialect, speak } of WIRES) {
  t.test(`${dialect}: returns one vector for a text with an image, or a 400 that names the part`, async (t) => {
    upstream.script = speak()
    const before = upstream.requests.length
    const input = [joint(words('a 41'), image(PICTURE)), joint(words('b 7'), image(PICTURE), image(PICTURE))]
    const response = await ask({ model: `${dialect}/joint`, input })
    if (dialect.startsWith('openai')) {
      t.equal(response.status, 400)
      t.match(await readError(response), {
        code: 400,
        message: `input[0].content[1]: ${dialect}/joint at ${dialect} takes no image in this format`,
        metadata: { error_type: 'invalid_request', field: 'input[0].content[1]' },
        availability: { code: 'constraint_filtered', retryable: false, constraint: { field: 'input[0].content[1]' } },
      })
      t.equal(upstream.requests.length, before, 'nothing was sent')
      return
    }
    t.equal(response.status, 200)
    const reply = await readVectors(response)
    t.same(marks(reply), [41, 7], 'one each, in order')
    const sent = JSON.stringify(seen().json)
    t.equal(sent.split('aGVsbG8=').length - 1, 3, 'every image was sent with its text')
    t.equal(reply.usage.cost, 0.030007, 'the images are charged')
  })
}

t.test('refuses an input that the format lacks by its path, or calls a provider that has it', async (t) => {
  const before = upstream.requests.length
  const refused = async (name: string, input: Json, field: string): Promise<void> => {
    const response = await ask({ model: name, input })
    t.equal(response.status, 400, `${name} ${JSON.stringify(input).slice(0, 60)}`)
    t.match(await readError(response), { metadata: { field }, message: new RegExp(`^${field.replaceAll(/[[\]]/g, '\\$&')}: `) })
  }
  for (const dialect of ['gemini', 'cohere', 'voyage']) await refused(`${dialect}/text`, [[1, 2], [3]], 'input[0]')
  for (const dialect of ['openai-chat', 'openai-responses'])
    await refused(`${dialect}/joint`, [joint(words('a')), joint(words('b'), image(PICTURE))], 'input[1].content[1]')
  for (const dialect of ['gemini', 'cohere']) await refused(`${dialect}/joint`, [joint(words('a'), image(ADDRESS))], 'input[0].content[1]')
  await refused('voyage/joint', [joint(image(ADDRESS)), joint(image(PICTURE))], 'input[1].content[0]')
  for (const dialect of ['cohere', 'voyage'])
    await refused(`${dialect}/joint`, [joint({ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } })], 'input[0].content[0]')
  for (const { dialect } of WIRES) await refused(`${dialect}/text`, [joint(image(PICTURE))], 'input[0].content[0]')
  await refused('gemini/strict', ['short', 'long '.repeat(100)], 'input[1]')
  t.equal(upstream.requests.length, before)
  const able = await embed({ model: 'openai-chat/safe', input: [joint(words('a'), image(PICTURE))] })
  t.equal(able.provider, 'fallback')
})

t.test('returns tokens by kind of input where the provider reports them by kind', async (t) => {
  const input = [joint(words('a 1'), image(PICTURE)), joint(words('b 2'))]
  const rows: [dialect: string, speak: (how?: Speaks) => Script, split: Record<string, number>, nano: number][] = [
    ['gemini', geminiVectors, { text: 3, image: 258, audio: 25, file: 10, video: 4 }, 17_000 + 4 * 258_000 + 9 * 25_000],
    ['cohere', cohereVectors, { text: 3, image: 297 }, 3000 + 4 * 297_000],
  ]
  await every(t, 'every case', async (t) => {
    for (const [dialect, speak, split, nano] of rows) {
      const usage = Object.values(split).reduce((sum, tokens) => sum + tokens, 0)
      upstream.script = speak({ split, usage })
      const reply = await embed({ model: `${dialect}/joint`, input })
      t.same(
        reply.usage.prompt_tokens_details,
        Object.fromEntries(Object.entries(split).map(([kind, tokens]) => [`${kind}_tokens`, tokens])),
        dialect,
      )
      t.match(reply.usage, { prompt_tokens: usage, total_tokens: usage }, `${dialect}: the usage`)
      t.equal(Math.round(reply.usage.cost * 1e9), 10_000_000 + nano, `${dialect}: each kind at its own price, and the image`)
      upstream.script = speak({ split: { text: 5 }, usage: 5 })
      const plain = await embed({ model: `${dialect}/joint`, input: 'x' })
      t.notOk('prompt_tokens_details' in plain.usage, `${dialect}: one kind alone has no details`)
      upstream.script = speak({ usage: null })
      const { usage: guessed } = await embed({ model: `${dialect}/joint`, input })
      t.notOk('prompt_tokens_details' in guessed, `${dialect}: an estimate has no details`)
      t.ok(guessed.cost > 0.01 + (1e-6 * guessed.prompt_tokens * 7) / 2, `${dialect}: its images are charged all the same`)
      upstream.script = speak({ usage: 5 })
      t.notOk(
        'prompt_tokens_details' in (await embed({ model: `${dialect}/joint`, input })).usage,
        `${dialect}: no details without a report`,
      )
    }
  })
  // Another gateway of this kind reports it in the fields of our own reply.
  const split = { text: 3, image: 8, audio: 0, video: 2, tongue: 4 }
  fallback.script = openaiVectors({ split, usage: 13 })
  const reply = await embed({ model: 'openai-chat/safe', input })
  t.match(reply, { provider: 'fallback', usage: { prompt_tokens: 13 } })
  t.same(reply.usage.prompt_tokens_details, { text_tokens: 3, image_tokens: 8, video_tokens: 2 }, 'only kinds with tokens')
  fallback.script = openaiVectors()
})

t.test('adds up the tokens by kind of all calls of a batch', async (t) => {
  let call = 0
  upstream.script = (seen, index) => {
    const report = call++ === 0 ? { split: { text: 3, image: 20 }, usage: 23 } : { usage: 4 }
    return cohereVectors(report)(seen, index)
  }
  const input = Array.from({ length: 100 }, (_, i) => joint(words(`a ${i}`), image(PICTURE)))
  const reply = await embed({ model: 'cohere/joint', input })
  t.equal(call, 2)
  t.same(reply.usage.prompt_tokens_details, { text_tokens: 7, image_tokens: 20 }, 'tokens of a call without kinds count as text')
  t.equal(reply.usage.prompt_tokens, 27)
})
