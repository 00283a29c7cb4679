/** Callers that leave: one row each, billed as the table of charges says, for every wire, streamed or not. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { estimateFromBytes } from '../../../src/ledger/settlement.ts'
import type { GenerationRecord } from '../../../src/ledger/types.ts'
import { FakeClock, turns } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import type { Gateway } from '../../support/gateway.ts'
import { heardLeave, READ_ON } from '../../support/leaving.ts'
import { startScene } from '../../support/scene.ts'
import { runs, seed } from '../../support/seed.ts'
import { Gate, JSON_TYPE, type Seen, sseAnswer, type Upstream } from '../../support/upstream.ts'
import { ALL_WIRES, type AnyWireName, pathAnyWire, streamAnswer, type Utterance, WIRES } from '../../support/wire.ts'

const ABORTS = runs(100, 1000)
const LIMIT = 10
const WHOLE = { input: 400, output: 90 }
const SO_FAR = { input: 400, output: 33 }
/** Content of the streams, in pieces: with quotes, line ends and letters beyond ASCII, as JSON writes them in more bytes. */
const STREAMS = {
  text: ['w0 once\n', 'w1 "upon" ', 'w2 a tíme\t', 'w3 there\\was ', 'w4 日本 ', 'w5 a 🦊 ', 'w6\n\n\n', 'w7 counted ', 'w8 every ', 'w9.'],
  args: ['{"w0":[', '"w1",', '"w2 \\"x\\"",', '"w3\\n",', '"w4 日本",', '"w5",', '"w6 í",', '"w7",', '"w8",', '"w9"]}'],
} as const
const PIECES = 10
type Content = keyof typeof STREAMS | 'reasoning'
const contentPieces = (content: Content): readonly string[] => STREAMS[content === 'args' ? 'args' : 'text']

function contentUtterance(content: Content): Utterance {
  if (content === 'args') return { calls: [{ id: 'call_1', name: 'write', args: STREAMS.args }], usage: WHOLE }
  return content === 'reasoning' ? { reasoning: STREAMS.text, text: ['done'], usage: WHOLE } : { text: STREAMS.text, usage: WHOLE }
}

/** Which format of caller goes with which format of provider. */
const PAIRS: readonly (readonly [path: string, wire: AnyWireName])[] = [
  ['/v1/chat/completions', 'openai-chat'],
  ['/v1/chat/completions', 'openai-responses'],
  ['/v1/chat/completions', 'anthropic'],
  ['/v1/chat/completions', 'gemini'],
  ['/v1/responses', 'openai-responses'],
  ['/v1/messages', 'anthropic'],
  ['/v1/chat/completions', 'bedrock-converse'],
  ['/v1/chat/completions', 'bedrock-anthropic'],
  ['/v1/messages', 'bedrock-anthropic'],
]

const yaml = (url: string): string => {
  const wires = Object.keys(ALL_WIRES) as AnyWireName[]
  const base = (wire: AnyWireName): string => `${url}${wire === 'anthropic' || wire.startsWith('bedrock') ? '' : '/v1'}`
  const provider = (wire: AnyWireName, onAbort: string): string =>
    `  ${wire}-${onAbort}: { dialect: ${wire}, base_url: "${base(wire)}", key: sk-up, on_abort: ${onAbort}, timeouts: { idle: 31s } }`
  const model = (wire: AnyWireName, onAbort: string): string =>
    `  acme/${wire}-${onAbort}: { context: 100000, max_output: 1000, endpoints: [ { provider: ${wire}-${onAbort}, model: m, price: { prompt: "1.00", completion: "2.00" } } ] }`
  const each = (line: (wire: AnyWireName, onAbort: string) => string): string =>
    wires.flatMap((wire) => ['cancel', 'drain'].map((way) => line(wire, way))).join('\n')
  return `
auth: { keys: [ { name: app, key: sk-router-v1-0123456789abcdef, limit: "${LIMIT}.00" } ] }
providers:
${each(provider)}
models:
${each(model)}
`
}

/** An event in the middle of a stream that reports the usage so far; undefined where the wire has none. */
function reportFrame(wire: AnyWireName): string | undefined {
  const { input, output } = SO_FAR
  const data = (event: JsonObject): string => `data: ${JSON.stringify(event)}\n\n`
  if (wire === 'openai-chat')
    return data({ id: 'c', object: 'chat.completion.chunk', choices: [], usage: { prompt_tokens: input, completion_tokens: output } })
  if (wire === 'gemini')
    return data({ candidates: [{ content: { parts: [] } }], usageMetadata: { promptTokenCount: input, candidatesTokenCount: output } })
  if (wire === 'anthropic')
    return `event: message_delta\n${data({ type: 'message_delta', delta: {}, usage: { input_tokens: input, output_tokens: output } })}`
  return undefined
}

/** Content of a frame: events of Claude's format stand in base64 within those of Bedrock. */
function textIn(frame: string): string {
  const [, bytes] = /"bytes":"([^"]+)"/.exec(frame) ?? []
  return bytes === undefined ? frame : Buffer.from(bytes, 'base64').toString('latin1')
}

interface Plan {
  path: string
  wire: AnyWireName
  stream: boolean
  drain: boolean
  /** Pieces that the caller reads before it leaves. */
  cut: number
  reports: boolean
  content: Content
  /** The provider ends while it is read on. */
  ends: boolean
}

const chance = new FakeClock(seed())
const below = (n: number): number => Math.floor(chance.random() * n)

function randomPlan(): Plan {
  const [path, wire] = PAIRS[below(PAIRS.length)]
  const stream = chance.random() < 0.75
  // Calls of this wire come whole.
  const content = (['text', 'reasoning', wire === 'gemini' ? 'text' : 'args'] as const)[below(3)]
  // The name of a call is content already, before any of its arguments.
  const cut = content === 'args' ? 1 + below(PIECES - 1) : below(PIECES)
  const drain = chance.random() < 0.2
  return { path, wire, stream, drain, cut, reports: chance.random() < 0.4, content, ends: drain || chance.random() < 0.2 }
}

const planBody = ({ path, wire, stream, drain }: Plan): JsonObject => {
  const model = `acme/${wire}-${drain ? 'drain' : 'cancel'}`
  const content = 'Tell me a story. '.repeat(1 + below(40))
  if (path === '/v1/responses') return { model, stream, max_output_tokens: 500, input: content }
  return { model, stream, max_tokens: 500, messages: [{ role: 'user', content }] }
}

/** Serves the pieces up to the cut, then waits for the caller to leave; a call that ends then gets the rest. */
function serve(upstream: Upstream, plan: Plan, left: Gate): void {
  const wait = (request: Seen) => async (): Promise<undefined> => {
    await Promise.race([left.opened, request.closed])
    return undefined
  }
  upstream.script = (request) => {
    const wire = pathAnyWire(request.path)
    if (!plan.stream) return { headers: JSON_TYPE, body: [wait(request), JSON.stringify(wire.reply(contentUtterance(plan.content)))] }
    const frames = wire.frames(contentUtterance(plan.content))
    const at = frames.findIndex((frame) => textIn(frame).includes(`w${plan.cut}`))
    const before = frames
      .slice(0, at)
      .map((frame) => (plan.wire === 'gemini' ? frame.replace(/,"usageMetadata":\{.*?\}\]?\}(?=,|\}\n)/, '') : frame))
    const report = plan.reports && plan.cut > 1 ? reportFrame(plan.wire) : undefined
    if (report) before.splice(before.length - 1, 0, report)
    const [first, rest] = [before, frames.slice(at)].map((part) => streamAnswer(wire, part))
    return { ...first, body: [...(first?.body ?? []), wait(request), ...(rest?.body ?? [])] }
  }
}

/** Reads until this piece has come. */
async function readTo(response: Response, piece: string): Promise<void> {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  for (let text = ''; !text.includes(piece); ) {
    const { value, done } = (await reader?.read()) ?? { value: undefined, done: true }
    if (done) throw new Error('the stream ended too early')
    text += decoder.decode(value, { stream: true })
  }
}

/** One caller that comes and leaves. @returns bytes of the request. */
async function leave({ gateway, clock }: Leaving, upstream: Upstream, plan: Plan): Promise<number> {
  const left = new Gate()
  serve(upstream, plan, left)
  const index = upstream.requests.length
  const aborter = new AbortController()
  const body = JSON.stringify(planBody(plan))
  const response = fetch(`${gateway.url}${plan.path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body,
    signal: aborter.signal,
  })
  if (plan.stream && plan.cut > 0) await readTo(await response, `w${plan.cut - 1}`)
  else await upstream.request(index)
  aborter.abort()
  await response.catch(() => undefined)
  await heardLeave(clock, plan.drain ? 30_000 : READ_ON)
  if (plan.ends) left.open()
  else await clock.advance(READ_ON)
  await upstream.requests[index].closed
  return Buffer.byteLength(body)
}

interface Leaving {
  gateway: Gateway
  clock: FakeClock
}

const gatewayRows = (gateway: Gateway): GenerationRecord[] => [...gateway.running.store.journal.export()]

async function settledRow(gateway: Gateway, number: number): Promise<GenerationRecord> {
  return eventually('the settlement', () => {
    const row = gatewayRows(gateway)[number]
    return row?.settled && row
  })
}

interface Bill {
  input: number
  output: number
  most?: number
  estimated: boolean
}

/** The row that the table of charges asks for. */
function expected(plan: Plan, bytes: number): Bill {
  const { wire, stream, ends, cut, content } = plan
  if (ends) return { ...WHOLE, estimated: false }
  if (!stream) return { input: estimateFromBytes(bytes), output: 0, estimated: true }
  const pieces = contentPieces(content).slice(0, cut)
  const came = estimateFromBytes(Buffer.byteLength(pieces.join('')))
  if (plan.reports && cut > 1 && reportFrame(wire) !== undefined) {
    // One piece came after the report; those that shared its packet may have.
    const since = estimateFromBytes(Buffer.byteLength(pieces[cut - 1]))
    return { input: SO_FAR.input, output: SO_FAR.output + since, most: SO_FAR.output + came, estimated: true }
  }
  // These wires count the input as a message begins.
  return { input: wire.endsWith('anthropic') ? WHOLE.input : estimateFromBytes(bytes), output: came, estimated: true }
}

t.test('every caller that leaves has one row, billed as stated', async (t) => {
  const { clock, gateway, upstream } = await startScene(t, { answer: () => ({ status: 500 }), config: yaml })
  const kinds = new Map<string, number>()
  let sum = 0
  await every(t, 'every round', async (t) => {
    for (let number = 0; number < ABORTS; number++) {
      const plan = randomPlan()
      const bytes = await leave({ gateway, clock }, upstream, plan)
      const { settled } = await settledRow(gateway, number)
      const want = expected(plan, bytes)
      const name = `${plan.path} to ${plan.wire}, ${plan.stream ? `left after ${plan.cut} pieces of ${plan.content}` : 'not streamed'}${plan.ends ? (plan.drain ? ', drained' : ', ended') : ''}`
      const { input = -1, output = -1, cost = -1, estimated, status } = settled ?? {}
      t.equal(gatewayRows(gateway).length, number + 1, `${name}: one row`)
      t.same({ input, estimated }, { input: want.input, estimated: want.estimated }, name)
      t.equal(status, 'aborted', name)
      // A token of rounding, and one for the time in which the gateway noticed that the caller had left.
      const tolerance = want.estimated ? 2 : 0
      const fits = output >= want.output - tolerance && output <= (want.most ?? want.output) + tolerance
      t.ok(fits, `${name}: ${output} tokens of output, expected ${want.output}`)
      t.equal(cost, input * 1000 + output * 2000, `${name}: the charge is that of the row's tokens`)
      sum += cost
      const kind = plan.ends ? (plan.drain ? 'drained' : 'ended') : plan.stream ? 'stream' : 'whole'
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    }
  })
  const key = (await (await gateway.get('/v1/key')).json()) as { data: { usage: number; limit_remaining: number } }
  t.equal(Math.round(key.data.usage * 1e9), sum, 'the key has spent the sum of the rows')
  t.equal(Math.round(key.data.limit_remaining * 1e9), LIMIT * 1e9 - sum, 'and nothing is held any more')
  t.equal(kinds.size, 4, [...kinds].map(([kind, count]) => `${count} ${kind}`).join(', '))
  t.equal(gateway.logs.filter((line) => /"level":"error"/.test(line)).length, 0)
})

t.test('a caller that leaves at any moment leaves no hold behind', async (t) => {
  const { clock, gateway, upstream } = await startScene(t, {
    answer: (request) => {
      const wire = pathAnyWire(request.path)
      return wire.streams(request)
        ? streamAnswer(wire, wire.frames(contentUtterance('text')))
        : { headers: JSON_TYPE, body: [JSON.stringify(wire.reply(contentUtterance('text')))] }
    },
    config: yaml,
  })
  const settleAll = async (): Promise<boolean> => {
    await clock.advance(READ_ON)
    return gatewayRows(gateway).every(({ settled }) => settled)
  }
  const before = upstream.requests.length
  for (let number = 0; number < ABORTS; number++) {
    const plan = { ...randomPlan(), drain: false }
    const aborter = new AbortController()
    const response = fetch(`${gateway.url}${plan.path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(planBody(plan)),
      signal: aborter.signal,
    }).then((reply) => reply.text())
    await turns(below(30))
    aborter.abort()
    await response.catch(() => undefined)
  }
  await eventually('all rows are settled', settleAll)
  // A request that is still on its way in would open its hold after the look: one more, answered, comes after all of them.
  await (
    await gateway.post('/v1/chat/completions', { model: 'acme/gemini-cancel', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] })
  ).text()
  await eventually('all rows are settled', settleAll)
  const rows = gatewayRows(gateway)
  const spent = rows.reduce((sum, { settled }) => sum + (settled?.cost ?? 0), 0)
  t.ok(rows.length <= ABORTS + 1, `${rows.length} rows`)
  t.ok(upstream.requests.length - before <= rows.length, 'no call without a row')
  t.ok(
    rows.every(({ hold, settled }) => (settled?.cost ?? 0) <= hold.hold),
    'no charge above its hold',
  )
  const key = (await (await gateway.get('/v1/key')).json()) as { data: { usage: number; limit_remaining: number } }
  t.equal(Math.round(key.data.usage * 1e9), spent)
  t.equal(Math.round(key.data.limit_remaining * 1e9), LIMIT * 1e9 - spent, 'nothing is held')
})

t.test('a cap in the words of another format bounds no charge', async (t) => {
  const pieces = ['w0 once upon a time ', 'w1 there was a caller ', 'w2 who left early']
  const left = new Gate()
  const { clock, gateway } = await startScene(t, {
    answer: (request) => {
      const frames = WIRES['openai-chat'].frames({ text: pieces, usage: WHOLE })
      const at = frames.findIndex((frame) => frame.includes('w2'))
      const wait = async (): Promise<undefined> => {
        await Promise.race([left.opened, request.closed])
        return undefined
      }
      return sseAnswer([...frames.slice(0, at), wait, ...frames.slice(at)])
    },
  })
  const aborter = new AbortController()
  const body = { model: 'acme/one', stream: true, max_tokens: 500, max_output_tokens: 1, messages: [{ role: 'user', content: 'Hi' }] }
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: aborter.signal,
  })
  await readTo(response, 'w1')
  aborter.abort()
  await heardLeave(clock)
  await clock.advance(READ_ON)
  const { settled } = await settledRow(gateway, 0)
  t.equal(settled?.output, estimateFromBytes(Buffer.byteLength(pieces.slice(0, 2).join(''))))
})
