/** Lists of the pass-through show a key what it has made and what is open to all, through every page and in every form that they have. */
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { AccountOfAll } from '../../support/account-of-all.ts'
import { every } from '../../support/every.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer, type Seen } from '../../support/upstream.ts'

const KEYS = {
  first: 'sk-router-v1-first-0123456789abcdef01',
  second: 'sk-router-v1-second-0123456789abcdef0',
  limited: 'sk-router-v1-limited-0123456789abcdef',
  listed: 'sk-router-v1-listed-0123456789abcdef0',
}
type Key = keyof typeof KEYS

async function scene(t: Test, answer?: (seen: Seen) => Answer) {
  const account = new AccountOfAll(() => place.upstream.url)
  const place = await startScene(t, {
    answer: answer ?? account.answer,
    config: (url) => `
auth:
  keys:
    - { name: first, key: "${KEYS.first}", pass_through: true }
    - { name: second, key: "${KEYS.second}", pass_through: true }
    - { name: limited, key: "${KEYS.limited}", limit: "1000.00", pass_through: true }
    - { name: listed, key: "${KEYS.listed}", pass_through: true, provider_ids: [ "vs_*" ] }
providers: { first: { dialect: openai-chat, base_url: "${url}", key: sk-provider, pass_through: { price: "0.001", unread_price: "0.01" } } }
models: { acme/one: { endpoints: [ { provider: first, model: m, price: { prompt: "1.00", completion: "10.00" } } ] } }
`,
  })
  const bearer = (key: Key): Record<string, string> => ({ authorization: `Bearer ${KEYS[key]}` })
  return {
    ...place,
    sdk: (key: Key) => new OpenAI({ baseURL: `${place.gateway.url}/v1/passage/first/v1`, apiKey: KEYS[key], maxRetries: 0 }),
    make: async (key: Key, path: string): Promise<string> => {
      const made = (await (await place.gateway.post(`/v1/passage/first${path}`, {}, bearer(key))).json()) as { id?: string; name?: string }
      return made.id ?? made.name ?? ''
    },
    get: (key: Key, path: string, headers: Record<string, string> = {}) =>
      place.gateway.get(`/v1/passage/first${path}`, { ...bearer(key), ...headers }),
  }
}

async function all<T extends { id: string }>(pages: AsyncIterable<T>): Promise<string[]> {
  const found: string[] = []
  for await (const { id } of pages) found.push(id)
  return found
}

t.test("OpenAI's SDK pages through what its key has made, whatever others have made between", async (t) => {
  const place = await scene(t)
  const made: Record<Key, string[]> = { first: [], second: [], limited: [], listed: [] }
  const turns: readonly Key[] = [
    ...Array(9).fill('second'),
    'first',
    'first',
    ...Array(12).fill('second'),
    'limited',
    'first',
    ...Array(7).fill('second'),
  ]
  for (const key of turns) made[key].unshift(await place.make(key, '/v1/vector_stores'))
  for (const limit of [1, 2, 3, 5, 100])
    for (const key of ['first', 'second', 'limited'] as const)
      t.same(await all(place.sdk(key).vectorStores.list({ limit })), made[key], `${key}, ${limit}`)
  t.equal((await all(place.sdk('listed').vectorStores.list())).length, turns.length, 'what the operator lists for a key is shown to it')
  const [newest = '', , oldest = ''] = made.first
  const back = (await (await place.get('first', `/v1/vector_stores?limit=2&before=${oldest}`)).json()) as {
    data: { id: string }[]
    last_id: string
  }
  t.same(
    back.data.map(({ id }) => id),
    [made.first[1]],
    'backwards',
  )
  t.equal(back.last_id, made.first[1], 'the ends are those of what is shown')
  const more = (await (await place.get('first', `/v1/vector_stores?limit=2&before=${made.first[1]}`)).json()) as { data: { id: string }[] }
  t.same(
    more.data.map(({ id }) => id),
    [newest],
    'and over pages of others',
  )
})

t.test('lists of Anthropic and Google, and pages of others between', async (t) => {
  const place = await scene(t)
  const anthropic = { 'anthropic-version': '2023-06-01' }
  for (const key of ['first', ...Array(5).fill('second'), 'first', 'second', 'second'] as Key[]) {
    await place.gateway.post('/v1/passage/first/v1/files', {}, { authorization: `Bearer ${KEYS[key]}`, ...anthropic })
    await place.make(key, '/v1beta/cachedContents')
  }
  const page = async (query: string) =>
    (await (await place.get('first', `/v1/files?ends=yes&limit=2${query}`, anthropic)).json()) as {
      data: { id: string }[]
      last_id: string
      has_more: boolean
    }
  const one = await page('')
  t.equal(one.data.length, 1)
  t.equal(one.has_more, true)
  const two = await page(`&after_id=${one.last_id}`)
  t.equal(two.data.length, 1)
  t.not(two.data[0]?.id, one.data[0]?.id)
  t.equal(two.has_more, false)

  const google = async (query: string) =>
    (await (await place.get('first', `/v1beta/cachedContents?pageSize=2${query}`)).json()) as {
      cachedContents: JsonObject[]
      nextPageToken?: string
    }
  const first = await google('')
  t.equal(first.cachedContents.length, 1)
  const second = await google(`&pageToken=${encodeURIComponent(first.nextPageToken ?? '')}`)
  t.equal(second.cachedContents.length, 1)
  t.not(second.cachedContents[0]?.name, first.cachedContents[0]?.name)
})

/** A provider that gives `file-of-first` to a `POST`, and answers every other request with one reply. */
const replying = (reply: Answer) => (seen: Seen) =>
  seen.method === 'POST' && !seen.headers['x-http-method-override'] ? jsonAnswer({ id: 'file-of-first', name: 'things/of-first' }) : reply

t.test('a list has many forms, and in none of them it shows what another key has made', async (t) => {
  const entry = { id: 'file-of-first', filename: 'the plan of first' }
  const lists: Readonly<Record<string, JsonObject | JsonObject[]>> = {
    data: { object: 'list', data: [entry, { id: 'file-of-all00' }] },
    'with a total': { data: [entry, { id: 'file-of-all00' }], total: 7 },
    'a bare list': [entry, { id: 'file-of-all00' }],
    nested: { result: { files: [{ id: 'file-of-all00' }, entry] } },
    'in an entry': { data: [{ id: 'file-of-all00', parts: [[entry], { id: 'file-of-all01' }] }] },
    'by its name': { things: [{ name: 'things/of-first', title: 'the plan of first' }, { id: 'file-of-all00' }] },
  }
  await every(t, 'every form', async (t) => {
    for (const [name, list] of Object.entries(lists)) {
      const body = JSON.stringify(list)
      const answers: Readonly<Record<string, Answer>> = {
        plain: { headers: { 'content-type': 'application/json; charset=utf-8' }, body: [body] },
        'in pieces': { headers: { 'content-type': 'application/vnd.api+json' }, body: [body], split: 7 },
        'in a coding': { headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' }, body: [gzipSync(body)] },
      }
      for (const [form, answer] of Object.entries(answers)) {
        const place = await scene(t, replying(answer))
        await place.make('first', '/v1/files')
        const seen = await (await place.get('second', '/v1/files')).text()
        t.notMatch(seen, 'the plan', `${name}, ${form}`)
        t.match(seen, 'file-of-all00', `${name}, ${form}: what is open to all`)
        t.match(await (await place.get('first', '/v1/files')).text(), 'the plan', `${name}, ${form}: its owner`)
      }
    }
  })
  const place = await scene(t, replying(jsonAnswer(lists.data)))
  await place.make('first', '/v1/files')
  for (const path of [
    '/v1/files//content',
    '/v1/files?a=/content',
    '/v1/files;/content',
    '/v1/files%3F/content',
    '/v1/files/%2e%2e/files%23/content',
  ])
    t.notMatch(await (await place.get('second', path)).text(), 'the plan', path)
  const overridden = await place.gateway.post(
    '/v1/passage/first/v1/files',
    {},
    { authorization: `Bearer ${KEYS.second}`, 'x-http-method-override': 'GET' },
  )
  t.notMatch(await overridden.text(), 'the plan', 'a method that a header overrides')
})

t.test('a list in any content coding shows nothing of another key', async (t) => {
  const list = JSON.stringify({ data: [{ id: 'file-of-first', filename: 'the plan of first' }, { id: 'file-of-all00' }] })
  for (const [coding, encode] of [
    ['X-Gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const) {
    const headers = { 'content-type': 'application/json', 'content-encoding': coding }
    const place = await scene(t, replying({ headers, body: [encode(list)] }))
    await place.make('first', '/v1/files')
    t.equal(await (await place.get('second', '/v1/files')).text(), '{"data":[{"id":"file-of-all00"}]}', coding)
  }
  for (const [name, body] of [
    ['more than a page has', gzipSync(`{"data":["${'x'.repeat(9_000_000)}"]}`)],
    ['another coding', Buffer.from(list)],
  ] as const) {
    const place = await scene(t, replying({ headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' }, body: [body] }))
    await place.make('first', '/v1/files')
    const reply = await place.get('second', '/v1/files')
    t.equal(reply.status, 502, name)
    t.notMatch(await reply.text(), 'the plan')
  }
})

t.test('an id of the key in a path or cursor shows no list entries of other keys', async (t) => {
  const place = await scene(t, (seen) => {
    if (seen.method === 'POST') return jsonAnswer({ id: seen.path.endsWith('/others') ? 'file-of-second' : 'file-of-first' })
    return jsonAnswer({ data: [{ id: 'file-of-first', filename: 'the plan of first' }, { id: 'file-of-all00' }] })
  })
  await place.make('first', '/v1/files')
  const own = await place.make('second', '/v1/others')
  for (const path of ['?after=ID', '/ID/..%2f', '/ID/%2e%2e%2f', '/ID/;/..%2f']) {
    const text = await (await place.get('second', `/v1/files${path.replace('ID', own)}`)).text()
    t.notMatch(text, 'the plan', path)
    t.match(text, 'file-of-all00', path)
  }
  t.match(await (await place.get('second', `/v1/files/${own}`)).text(), 'the plan', 'what is below it comes as it is')
})

t.test('a list that nobody else has made anything of, and what is no list, go through byte for byte', async (t) => {
  const body = '{ "data" : [ {"id":"file-of-all00", "size": 12345678901234567890 } ],\n "n": 1.0 }'
  const answer = { headers: { 'content-type': 'application/json', etag: '"1"', 'x-request-id': 'a' }, body: [body] }
  const place = await scene(t, replying(answer))
  await place.make('first', '/v1/files')
  const reply = await place.get('second', '/v1/files')
  t.equal(await reply.text(), body)
  t.equal(reply.headers.get('x-request-id'), 'a')
  t.equal(reply.headers.get('content-length'), String(body.length))
})

t.test('pages of others are passed over by each name of a token', async (t) => {
  // @anthropic-ai/sdk 1.14.0, `PageCursor`; docs.x.ai, List files; the Gemini API.
  for (const [member, parameter] of [
    ['next_page', 'page'],
    ['pagination_token', 'pagination_token'],
    ['nextPageToken', 'pageToken'],
  ] as const) {
    const place = await scene(t, (seen) => {
      if (seen.method === 'POST') return jsonAnswer({ id: 'file-of-first' })
      const isSecond = new URL(`http://provider${seen.path}`).searchParams.get(parameter) === 'the second'
      return jsonAnswer(isSecond ? { data: [{ id: 'file-of-all00' }] } : { data: [{ id: 'file-of-first' }], [member]: 'the second' })
    })
    await place.make('first', '/v1/files')
    t.same(await (await place.get('second', '/v1/files')).json(), { data: [{ id: 'file-of-all00' }] }, member)
  }
})

t.test('what cannot be separated is refused in words', async (t) => {
  const many = { object: 'list', data: [{ id: 'file-of-first' }] }
  const cases: readonly [path: string, answer: Answer, status: number, words: RegExp, headers?: Record<string, string>][] = [
    [
      '/v1/files',
      jsonAnswer({ ...many, has_more: true, last_id: 'file-of-first' }),
      400,
      /only what other keys have made, and 49 behind it; ask for longer pages/,
    ],
    ['/v1/files?page=0', jsonAnswer({ data: many.data, total: 9 }), 400, /only what other keys have made; ask for longer pages/],
    ['/v1beta/files?alt=proto', jsonAnswer(many), 400, /alt: expected none, or alt=json/],
    ['/v1beta/files?$alt=sse', jsonAnswer(many), 400, /alt: expected/],
    ['/v1beta/files?callback=x', jsonAnswer(many), 400, /callback: expected none/],
    ['/v1beta/files?fields=files(displayName)', jsonAnswer({ files: [{ displayName: 'the plan' }] }), 400, /fields: expected the name/],
    ['/v1beta/files?$fields=files(displayName)', jsonAnswer({ files: [{ displayName: 'the plan' }] }), 400, /fields: expected the name/],
    [
      '/v1beta/files',
      jsonAnswer({ files: [{ displayName: 'the plan' }] }),
      400,
      /fields: expected the name/,
      { 'x-goog-fieldmask': 'files.displayName' },
    ],
    [
      '/v1/files',
      { status: 206, headers: { 'content-type': 'application/json' }, body: ['"data":[{"id":"file-of-first"}]}'] },
      502,
      /unreadable/,
    ],
    [
      '/v1/files',
      { headers: { 'content-type': 'application/json' }, body: [`{"data":["${'x'.repeat(8_400_000)}"]}`] },
      413,
      /ask for shorter pages/,
    ],
  ]
  await every(t, 'every case', async (t) => {
    for (const [path, answer, status, words, headers] of cases) {
      const place = await scene(t, replying(answer))
      await place.make('first', '/v1/files')
      const reply = await place.get('second', path, headers)
      const text = await reply.text()
      t.equal(reply.status, status, path)
      t.match(text, words, path)
      t.notMatch(text, 'the plan')
    }
  })
})

t.test('a file of a key is shown to it as it comes, however long it is', async (t) => {
  const long = JSON.stringify({ id: 'file-of-first', a: 'x'.repeat(9_000_000) })
  const place = await scene(t, replying({ headers: { 'content-type': 'application/json' }, body: [long] }))
  await place.make('first', '/v1/files')
  t.equal((await (await place.get('first', '/v1/files/file-of-first')).text()).length, long.length)
  t.equal((await (await place.get('second', '/v1/files/file-of-all00/content')).text()).length, long.length)
})

t.test('pages that are requested in place of others cost nothing more', async (t) => {
  const place = await scene(t)
  const own = await place.make('first', '/v1/batches')
  for (let at = 0; at < 6; at++) await place.make('second', '/v1/batches')
  const before = place.upstream.requests.length
  t.same(await all(place.sdk('first').batches.list({ limit: 2 })), [own])
  t.equal(place.upstream.requests.length - before, 4)
  t.equal(place.rows().length, 8, 'one row for each request of a caller')
})
