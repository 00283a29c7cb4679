/** POST /v1/embeddings: the rules of the wire by their numbers, over real HTTP. */
import t from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { inputNumbers, marks, numbersIn, openaiVectors, readError, readVectors, type Vectors } from '../../support/embedder.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { startGateway } from '../../support/gateway.ts'
import { startUpstream } from '../../support/upstream.ts'

const PATH = '/v1/embeddings'
const OPS = 'sk-router-v1-fedcba9876543210'
const POOR = 'sk-router-v1-00112233445566'
const GUARDED = 'sk-router-v1-aabbccddeeff'

const first = await startUpstream(openaiVectors())
const second = await startUpstream(openaiVectors())
const gateway = await startGateway(`
auth:
  keys:
    - { name: app, key: "sk-router-v1-0123456789abcdef" }
    - { name: ops, key: "${OPS}", management: true }
    - { name: poor, key: "${POOR}", limit: "0.000001" }
    - { name: slow, key: "sk-router-v1-5105105105", limits: { requests: 1 } }
    - { name: guarded, key: "${GUARDED}" }
providers:
  first: { name: First, dialect: openai-responses, base_url: "${first.url}/v1", key: "sk-first-secret", data_collection: deny }
  second: { name: Second, dialect: openai-chat, base_url: "${second.url}/v1", key: "sk-second-secret", quirks: { input_parts: true, input_type: true, body: { drop: [dimensions] } } }
  sim: { name: Simulator, dialect: sim }
models:
  acme/embed:
    kind: embedding
    context: 100
    endpoints:
      - { provider: first, model: upstream-embed, price: { prompt: "1.00" } }
      - { provider: second, model: upstream-embed, price: { prompt: "3.00" } }
  acme/joint: { kind: embedding, input: [text, image], endpoints: [ { provider: second, model: joint, price: { prompt: "1.00", image: "0.01" } } ] }
  acme/first: { kind: embedding, input: [text, image], endpoints: [ { provider: first, model: plain, price: free } ] }
  acme/cut: { kind: embedding, context: 10, long_input: truncate, endpoints: [ { provider: first, model: plain, price: free } ] }
  acme/strict: { kind: embedding, context: 10, long_input: reject, endpoints: [ { provider: sim, model: embed } ] }
  sim/embed: { kind: embedding, context: 8192, input: [text, image], endpoints: [ { provider: sim, model: embed } ] }
  sim/none: { kind: embedding, endpoints: [ { provider: sim, model: nothing } ] }
  sim/echo: { context: 1000, endpoints: [ { provider: sim, model: echo } ] }
default_model: sim/embed
guardrails: [ { name: no-secrets, scope: { keys: [ guarded ] }, content_filters: [ { pattern: "forbidden", action: block } ] } ]
`)
t.teardown(async () => {
  await gateway.close()
  await Promise.all([first.close(), second.close()])
})

const ask = (body: JsonObject, headers?: Record<string, string>): Promise<Response> => gateway.post(PATH, body, headers)
const embed = async (body: JsonObject): Promise<Vectors> => {
  const response = await ask(body)
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
  return readVectors(response)
}
const ORDER = { provider: { order: ['first', 'second'] } }
const calls = (): number => first.requests.length + second.requests.length
const image = (text: string): JsonObject => ({
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${Buffer.from(text).toString('base64')}` },
})
const words = (text: string): JsonObject => ({ type: 'text', text })

t.test('a string gives one entry, and its price', async (t) => {
  const response = await ask({ model: 'acme/embed', input: 'number 41', user: 'me', ...ORDER }, { 'x-session-id': 'group-1' })
  t.equal(response.headers.get('content-type'), 'application/json')
  const id = response.headers.get('x-generation-id')
  const reply = await readVectors(response)
  t.same(reply, {
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: inputNumbers('41', 4) }],
    model: 'acme/embed',
    id,
    provider: 'First',
    usage: {
      prompt_tokens: 7,
      total_tokens: 7,
      cost: 0.000007,
      cost_details: { upstream_inference_cost: 0.000007, upstream_inference_prompt_cost: 0.000007, upstream_inference_completions_cost: 0 },
      is_byok: false,
    },
  })
  const seen = first.requests.at(-1)
  t.match(seen, { path: '/v1/embeddings', headers: { authorization: 'Bearer sk-first-secret' } })
  t.same(seen?.json, { model: 'upstream-embed', input: ['number 41'], user: 'me' }, 'nothing of the gateway goes upstream')
  const generation = object(((await (await gateway.get(`/v1/generation?id=${id}`)).json()) as JsonObject).data)
  t.match(generation, {
    api_type: 'embeddings',
    model: 'acme/embed',
    provider_name: 'First',
    total_cost: 0.000007,
    tokens_prompt: 7,
    tokens_completion: 0,
    streamed: false,
    status: 'completed',
    estimated: false,
    session_id: 'group-1',
    external_user: 'me',
  })
})

t.test('returns as many vectors as inputs, in their order', async (t) => {
  const inputs = Array.from({ length: 37 }, (_, i) => `text ${(i * 7) % 37}`)
  const reply = await embed({ model: 'acme/embed', input: inputs })
  t.same(
    reply.data.map(({ index }) => index),
    inputs.map((_, i) => i),
  )
  t.same(
    marks(reply),
    inputs.map((_, i) => (i * 7) % 37),
  )
  first.script = openaiVectors({ spoil: (all) => ({ ...all, data: [...(all.data as Json[])].reverse() }) })
  t.same(
    marks(await embed({ model: 'acme/embed', input: inputs, ...ORDER })),
    inputs.map((_, i) => (i * 7) % 37),
    'whatever order they come in',
  )
  first.script = openaiVectors()
})

t.test('token ids, one list and several', async (t) => {
  const one = await embed({ model: 'acme/embed', input: [15339, 1917], ...ORDER })
  t.equal(one.data.length, 1)
  t.same(first.requests.at(-1)?.json.input, [[15339, 1917]])
  t.equal((await embed({ model: 'acme/embed', input: [[1], [2, 3], [4]], ...ORDER })).data.length, 3)
  t.same(first.requests.at(-1)?.json.input, [[1], [2, 3], [4]])
  t.equal((await embed({ model: 'sim/embed', input: [[1], [2, 3]] })).usage.prompt_tokens, 3)
})

t.test('names a field that is missing, empty or of the wrong kind', async (t) => {
  const before = calls()
  const named = async (body: JsonObject, field: string): Promise<void> => {
    const response = await ask(body)
    const error = await readError(response)
    t.equal(response.status, 400, JSON.stringify(body).slice(0, 90))
    t.match(error, { code: 400, message: String, metadata: { error_type: 'invalid_request', field } })
    t.ok(String(error.message).startsWith(`${field}: `), String(error.message))
  }
  await named({ input: 'x' }, 'model')
  await named({ model: 'acme/embed' }, 'input')
  const wrong: [input: Json, field: string][] = [
    ['', 'input'],
    [[], 'input'],
    [['a', ''], 'input[1]'],
    [['a', 1], 'input[1]'],
    [['a', ['b']], 'input[1]'],
    [[1, 'a'], 'input[1]'],
    [[1, 2.5], 'input[1]'],
    [[1, -1], 'input[1]'],
    [[[1], []], 'input[1]'],
    [[[1], [2, 'x']], 'input[1][1]'],
    [[[1], 2], 'input[1]'],
    [[{ content: [words('a')] }, 'b'], 'input[1]'],
    [[{}], 'input[0].content'],
    [[{ content: 'text' }], 'input[0].content'],
    [[{ content: [] }], 'input[0].content'],
    [[{ content: ['a'] }], 'input[0].content[0]'],
    [[{ content: [words('a'), { type: 'image' }] }], 'input[0].content[1].type'],
    [[{ content: [{ type: 'text' }] }], 'input[0].content[0].text'],
    [[{ content: [words('')] }], 'input[0].content[0].text'],
    [[{ content: [{ type: 'text', text: 3 }] }], 'input[0].content[0].text'],
    [[{ content: [{ type: 'image_url' }] }], 'input[0].content[0].image_url'],
    [[{ content: [{ type: 'image_url', image_url: 'http://x' }] }], 'input[0].content[0].image_url'],
    [[{ content: [{ type: 'image_url', image_url: {} }] }], 'input[0].content[0].image_url.url'],
    [[{ content: [{ type: 'input_audio', input_audio: { format: 'wav' } }] }], 'input[0].content[0].input_audio.data'],
    [[{ content: [{ type: 'input_video', input_video: { data: 'AA' } }] }], 'input[0].content[0].input_video.format'],
    [[{ content: [{ type: 'input_file', input_file: { data: 1, format: 'pdf' } }] }], 'input[0].content[0].input_file.data'],
    [7, 'input'],
    [null, 'input'],
    [true, 'input'],
    [{ content: [words('a')] }, 'input'],
    [[null], 'input[0]'],
    [[true], 'input[0]'],
    [Array.from({ length: 8193 }, () => 'a'), 'input'],
  ]
  for (const [input, field] of wrong) await named({ model: 'acme/embed', input }, field)
  const fields: [JsonObject, string][] = [
    [{ encoding_format: 'hex' }, 'encoding_format'],
    [{ dimensions: 0 }, 'dimensions'],
    [{ dimensions: 1.5 }, 'dimensions'],
    [{ dimensions: '3' }, 'dimensions'],
    [{ input_type: 5 }, 'input_type'],
    [{ user: 5 }, 'user'],
    [{ provider: { sorted: 'price' } }, 'provider.sorted'],
    [{ model: 'bad slug' }, 'model'],
    [{ base_url: 'http://evil' }, 'base_url'],
  ]
  for (const [more, field] of fields) await named({ model: 'acme/embed', input: 'x', ...more }, field)
  t.equal(
    (await ask({ model: 'acme/embed', input: 'x', encoding_format: null, dimensions: null, input_type: null, provider: null })).status,
    200,
    'null is nothing',
  )
  t.equal(calls(), before + 1, 'nothing else went upstream')
  t.equal((await gateway.post(PATH, '{')).status, 400)
  t.equal((await gateway.get(PATH)).status, 405)
  t.equal((await fetch(gateway.url + PATH, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })).status, 401)
  t.equal((await ask({ model: 'acme/embed', input: 'x' }, { authorization: `Bearer ${OPS}` })).status, 403)
})

t.test('returns 404 for a model that is not there, and for one of another kind', async (t) => {
  await every(t, 'every model', async (t) => {
    for (const model of ['acme/nothing', 'unheard-of', 'acme/embed:free', 'router/auto', 'sim/echo']) {
      const response = await ask({ model, input: 'x' })
      t.equal(response.status, 404, model)
      const error = await readError(response)
      t.match(error, { code: 404, metadata: { error_type: 'not_found' }, availability: { retryable: false, requested_models: [model] } })
    }
  })
  t.match(await readError(await ask({ model: 'sim/echo', input: 'x' })), {
    availability: { code: 'wrong_endpoint', constraint: { field: 'model', detail: /chat/ } },
  })
  const chat = await gateway.post('/v1/chat/completions', { model: 'sim/embed', messages: [{ role: 'user', content: 'x' }] })
  t.equal(chat.status, 400)
  t.match(await readError(chat), { availability: { code: 'wrong_endpoint', constraint: { field: 'model', detail: /\/v1\/embeddings/ } } })
  t.equal((await gateway.post('/v1/responses', { model: 'sim/embed', input: 'x' })).status, 400)
})

t.test('text and image together give one vector', async (t) => {
  const content = [words('a cat 9'), image('cat')]
  const joint = await embed({ model: 'acme/joint', input: [{ content }, { content: [words('just 5')] }] })
  t.equal(joint.data.length, 2)
  t.same(second.requests.at(-1)?.json.input, [{ content }, { content: [words('just 5')] }])
  t.equal(joint.usage.cost, 0.010007, 'an image has a price of its own')
  const sim = await embed({ model: 'sim/embed', input: [{ content }] })
  t.equal(sim.data.length, 1)
  const lacking = await ask({ model: 'acme/first', input: [{ content: [words('a')] }, { content }] })
  t.equal(lacking.status, 400)
  t.match(await readError(lacking), { metadata: { field: 'input[1].content[1]' }, message: /takes no image/ }, 'a format without images')
  const blind = await ask({ model: 'acme/embed', input: [{ content }] })
  t.match(await readError(blind), { code: 400, metadata: { field: 'input[0].content[1]' }, message: /reads no image, only text/ })
  const deaf = await ask({
    model: 'acme/joint',
    input: [{ content: [{ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }] }],
  })
  t.match(await readError(deaf), { code: 400, metadata: { field: 'input[0].content[0]' } })
  const plain = await embed({ model: 'acme/first', input: [{ content: [words('one'), words('two 3')] }] })
  t.equal(plain.data.length, 1)
  t.same(first.requests.at(-1)?.json.input, ['one\ntwo 3'], 'texts alone are one text, which every format has')
})

t.test('base64 holds the same floats, whichever form the provider gives', async (t) => {
  const body = { input: ['a 1', 'b 2'], ...ORDER, model: 'acme/embed' }
  await every(t, 'every form', async (t) => {
    for (const form of [undefined, 'float', 'base64'] as const) {
      first.script = openaiVectors({ form, dimensions: 300 })
      const floats = (await embed({ ...body, encoding_format: 'float' })).data.map(({ embedding }) => embedding)
      t.equal(first.requests.at(-1)?.json.encoding_format, undefined)
      const base64 = (await embed({ ...body, encoding_format: 'base64' })).data.map(({ embedding }) => numbersIn(String(embedding)))
      t.equal(first.requests.at(-1)?.json.encoding_format, 'base64')
      t.same(base64, floats, `the provider gives ${form ?? 'what it is asked for'}`)
      t.same(floats, [inputNumbers('1', 300), inputNumbers('2', 300)])
    }
  })
  first.script = openaiVectors()
  const [text, bytes] = [
    await embed({ model: 'sim/embed', input: 'a b' }),
    await embed({ model: 'sim/embed', input: 'a b', encoding_format: 'base64' }),
  ]
  t.same(numbersIn(String(bytes.data[0].embedding)), text.data[0].embedding, 'the simulated provider')
})

t.test('preferences choose the provider, as for other operations', async (t) => {
  const served = async (more: JsonObject): Promise<string> => (await embed({ model: 'acme/embed', input: 'x', ...more })).provider
  t.equal(await served({ provider: { order: ['second'] } }), 'Second')
  t.equal(await served({ provider: { only: ['second'] } }), 'Second')
  t.equal(await served({ provider: { ignore: ['first'] } }), 'Second')
  t.equal(await served({ provider: { sort: 'price' } }), 'First')
  t.equal(await served({ provider: { data_collection: 'deny' } }), 'First')
  t.equal(await served({ provider: { max_price: { prompt: 2 } } }), 'First')
  t.equal(await served({ model: 'acme/embed:floor' }), 'First')
  t.equal((await ask({ model: 'acme/embed', input: 'x', provider: { zdr: true } })).status, 404)
  t.equal((await ask({ model: 'acme/embed', input: 'x', provider: { max_price: { prompt: '0.5' } } })).status, 404)
  t.equal(await served({ input_type: 'search_query', provider: { require_parameters: true } }), 'Second', 'only one takes it')
  t.equal(second.requests.at(-1)?.json.input_type, 'search_query')
})

t.test('dimensions, and what a provider cannot take', async (t) => {
  const reply = await embed({ model: 'acme/embed', input: 'x', dimensions: 9 })
  t.equal((reply.data[0].embedding as number[]).length, 9)
  t.equal(reply.provider, 'First', 'the other gives one length only')
  const fixed = await ask({ model: 'acme/joint', input: 'x', dimensions: 9 })
  t.equal(fixed.status, 400)
  t.match(await readError(fixed), { metadata: { field: 'dimensions' } })
  const response = await ask({ model: 'acme/embed', input: 'x', input_type: 'search_query', ...ORDER }, { 'X-Router-Metadata': 'enabled' })
  const { router_metadata: metadata } = await readVectors(response)
  t.match(metadata, {
    requested: 'acme/embed',
    strategy: 'direct',
    attempts: [{ provider: 'First', status: 200, dropped: ['input_type'] }],
  })
})

t.test('inputs that are longer than the model takes', async (t) => {
  const long = 'word '.repeat(40)
  await embed({ model: 'acme/cut', input: ['short', long] })
  const [short, cut] = (first.requests.at(-1)?.json.input ?? []) as string[]
  t.equal(short, 'short')
  t.ok(cut.length >= 10 && cut.length <= 40 && long.startsWith(cut), `cut to ${cut.length} characters`)
  await embed({ model: 'acme/cut', input: [Array.from({ length: 30 }, (_, i) => i)] })
  t.same(first.requests.at(-1)?.json.input, [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]], 'token ids exactly')
  const told = await readVectors(await ask({ model: 'acme/cut', input: long }, { 'X-Router-Metadata': 'enabled' }))
  t.match(told.router_metadata, { attempts: [{ dropped: ['input beyond 10 tokens'] }] })
  const refused = await ask({ model: 'acme/strict', input: ['short', long] })
  t.equal(refused.status, 400)
  t.match(await readError(refused), { metadata: { error_type: 'context_length_exceeded', field: 'input[1]' } })
  const many = Array.from({ length: 60 }, () => 'twenty tokens or so')
  t.equal((await embed({ model: 'acme/strict', input: many.map(() => 'few') })).data.length, 60, 'each input has the context to itself')
  t.equal((await embed({ model: 'acme/embed', input: many })).data.length, 60)
})

t.test('never streams', async (t) => {
  const response = await ask({ model: 'acme/embed', input: 'x', stream: true })
  t.equal(response.status, 200)
  t.equal(response.headers.get('content-type'), 'application/json')
  t.equal((await readVectors(response)).object, 'list')
  t.equal((first.requests.at(-1) ?? second.requests.at(-1))?.json.stream, undefined)
})

t.test('lists embedding models alone, to keys alone', async (t) => {
  t.equal((await fetch(`${gateway.url}/v1/embeddings/models`)).status, 401)
  const list = (await (await gateway.get('/v1/embeddings/models')).json()) as { data: JsonObject[]; total_count: number }
  const ids = list.data.map(({ id }) => id)
  t.ok(ids.every((id) => typeof id === 'string'))
  t.ok(ids.includes('acme/embed') && ids.includes('sim/embed'))
  t.notOk(ids.includes('sim/echo'), 'only models of embeddings')
  t.match(
    list.data.find(({ id }) => id === 'acme/joint'),
    {
      architecture: { modality: 'text+image->embeddings', output_modalities: ['embeddings'] },
      pricing: { prompt: '0.000001', completion: '0' },
      supported_parameters: [],
    },
  )
})

t.test('money: held by the input alone, and never for nothing', async (t) => {
  const poor = { authorization: `Bearer ${POOR}` }
  const before = calls()
  const refused = await ask({ model: 'acme/embed', input: 'x'.repeat(50) }, poor)
  t.equal(refused.status, 402)
  t.equal(calls(), before)
  first.script = openaiVectors({ usage: null })
  const response = await ask({ model: 'acme/embed', input: 'forty characters of text, more or less so', ...ORDER })
  const { usage } = await readVectors(response)
  t.ok(usage.prompt_tokens >= 10 && usage.prompt_tokens < 30, `${usage.prompt_tokens} tokens`)
  t.equal(usage.total_tokens, usage.prompt_tokens)
  const id = response.headers.get('x-generation-id')
  const generation = object(((await (await gateway.get(`/v1/generation?id=${id}`)).json()) as JsonObject).data)
  t.match(generation, { estimated: true, tokens_prompt: usage.prompt_tokens, total_cost: usage.cost })
  first.script = openaiVectors()
})

t.test('guardrails read the inputs, and nothing hides from them', async (t) => {
  const guarded = { authorization: `Bearer ${GUARDED}` }
  const before = calls()
  await every(t, 'every input', async (t) => {
    for (const input of [
      'this is forbidden',
      ['fine', 'forbidden'],
      [{ content: [words('for'), words('bidden')] }],
      [{ content: [words('forbidden'), image('x')] }],
    ]) {
      const response = await ask({ model: 'sim/embed', input }, guarded)
      t.equal(response.status, 403, JSON.stringify(input).slice(0, 60))
      t.match(await readError(response), { code: 403 })
    }
  })
  const hidden = await ask({ model: 'acme/embed', input: [[1, 2]] }, guarded)
  t.match(await readError(hidden), { code: 400, message: /no-secrets cannot read token ids/, metadata: { field: 'input[0]' } })
  t.equal(calls(), before)
  t.equal((await ask({ model: 'acme/embed', input: 'fine' }, guarded)).status, 200)
})

t.test('limits of a key', async (t) => {
  const slow = { authorization: 'Bearer sk-router-v1-5105105105' }
  t.equal((await ask({ model: 'sim/embed', input: 'x' }, slow)).status, 200)
  const limited = await ask({ model: 'sim/embed', input: 'x' }, slow)
  t.equal(limited.status, 429)
  t.ok(Number(limited.headers.get('retry-after')) > 0)
})

t.test('the simulated provider', async (t) => {
  const near = (a: number[] | string, b: number[] | string): number =>
    (a as number[]).reduce((sum, value, i) => sum + value * Number(b[i]), 0)
  const input = ['The cat sat on the mat', 'A cat is sitting on a mat', 'Quarterly revenue grew by nine percent', 'The cat sat on the mat']
  await every(t, 'every dimensions', async (t) => {
    for (const dimensions of [undefined, 3, 64, 1536]) {
      const { data } = await embed({ model: 'sim/embed', input, ...(dimensions ? { dimensions } : {}) })
      const [cat, sitting, revenue, same] = data.map(({ embedding }) => embedding as number[])
      t.equal(cat.length, dimensions ?? 256)
      for (const vector of [cat, sitting, revenue]) t.ok(Math.abs(near(vector, vector) - 1) < 1e-5, 'of length one')
      t.same(cat, same, 'the same text, the same vector')
      if (dimensions !== 3)
        t.ok(near(cat, sitting) > near(cat, revenue) + 0.1, `${near(cat, sitting)} is nearer than ${near(cat, revenue)}`)
    }
  })
  const pictures = await embed({
    model: 'sim/embed',
    input: [{ content: [image('a')] }, { content: [image('b')] }, { content: [image('a')] }],
  })
  const [a, b, again] = pictures.data.map(({ embedding }) => embedding as number[])
  t.same(a, again)
  t.ok(near(a, b) < 0.9)
  t.equal((await ask({ model: 'sim/none', input: 'x' })).status, 404)
})
