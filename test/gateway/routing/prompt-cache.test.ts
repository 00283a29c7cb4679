/** Marks for the provider's cache that the gateway sets, before a provider that caches as Anthropic does. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { list, object } from '../../support/fold.ts'
import { CLIENTS } from '../../support/matrix/clients.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer, type Seen } from '../../support/upstream.ts'

/** Blocks before a mark among which the provider looks for what it has cached (platform.claude.com, Prompt caching). */
const LOOK_BACK = 20

/** The prompt in its order: tools, system, messages; with it whether the block has a mark. */
function bodyBlocks(body: JsonObject): { text: string; marked: boolean }[] {
  const flat = (value: unknown): JsonObject[] => (typeof value === 'string' ? [{ type: 'text', text: value }] : list(value as never))
  const all = [...list(body.tools), ...flat(body.system), ...list(body.messages).flatMap(({ content }) => flat(content))]
  return all.map(({ cache_control: mark, ...block }) => ({ text: JSON.stringify(block), marked: mark !== undefined }))
}

const cached = new Set<string>()

/** Reads and writes a cache of prefixes, by marks alone; a token has four characters here. */
function cacheUsage(body: JsonObject): JsonObject {
  const blocks = bodyBlocks(body)
  const prefixes: string[] = []
  for (const { text } of blocks) prefixes.push((prefixes.at(-1) ?? '') + text)
  const marks = blocks.flatMap(({ marked }, at) => (marked ? [at] : []))
  const tokens = (at: number): number => Math.floor((prefixes[at] ?? '').length / 4)
  const found = marks.flatMap((mark) => {
    const first = Math.max(0, mark - LOOK_BACK)
    const at = prefixes.slice(first, mark + 1).findLastIndex((prefix) => cached.has(prefix))
    return at === -1 ? [] : [first + at]
  })
  const read = Math.max(0, ...found.map(tokens))
  const last = marks.at(-1)
  const written = last === undefined ? 0 : Math.max(0, tokens(last) - read)
  for (const mark of marks) cached.add(prefixes[mark] ?? '')
  const whole = tokens(prefixes.length - 1)
  return { input_tokens: whole - read - written, cache_read_input_tokens: read, cache_creation_input_tokens: written, output_tokens: 5 }
}

function answer({ json }: Seen) {
  const marks = bodyBlocks(json).filter(({ marked }) => marked)
  const wrong = marks.length > 4 || marks.some(({ text }) => text.includes('"type":"thinking"') || text.includes('"defer_loading":true'))
  if (wrong) return jsonAnswer({ type: 'error', error: { type: 'invalid_request_error', message: 'cache_control' } }, 400)
  const content = [{ type: 'text', text: 'Fine.' }]
  return jsonAnswer({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'up',
    content,
    stop_reason: 'end_turn',
    usage: cacheUsage(json),
  })
}

const { gateway, upstream } = await startScene(t, {
  answer,
  config: (url) => `
providers:
  one: { dialect: anthropic, base_url: "${url}", key: k, quirks: { cache_prefix: 5m, cache_minimum: 512 } }
  plain: { dialect: anthropic, base_url: "${url}", key: k }
  never: { dialect: anthropic, base_url: "${url}", key: k, quirks: { cache_prefix: off } }
models:
  acme/one: { endpoints: [ { provider: one, model: up, price: { prompt: "2.00", completion: "10.00", cached: "0.10", cache_write: "2.50" } } ] }
  acme/never: { endpoints: [ { provider: never, model: up, price: { prompt: "2.00", completion: "10.00" } } ] }
  acme/plain: { endpoints: [ { provider: plain, model: up, price: { prompt: "2.00", completion: "10.00", cached: "0.10", cache_write: "2.50" } } ] }
`,
})

const LONG = 'A rule of the house that holds for every answer. '.repeat(80)
const tools = [{ name: 'weather', description: 'The weather', schema: { type: 'object' } }]

async function record(response: Response): Promise<JsonObject> {
  await response.text()
  const found = await gateway.get(`/v1/generation?id=${response.headers.get('x-generation-id')}`)
  return object(((await found.json()) as JsonObject).data)
}

/** Ends of what has a mark, by number of its block in the prompt. */
const marksIn = (body: JsonObject): number[] => bodyBlocks(body).flatMap(({ marked }, at) => (marked ? [at] : []))

t.test('a conversation reads from the cache what its turns before have sent', async (t) => {
  for (const client of CLIENTS)
    await every(t, client.id, async (t) => {
      cached.clear()
      const turns = [{ user: [{ text: `${client.id}: Oslo?` }] }, { assistant: LONG }, { user: [{ text: 'Rome?' }] }, { assistant: LONG }]
      const more = [...turns, { user: [{ text: 'Paris?' }] }]
      const saved: number[] = []
      for (const length of [1, 3, 5]) {
        const asked = { system: LONG, tools, turns: more.slice(0, length) }
        const response = await gateway.post(client.path, { model: 'acme/one', ...client.write(asked) })
        t.equal(response.status, 200)
        saved.push(Number((await record(response)).cache_discount))
      }
      const bodies = upstream.requests.slice(-3).map((seen) => seen.json)
      // The tools alone are too short to be cached: block 0. Then system, and the ends of the turns before the newest.
      t.same(bodies.map(marksIn), [[1], [1, 3], [1, 3, 5]])
      t.ok((saved[0] ?? 0) < 0, 'what the first turn writes costs more than plain input')
      t.ok((saved[2] ?? 0) > (saved[1] ?? 0) && (saved[1] ?? 0) > 0, `saved ${saved}`)
    })
})

const call = (n: number) => ({ calls: [{ id: `call_${n}`, name: 'weather', args: {} }] })
const result = (n: number) => ({ results: [{ id: `call_${n}`, parts: [{ text: `${n}: ${LONG}` }] }] })
const LOOP = [
  { user: [{ text: 'Oslo, then Rome?' }] },
  call(1),
  result(1),
  call(2),
  result(2),
  { assistant: 'Done.' },
  { user: [{ text: 'And?' }] },
]

t.test('by default a conversation with results of tools is cached for callers of formats without marks', async (t) => {
  for (const client of CLIENTS) {
    cached.clear()
    const ask = async (length: number, model = 'acme/plain'): Promise<JsonObject> => {
      const asked = { system: LONG, tools, turns: LOOP.slice(0, length) }
      return record(await gateway.post(client.path, { model, ...client.write(asked) }))
    }
    const read: number[] = []
    for (const length of [1, 3, 5, 7]) read.push(Number((await ask(length)).native_tokens_cached))
    const marks = upstream.requests.slice(-4).map((seen) => marksIn(seen.json))
    if (client.id === 'messages') {
      t.same(marks, [[], [], [], []], 'callers of Messages set their own')
      continue
    }
    // System, then the result just come and the message of the caller before it; then the ends of the answers before the newest turn.
    t.same(marks, [[], [1, 2, 4], [1, 4, 6], [1, 5, 7]], client.id)
    t.ok(read[0] === 0 && read[1] === 0 && Number(read[2]) > 1000 && Number(read[3]) > Number(read[2]), `${client.id} read ${read}`)
    await ask(5, 'acme/never')
    t.same(marksIn(upstream.requests.at(-1)?.json ?? {}), [], `${client.id}, switched off`)
  }
})

t.test('a turn of more blocks than the provider looks back is found again', async (t) => {
  cached.clear()
  const parts = (count: number): JsonObject[] =>
    Array.from({ length: count }, (_, i) => ({ type: 'text', text: `${i} ${LONG.slice(0, 200)}` }))
  const thought = { type: 'thinking', thinking: 'Hm.', signature: 's' }
  const messages = [
    { role: 'user', content: parts(3) },
    { role: 'assistant', content: [{ type: 'text', text: LONG }, thought] },
    { role: 'user', content: parts(30) },
    { role: 'assistant', content: 'Yes.' },
    { role: 'user', content: 'And?' },
  ]
  const ask = (length: number): Promise<Response> =>
    gateway.post('/v1/messages', { model: 'acme/one', max_tokens: 100, messages: messages.slice(0, length) })
  t.equal((await ask(3)).status, 200)
  const second = await record(await ask(5))
  t.same(marksIn(upstream.requests.at(-1)?.json ?? {}), [3, 35], 'behind the thinking stands no mark')
  t.ok(Number(second.native_tokens_cached) > 0)
})

t.test('the marks of the caller, and its null, win', async (t) => {
  const mark = { type: 'ephemeral' }
  const user = (text: string, more: JsonObject = {}): JsonObject => ({ role: 'user', content: [{ type: 'text', text, ...more }] })
  const sent = async (body: JsonObject, path = '/v1/messages'): Promise<JsonObject> => {
    const response = await gateway.post(path, { model: 'acme/one', max_tokens: 100, ...body })
    t.equal(response.status, 200, await response.text())
    return upstream.requests.at(-1)?.json ?? {}
  }
  t.same(marksIn(await sent({ system: LONG, messages: [user(LONG, { cache_control: mark })] })), [1])
  const whole = await sent({ system: LONG, messages: [user('Hello')], cache_control: mark })
  t.same([marksIn(whole), whole.cache_control], [[], mark])
  const none = await sent({ system: LONG, messages: [user('Hello')], cache_control: null })
  t.same([marksIn(none), none.cache_control], [[], undefined])
  const chat = { messages: [{ role: 'system', content: LONG }, user('Hello')], cache_control: null }
  t.same(marksIn(await sent(chat, '/v1/chat/completions')), [])
  t.same(marksIn(await sent({ instructions: LONG, input: 'Hello', cache_control: null, max_tokens: undefined }, '/v1/responses')), [])
  t.same(marksIn(await sent({ system: 'Short.', messages: [user('Hello')] })), [], 'too short to be cached')
  t.same(
    marksIn(await sent({ model: 'acme/plain', system: LONG, messages: [user('Hello')] })),
    [],
    'without the quirk and without tools nothing is marked',
  )
  const deferred = { name: 'b', description: LONG, input_schema: { type: 'object' }, defer_loading: true }
  const tools = [{ name: 'a', description: LONG, input_schema: { type: 'object' } }, deferred]
  t.same(marksIn(await sent({ messages: [user('Hello')], tools })), [0], 'a deferred tool has no mark')
})
