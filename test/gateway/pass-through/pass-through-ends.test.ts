/**
 * A reply of the pass-through that does not come whole costs what has come of it: for each form of a reply, each way in which it may end, and
 * each place at which it may: at least the tokens that were delivered, each of no more than a byte, and never more than was held.
 */
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import type { GenerationRecord } from '../../../src/ledger/types.ts'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { RawClient } from '../../support/raw.ts'
import { type RawUpstream, startRawUpstream } from '../../support/raw-upstream.ts'
import { ALL_WIRES, type AnyWireName, type Utterance } from '../../support/wire.ts'
import { chunk } from '../../support/wire-bedrock-claude.ts'

t.setTimeout(280_000)

const KEYS = { limited: 'sk-router-v1-limited-0123456789abcdef', open: 'sk-router-v1-open-0123456789abcdef012' }
/** Nano-dollars: of a request, of a token of input and of output. */
const [PRICE, INPUT, OUTPUT] = [1_000_000, 1_000, 10_000]
const IDLE = 30_000

interface Scene {
  readonly gateway: Gateway
  readonly upstream: RawUpstream
  readonly clock: FakeClock
}

async function scene(t: Test): Promise<Scene> {
  const clock = new FakeClock()
  const upstream = await startRawUpstream(() => undefined)
  t.teardown(() => upstream.close())
  const model = 'price: { prompt: "1.00", completion: "10.00" }, supported_parameters: [max_tokens]'
  const gateway = await startGateway(
    `
auth:
  keys:
    - { name: limited, key: "${KEYS.limited}", limit: "1000.00", pass_through: true }
    - { name: open, key: "${KEYS.open}", pass_through: true }
providers:
  first:
    dialect: openai-chat
    base_url: "${upstream.url}"
    key: sk-provider
    pass_through: { price: "0.001", unread_price: "0.50" }
    timeouts: { first_byte: 60s, idle: ${IDLE / 1000}s, total: 600s }
models:
  acme/one: { context: 100000, max_output: 1000, endpoints: [ { provider: first, model: m, ${model} } ] }
  acme/thinking: { context: 100000, max_output: 1000, endpoints: [ { provider: first, model: thinking, price: { prompt: "1.00", completion: "10.00" } } ] }
`,
    { clock },
  )
  t.teardown(() => gateway.close())
  return { gateway, upstream, clock }
}

const PIECES = ['the first piece ', 'ein zweites Stück ', 'and the third one']
const UTTERANCES: Utterance = { reasoning: ['some thought, '], signature: 'c2lnbmF0dXJl', text: PIECES, usage: { input: 900, output: 80 } }
const messages = [{ role: 'user', content: 'x' }]
const MESSAGES: JsonObject = { model: 'm', messages, max_tokens: 500 }

interface Form {
  readonly name: string
  readonly path: string
  readonly body: JsonObject
  /** Parts of the body of a reply, which is cut behind any of them. */
  readonly parts: readonly Buffer[]
  readonly type: string
  /** The wire that its errors are of, for streams. */
  readonly wire?: AnyWireName
  /** Tokens of input that its parts so far have reported. */
  readonly reported?: (parts: readonly Buffer[]) => number
  /** True where each part reports what has been written: its bytes say nothing more. */
  readonly counts?: true
}

const SSE = 'text/event-stream'
const JSON_TYPE = 'application/json'

function stream(wire: AnyWireName, path: string, body: JsonObject, more: Partial<Form> = {}): Form {
  const { frames, ...rest } = ALL_WIRES[wire]
  const parts = frames(UTTERANCES).map((frame) => Buffer.from(frame, 'binary' in rest ? 'latin1' : 'utf8'))
  return { name: `${wire}, streamed`, path, body, parts, type: 'binary' in rest ? rest.binary : SSE, wire, ...more }
}

function whole(wire: AnyWireName, path: string, body: JsonObject): Form {
  const text = Buffer.from(JSON.stringify(ALL_WIRES[wire].reply(UTTERANCES)))
  const thirds = [0, 1, 2].map((at) => text.subarray((at * text.length) / 3, ((at + 1) * text.length) / 3))
  return { name: `${wire}, whole`, path, body, parts: thirds, type: JSON_TYPE }
}

const seen = (parts: readonly Buffer[], what: string): boolean => parts.some((part) => readable(part).includes(what))
const ofStart = (parts: readonly Buffer[]): number => (seen(parts, 'message_start') ? 900 : 0)

/** Claude's events at Amazon Bedrock are in base64. */
function readable(part: Buffer): string {
  const text = part.toString('utf8')
  return text + [...text.matchAll(/"bytes":"([^"]+)"/g)].map(([, bytes = '']) => Buffer.from(bytes, 'base64').toString('utf8')).join('')
}

const GEMINI = { contents: [{ parts: [{ text: 'x' }] }], generationConfig: { maxOutputTokens: 500 } }
const CLAUDE = { anthropic_version: 'bedrock-2023-05-31', messages, max_tokens: 500 }
const vectors = { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }], model: 'm' }
const silent = (parts: readonly Buffer[]): Buffer[] =>
  parts.map((part) => Buffer.from(part.toString('utf8').replace(/"usageMetadata":\{.*?\}\]\},/, '')))
const completions = ['a', 'b', 'c'].map((text) =>
  Buffer.from(
    `data: ${JSON.stringify({ id: 'cmpl-1', object: 'text_completion', choices: [{ index: 0, text: `${text}bc`, finish_reason: null }] })}\n\n`,
  ),
)

const FORMS: readonly Form[] = [
  stream('openai-chat', '/v1/chat/completions', { ...MESSAGES, stream: true }),
  stream('openai-chat', '/v1/chat/completions', { ...MESSAGES, stream: true, n: 2 }, { name: 'two answers' }),
  stream('openai-chat', '/openai/deployments/m/chat/completions?api-version=1', { ...MESSAGES, stream: true }, { name: 'a deployment' }),
  whole('openai-chat', '/v1/chat/completions', MESSAGES),
  { name: 'completions', path: '/v1/completions', body: { model: 'm', prompt: 'x', max_tokens: 500 }, parts: completions, type: SSE },
  stream('openai-responses', '/v1/responses', { model: 'm', input: 'x', max_output_tokens: 500, stream: true }),
  whole('openai-responses', '/v1/responses', { model: 'm', input: 'x', max_output_tokens: 500 }),
  { ...stream('openai-responses', '/v1/responses/compact', { model: 'm', input: 'x', max_output_tokens: 500 }), name: 'compact' },
  stream('anthropic', '/v1/messages', { ...MESSAGES, stream: true }, { reported: ofStart }),
  whole('anthropic', '/v1/messages', MESSAGES),
  stream('anthropic', '/v1/projects/p/locations/l/publishers/anthropic/models/m:streamRawPredict', CLAUDE, {
    name: 'rawPredict',
    reported: ofStart,
  }),
  stream('gemini', '/v1beta/models/m:streamGenerateContent?alt=sse', GEMINI, {
    counts: true,
    reported: (parts) => (parts.length > 0 ? 900 : 0),
  }),
  {
    ...stream('gemini', '/v1beta/models/m:streamGenerateContent?alt=sse', GEMINI, { name: 'gemini without reports' }),
    parts: silent(ALL_WIRES.gemini.frames(UTTERANCES).map((frame) => Buffer.from(frame))),
  },
  whole('gemini', '/v1beta/models/m:generateContent', GEMINI),
  stream('bedrock-converse', '/model/m/converse-stream', { messages: [], inferenceConfig: { maxTokens: 500 } }),
  whole('bedrock-converse', '/model/m/converse', { messages: [], inferenceConfig: { maxTokens: 500 } }),
  stream('bedrock-anthropic', '/model/m/invoke-with-response-stream', CLAUDE, { reported: ofStart }),
  {
    name: 'invoke of another format',
    path: '/model/m/invoke-with-response-stream',
    body: { prompt: 'x' },
    parts: ['one', 'two'].map((generation) => chunk(JSON.stringify({ generation, stop_reason: null }))),
    type: ALL_WIRES['bedrock-anthropic'].binary,
  },
  {
    name: 'vectors',
    path: '/v1/embeddings',
    body: { model: 'm', input: 'x'.repeat(2_000) },
    parts: [Buffer.from(JSON.stringify(vectors).slice(0, 40)), Buffer.from(JSON.stringify(vectors).slice(40, 60))],
    type: JSON_TYPE,
  },
]

/** End of a reply behind some of its parts; `length` is what its head declares, in place of chunks. */
interface End {
  readonly length?: (bytes: number) => number
  readonly end: (place: Scene & { socket: Socket; client: RawClient; form: Form }) => Promise<void> | void
  /** The whole hold is charged: the caller decides over this end. */
  readonly isCallers?: true
}

const ENDS: Readonly<Record<string, End>> = {
  'the connection ends': { end: ({ socket }) => void socket.end() },
  'the connection is reset': { end: ({ socket }) => void socket.resetAndDestroy() },
  silence: {
    end: async ({ clock }) => {
      await clock.armed(IDLE)
      await clock.advance(IDLE + 1)
    },
  },
  'a chunk without a size': { end: ({ socket }) => void socket.write('zz\r\n') },
  'fewer bytes than declared': { length: (bytes) => bytes + 100, end: ({ socket }) => void socket.end() },
  'more bytes than declared': { length: (bytes) => bytes, end: ({ socket }) => void socket.write('more'.repeat(100)) },
  'the caller leaves': { end: ({ client }) => client.reset(), isCallers: true },
  'a failure in words of its own': {
    end: ({ socket, form }) => {
      const frame = form.wire && ALL_WIRES[form.wire].brokenFrame('overloaded')
      if (frame !== undefined) socket.write(partChunk(Buffer.from(frame, 'latin1')))
      socket.end('0\r\n\r\n')
    },
  },
}

const partChunk = (part: Buffer): Buffer => Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')])

function rawRequest({ path, body }: Pick<Form, 'path' | 'body'>, key = KEYS.limited): string {
  const text = JSON.stringify(body)
  return `POST /v1/passage/first${path} HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${text.length}\r\n\r\n${text}`
}

/** Nano-dollars. */
interface Charged {
  readonly cost: number
  readonly hold: number
}

/** Sends one request whose reply has so many parts and then ends. */
async function cutReply(place: Scene, form: Form, sent: number, { length, end }: End): Promise<Charged> {
  const { upstream, gateway } = place
  const rows = (): GenerationRecord[] => [...gateway.running.store.journal.export()]
  const before = new Set(rows().map(({ id }) => id))
  const body = Buffer.concat(form.parts.slice(0, sent))
  const head = `HTTP/1.1 200 OK\r\nContent-Type: ${form.type}\r\n${length ? `Content-Length: ${length(body.length)}` : 'Transfer-Encoding: chunked'}\r\n\r\n`
  const started = Promise.withResolvers<Socket>()
  upstream.answer = (_, socket) => {
    socket.write(head)
    socket.write(length || body.length === 0 ? body : partChunk(body))
    started.resolve(socket)
    return undefined
  }
  const client = await RawClient.open(gateway.url)
  client.send(rawRequest(form))
  const socket = await started.promise
  await eventually('the reply so far', () => client.text.includes(body.toString('latin1').slice(-20)) && client.text.includes('\r\n\r\n'))
  await end({ ...place, socket, client, form })
  const row = (): GenerationRecord | undefined => rows().find(({ id }) => !before.has(id))
  await eventually('the settlement', () => row()?.settled !== undefined)
  client.close()
  socket.destroy()
  return { cost: row()?.settled?.cost ?? Number.NaN, hold: row()?.hold.hold ?? Number.NaN }
}

/** Nano-dollars of the report at the end of a reply. */
const WHOLE = 900 * INPUT + 80 * OUTPUT

/** Nano-dollars of what was delivered, where each byte of it is a token. */
function least(form: Form, sent: number): number {
  const parts = form.parts.slice(0, sent)
  const text = [...PIECES, 'some thought, '].filter((piece) => seen(parts, piece)).reduce((sum, piece) => sum + Buffer.byteLength(piece), 0)
  const input = form.reported?.(parts) ?? (sent > 0 ? Buffer.byteLength(JSON.stringify(form.body)) : 0)
  if (form.name === 'vectors') return input * INPUT
  return input * INPUT + (form.counts ? (sent > 0 ? 80 * OUTPUT : 0) : text * OUTPUT)
}

for (const [name, end] of Object.entries(ENDS))
  t.test(`behind any part of a reply: ${name}`, async (t) => {
    const place = await scene(t)
    await every(t, 'every form of a reply', async (t) => {
      for (const form of FORMS)
        for (let sent = 0; sent < form.parts.length; sent++) {
          const { cost, hold } = await cutReply(place, form, sent, end)
          const what = `${form.name}, ${sent} of ${form.parts.length}: $${cost / 1e9} of $${hold / 1e9}`
          const reported = (form.reported?.(form.parts.slice(0, sent)) ?? 0) * INPUT + (form.counts ? 80 * OUTPUT : 0)
          t.ok(cost <= Math.max(hold, reported + 500 * OUTPUT, PRICE), what)
          t.ok(cost >= PRICE, what)
          if (name !== 'a failure in words of its own' || sent > 0) t.ok(cost >= least(form, sent), what)
          // Behind a whole report nothing is left to bound.
          if (end.isCallers && form.reported === undefined && cost !== WHOLE) t.equal(cost, hold, what)
        }
    })
  })

const chat = FORMS[0] as Form

t.test('a stream that is cut early costs less than half of its hold', async (t) => {
  const place = await scene(t)
  const { cost, hold } = await cutReply(place, chat, 4, { end: ({ socket }) => void socket.end() })
  t.ok(cost < hold / 2, `$${cost / 1e9} of $${hold / 1e9}`)
})

t.test('a model that may reason unseen is charged for the time before its first content', async (t) => {
  const place = await scene(t)
  const { end } = ENDS.silence as End
  const first = { ...chat, parts: chat.parts.slice(0, 2) }
  const open = await cutReply(place, { ...first, body: { ...chat.body, model: 'thinking' } }, 1, { end })
  const plain = await cutReply(place, first, 1, { end })
  // 30 s at the 20 tokens a second of an endpoint that has served nothing of late, as in the gateway's own formats; the cap is 500.
  t.equal(open.cost - plain.cost, 500 * OUTPUT + 'thinking'.length * INPUT - INPUT)
})

t.test('a batch whose reply breaks off is charged in full, since its work goes on', async (t) => {
  const place = await scene(t)
  const requests = [{ custom_id: 'a', params: MESSAGES }]
  const parts = [Buffer.from('{"id": "msgb'), Buffer.from('atch_1"}')]
  const batch: Form = { name: 'a batch', path: '/v1/messages/batches', body: { requests }, parts, type: JSON_TYPE }
  for (const sent of [0, 1]) {
    const { cost, hold } = await cutReply(place, batch, sent, { end: ({ socket }) => void socket.end() })
    t.equal(cost, hold)
  }
})

t.test('a provider that gives up on a caller that does not read is not to blame', async (t) => {
  const place = await scene(t)
  const { gateway, upstream, clock } = place
  let sent = 0
  upstream.answer = (_, socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${SSE}\r\nTransfer-Encoding: chunked\r\n\r\n`)
    const more = (): void => {
      while (
        !socket.destroyed &&
        socket.write(partChunk(Buffer.from(`data: ${JSON.stringify({ choices: [], x: 'y'.repeat(60_000) })}\n\n`)))
      )
        sent++
    }
    socket.on('drain', more)
    more()
    return undefined
  }
  const client = await RawClient.open(gateway.url)
  client.send(rawRequest({ ...chat, body: { ...chat.body, max_tokens: 900 } }))
  await eventually('a reply', () => client.text.length > 0)
  client.pause()
  let before = -1
  await eventually('the provider is held back', async () => {
    const held = before === sent
    before = sent
    await new Promise((resolve) => setImmediate(resolve))
    return held && [...upstream.sockets].every(({ writableNeedDrain }) => writableNeedDrain)
  })
  await clock.advance(20_000)
  for (const socket of upstream.sockets) socket.resetAndDestroy()
  client.resume()
  const rows = () => [...gateway.running.store.journal.export()]
  await eventually('the settlement', () => rows().every(({ settled }) => settled))
  t.match(rows(), [{ settled: { estimated: true } }])
  t.equal(rows()[0]?.settled?.cost, rows()[0]?.hold.hold)
  client.close()
})

t.test('of other requests, and of keys without a limit, the price stays when the reply breaks off', async (t) => {
  const { gateway, upstream } = await scene(t)
  const rows = () => [...gateway.running.store.journal.export()]
  const tries: readonly [request: string, cost: number][] = [
    [rawRequest(chat, KEYS.open), PRICE],
    [rawRequest({ path: '/v1/files', body: {} }), PRICE],
    [rawRequest({ path: '/v1/rerank', body: {} }), 500_000_000],
  ]
  upstream.answer = (_, socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nhalf')
    socket.end()
    return undefined
  }
  const seenBefore = new Set<string>()
  for (const [request, cost] of tries) {
    const client = await RawClient.open(gateway.url)
    client.send(request)
    const row = () => rows().find(({ id }) => !seenBefore.has(id))
    await eventually('the settlement', () => row()?.settled !== undefined)
    t.match(row()?.settled, { cost, status: 'failed' })
    seenBefore.add(row()?.id ?? '')
    client.close()
  }
})

t.test('a WebSocket that breaks off costs its price', async (t) => {
  const { gateway, upstream } = await scene(t)
  upstream.answer = (_, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
    setImmediate(() => socket.resetAndDestroy())
    return undefined
  }
  const client = await RawClient.open(gateway.url)
  client.send(
    `GET /v1/passage/first/v1/realtime?model=m HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${KEYS.limited}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  )
  const rows = () => [...gateway.running.store.journal.export()]
  await eventually('the settlement', () => rows().length === 1 && rows().every(({ settled }) => settled))
  t.match(rows(), [{ settled: { cost: 500_000_000 } }])
  client.close()
})
