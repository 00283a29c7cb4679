/** Embeddings and their models through third-party clients, some of which validate all that they read. */
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { OpenAIEmbeddings } from '@langchain/openai'
import { OpenRouter } from '@openrouter/sdk'
import { embed, embedMany } from 'ai'
import OpenAI from 'openai'
import t from 'tap'
import { cohereVectors, geminiVectors, inputNumbers, openaiVectors, voyageVectors } from '../support/embedder.ts'
import { startGateway } from '../support/gateway.ts'
import { type Script, startUpstream } from '../support/upstream.ts'
import { STRANGER } from './support/client.ts'
import { unknowns } from './support/unknowns.ts'

/** Paths of base URLs, and how each kind of provider answers. */
const PROVIDERS: Readonly<Record<string, [base: string, script: Script]>> = {
  'openai-chat': ['/v1', openaiVectors({ dimensions: 24 })],
  gemini: ['/v1beta', geminiVectors({ dimensions: 24 })],
  cohere: ['/v2', cohereVectors({ dimensions: 24 })],
  voyage: ['/v1', voyageVectors({ dimensions: 24 })],
}
const DIALECTS = Object.keys(PROVIDERS)
const INPUTS = ['text 4', 'text 2', 'text 9']
const EXPECTED = [4, 2, 9].map((mark) => inputNumbers(mark, 24))

const yaml: string[] = ['brand: { word: openrouter }', 'providers:', '  sim: { dialect: sim }']
for (const dialect of DIALECTS) {
  const [base, script] = PROVIDERS[dialect]
  const upstream = await startUpstream(script)
  t.teardown(() => upstream.close())
  yaml.push(`  ${dialect}: { dialect: ${dialect}, base_url: "${upstream.url}${base}", key: sk-up, name: "The ${dialect}" }`)
}
const pictures = await startUpstream(cohereVectors({ dimensions: 24, usage: 260, split: { text: 3, image: 257 } }))
t.teardown(() => pictures.close())
yaml.push(
  `  pictures: { dialect: cohere, base_url: "${pictures.url}/v2", key: sk-up }`,
  'models:',
  '  via/pictures: { kind: embedding, input: [text, image], endpoints: [ { provider: pictures, model: m, price: { prompt: "0.12", image_token: "0.47" } } ] }',
  '  sim/embed: { kind: embedding, context: 8192, input: [text, image], endpoints: [ { provider: sim, model: embed } ] }',
)
yaml.push('  sim/echo: { endpoints: [ { provider: sim, model: echo } ] }')
for (const dialect of DIALECTS)
  yaml.push(
    `  via/${dialect}: { kind: embedding, context: 8192, endpoints: [ { provider: ${dialect}, model: m, price: { prompt: "0.02" } } ] }`,
  )
const gateway = await startGateway(yaml.join('\n'))
t.teardown(() => gateway.close())

const baseURL = `${gateway.url}/v1`
const apiKey = gateway.key
const openai = new OpenAI({ baseURL, apiKey })
const router = new OpenRouter({ apiKey, serverURL: baseURL, retryConfig: { strategy: 'none' } })

for (const dialect of DIALECTS) {
  const model = `via/${dialect}`

  t.test(`openai: ${dialect}`, async (t) => {
    // It asks for base64 of its own accord, and gives floats.
    const usual = await openai.embeddings.create({ model, input: INPUTS })
    t.same(
      usual.data.map(({ embedding }) => embedding),
      EXPECTED,
    )
    t.same(
      usual.data.map(({ index }) => index),
      [0, 1, 2],
    )
    t.match(usual, { object: 'list', model, usage: { prompt_tokens: 7, total_tokens: 7 } })
    const floats = await openai.embeddings.create({ model, input: INPUTS, encoding_format: 'float' })
    t.same(floats.data, usual.data)
    t.equal((await openai.embeddings.create({ model, input: 'x', dimensions: 5 })).data[0].embedding.length, 5)
  })

  t.test(`ai: ${dialect}`, async (t) => {
    for (const provider of [createOpenAI({ baseURL, apiKey }), createOpenAICompatible({ name: 'gateway', baseURL, apiKey })]) {
      const many = await embedMany({ model: provider.embeddingModel(model), values: INPUTS })
      t.same(many.embeddings, EXPECTED)
      t.equal(many.usage.tokens, 7)
      const one = await embed({ model: provider.embeddingModel(model), value: 'text 4' })
      t.same(one.embedding, EXPECTED[0])
    }
  })

  t.test(`langchain: ${dialect}`, async (t) => {
    const embeddings = new OpenAIEmbeddings({ model, apiKey, configuration: { baseURL } })
    t.same(await embeddings.embedDocuments(INPUTS), EXPECTED)
    t.same(await embeddings.embedQuery('text 4'), EXPECTED[0])
  })

  t.test(`openrouter: ${dialect}`, async (t) => {
    const ask = async (body: Record<string, unknown>): Promise<{ data: { embedding: unknown; index: number }[] }> => {
      const reply = await router.embeddings.generate({ requestBody: { model, input: INPUTS, ...body } } as never)
      t.same(unknowns(reply), [], 'all of it is known')
      return reply as never
    }
    const floats = await ask({ encodingFormat: 'float', inputType: 'search_document', provider: { allowFallbacks: false } })
    t.same(
      floats.data.map(({ embedding }) => embedding),
      EXPECTED,
    )
    t.match(floats, { object: 'list', model, usage: { promptTokens: 7, totalTokens: 7, cost: Number } })
    t.equal(typeof (await ask({ encodingFormat: 'base64' })).data[0].embedding, 'string')
  })
}

t.test('joint inputs and token ids', async (t) => {
  const url = 'data:image/png;base64,aGVsbG8='
  const content = [
    { type: 'text', text: 'a cat' },
    { type: 'image_url', imageUrl: { url } },
  ]
  const reply = (await router.embeddings.generate({
    requestBody: { model: 'sim/embed', input: [{ content }], dimensions: 64 },
  } as never)) as never
  t.same(unknowns(reply), [])
  t.equal((reply as { data: { embedding: number[] }[] }).data[0].embedding.length, 64)
  const apart = (await router.embeddings.generate({ requestBody: { model: 'via/pictures', input: [{ content }] } } as never)) as never
  t.same(unknowns(apart), [])
  t.match(apart, { usage: { promptTokens: 260, promptTokensDetails: { textTokens: 3, imageTokens: 257 } } })
  const tokens = await openai.embeddings.create({ model: 'sim/embed', input: [[1, 2], [3]], dimensions: 16 })
  t.same(
    tokens.data.map(({ embedding }) => embedding.length),
    [16, 16],
  )
})

t.test('the list of models', async (t) => {
  const list = (await router.embeddings.listModels({} as never)) as unknown
  t.same(unknowns(list), [])
  t.match(JSON.stringify(list), /"id":"sim\/embed"/)
  t.notMatch(JSON.stringify(list), /sim\/echo/)
})

t.test('errors have the type of their status', async (t) => {
  const stranger = new OpenAI({ baseURL, apiKey: STRANGER })
  const nobody = createOpenAI({ baseURL, apiKey }).embeddingModel('sim/none')
  const failing: [ask: () => Promise<unknown>, status: number][] = [
    [() => openai.embeddings.create({ model: 'sim/echo', input: 'x' }), 404],
    [() => openai.embeddings.create({ model: 'sim/embed', input: [] }), 400],
    [() => stranger.embeddings.create({ model: 'sim/embed', input: 'x' }), 401],
    [() => router.embeddings.generate({ requestBody: { model: 'sim/none', input: 'x' } } as never), 404],
    [() => embed({ model: nobody, value: 'x' }), 404],
  ]
  for (const [ask, status] of failing) {
    const error = await ask().then(
      () => undefined,
      (thrown: { status?: number; statusCode?: number }) => thrown,
    )
    t.equal(error?.status ?? error?.statusCode, status)
  }
})
