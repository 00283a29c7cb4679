/**
 * What providers say about usage, and what becomes of it: the caller's usage, the recorded generation and the ledger's charge
 * are one value, whatever the wire, the lane and the truthfulness of the report.
 */
import t from 'tap'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { every } from '../support/every.ts'
import { object } from '../support/fold.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { type Lane, lanesOf } from '../support/lanes.ts'
import { jsonAnswer, type Seen, sseAnswer, startUpstream } from '../support/upstream.ts'
import { type Said, WIRES, type WireName, wireOf } from '../support/wire.ts'

const TEXT = ['Some words ', 'that count ', 'for something.']
const SAID: Said = { text: TEXT, usage: { input: 100, output: 10 } }
const PROMPT = 1000
const COMPLETION = 2000
const CACHED = 100

/** Usage as one wire writes it. */
interface Report {
  input?: Json
  output?: Json
  cached?: Json
  reasoning?: Json
}

const detail = (name: string, value: Json | undefined): JsonObject => (value === undefined ? {} : { [name]: value })

/** The usage object of each wire; counts that are not given are left out. `cached` is part of `input`, `reasoning` of `output`. */
const REPORTS: Record<WireName, (report: Report) => JsonObject> = {
  'openai-chat': ({ input, output, cached, reasoning }) => ({
    ...detail('prompt_tokens', input),
    ...detail('completion_tokens', output),
    ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
    ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  }),
  'openai-responses': ({ input, output, cached, reasoning }) => ({
    ...detail('input_tokens', input),
    ...detail('output_tokens', output),
    ...(cached === undefined ? {} : { input_tokens_details: { cached_tokens: cached } }),
    ...(reasoning === undefined ? {} : { output_tokens_details: { reasoning_tokens: reasoning } }),
  }),
  anthropic: ({ input, output, cached, reasoning }) => ({
    ...detail('input_tokens', typeof input === 'number' && typeof cached === 'number' ? Math.max(0, input - cached) : input),
    ...detail('output_tokens', output),
    ...detail('cache_read_input_tokens', cached),
    ...(reasoning === undefined ? {} : { output_tokens_details: { thinking_tokens: reasoning } }),
  }),
  gemini: ({ input, output, cached, reasoning }) => ({
    ...detail('promptTokenCount', input),
    ...detail(
      'candidatesTokenCount',
      typeof output === 'number' && typeof reasoning === 'number' ? Math.max(0, output - reasoning) : output,
    ),
    ...detail('cachedContentTokenCount', cached),
    ...detail('thoughtsTokenCount', reasoning),
  }),
}

/** Where a usage object stands in the frames and replies of each wire. */
const MEMBER: Record<WireName, string> = {
  'openai-chat': 'usage',
  'openai-responses': 'usage',
  anthropic: 'usage',
  gemini: 'usageMetadata',
}

const dataOf = (frame: string): JsonObject | undefined => {
  const line = frame.split('\n').find((each) => each.startsWith('data: {'))
  return line === undefined ? undefined : (JSON.parse(line.slice(6)) as JsonObject)
}
const frameOf = (event: JsonObject, name: string | undefined): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(event)}\n\n`

/** The object of an event that holds the usage, if it may hold one. */
function holderOf(wire: WireName, event: JsonObject): JsonObject | undefined {
  if (wire === 'openai-responses') return event.response as JsonObject | undefined
  if (wire === 'anthropic' && event.type === 'message_start') return event.message as JsonObject
  if (wire === 'anthropic') return event.type === 'message_delta' ? event : undefined
  return event
}

/**
 * The stream with these reports in place of its own, the last of them where the wire has its last one.
 * Null stands for a usage member that is null, undefined for none at all.
 */
function framesWith(wire: WireName, reports: readonly (JsonObject | null | undefined)[]): string[] {
  const places: { event: JsonObject; holder: JsonObject; name: string | undefined }[] = []
  const frames = WIRES[wire].frames(SAID).map((frame) => {
    const event = dataOf(frame)
    const holder = event && holderOf(wire, event)
    if (!event || !holder) return () => frame
    const name = /^event: (.*)$/m.exec(frame)?.[1]
    delete holder[MEMBER[wire]]
    places.push({ event, holder, name })
    return () => frameOf(event, name)
  })
  for (const [index, report] of reports.entries()) {
    const place = places[places.length - reports.length + index]
    if (report !== undefined) place.holder[MEMBER[wire]] = report
  }
  return frames.map((text) => text())
}

function replyWith(wire: WireName, report: JsonObject | null | undefined): JsonObject {
  const reply = WIRES[wire].reply(SAID)
  delete reply[MEMBER[wire]]
  if (report !== undefined) reply[MEMBER[wire]] = report
  return reply
}

/** Callers of each format, and where they find their usage. */
const CLIENTS = {
  chat: {
    path: '/v1/chat/completions',
    body: { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 500 },
    counts: (usage: JsonObject) => ({
      input: usage.prompt_tokens,
      output: usage.completion_tokens,
      cached: object(usage.prompt_tokens_details).cached_tokens,
      reasoning: object(usage.completion_tokens_details).reasoning_tokens,
    }),
  },
  responses: {
    path: '/v1/responses',
    body: { input: 'Hello', max_output_tokens: 500 },
    counts: (usage: JsonObject) => ({
      input: usage.input_tokens,
      output: usage.output_tokens,
      cached: object(usage.input_tokens_details).cached_tokens,
      reasoning: object(usage.output_tokens_details).reasoning_tokens,
    }),
  },
  messages: {
    path: '/v1/messages',
    body: { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 500 },
    counts: (usage: JsonObject) => ({
      input: Number(usage.input_tokens) + Number(usage.cache_read_input_tokens ?? 0) + Number(usage.cache_creation_input_tokens ?? 0),
      output: usage.output_tokens,
      cached: usage.cache_read_input_tokens ?? 0,
      reasoning: object(usage.output_tokens_details).thinking_tokens,
    }),
  },
} as const
type ClientName = keyof typeof CLIENTS

/** The last usage object that a reply shows, streamed or not. */
function shownUsage(text: string): JsonObject {
  const framed = (): JsonObject[] =>
    text
      .split('\n\n')
      .map(dataOf)
      .filter((event) => event !== undefined)
  const events = text.startsWith('{') ? [JSON.parse(text) as JsonObject] : framed()
  let found: JsonObject | undefined
  for (const event of events) {
    const holder = object(event.response ?? event)
    if (holder.usage && typeof holder.usage === 'object') found = object(holder.usage)
  }
  if (!found) throw new Error(`no usage in ${text.slice(0, 400)}`)
  return found
}

interface Counts {
  input: number
  output: number
  cached: number
  reasoning: number
}

interface Truth extends Counts {
  cost: number
  estimated: boolean
}

const upstream = await startUpstream(() => ({ status: 500 }))
const wires = Object.keys(WIRES) as WireName[]
const yaml = `
providers:
${wires.map((wire) => `  ${wire}: { dialect: ${wire}, base_url: "${upstream.url}${wire === 'anthropic' ? '' : '/v1'}", key: sk-up }`).join('\n')}
models:
${wires.map((wire) => `  acme/${wire}: { context: 100000, max_output: 1000, endpoints: [ { provider: ${wire}, model: m, price: { prompt: "1.00", completion: "2.00", cached: "0.10" } } ] }`).join('\n')}
`
const gateways: Record<Lane, Gateway> = {
  pass: await startGateway(yaml),
  observe: await startGateway(yaml, { lane: 'observe' }),
  translate: await startGateway(yaml, { lane: 'translate' }),
}
t.teardown(async () => {
  for (const gateway of Object.values(gateways)) await gateway.close()
  await upstream.close()
})

const spent = async (from: Gateway): Promise<number> => {
  const key = (await (await from.get('/v1/key')).json()) as { data: { usage: number } }
  return Math.round(key.data.usage * 1e9)
}

interface Asked {
  client: ClientName
  wire: WireName
  stream: boolean
  lane: Lane
}

/** One call: that the three tell the same is checked here. @returns what they tell. */
async function truthOf(t: Tap, { client, wire, stream, lane }: Asked, name: string): Promise<Truth> {
  const gateway = gateways[lane]
  const { path, body, counts } = CLIENTS[client]
  const before = await spent(gateway)
  const response = await gateway.post(path, { ...body, model: `acme/${wire}`, stream })
  const text = await response.text()
  const usage = shownUsage(text)
  const seen = counts(usage) as Counts
  const record = object(
    ((await (await gateway.get(`/v1/generation?id=${response.headers.get('x-generation-id')}`)).json()) as { data: never }).data,
  )
  const cost = Math.round(Number(usage.cost) * 1e9)
  const told = {
    input: record.tokens_prompt,
    output: record.tokens_completion,
    cached: record.native_tokens_cached,
    reasoning: record.native_tokens_reasoning,
  }
  t.same(seen, told, `${name}: the caller and the generation agree`)
  t.equal(record.total_cost, usage.cost, `${name}: so do their costs`)
  t.equal((await spent(gateway)) - before, cost, `${name}: and the ledger charges it`)
  const { input, output, cached } = seen
  t.equal(cost, (input - cached) * PROMPT + cached * CACHED + output * COMPLETION, `${name}: for the counts that are shown`)
  return { ...seen, cost, estimated: record.estimated === true }
}

type Tap = Pick<typeof t, 'same' | 'equal' | 'ok'>

/** Every format of caller and every wire, where the two differ and where they agree; there in every lane. */
const PAIRS: readonly (readonly [ClientName, WireName])[] = [
  ...wires.map((wire) => ['chat', wire] as const),
  ['responses', 'openai-responses'],
  ['responses', 'openai-chat'],
  ['responses', 'anthropic'],
  ['messages', 'anthropic'],
  ['messages', 'gemini'],
]

function* askers(): Generator<Asked> {
  for (const stream of [false, true]) {
    for (const [client, wire] of PAIRS) for (const lane of lanesOf(client, wire)) yield { client, wire, stream, lane }
  }
}

interface Case {
  name: string
  /** Reports in their order; a whole reply has the last one. */
  reports: readonly (Report | null | undefined)[]
  /** Wires on which it can happen; all by default. */
  wires?: readonly WireName[]
  /** Only where there is more than one place for it. */
  streamOnly?: boolean
  expect: Counts | 'estimate'
}

const NONE = { cached: 0, reasoning: 0 }
const CASES: readonly Case[] = [
  {
    name: 'one report',
    reports: [{ input: 100, output: 10, cached: 40, reasoning: 4 }],
    expect: { input: 100, output: 10, cached: 40, reasoning: 4 },
  },
  {
    name: 'cumulative: the last report counts',
    reports: [
      { input: 100, output: 1 },
      { input: 100, output: 5 },
      { input: 100, output: 12 },
    ],
    wires: ['openai-chat', 'gemini'],
    streamOnly: true,
    expect: { input: 100, output: 12, ...NONE },
  },
  {
    name: 'cumulative: the last report counts, of two',
    reports: [
      { input: 100, output: 1 },
      { input: 100, output: 12 },
    ],
    streamOnly: true,
    expect: { input: 100, output: 12, ...NONE },
  },
  {
    name: 'split: the prompt first, the completion last',
    reports: [{ input: 100, cached: 40 }, { output: 12 }],
    wires: ['openai-chat', 'anthropic', 'gemini'],
    streamOnly: true,
    expect: { input: 100, output: 12, cached: 40, reasoning: 0 },
  },
  { name: 'an explicit zero is zero', reports: [{ input: 0, output: 0 }], expect: { input: 0, output: 0, ...NONE } },
  { name: 'no completion tokens', reports: [{ input: 100, output: 0 }], expect: { input: 100, output: 0, ...NONE } },
  { name: 'missing', reports: [undefined], expect: 'estimate' },
  { name: 'null', reports: [null], expect: 'estimate' },
  { name: 'an empty object', reports: [{}], expect: 'estimate' },
  { name: 'counts that are no numbers', reports: [{ input: '100', output: true }], expect: 'estimate' },
  {
    name: 'lying: negative',
    reports: [{ input: -5, output: -7, cached: -1, reasoning: -2 }],
    expect: { input: 0, output: 0, ...NONE },
  },
  { name: 'lying: fractions', reports: [{ input: 99.9, output: 10.5 }], expect: { input: 99, output: 10, ...NONE } },
  {
    name: 'lying: parts above their whole',
    reports: [{ input: 100, output: 10, cached: 4000, reasoning: 5000 }],
    wires: ['openai-responses'],
    expect: { input: 100, output: 10, cached: 100, reasoning: 10 },
  },
  {
    name: 'lying: more read from a cache than there was',
    reports: [{ input: 100, output: 10, cached: 4000 }],
    wires: ['openai-chat', 'openai-responses', 'gemini'],
    expect: { input: 100, output: 10, cached: 100, reasoning: 0 },
  },
  { name: 'lying: beyond the cap', reports: [{ input: 100, output: 900_000 }], expect: { input: 100, output: 900_000, ...NONE } },
  { name: 'lying: beyond all reason', reports: [{ input: 1e300, output: 3 }], expect: { input: 1e10, output: 3, ...NONE } },
]

for (const { name, reports, wires: only, streamOnly, expect } of CASES) {
  t.test(name, async (t) => {
    let asked = 0
    await every(t, 'every case', async (t) => {
      for (const each of askers()) {
        const { client, wire, stream, lane } = each
        if ((only && !only.includes(wire)) || (streamOnly && !stream)) continue
        const written = reports.map((report) => (report ? REPORTS[wire](report) : report))
        upstream.script = (request: Seen) => {
          const place = wireOf(request.path)
          return WIRES[place].streams(request) ? sseAnswer(framesWith(place, written)) : jsonAnswer(replyWith(place, written.at(-1)))
        }
        const label = `${client} to ${wire}, ${lane}${stream ? ', streamed' : ''}`
        const { cost, estimated, ...counts } = await truthOf(t, each, label)
        asked++
        t.equal(estimated, expect === 'estimate', `${label}: flagged as an estimate or not`)
        if (expect !== 'estimate') t.same(counts, expect, `${label}: as reported`)
        else {
          const words = Buffer.byteLength(TEXT.join(''))
          t.ok(counts.output >= words / 6 && counts.output <= words / 2, `${label}: ${counts.output} tokens for ${words} bytes`)
          t.ok(counts.input > 0 && cost > 0, `${label}: the prompt counts too`)
        }
      }
    })
    t.ok(asked > 0, `${asked} calls`)
  })
}

t.test('a report that passes its hold is charged, and told to the operator', async (t) => {
  upstream.script = (request) => jsonAnswer(replyWith(wireOf(request.path), REPORTS['openai-chat']({ input: 100, output: 5_000_000 })))
  const { logs } = gateways.pass
  const before = logs.length
  const { cost } = await truthOf(t, { client: 'chat', wire: 'openai-chat', stream: false, lane: 'pass' }, 'overrun')
  t.equal(cost, 100 * PROMPT + 5_000_000 * COMPLETION)
  t.match(logs.slice(before).join('\n'), /hold|bound|more than/i)
})
