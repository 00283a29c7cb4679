/**
 * Ids that a provider gives in replies of the pass-through are of use to the key that got them alone: in paths and in bodies, however these
 * are sent; the replies and the requests of their owner go through byte for byte.
 */
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import OpenAI, { toFile } from 'openai'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { type IdHolder, ownedIds } from '../../../src/pipeline/pass-through/id-owners.ts'
import { every } from '../../support/every.ts'
import { rawExchange } from '../../support/raw.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer, type Seen, sseAnswer } from '../../support/upstream.ts'

const KEYS = {
  first: 'sk-router-v1-first-0123456789abcdef01',
  second: 'sk-router-v1-second-0123456789abcdef0',
  limited: 'sk-router-v1-limited-0123456789abcdef',
  listed: 'sk-router-v1-listed-0123456789abcdef0',
}
type Key = keyof typeof KEYS

/** Objects that the provider has made, by the path that it was made at. */
function made({ method, path, body }: Seen, index: number): Answer {
  const id = (prefix: string): string => `${prefix}${createHash('sha256').update(`${prefix}${index}`).digest('hex').slice(0, 24)}`
  const plain = path.replace(/\?.*/, '')
  if (method !== 'POST') return jsonAnswer({ id: plain.split('/').at(-1), object: 'thing', output_file_id: 'file-ofthebatch1' })
  if (plain.endsWith('/responses') && body.includes('"stream":true')) {
    const response = { id: id('resp_'), object: 'response', status: 'completed', output: [], usage: null }
    return sseAnswer(
      ['response.created', 'response.completed'].map((type) => `event: ${type}\ndata: ${JSON.stringify({ type, response })}\n\n`),
    )
  }
  if (plain.endsWith('/responses'))
    return jsonAnswer({
      id: id('resp_'),
      object: 'response',
      output: [
        { type: 'code_interpreter_call', container_id: id('cntr_') },
        {
          type: 'message',
          role: 'assistant',
          content: [
            {
              type: 'output_text',
              text: '',
              annotations: [
                { type: 'container_file_citation', container_id: id('cntr_'), file_id: id('cfile_') },
                { type: 'file_citation', file_id: 'file-shared000000', filename: 'a', index: 0 },
              ],
            },
          ],
        },
      ],
    })
  if (plain.endsWith('/messages')) return jsonAnswer({ id: id('msg_'), type: 'message', content: [], container: { id: id('container_') } })
  if (plain.endsWith('/cachedContents')) return jsonAnswer({ name: `cachedContents/${id('')}`, model: 'models/m' })
  const prefixes: JsonObject = { files: 'file-', vector_stores: 'vs_', batches: 'batch_', conversations: 'conv_', containers: 'cntr_' }
  const kind = plain.split('/').at(-1) ?? ''
  if (plain.includes('/vector_stores/')) return jsonAnswer({ id: 'file-named000000', object: 'vector_store.file' })
  return jsonAnswer({ id: id(String(prefixes[kind] ?? 'thing_')), object: kind })
}

const scene = (t: Test) =>
  startScene(t, {
    answer: made,
    config: (url) => `
auth:
  keys:
    - { name: first, key: "${KEYS.first}", pass_through: true }
    - { name: second, key: "${KEYS.second}", pass_through: true }
    - { name: limited, key: "${KEYS.limited}", limit: "1000.00", pass_through: true }
    - { name: listed, key: "${KEYS.listed}", pass_through: true, provider_ids: [ "vs_*" ] }
providers:
  first: { dialect: openai-chat, base_url: "${url}", key: sk-provider, pass_through: { price: "0.001", unread_price: "0.01" } }
  other: { dialect: openai-chat, base_url: "${url}", key: sk-another, pass_through: { price: "0.001", unread_price: "0.01" } }
models:
  acme/one: { context: 1000000, max_output: 1000, endpoints: [ { provider: first, model: m, price: { prompt: "1.00", completion: "10.00" } } ] }
`,
  })
type Place = Awaited<ReturnType<typeof scene>>

const bearer = (key: Key): Record<string, string> => ({ authorization: `Bearer ${KEYS[key]}` })
const client = ({ gateway }: Place, key: Key): OpenAI =>
  new OpenAI({ baseURL: `${gateway.url}/v1/passage/first/v1`, apiKey: KEYS[key], maxRetries: 0 })
const missing = { status: 404, message: /no such id/ }

t.test(
  "OpenAI's SDK: responses, files, vector stores, batches, conversations and containers work for the key that made them alone",
  async (t) => {
    const place = await scene(t)
    for (const owner of ['first', 'limited'] as const) {
      const [own, other] = [client(place, owner), client(place, 'second')]
      const first = await own.responses.create({ model: 'm', input: 'x' })
      const file = await own.files.create({ file: await toFile(Buffer.from('x'), 'a.txt'), purpose: 'assistants' })
      const store = await own.vectorStores.create({ name: 'a' })
      const batch = await own.batches.create({ input_file_id: file.id, endpoint: '/v1/responses', completion_window: '24h' })
      const conversation = await own.conversations.create({})
      const container = await own.containers.create({ name: 'a' })
      const ran = first.output.find(({ type }) => type === 'code_interpreter_call') as { container_id: string }
      const uses = (sdk: OpenAI): readonly (() => Promise<unknown>)[] => [
        () => sdk.responses.create({ model: 'm', input: 'x', previous_response_id: first.id }),
        () => sdk.responses.create({ model: 'm', input: 'x', conversation: conversation.id }),
        () => sdk.responses.create({ model: 'm', input: 'x', tools: [{ type: 'file_search', vector_store_ids: [store.id] }] }),
        () => sdk.responses.create({ model: 'm', input: 'x', tools: [{ type: 'code_interpreter', container: ran.container_id }] }),
        () => sdk.responses.create({ model: 'm', input: [{ role: 'user', content: [{ type: 'input_file', file_id: file.id }] }] }),
        () => sdk.responses.retrieve(first.id),
        () => sdk.files.retrieve(file.id),
        () => sdk.vectorStores.files.create(store.id, { file_id: file.id }),
        () => sdk.batches.retrieve(batch.id),
        () => sdk.containers.files.list(container.id),
        () => sdk.files.delete(file.id),
      ]
      const theirs = uses(other)
      for (const [at, use] of uses(own).entries()) {
        await t.resolves(use, `${owner}, ${at}`)
        const before = place.upstream.requests.length
        await t.rejects(theirs[at] as () => Promise<unknown>, missing, `another key, ${at}`)
        t.equal(place.upstream.requests.length, before, 'the provider is not called')
      }
    }
  },
)

t.test('a streamed response, results of a batch, cached content of Gemini, containers of Claude', async (t) => {
  const place = await scene(t)
  const { gateway } = place
  const stream = await client(place, 'first').responses.create({ model: 'm', input: 'x', stream: true })
  let id = ''
  for await (const event of stream) if (event.type === 'response.created') id = event.response.id
  t.match(id, /^resp_/)
  await t.rejects(client(place, 'second').responses.retrieve(id), missing)

  const batch = await client(place, 'first').batches.create({
    input_file_id: 'file-made-elsewhere',
    endpoint: '/v1/responses',
    completion_window: '24h',
  })
  await client(place, 'first').batches.retrieve(batch.id)
  await t.rejects(client(place, 'second').files.content('file-ofthebatch1'), missing)

  const post = (key: Key, path: string, body: JsonObject) => gateway.post(`/v1/passage/first${path}`, body, bearer(key))
  const cached = (await (await post('first', '/v1beta/cachedContents', { model: 'models/m' })).json()) as { name: string }
  const ask = { contents: [{ parts: [{ text: 'x' }] }], cachedContent: cached.name }
  t.equal((await post('first', '/v1beta/models/m:generateContent', ask)).status, 200)
  t.equal((await post('second', '/v1beta/models/m:generateContent', ask)).status, 404)
  t.equal((await gateway.get(`/v1/passage/first/v1beta/${cached.name}`, bearer('second'))).status, 404)

  const message = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] }
  const { container } = (await (await post('first', '/v1/messages', message)).json()) as { container: { id: string } }
  t.equal((await post('first', '/v1/messages', { ...message, container: container.id })).status, 200)
  t.equal((await post('second', '/v1/messages', { ...message, container: container.id })).status, 404)
})

t.test('an id is found however the body has it, and the provider never has the whole of that body', async (t) => {
  const place = await scene(t)
  const { gateway, upstream } = place
  const { id } = await client(place, 'first').files.create({ file: await toFile(Buffer.from('x'), 'a.txt'), purpose: 'assistants' })
  const escaped = [...id].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join('')
  const long = ' '.repeat(3_000_000)
  const bodies: Readonly<Record<string, string | Buffer>> = {
    plain: JSON.stringify({ file_id: id }),
    escaped: `{"file_id":"${escaped}"}`,
    'standing twice': `{"file_id":"${id}","file_id":"file-made-elsewhere"}`,
    'behind much else': `{"a":"${'x'.repeat(3_000_000)}","file_id":"${id}"}`,
    'in front of much else': `{"file_id":"${id}","a":"b\\"c\\\\"${long}}`,
    'in a list': JSON.stringify([{ file_id: id }]),
    'in lines': `{"a":1}\n{"file_id":"${id}"}\n`,
    gzip: gzipSync(`{"file_id":"${id}"}`),
    'much of gzip': gzipSync(`{"file_id":"${id}","a":"${'y'.repeat(1_000_000)}${Math.random()}"}`),
  }
  await every(t, 'every body', async (t) => {
    for (const [name, body] of Object.entries(bodies)) {
      const coding: Record<string, string> = Buffer.isBuffer(body) ? { 'content-encoding': 'gzip' } : {}
      const send = (key: Key) =>
        fetch(`${gateway.url}/v1/passage/first/v1/things`, {
          method: 'POST',
          body: body as string,
          headers: { ...bearer(key), 'content-type': 'application/json', ...coding },
        })
      t.equal((await send('first')).status, 200, name)
      t.equal(upstream.requests.at(-1)?.body.length, body.toString('utf8').length, `${name}: as it came`)
      const before = upstream.requests.length
      for (const key of ['second', 'limited'] as const) {
        const reply = await send(key)
        t.equal(reply.status, 404, `${name}: ${key}`)
        t.match(await reply.text(), 'no such id')
      }
      t.equal(upstream.requests.length, before, `${name}: no whole request`)
    }
    const chunks = (key: Key) => {
      const [a, b] = [`{"file_id":"${id.slice(0, 9)}`, `${id.slice(9)}"}`]
      const head = `POST /v1/passage/first/v1/things HTTP/1.1\r\nHost: g\r\nConnection: close\r\nContent-Type: application/json\r\nAuthorization: Bearer ${KEYS[key]}\r\nTransfer-Encoding: chunked\r\n\r\n`
      return rawExchange(gateway.url, `${head}${a.length.toString(16)}\r\n${a}\r\n${b.length.toString(16)}\r\n${b}\r\n0\r\n\r\n`)
    }
    t.match(await chunks('first'), /^HTTP\/1\.1 200/)
    t.match(await chunks('second'), /^HTTP\/1\.1 404/)
    for (const path of [`/v1/files/${id}`, `/v1/files/%66${id.slice(1)}`, `/v1/files?after=${id}`, `/v1//files/./${id}/content`])
      t.equal((await gateway.get(`/v1/passage/first${path}`, bearer('second'))).status, 404, path)
  })
  t.equal((await gateway.get(`/v1/key`, bearer('second'))).status, 200)
  t.match(await (await gateway.get('/v1/key', bearer('second'))).json(), { data: { usage: 0 } }, 'what is refused costs nothing')
})

t.test(
  'what the reply names but has not made stays open: what the request named, what a search found, and what was made elsewhere',
  async (t) => {
    const place = await scene(t)
    const [own, other] = [client(place, 'first'), client(place, 'second')]
    await own.responses.create({ model: 'm', input: 'x', tools: [{ type: 'file_search', vector_store_ids: ['vs_shared000000'] }] })
    await own.vectorStores.files.create('vs_shared000000', { file_id: 'file-named000000' })
    for (const id of ['file-shared000000', 'file-named000000', 'file-made-elsewhere']) await t.resolves(other.files.retrieve(id), id)
    await t.resolves(other.vectorStores.retrieve('vs_shared000000'))
  },
)

t.test('the operator may list an id for another key, and an id of another account is another one', async (t) => {
  const place = await scene(t)
  const { id } = await client(place, 'first').vectorStores.create({ name: 'a' })
  await t.rejects(client(place, 'second').vectorStores.retrieve(id), missing)
  await t.resolves(client(place, 'listed').vectorStores.retrieve(id))
  t.equal((await place.gateway.get(`/v1/passage/other/v1/vector_stores/${id}`, bearer('second'))).status, 200)
})

t.test('the first key that got an id keeps it, and a restart does not change that', async (t) => {
  const directory = t.testdir()
  const place = await startScene(t, {
    answer: () => jsonAnswer({ id: 'file-the-same-one' }),
    directory,
    config: (url) => `
store: { url: "sqlite:${directory}/headgate.db" }
auth: { keys: [ { name: first, key: "${KEYS.first}", pass_through: true }, { name: second, key: "${KEYS.second}", pass_through: true } ] }
providers: { first: { dialect: openai-chat, base_url: "${url}", key: sk-provider, pass_through: { price: "0.001" } } }
models: { acme/one: { endpoints: [ { provider: first, model: m, price: { prompt: "1.00", completion: "1.00" } } ] } }
`,
  })
  for (const key of ['first', 'second'] as const) await (await place.gateway.post('/v1/passage/first/v1/files', {}, bearer(key))).text()
  const statuses = async () =>
    Promise.all(
      (['first', 'second'] as const).map(
        async (key) => (await place.gateway.get('/v1/passage/first/v1/files/file-the-same-one', bearer(key))).status,
      ),
    )
  t.same(await statuses(), [200, 404])
  await place.gateway.restart()
  t.same(await statuses(), [200, 404])
})

t.test('a reply that is no list comes as it is, whatever its type says', async (t) => {
  const replies: Readonly<Record<string, Answer>> = {
    '/v1/null': jsonAnswer(null),
    '/v1/number': jsonAnswer(7),
    '/v1/empty': { ...jsonAnswer(null), body: [] },
    '/v1/accepted': { ...jsonAnswer(null, 202), body: [] },
    '/v1/nothing': { ...jsonAnswer(null, 204), body: [] },
  }
  const place = await startScene(t, {
    answer: ({ path }) => replies[path] ?? jsonAnswer({}),
    config: (url) => `
auth: { keys: [ { name: first, key: "${KEYS.first}", pass_through: true } ] }
providers: { first: { dialect: openai-chat, base_url: "${url}", key: sk-provider, pass_through: { price: "0.001" } } }
models: { acme/one: { endpoints: [ { provider: first, model: m, price: { prompt: "1.00", completion: "1.00" } } ] } }
`,
  })
  for (const [path, { status, body }] of Object.entries(replies)) {
    const reply = await place.gateway.get(`/v1/passage/first${path}`, bearer('first'))
    t.same([reply.status, await reply.text()], [status, body?.join('')], path)
  }
})

t.test('others have their turn between the look-ups of an upload', async (t) => {
  let turn = 0
  const turns: number[] = []
  const rows = {
    find: () => {
      turns.push(turn)
      return []
    },
  }
  const next = () => {
    turn++
    timer = setImmediate(next)
  }
  let timer = setImmediate(next)
  t.teardown(() => clearImmediate(timer))
  const texts = Array.from({ length: 5_000 }, (_, at) => `file-number-${at}`)
  const holder = { key: { identity: 'a' }, provider: { slug: 'a', account: 'a' } } as unknown as IdHolder
  await ownedIds(rows, holder, texts)
  t.equal(turns.length, 5)
  t.equal(new Set(turns).size, 5)
})
