/**
 * The official SDKs of OpenAI, Anthropic and Google on the pass-through: upload, list, use, delete; and the same with another key, to which
 * nothing of it is known. The provider is a stand-in with one account for all.
 */
import Anthropic, { toFile } from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t from 'tap'
import { AccountOfAll } from '../support/account-of-all.ts'
import { startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'

const KEYS = { own: 'sk-router-v1-own-0123456789abcdef0123', other: 'sk-router-v1-other-0123456789abcdef01' }
type Key = keyof typeof KEYS

const account = new AccountOfAll(() => upstream.url)
const upstream = await startUpstream(account.answer)
t.teardown(() => upstream.close())
const gateway = await startGateway(`
auth: { keys: [ { name: own, key: "${KEYS.own}", pass_through: true }, { name: other, key: "${KEYS.other}", pass_through: true } ] }
providers: { all: { dialect: openai-chat, base_url: "${upstream.url}", key: sk-provider, pass_through: { price: "0.001" } } }
models: { acme/one: { endpoints: [ { provider: all, model: m, price: { prompt: "1.00", completion: "1.00" } } ] } }
`)
t.teardown(() => gateway.close())
const base = `${gateway.url}/v1/passage/all`

const openai = (key: Key) => new OpenAI({ baseURL: `${base}/v1`, apiKey: KEYS[key], maxRetries: 0 })
const anthropic = (key: Key) => new Anthropic({ baseURL: base, apiKey: KEYS[key], maxRetries: 0 })
const google = (key: Key) => new GoogleGenAI({ apiKey: KEYS[key], httpOptions: { baseUrl: base } })

async function ids<T>(pages: AsyncIterable<T>, itemId: (each: T) => string | undefined): Promise<(string | undefined)[]> {
  const found: (string | undefined)[] = []
  for await (const each of pages) found.push(itemId(each))
  return found
}

const UNKNOWN = { status: 404, message: /no such id/ }
const LINE = '{"custom_id":"a","method":"POST","url":"/v1/responses","body":{"model":"m","input":"x"}}\n'

t.test('OpenAI', async (t) => {
  const [own, other] = [openai('own'), openai('other')]
  const upload = (sdk: OpenAI) => toFile(Buffer.from(LINE), 'batch.jsonl').then((file) => sdk.files.create({ file, purpose: 'batch' }))
  const files: string[] = []
  for (let at = 0; at < 3; at++) {
    files.unshift((await upload(own)).id)
    await upload(other)
    await upload(other)
  }
  for (const limit of [1, 2, 20]) t.same(await ids(own.files.list({ limit }), ({ id }) => id), files)
  t.equal((await ids(other.files.list(), ({ id }) => id)).length, 6)
  const [file = ''] = files
  const batch = await own.batches.create({ input_file_id: file, endpoint: '/v1/responses', completion_window: '24h' })
  t.same(await ids(own.batches.list(), ({ id }) => id), [batch.id])
  t.same(await ids(other.batches.list(), ({ id }) => id), [])
  const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: [{ type: 'input_file', file_id: file }] }]
  await t.resolves(own.responses.create({ model: 'm', input }))
  t.equal(await (await own.files.content(file)).text(), 'the bytes')
  for (const use of [
    () => other.responses.create({ model: 'm', input }),
    () => other.batches.create({ input_file_id: file, endpoint: '/v1/responses', completion_window: '24h' }),
    () => other.batches.retrieve(batch.id),
    () => other.files.content(file),
    () => other.containers.files.create('cntr_of-all0001', { file_id: file }),
    () => other.files.delete(file),
  ])
    await t.rejects(use, UNKNOWN)
  t.equal((await own.files.delete(file)).deleted, true)
  t.same(await ids(own.files.list(), ({ id }) => id), files.slice(1))
})

t.test('Anthropic', async (t) => {
  const [own, other] = [anthropic('own'), anthropic('other')]
  const upload = async (sdk: Anthropic) => sdk.files.upload({ file: await toFile(Buffer.from('x'), 'a.txt', { type: 'text/plain' }) })
  const files: string[] = []
  for (let at = 0; at < 3; at++) {
    files.unshift((await upload(own)).id)
    await upload(other)
    await upload(other)
  }
  for (const limit of [1, 2, 20]) t.same(await ids(own.files.list({ limit }), ({ id }) => id), files)
  t.equal((await ids(other.files.list(), ({ id }) => id)).length, 6)
  const [file = ''] = files
  const ask = (sdk: Anthropic) =>
    sdk.beta.messages.create({
      model: 'm',
      max_tokens: 9,
      betas: ['files-api-2025-04-14'],
      messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: file } }] }],
    })
  await t.resolves(ask(own))
  for (const use of [() => ask(other), () => other.files.retrieveMetadata(file), () => other.files.download(file), () => other.files.delete(file)])
    await t.rejects(use, UNKNOWN)
  t.equal((await own.files.delete(file)).id, file)
  t.same(await ids(own.files.list(), ({ id }) => id), files.slice(1))
})

t.test('Google', async (t) => {
  const [own, other] = [google('own'), google('other')]
  const upload = (sdk: GoogleGenAI) => sdk.files.upload({ file: new Blob(['x']), config: { mimeType: 'text/plain' } })
  const files: (string | undefined)[] = []
  for (let at = 0; at < 3; at++) {
    files.unshift((await upload(own)).name)
    await upload(other)
    await upload(other)
  }
  for (const pageSize of [1, 2, 20]) t.same(await ids(await own.files.list({ config: { pageSize } }), ({ name }) => name), files)
  t.equal((await ids(await other.files.list(), ({ name }) => name)).length, 6)
  for (const { headers } of upstream.requests.filter(({ path }) => path.startsWith('/upload/')))
    t.equal(headers.authorization, 'Bearer sk-provider', "the bytes come through the gateway, with the provider's key")
  const [name = ''] = files
  const cache = await own.caches.create({ model: 'm', config: { contents: [{ role: 'user', parts: [{ text: 'x' }] }] } })
  t.same(await ids(await own.caches.list(), (each) => each.name), [cache.name])
  t.same(await ids(await other.caches.list(), (each) => each.name), [])
  const ask = (sdk: GoogleGenAI, cachedContent: string) => sdk.models.generateContent({ model: 'm', contents: 'x', config: { cachedContent } })
  const read = (sdk: GoogleGenAI) =>
    sdk.models.generateContent({ model: 'm', contents: [{ role: 'user', parts: [{ fileData: { fileUri: `https://google/v1beta/${name}` } }] }] })
  await t.resolves(ask(own, cache.name ?? ''))
  await t.resolves(read(own))
  for (const use of [
    () => ask(other, cache.name ?? ''),
    () => read(other),
    () => other.files.get({ name }),
    () => other.caches.get({ name: cache.name ?? '' }),
    () => other.files.delete({ name }),
  ])
    await t.rejects(use, UNKNOWN)
  await t.resolves(own.files.delete({ name }))
  t.same(await ids(await own.files.list(), (each) => each.name), files.slice(1))
})
