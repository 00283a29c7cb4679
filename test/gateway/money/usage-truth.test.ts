/**
 * Reports of providers about usage, and their use: the caller's usage, the recorded generation and the ledger's charge
 * are one value, whatever the wire, the lane and the truthfulness of the report.
 */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { type Gateway, KEY, startGateway } from '../../support/gateway.ts'
import { type Lane, lanesBetween } from '../../support/lanes.ts'
import { jsonAnswer, type Seen, sseAnswer, startUpstream } from '../../support/upstream.ts'
import { frameData, framesWith, REPORTS, type Report, replyWith, TEXT } from '../../support/usage-reports.ts'
import { pathWire, WIRES, type WireName } from '../../support/wire.ts'

const PROMPT = 1000
const COMPLETION = 2000
const CACHED = 100

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
      .map(frameData)
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
  record: JsonObject
}

const upstream = await startUpstream(() => ({ status: 500 }))
const wires = Object.keys(WIRES) as WireName[]
const BOSS = { authorization: 'Bearer sk-router-v1-boss56789abcdef0123456789abcdef' }
const yaml = `
auth: { keys: [ { name: test, key: ${KEY} }, { name: boss, key: ${BOSS.authorization.slice(7)}, management: true } ] }
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
async function tapTruth(t: Tap, { client, wire, stream, lane }: Asked, name: string): Promise<Truth> {
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
  return { ...seen, cost, record }
}

type Tap = Pick<typeof t, 'same' | 'equal' | 'ok'>

/** Nano-dollars that were held for a request. */
async function heldFor(gateway: Gateway, { id }: JsonObject): Promise<number> {
  const { data } = (await (await gateway.get(`/v1/generations/${id}`, BOSS)).json()) as { data: JsonObject }
  return Number(object(object(data.reservation).in_force).nano)
}

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
    for (const [client, wire] of PAIRS) for (const lane of lanesBetween(client, wire)) yield { client, wire, stream, lane }
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
  /** `disputed`: charged what was held, and the rest of what the provider reports is not. */
  expect: Record<keyof Counts, number | 'estimate'> | 'disputed'
}

const NONE = { cached: 0, reasoning: 0 }
const ESTIMATE = { input: 'estimate', output: 'estimate', ...NONE } as const
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
  { name: 'missing', reports: [undefined], expect: ESTIMATE },
  { name: 'null', reports: [null], expect: ESTIMATE },
  { name: 'an empty object', reports: [{}], expect: ESTIMATE },
  { name: 'numbers as texts', reports: [{ input: '100', output: '10' }], expect: { input: 100, output: 10, ...NONE } },
  { name: 'counts that are no numbers', reports: [{ input: 'many', output: true }], expect: ESTIMATE },
  { name: 'an output that is no number', reports: [{ input: 100, output: true }], expect: { ...ESTIMATE, input: 100 } },
  { name: 'an input that is no number', reports: [{ input: 'many', output: 10 }], expect: { ...ESTIMATE, output: 10 } },
  { name: 'lying: negative', reports: [{ input: -5, output: -7, cached: -1, reasoning: -2 }], expect: ESTIMATE },
  { name: 'lying: an output below zero', reports: [{ input: 100, output: -7 }], expect: { ...ESTIMATE, input: 100 } },
  { name: 'lying: fractions are rounded up', reports: [{ input: 99.2, output: 10.5 }], expect: { input: 100, output: 11, ...NONE } },
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
  {
    name: 'beyond the cap and what was held, as reasoning beside it may be',
    reports: [{ input: 100, output: 100_000 }],
    expect: { input: 100, output: 100_000, ...NONE },
  },
  { name: 'lying: beyond the cap', reports: [{ input: 100, output: 900_000 }], expect: 'disputed' },
  { name: 'lying: beyond the context', reports: [{ input: 900_000, output: 3 }], expect: 'disputed' },
  { name: 'lying: beyond all reason', reports: [{ input: 1e300, output: 3 }], expect: 'disputed' },
]

/** Bill of a provider for a report; one request counts up to 2^53 nano-dollars. */
const billed = ({ input, output }: Report): number =>
  Math.min(Number(input) * PROMPT + Number(output) * COMPLETION, Number.MAX_SAFE_INTEGER)

/** That the hold is charged, as far as whole tokens fill it, and all the rest of the bill is disputed. */
async function isDisputed(t: Tap, from: Gateway, { cost, record }: Truth, report: Report, name: string): Promise<void> {
  const held = await heldFor(from, record)
  t.ok(cost <= held && cost > held - COMPLETION, `${name}: ${cost} of ${held}`)
  t.equal(record.disputed_nano, billed(report) - cost, `${name}: the rest is disputed`)
  t.equal(record.unrecovered_nano, 0, name)
}

/** That what is reported stands, and the rest is estimated by what came and went. */
function isCounted(t: Tap, counts: Counts, expect: Exclude<Case['expect'], 'disputed'>, name: string): void {
  for (const each of ['cached', 'reasoning'] as const) t.equal(counts[each], expect[each], `${name}: ${each}`)
  if (expect.input !== 'estimate') t.equal(counts.input, expect.input, `${name}: input as reported`)
  else {
    const sent = Buffer.byteLength(upstream.requests.at(-1)?.body ?? '')
    t.ok(counts.input >= sent / 6 && counts.input <= sent, `${name}: ${counts.input} tokens for ${sent} bytes`)
  }
  if (expect.output !== 'estimate') t.equal(counts.output, expect.output, `${name}: output as reported`)
  else {
    const words = Buffer.byteLength(TEXT.join(''))
    t.ok(counts.output >= words / 6 && counts.output <= words / 2, `${name}: ${counts.output} tokens for ${words} bytes`)
  }
}

for (const { name, reports, wires: only, streamOnly, expect } of CASES) {
  t.test(name, async (t) => {
    let asked = 0
    await every(t, 'every case', async (t) => {
      for (const each of askers()) {
        const { client, wire, stream, lane } = each
        if ((only && !only.includes(wire)) || (streamOnly && !stream)) continue
        const written = reports.map((report) => (report ? REPORTS[wire](report) : report))
        upstream.script = (request: Seen) => {
          const place = pathWire(request.path)
          return WIRES[place].streams(request) ? sseAnswer(framesWith(place, written)) : jsonAnswer(replyWith(place, written.at(-1)))
        }
        const label = `${client} to ${wire}, ${lane}${stream ? ', streamed' : ''}`
        const truth = await tapTruth(t, each, label)
        const { cost: _, record, ...counts } = truth
        asked++
        const whole = expect !== 'disputed' && !Object.values(expect).includes('estimate')
        t.equal(record.estimated, !whole, `${label}: flagged as an estimate or not`)
        if (expect === 'disputed') await isDisputed(t, gateways[lane], truth, reports.at(-1) ?? {}, label)
        else {
          isCounted(t, counts, expect, label)
          t.equal(record.disputed_nano, 0, `${label}: nothing is disputed`)
        }
      }
    })
    t.ok(asked > 0, `${asked} calls`)
  })
}

t.test('a report that passes its hold is charged, one that cannot be true is disputed: the operator sees both', async (t) => {
  const asked: Asked = { client: 'chat', wire: 'openai-chat', stream: false, lane: 'pass' }
  const { pass } = gateways
  for (const [report, possible] of [
    [{ input: 100, output: 100_000 }, true],
    [{ input: 100, output: 5_000_000 }, false],
  ] as const) {
    upstream.script = (request) => jsonAnswer(replyWith(pathWire(request.path), REPORTS['openai-chat'](report)))
    const before = pass.logs.length
    const { cost, record } = await tapTruth(t, asked, possible ? 'overrun' : 'nonsense')
    const held = await heldFor(pass, record)
    const lines = pass.logs.slice(before).map((line) => JSON.parse(line) as JsonObject)
    const { data } = (await (await pass.get('/v1/ledger/entries?limit=200', BOSS)).json()) as { data: JsonObject[] }
    const entries = data.filter(({ generation_id: of }) => of === record.id)
    if (possible) {
      t.equal(cost, 100 * PROMPT + 100_000 * COMPLETION)
      t.match(lines, [{ gen: record.id, nano: cost - held, msg: 'a provider used more than its request allowed' }])
      t.same(entries, [])
    } else {
      const nano = 100 * PROMPT + 5_000_000 * COMPLETION - cost
      t.match(lines, [{ gen: record.id, disputed_nano: nano, msg: 'a provider reported more usage than is possible' }])
      t.match(entries, [{ kind: 'disputed', amount: nano / 1e9 }])
    }
  }
})
