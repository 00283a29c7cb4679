/**
 * Charge of a caller that leaves, for what the provider showed before its final report: the input that it has counted,
 * searches that it has run and images that it has drawn; over real sockets, in every lane.
 */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FORMATS, type Format, userTurn } from '../../support/asking.ts'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import type { Gateway } from '../../support/gateway.ts'
import { countLane, type Lane, lanesBetween } from '../../support/lanes.ts'
import { heardLeave, READ_ON } from '../../support/leaving.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, Gate, type Seen, sseAnswer, type Upstream } from '../../support/upstream.ts'
import { framesFor, type Utterance, type WireName } from '../../support/wire.ts'

/** Nano-dollars per token, and per search. */
const INPUT = 1_000
const OUTPUT = 2_000
const CACHED = 100
const WRITTEN = 1_250
const PICTURED = 40_000
const SEARCH = 10_000_000
/** Tokens of an image of 1024 × 1024 (ai.google.dev, Gemini API pricing). */
const IMAGE = 1_290

const WIRES = ['openai-chat', 'openai-responses', 'anthropic', 'gemini'] as const
const PRICE = '{ prompt: "1.00", completion: "2.00", cached: "0.10", cache_write: "1.25", image_output: "40.00", web_search: "0.01" }'
const PATIENT = '{ connect: 900s, first_byte: 700s, idle: 777s, total: 899s }'

interface EarlyLeave {
  clock: FakeClock
  gateway: Gateway
  upstream: Upstream
}

interface Charged {
  cost: number
  input: number
  output: number
  cached: number
  cacheWrite: number
  estimated: boolean
  reason: unknown
}

interface Way {
  format: Format
  wire: WireName
  lane: Lane
}

const wayName = ({ format, wire, lane }: Way): string => `${format} to ${wire}, ${lane}`

/** The formats that a wire is called from here: its own in every lane, and another one. */
function waysTo(wire: WireName): Way[] {
  return (['chat', 'responses', 'messages'] as const).flatMap((format) =>
    lanesBetween(format, wire).map((lane) => ({ format, wire, lane })),
  )
}

async function earlyLeave(t: Test, lane: Lane): Promise<EarlyLeave> {
  const clock = new FakeClock()
  const { gateway, upstream } = await startScene(t, {
    answer: () => ({ status: 500 }),
    config: (url) => `
providers:
${WIRES.map((wire) => `  ${wire}: { dialect: ${wire}, base_url: "${url}${wire === 'anthropic' ? '' : '/v1'}", key: sk-up, timeouts: ${PATIENT} }`).join('\n')}
models:
${WIRES.map((wire) => `  acme/${wire}: { context: 1000000, output: [ text, image ], endpoints: [ { provider: ${wire}, model: m, price: ${PRICE} } ] }`).join('\n')}
`,
    clock,
    ...(lane === 'pass' ? {} : { lane }),
  })
  return { clock, gateway, upstream }
}

interface Leaving {
  frames(seen: Seen): NonNullable<Answer['body']>
  /** Words of the reply at which the caller leaves; undefined: before any. */
  at?: string
  more?: JsonObject
  /** Called once the gateway has noticed. */
  left?(): void
}

/** Asks, leaves, and lets the time pass in which the provider is read on. @returns what is charged. */
async function chargedFor(scene: EarlyLeave, { format, wire }: Way, { frames, at, more = {}, left }: Leaving): Promise<Charged> {
  const { clock, gateway, upstream } = scene
  const rows = () => [...gateway.running.store.journal.export()]
  const before = rows().length
  const asked = upstream.requests.length
  upstream.script = (seen) => sseAnswer([...frames(seen)], left ? {} : { after: 'stall' })
  const aborter = new AbortController()
  const response = fetch(`${gateway.url}${FORMATS[format]}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: `acme/${wire}`, stream: true, ...userTurn(format, 'Will it rain?'), ...more }),
    signal: aborter.signal,
  })
  response.catch(() => undefined)
  await upstream.request(asked)
  if (at === undefined) await clock.armed(777_000)
  else await readTo(await response, at)
  aborter.abort()
  await heardLeave(clock)
  if (left) left()
  else await clock.advance(READ_ON)
  await eventually('the settlement', () => rows()[before]?.settled)
  const { settled } = rows()[before]
  const { cost = -1, input = -1, output = -1, cached = -1, cacheWrite = -1, estimated = false, facts = '{}' } = settled ?? {}
  return { cost, input, output, cached, cacheWrite, estimated, reason: (JSON.parse(facts) as JsonObject).charge_reason }
}

async function readTo(response: Response, text: string): Promise<void> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  let read = ''
  while (!read.includes(text)) {
    const { value, done } = await reader.read()
    if (done) throw new Error(`the stream ended before ${text}: ${read.slice(0, 300)}`)
    read += Buffer.from(value).toString()
  }
}

const CAPS: Readonly<Record<Format, JsonObject>> = {
  chat: { max_tokens: 100_000 },
  responses: { max_output_tokens: 100_000 },
  messages: { max_tokens: 100_000 },
}

/** The frames of a stream up to a text. */
function until(seen: Seen, text: string, utterance: Utterance): string[] {
  const frames = framesFor(seen.path, utterance)
  return frames.slice(0, frames.findIndex((frame) => frame.includes(text)) + 1)
}

/** A scene for each lane, made when it is first wanted. */
function sceneByWay(t: Test): (way: Way) => Promise<EarlyLeave> {
  const scenes = new Map<Lane, Promise<EarlyLeave>>()
  return ({ lane }) => {
    const known = scenes.get(lane) ?? earlyLeave(t, lane)
    scenes.set(lane, known)
    return known
  }
}

t.test('input that message_start counts is charged as counted, with what was cached', async (t) => {
  const scenes = sceneByWay(t)
  const usage = { input: 500_000, output: 20, cached: 300_000, written: 50_000 }
  const utterance: Utterance = { text: ['found ', 'it'], usage }
  const ofInput = 150_000 * INPUT + 300_000 * CACHED + 50_000 * WRITTEN
  await every(t, 'every way', async (t) => {
    for (const way of waysTo('anthropic')) {
      const scene = await scenes(way)
      const counts = { input: 500_000, cached: 300_000, cacheWrite: 50_000, estimated: true }
      const early = await chargedFor(scene, way, { frames: (seen) => framesFor(seen.path, utterance).slice(0, 1) })
      t.match(early, { ...counts, reason: 'caller/sent/estimated' }, `${wayName(way)}: before any content`)
      t.equal(early.cost, ofInput + early.output * OUTPUT)
      const later = await chargedFor(scene, way, { frames: (seen) => until(seen, 'found ', utterance), at: 'found' })
      t.match(later, { ...counts, reason: 'caller/content/estimated' }, wayName(way))
      t.equal(later.cost, ofInput + later.output * OUTPUT)
      countLane(t, way.lane)
    }
  })
})

t.test('less input than estimated is charged as counted, and output that came beside it', async (t) => {
  const scenes = sceneByWay(t)
  const utterance: Utterance = { text: ['one two three four five ', 'six'], usage: { input: 2_000, output: 900, cached: 2_000 } }
  await every(t, 'every way', async (t) => {
    for (const way of waysTo('anthropic')) {
      const charged = await chargedFor(await scenes(way), way, {
        frames: (seen) => until(seen, 'one two', utterance),
        at: 'five',
        more: userTurn(way.format, 'x '.repeat(20_000)),
      })
      t.match(charged, { input: 2_000, cached: 2_000, estimated: true }, wayName(way))
      t.ok(charged.output >= 8 && charged.output <= 12, `${wayName(way)}: ${charged.output} tokens of what came`)
      t.equal(charged.cost, 2_000 * CACHED + charged.output * OUTPUT)
    }
  })
})

t.test('a zero with which a message starts counts nothing', async (t) => {
  const scenes = sceneByWay(t)
  const utterance: Utterance = { text: ['found ', 'it'], usage: { input: 0, output: 20 } }
  await every(t, 'every way', async (t) => {
    for (const way of waysTo('anthropic')) {
      const { input, reason } = await chargedFor(await scenes(way), way, {
        frames: (seen) => until(seen, 'found ', utterance),
        at: 'found',
      })
      t.ok(input > 0, `${wayName(way)}: ${input} tokens`)
      t.equal(reason, 'caller/content/estimated')
    }
  })
})

/** A frame of the chat wire with usage and words. */
const chatFrame = (content: string, usage: JsonObject): string =>
  `data: ${JSON.stringify({ id: 'up', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null }], usage })}\n\n`

const geminiFrame = (text: string, usageMetadata: JsonObject): string =>
  `data: ${JSON.stringify({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] } }], usageMetadata, responseId: 'up' })}\n\n`

t.test('reports of the input alone leave the output to the estimate', async (t) => {
  const scenes = sceneByWay(t)
  const words = 'word '.repeat(20)
  const frames: Partial<Record<WireName, string[]>> = {
    'openai-chat': [1, 2, 3].map((at) => chatFrame(`${words}${at === 3 ? 'last' : ''}`, { prompt_tokens: 7_000 })),
    gemini: [1, 2, 3].map((at) => geminiFrame(`${words}${at === 3 ? 'last' : ''}`, { promptTokenCount: 7_000, totalTokenCount: 7_000 })),
  }
  await every(t, 'every way', async (t) => {
    for (const way of [...waysTo('openai-chat'), ...waysTo('gemini')]) {
      const gates = [new Gate(), new Gate()]
      const [one = '', two = '', three = ''] = frames[way.wire] ?? []
      for (const gate of gates) gate.open()
      const charged = await chargedFor(await scenes(way), way, {
        frames: () => [one, gates[0].step, two, gates[1].step, three],
        at: 'last',
      })
      t.match(charged, { input: 7_000, estimated: true, reason: 'caller/content/estimated' }, wayName(way))
      t.ok(charged.output >= 120 && charged.output <= 135, `${wayName(way)}: ${charged.output} tokens for 304 bytes`)
    }
  })
})

t.test('a report in the middle that repeats its count covers nothing that came since', async (t) => {
  const scenes = sceneByWay(t)
  const usage = { prompt_tokens: 7_000, completion_tokens: 0 }
  const words = 'word '.repeat(20)
  await every(t, 'every way', async (t) => {
    for (const way of waysTo('openai-chat')) {
      const frames = ['', words, words, 'last'].map((text) => chatFrame(text, usage))
      const charged = await chargedFor(await scenes(way), way, { frames: () => frames, at: 'last' })
      t.ok(charged.output >= 80 && charged.output <= 90, `${wayName(way)}: ${charged.output} tokens for 204 bytes`)
    }
  })
})

const SEARCHES: Utterance = { searches: ['a', 'b', 'c', 'd', 'e'], text: ['found ', 'it'], usage: { input: 100, output: 20 } }

/** Fields that start searches, where the format and the wire have the same words for it; the cap makes room for them in the hold. */
function searching({ format, wire }: Way): JsonObject {
  if (lanesBetween(format, wire).length === 1) return CAPS[format]
  if (format === 'responses') return { ...CAPS[format], tools: [{ type: 'web_search' }] }
  return { ...CAPS[format], tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 }] }
}

/** Cost of searches: what is left of the charge without tokens. */
const searchesIn = ({ cost, input, output, cached }: Charged): number =>
  (cost - (input - cached) * INPUT - cached * CACHED - output * OUTPUT) / SEARCH

t.test('searches that the provider has run are charged, though no report counts them yet', async (t) => {
  const scenes = sceneByWay(t)
  await every(t, 'every way', async (t) => {
    for (const way of [...waysTo('openai-responses'), ...waysTo('anthropic')]) {
      const scene = await scenes(way)
      const more = searching(way)
      const all = await chargedFor(scene, way, { frames: (seen) => until(seen, 'found ', SEARCHES), at: 'found', more })
      t.equal(searchesIn(all), 5, wayName(way))
      t.match(all, { estimated: true, reason: 'caller/content/estimated' })
      const failed = await chargedFor(scene, way, {
        frames: (seen) => until(seen, 'found ', SEARCHES).map((frame) => brokenSearch(frame)),
        at: 'found',
        more,
      })
      t.equal(searchesIn(failed), 4, `${wayName(way)}: one failed`)
      countLane(t, way.lane)
    }
  })
})

/** The frame with the second of the searches failed. */
function brokenSearch(frame: string): string {
  if (frame.includes('"tool_use_id":"srvtoolu_1"'))
    return frame.replace(/"content":\[.*?\]/, '"content":{"type":"web_search_tool_result_error","error_code":"unavailable"}')
  return frame.includes('"id":"ws_2"') ? frame.replace('"status":"completed"', '"status":"failed"') : frame
}

t.test('searches of Gemini are charged before its last report', async (t) => {
  const scenes = sceneByWay(t)
  const grounding = { webSearchQueries: ['a', 'b'], groundingChunks: [{ web: { uri: 'https://x.test/', title: 'X' } }] }
  const candidate = { index: 0, content: { role: 'model', parts: [{ text: 'found ' }] }, groundingMetadata: grounding }
  const frame = `data: ${JSON.stringify({ candidates: [candidate], responseId: 'up' })}\n\n`
  await every(t, 'every way', async (t) => {
    for (const way of waysTo('gemini')) {
      const charged = await chargedFor(await scenes(way), way, { frames: () => [frame], at: 'found', more: searching(way) })
      t.equal(searchesIn(charged), 2, wayName(way))
      t.ok(charged.input > 0 && charged.estimated, 'its tokens are estimated')
    }
  })
})

t.test('a report in the middle does not hide searches; the last one is believed', async (t) => {
  const scenes = sceneByWay(t)
  const middle = `event: message_delta\ndata: ${JSON.stringify({ type: 'message_delta', delta: {}, usage: { output_tokens: 30 } })}\n\n`
  await every(t, 'every way', async (t) => {
    for (const way of waysTo('anthropic')) {
      const scene = await scenes(way)
      const more = searching(way)
      const partial = await chargedFor(scene, way, {
        frames: (seen) => {
          const frames = until(seen, 'found ', SEARCHES)
          return [...frames.slice(0, -1), middle, ...frames.slice(-1)]
        },
        at: 'found',
        more,
      })
      t.equal(searchesIn(partial), 5, wayName(way))
      t.ok(partial.output >= 30 && partial.input === 100)
      const gate = new Gate()
      const whole = await chargedFor(scene, way, {
        frames: (seen) => {
          const frames = framesFor(seen.path, SEARCHES).map((frame) => frame.replace('"web_search_requests":5', '"web_search_requests":2'))
          const cut = frames.findIndex((frame) => frame.includes('found ')) + 1
          return [...frames.slice(0, cut), gate.step, ...frames.slice(cut)]
        },
        at: 'found',
        more,
        left: () => gate.open(),
      })
      t.match(whole, { input: 100, output: 20, estimated: false, reason: 'caller/usage_known/reported' }, wayName(way))
      t.equal(searchesIn(whole), 2, `${wayName(way)}: as reported`)
    }
  })
})

t.test('a last report without its items still has the searches that came', async (t) => {
  const scenes = sceneByWay(t)
  await every(t, 'every way', async (t) => {
    for (const way of waysTo('openai-responses')) {
      const gate = new Gate()
      const charged = await chargedFor(await scenes(way), way, {
        frames: (seen) => {
          const frames = framesFor(seen.path, SEARCHES).map((frame) =>
            frame.includes('"type":"response.completed"') ? frame.replace(/"output":\[.*\],"parallel/, '"output":[],"parallel') : frame,
          )
          const cut = frames.findIndex((frame) => frame.includes('found ')) + 1
          return [...frames.slice(0, cut), gate.step, ...frames.slice(cut)]
        },
        at: 'found',
        more: searching(way),
        left: () => gate.open(),
      })
      t.match(charged, { input: 100, output: 20, estimated: false }, wayName(way))
      t.equal(searchesIn(charged), 5, wayName(way))
    }
  })
})

const PIXELS = 'A'.repeat(200_000)

/** Frames of a Responses stream that draws images and then says nothing more. */
function drawn(events: readonly JsonObject[]): string[] {
  const head = framesFor('/v1/responses', { text: ['x'] }).slice(0, 2)
  return [...head, ...events.map((event, at) => encodeFrame({ ...event, sequence_number: at + 2 }))]
}
const encodeFrame = ({ type, ...event }: JsonObject): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...event })}\n\n`
const drawing = (at: number, status: string, result: string | null): JsonObject => ({
  output_index: at,
  item: { id: `ig_${at}`, type: 'image_generation_call', status, result },
})
const added = (at: number): JsonObject => ({ type: 'response.output_item.added', ...drawing(at, 'in_progress', null) })
const done = (at: number): JsonObject => ({ type: 'response.output_item.done', ...drawing(at, 'completed', PIXELS) })
const partial = (at: number, number: number): JsonObject => ({
  type: 'response.image_generation_call.partial_image',
  output_index: at,
  item_id: `ig_${at}`,
  partial_image_index: number,
  partial_image_b64: PIXELS,
})
const LAST = { type: 'response.image_generation_call.in_progress', item_id: 'ig_last', output_index: 9 }

t.test('images that came are charged at their own price', async (t) => {
  const scenes = sceneByWay(t)
  const more = { tools: [{ type: 'image_generation' }] }
  const cases: [name: string, events: JsonObject[], images: number, only?: Lane][] = [
    ['finished', [added(0), done(0)], 1],
    ['two of them', [added(0), done(0), added(1), done(1)], 2],
    ['in parts, then finished', [added(0), partial(0, 0), partial(0, 1), done(0), added(1), done(1)], 2],
    ['in part', [added(0), partial(0, 0), partial(0, 1)], 1],
    ['none', [added(0)], 0],
  ]
  await every(t, 'every lane', async (t) => {
    for (const lane of ['pass', 'observe'] as const) {
      const way: Way = { format: 'responses', wire: 'openai-responses', lane }
      for (const [name, events, images] of cases)
        for (const restyle of [(frame: string) => frame, (frame: string) => frame.replace('"type":"response', '"type": "response')]) {
          const frames = drawn([...events, LAST]).map(restyle)
          const charged = await chargedFor(await scenes(way), way, { frames: () => frames, at: 'ig_last', more })
          const words = charged.output - images * IMAGE
          t.ok(words >= 0 && words <= 3, `${wayName(way)}, ${name}: ${charged.output} tokens`)
          t.equal(charged.cost, charged.input * INPUT + images * IMAGE * PICTURED + words * OUTPUT, name)
        }
    }
  })
  const picture = [{ type: 'image_url', image_url: { url: `data:image/png;base64,${PIXELS}` } }]
  const others: [way: Way, frames: string[]][] = [
    ...(['chat', 'messages'] as const).map((format): [Way, string[]] => [
      { format, wire: 'openai-responses', lane: 'translate' },
      [...drawn([added(0), done(0)]), ...framesFor('/v1/responses', { text: ['found', 'it'] }).slice(2, -2)],
    ]),
    ...waysTo('openai-chat').map((way): [Way, string[]] => [
      way,
      [chatFrame('x', {}), chatFrame('', {}).replace('"content":""', `"images":${JSON.stringify(picture)}`), chatFrame('found', {})],
    ]),
  ]
  await every(t, 'every case', async (t) => {
    for (const [way, frames] of others) {
      const charged = await chargedFor(await scenes(way), way, { frames: () => frames, at: 'found', more: CAPS[way.format] })
      const words = charged.output - IMAGE
      t.ok(words >= 0 && words <= 6, `${wayName(way)}: ${charged.output} tokens`)
      t.equal(charged.cost, charged.input * INPUT + IMAGE * PICTURED + words * OUTPUT, wayName(way))
      countLane(t, way.lane)
    }
  })
})
