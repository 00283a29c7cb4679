/**
 * Embeddings through the gateway, at llama.cpp's server, infinity and Ollama, and reranking through its pass-through, at the first two: the
 * vectors and scores are the server's own, of many at once as well, and again when the server comes back.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { eventually } from '../support/eventually.ts'
import { list, object } from '../support/fold.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { folderFor, startInfinity } from './large-servers.ts'
import { NOT_INSTALLED, startLlama } from './llama-server.ts'
import { LONGEST, VECTOR, writeBertFolder, writeBertModel } from './model/bert-model.ts'
import type { ModelServer } from './model-server.ts'
import { startOllama } from './ollama-server.ts'
import { missing, program } from './programs.ts'

t.setTimeout(1_800_000)

const INPUTS = ['hello world', 'the weather of a city', 'Grüße, 你好']
const DOCUMENTS = { query: 'weather', documents: ['the weather in the city', 'bread', 'a river'] }
/** `long` has more tokens than the model reads. */
const LONG = 'stone river '.repeat(LONGEST)

const post = async (url: string, body: JsonObject): Promise<{ status: number; body: JsonObject }> => {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  return { status: response.status, body: (await response.json()) as JsonObject }
}

const vectors = ({ data }: JsonObject): number[][] => list(data).map(({ embedding }) => embedding as number[])

const isNear = (one: readonly number[], other: readonly number[]): boolean =>
  one.length === other.length && one.every((value, at) => Math.abs(value - (other[at] ?? 0)) < 1e-5)

function decoded(base64: unknown): number[] {
  const bytes = Buffer.from(String(base64), 'base64')
  return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4))
}

async function sameVectors(
  t: Test,
  gateway: Gateway,
  { url, served, model }: { url: string; served: string; model: string },
): Promise<void> {
  const own = await post(`${url}/v1/embeddings`, { model: served, input: INPUTS })
  t.equal(own.status, 200, JSON.stringify(own.body).slice(0, 200))
  for (const encoding_format of ['float', 'base64']) {
    const response = await gateway.post('/v1/embeddings', { model, input: INPUTS, encoding_format })
    const reply = (await response.json()) as JsonObject
    t.equal(response.status, 200, `${encoding_format} ${JSON.stringify(reply).slice(0, 200)}`)
    const got = list(reply.data).map(({ embedding }) => (encoding_format === 'float' ? (embedding as number[]) : decoded(embedding)))
    t.ok(
      got.length === 3 && got.every((vector, at) => isNear(vector, vectors(own.body)[at] ?? [])),
      `${encoding_format}: the server's own vectors`,
    )
    t.equal(object(reply.usage).prompt_tokens, object(own.body.usage).prompt_tokens, `${encoding_format}: and its count`)
  }
  const single = await gateway.post('/v1/embeddings', { model, input: INPUTS[0] })
  t.ok(isNear(vectors((await single.json()) as JsonObject)[0] ?? [], vectors(own.body)[0] ?? []), 'one text')
}

async function sameScores(
  t: Test,
  gateway: Gateway,
  { url, served, provider }: { url: string; served: string; provider: string },
): Promise<void> {
  const body = { model: served, ...DOCUMENTS }
  const own = await post(`${url}/v1/rerank`, body)
  t.equal(own.status, 200, JSON.stringify(own.body).slice(0, 200))
  const response = await gateway.post(`/v1/passage/${provider}/rerank`, body)
  t.equal(response.status, 200)
  const scores = (reply: JsonObject): string =>
    JSON.stringify(list(reply.results).map(({ index, relevance_score }) => [index, Number(relevance_score).toFixed(4)]))
  t.equal(scores((await response.json()) as JsonObject), scores(own.body), 'the scores are the server’s own')
}

/** More at once than a server computes at once; then it is killed, and comes back. */
async function testLife(t: Test, gateway: Gateway, server: ModelServer, model: string): Promise<void> {
  const ask = () => gateway.post('/v1/embeddings', { model, input: INPUTS })
  const before = vectors((await (await ask()).json()) as JsonObject)
  const many = await Promise.all(Array.from({ length: 24 }, async () => vectors((await (await ask()).json()) as JsonObject)))
  t.ok(
    many.every((one) => one.length === before.length && one.every((vector, at) => isNear(vector, before[at] ?? []))),
    'many requests at once get the same vectors',
  )
  await server.kill()
  const away = await ask()
  t.match(away.status, /^50[23]$/, 'while the server is away')
  await away.text()
  await server.start()
  const back = await eventually('it serves again', async () => {
    const response = await ask()
    const reply = (await response.json()) as JsonObject
    return response.status === 200 && vectors(reply)
  })
  t.ok(
    back.every((vector, at) => isNear(vector, before[at] ?? [])),
    'the same vectors when it is back',
  )
}

const found = (gateway: Gateway, model: string) => eventually(model, async () => (await gateway.get(`/v1/models/${model}`)).status === 200)
const KEY = 'auth: { keys: [ { name: test, key: sk-router-v1-vectors, pass_through: true } ] }'

if (NOT_INSTALLED !== undefined) t.test('llama.cpp', { skip: NOT_INSTALLED }, () => {})
else
  await t.test('llama.cpp', async (t) => {
    const sizes = [`n_ctx=${LONGEST}`, `n_batch=${LONGEST}`, `n_ubatch=${LONGEST}`]
    const embed = await startLlama(t, (path) => writeBertModel(path, 'embed'), [
      'embedding=true',
      'pooling_type=LLAMA_POOLING_TYPE_MEAN',
      'model_alias=tiny-embed',
      ...sizes,
    ])
    const rank = await startLlama(t, (path) => writeBertModel(path, 'rank'), [
      'embedding=true',
      'pooling_type=LLAMA_POOLING_TYPE_RANK',
      'model_alias=tiny-rank',
      ...sizes,
    ])
    const gateway = await startGateway(`
${KEY}
providers:
  vectors: { preset: llama-cpp, base_url: "${embed.url}/v1" }
  scores: { preset: llama-cpp, base_url: "${rank.url}/v1", pass_through: { price: "0" } }
`)
    t.teardown(() => gateway.close())
    await found(gateway, 'vectors/tiny-embed')
    await sameVectors(t, gateway, { url: embed.url, served: 'tiny-embed', model: 'vectors/tiny-embed' })
    await sameScores(t, gateway, { url: rank.url, served: 'tiny-rank', provider: 'scores' })
    const other = await gateway.post('/v1/embeddings', { model: 'vectors/tiny-embed', input: 'hello', dimensions: 16 })
    t.equal(other.status, 400, 'dimensions, which the server ignores')
    t.match(await other.text(), 'dimensions')
    const long = await gateway.post('/v1/embeddings', { model: 'vectors/tiny-embed', input: LONG })
    t.equal(long.status, 400, 'more than the model reads')
    t.match(await long.text(), /context|too long|too large/)
    const chat = { model: 'vectors/tiny-embed', messages: [{ role: 'user', content: 'hello' }] }
    t.not((await gateway.post('/v1/chat/completions', chat)).status, 200, 'no chat')
    const again = await gateway.post('/v1/chat/completions', chat)
    t.equal(again.status, 400)
    t.match(await again.text(), 'as its server answered', 'the server has said so once')
    t.equal((await gateway.post('/v1/embeddings', { model: 'vectors/tiny-embed', input: 'hello' })).status, 200, 'and it embeds as before')
    await testLife(t, gateway, embed, 'vectors/tiny-embed')
  })

const infinity = program('infinity')
if (infinity === undefined) t.test('infinity', { skip: missing('infinity') }, () => {})
else
  await t.test('infinity', async (t) => {
    const folder = folderFor(t)
    const folders = (['embed', 'rank'] as const).map((kind) => ({ folder: join(folder, kind), name: `tiny-${kind}`, kind }))
    for (const one of folders) writeBertFolder(one.folder, one.kind)
    const server = await startInfinity(t, infinity, folders)
    const { url } = server
    const gateway = await startGateway(`
${KEY}
providers:
  vectors: { dialect: openai-chat, base_url: "${url}/v1", discover: true, pass_through: { price: "0" } }
`)
    t.teardown(() => gateway.close())
    await found(gateway, 'vectors/tiny-embed')
    await sameVectors(t, gateway, { url, served: 'tiny-embed', model: 'vectors/tiny-embed' })
    await sameScores(t, gateway, { url, served: 'tiny-rank', provider: 'vectors' })
    const short = await gateway.post('/v1/embeddings', { model: 'vectors/tiny-embed', input: 'hello', dimensions: 16 })
    t.equal(vectors((await short.json()) as JsonObject)[0]?.length, 16, 'dimensions, which the server cuts to')
    t.equal(
      (await gateway.post('/v1/embeddings', { model: 'vectors/tiny-embed', input: 'hello', dimensions: VECTOR * 2 })).status,
      400,
      'more than there are',
    )
    const chat = await gateway.post('/v1/chat/completions', { model: 'vectors/tiny-embed', messages: [{ role: 'user', content: 'hello' }] })
    t.equal(chat.status, 400, 'a model whose kind the list states does no chat')
    await testLife(t, gateway, server, 'vectors/tiny-embed')
  })

const ollama = program('ollama')
if (ollama === undefined) t.test('Ollama', { skip: missing('ollama') }, () => {})
else
  await t.test('Ollama', async (t) => {
    const server = await startOllama(t, ollama, [{ name: 'tiny-embed', write: (path) => writeBertModel(path, 'embed') }])
    const gateway = await startGateway(`
${KEY}
providers:
  vectors: { preset: ollama, base_url: "${server.url}/v1" }
`)
    t.teardown(() => gateway.close())
    const model = 'vectors/tiny-embed:latest'
    await found(gateway, model)
    await sameVectors(t, gateway, { url: server.url, served: 'tiny-embed', model })
    const short = await gateway.post('/v1/embeddings', { model, input: 'hello', dimensions: 16 })
    t.equal(vectors((await short.json()) as JsonObject)[0]?.length, 16, 'dimensions, which Ollama cuts to')
    const long = await gateway.post('/v1/embeddings', { model, input: LONG })
    t.equal(long.status, 200, 'more than the model reads, which Ollama cuts')
    await testLife(t, gateway, server, model)
  })
