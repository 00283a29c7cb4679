/** A plan shows the route that is then taken: random catalogues, preferences, formats and health, with the same number drawn. */
import fc from 'fast-check'
import t from 'tap'
import { Runtime } from '../../../src/app/runtime.ts'
import { keepLocally } from '../../../src/cluster/bookkeeping.ts'
import { shareNothing } from '../../../src/cluster/shared/index.ts'
import { loadConfig } from '../../../src/config/load.ts'
import type { Clock, Timer } from '../../../src/core/clock.ts'
import { GenerationIds } from '../../../src/core/ids.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { openLog } from '../../../src/core/log.ts'
import { usdText } from '../../../src/core/money-text.ts'
import { clientDialects } from '../../../src/dialects/registry.ts'
import type { Front } from '../../../src/pipeline/chain.ts'
import type { ClientConnection } from '../../../src/pipeline/client-connection.ts'
import { Exchange } from '../../../src/pipeline/exchange.ts'
import type { Plan } from '../../../src/pipeline/plan/answer.ts'
import { dialectByBody, type PlanFormat, planDialects } from '../../../src/pipeline/plan/format.ts'
import { openStore } from '../../../src/store/open.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { property } from '../../support/seed.ts'

/** A clock whose chance can be made to repeat itself. */
class ReplayClock implements Clock {
  private readonly time = new FakeClock()
  private chance = new FakeClock()

  rewind(seed: number): void {
    this.chance = new FakeClock(seed)
  }

  now(): number {
    return this.time.now()
  }
  monotonic(): number {
    return this.time.monotonic()
  }
  after(ms: number, fn: () => void): Timer {
    if (ms > 0) return this.time.after(ms, fn)
    // A long answer of a simulated provider makes room for others in between.
    const soon = setImmediate(fn)
    return { cancel: () => clearImmediate(soon) }
  }
  random(): number {
    return this.chance.random()
  }
  advance(ms: number): Promise<void> {
    return this.time.advance(ms)
  }
}

/** A caller in this process. */
class Caller implements ClientConnection {
  status = 0
  utterance = ''
  readonly contentLength: number
  private readonly body: Buffer

  constructor(body: JsonObject) {
    this.body = Buffer.from(JSON.stringify(body))
    this.contentLength = this.body.length
  }

  readBody(): Promise<Buffer> {
    return Promise.resolve(this.body)
  }
  whole(status: number, _headers: unknown, json: string): void {
    this.status = status
    this.utterance = json
  }
  openStream(): void {
    this.status = 200
  }
  bytes(): boolean {
    return true
  }
  text(): boolean {
    return true
  }
  onDrain(): void {}
  endStream(text: string): void {
    // A stream of the Responses API says in its last event that the input is too long.
    const failed = /"type":"response\.failed".*"error":(\{"code":"context_length_exceeded".*?\})/.exec(text)
    if (failed) this.whole(400, {}, `{"error":${failed[1]}}`)
  }
  probe(): void {}
}

const MODELS = ['acme/one', 'acme/two', 'acme/three']
const PROVIDERS = ['aye', 'bee', 'cee', 'dee', 'eee']
const KEYS: JsonObject[] = [
  { name: 'free', key: 'sk-free-0123456789' },
  { name: 'limited', key: 'sk-limited-0123456789', limit: '0.10' },
  {
    name: 'bound',
    key: 'sk-bound-0123456789',
    allowed_models: ['acme/one', 'acme/all', 'acme/two'],
    provider: { sort: 'price', ignore: ['eee'] },
  },
]

/** @param often tenths of the cases in which it is there. */
const maybe = <T>(values: fc.Arbitrary<T>, often = 5): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 10 - often, arbitrary: fc.constant(undefined) }, { weight: often, arbitrary: values })
/** Without the members that are undefined. */
const record = (members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JsonObject> =>
  fc.record(members).map((made) => Object.fromEntries(Object.entries(made).filter(([, value]) => value !== undefined)) as JsonObject)

const faults = fc.oneof(
  { weight: 4, arbitrary: fc.constant(undefined) },
  { weight: 3, arbitrary: fc.record({ status: fc.constantFrom(503, 429, 529, 500, 400, 404), rate: fc.constantFrom(0.5, 1) }) },
)
const provider = record({
  dialect: fc.constant('sim'),
  faults,
  zdr: maybe(fc.boolean(), 2),
  data_collection: maybe(fc.constantFrom('allow', 'deny')),
})
const price = fc.oneof(
  { weight: 6, arbitrary: fc.record({ prompt: fc.constantFrom('0.5', '1', '2', '8'), completion: fc.constantFrom('1', '2', '4', '30') }) },
  { weight: 1, arbitrary: fc.constant('free') },
)
const endpoint = (slug: string): fc.Arbitrary<JsonObject> =>
  record({
    provider: fc.constant(slug),
    model: fc.constant('echo'),
    price,
    context: maybe(fc.constantFrom(60, 400, 4000), 1),
    max_output: maybe(fc.constantFrom(50, 4000), 1),
    quantization: maybe(fc.constantFrom('fp8', 'fp4', 'bf16')),
    supported_parameters: maybe(fc.subarray(['temperature', 'seed', 'tools', 'max_tokens']), 2),
    tier: maybe(fc.constantFrom('flex', 'priority'), 2),
    weight: maybe(fc.constantFrom(0, 1, 20, 80), 2),
  })
const endpoints = fc
  .subarray(PROVIDERS, { minLength: 1 })
  .chain((slugs) => fc.tuple(...slugs.map(endpoint)))
  .map((made) => ({ context: 8000, endpoints: made }))
const catalogue = fc.record({
  server: fc.constant({ host: '127.0.0.1', port: 0 }),
  store: fc.constant({ url: 'memory:' }),
  auth: fc.constant({ keys: KEYS }),
  // Each provider is used by somebody, as the loader demands.
  providers: fc.record(Object.fromEntries(PROVIDERS.map((slug) => [slug, provider]))),
  models: fc.record({
    ...Object.fromEntries(MODELS.map((slug) => [slug, endpoints])),
    'acme/all': fc.tuple(...PROVIDERS.map(endpoint)).map((made) => ({ context: 8000, endpoints: made })),
  }),
  aliases: fc.constant({ 'any/alias': 'acme/all' }),
  presets: fc.constant({
    brief: { model: 'acme/all', system_prompt: 'Be brief.', provider: { sort: 'latency' }, parameters: { seed: 7 } },
  }),
  guardrails: fc.constant([{ name: 'no-names', scope: { keys: ['free'] }, content_filters: [{ pattern: 'aurora', action: 'block' }] }]),
})

const slugs = fc.subarray([...PROVIDERS, 'bee/flex', 'cee/priority', 'nobody'], { minLength: 1 })
const preferences = record({
  order: maybe(slugs, 3),
  only: maybe(slugs, 1),
  ignore: maybe(fc.subarray(PROVIDERS, { maxLength: 2 }), 2),
  allow_fallbacks: maybe(fc.boolean(), 2),
  sort: maybe(fc.constantFrom('price', 'latency', 'throughput', 'exacto', 'least_busy', { by: 'price', partition: 'none' }), 2),
  quantizations: maybe(fc.constant(['fp8', 'bf16', 'unknown']), 1),
  max_price: maybe(fc.constant({ completion: 4 }), 1),
  require_parameters: maybe(fc.boolean(), 1),
  zdr: maybe(fc.constant(true), 1),
  data_collection: maybe(fc.constant('deny'), 1),
  preferred_max_latency: maybe(fc.constantFrom(0.001, 5), 2),
})
const slug = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...MODELS, 'acme/all', 'acme/all', 'any/alias') },
  { weight: 2, arbitrary: fc.constantFrom('acme/all:floor', 'acme/all:nitro', 'acme/one:exacto') },
  { weight: 2, arbitrary: fc.constantFrom('router/auto', 'router/free', '@preset/brief', 'acme/two@preset/brief') },
  { weight: 1, arbitrary: fc.constantFrom('acme/none', 'acme/one:free', 'plain') },
)
type Generating = Exclude<PlanFormat, 'embeddings'>
const question = fc.record({
  format: fc.constantFrom<Generating>('responses', 'chat', 'messages'),
  key: fc.oneof(
    { weight: 19, arbitrary: fc.constantFrom(...KEYS.map(({ key }) => String(key))) },
    { weight: 1, arbitrary: fc.constant('sk-nobody-0123456789') },
  ),
  words: fc.oneof({ weight: 5, arbitrary: fc.constantFrom(1, 20) }, { weight: 1, arbitrary: fc.constantFrom(300, 9000) }),
  cap: maybe(fc.constantFrom(10, 1000), 2),
  tools: fc.boolean(),
  secret: fc.boolean(),
  shared: record({
    model: slug,
    models: maybe(fc.subarray(MODELS), 2),
    provider: maybe(preferences, 6),
    stream: maybe(fc.boolean()),
    temperature: maybe(fc.constantFrom(0.5, 0.7, 9), 1),
    session_id: maybe(fc.constantFrom('s1', 's2')),
    service_tier: maybe(fc.constantFrom('flex', 'priority', 'default'), 2),
    route: maybe(fc.constantFrom('fallback', 'sort'), 2),
  }),
  seed: fc.nat(),
  /** Milliseconds before it is asked. */
  pause: fc.constantFrom(0, 0, 100, 2_000, 40_000),
})
type Question = typeof question extends fc.Arbitrary<infer Q> ? Q : never

const PATHS: Record<Generating, string> = { responses: '/v1/responses', chat: '/v1/chat/completions', messages: '/v1/messages' }

function questionBody({ format, words, cap, tools, secret, shared }: Question): JsonObject {
  const text = `${'word '.repeat(words)}${secret && words === 1 ? 'aurora' : ''}`
  const name = 'look'
  const schema = { type: 'object', properties: {} }
  const messages = [{ role: 'user', content: text }]
  if (format === 'responses') {
    const offered = tools ? { tools: [{ type: 'function', name, parameters: schema }] } : {}
    return { ...shared, ...offered, input: text, ...(cap ? { max_output_tokens: Math.max(16, cap) } : {}) }
  }
  if (format === 'chat') {
    const offered = tools ? { tools: [{ type: 'function', function: { name, parameters: schema } }] } : {}
    return { ...shared, ...offered, messages, ...(cap ? { max_tokens: cap } : {}) }
  }
  return { ...shared, ...(tools ? { tools: [{ name, input_schema: schema }] } : {}), system: 'Be brief.', messages, max_tokens: cap ?? 30 }
}

class Bench {
  readonly clock = new ReplayClock()
  readonly runtime: Runtime
  readonly store = keepLocally(openStore('memory:', { clock: this.clock }), this.clock)
  private readonly ids = new GenerationIds({ last: 0 })

  constructor(yaml: JsonObject) {
    const config = loadConfig('random.yaml', {}, { text: JSON.stringify(yaml) })
    const logs = openLog(this.clock, () => {})
    this.runtime = new Runtime({
      config,
      clock: this.clock,
      logs,
      store: this.store,
      shared: shareNothing(this.clock),
      forcedLane: undefined,
    })
  }

  async ask(asked: Question, what: 'plan' | 'act'): Promise<{ exchange: Exchange; status: number; body: JsonObject }> {
    this.clock.rewind(asked.seed)
    const { serving } = this.runtime.gateway
    const front: Front = serving.fronts[what === 'plan' ? 'plan' : 'generate']
    const dialects = planDialects(clientDialects)
    const connection = new Caller(questionBody(asked))
    const at = this.clock.now()
    const exchange = new Exchange({
      id: this.ids.next(at),
      at,
      // The format is left to the body's shape: here it always shows.
      client: what === 'plan' ? dialectByBody(dialects, null) : (clientDialects.get(PATHS[asked.format]) ?? dialects.chat),
      headers: { authorization: `Bearer ${asked.key}` },
      connection,
      clock: this.clock,
      config: serving.config,
      wantsMetadata: false,
    })
    await front(exchange)
    return {
      exchange,
      status: connection.status,
      body: connection.utterance === '' ? {} : (JSON.parse(connection.utterance) as JsonObject),
    }
  }

  /** State that a plan must leave alone. */
  trace(): string {
    const accounts = KEYS.map(({ name }) => this.runtime.dependencies.credit.account(String(name)))
    return JSON.stringify([[...this.store.journal.export()].length, accounts.map(({ settled, held }) => [String(settled), String(held)])])
  }
}

const tally: Record<string, number> = {}
const count = (what: string): void => {
  tally[what] = (tally[what] ?? 0) + 1
}

function fail(asked: Question, what: string, found: unknown, expected: unknown): never {
  throw new Error(
    `${what}: the plan said ${JSON.stringify(found)}, then came ${JSON.stringify(expected)}\n${JSON.stringify(questionBody(asked))}`,
  )
}

function same(asked: Question, what: string, planned: unknown, happened: unknown): void {
  if (JSON.stringify(planned) !== JSON.stringify(happened)) fail(asked, what, planned, happened)
}

/** Prefix of Messages for an overflow. */
const TOO_LONG = /^prompt is too long: \d+ tokens > \d+ maximum\. /

/** Status, message and kind of an error; Messages has its own body around them. */
const comparedError = (status: number, body: JsonObject): unknown[] => [status, String(object(body.error).message).replace(TOO_LONG, '')]

async function compare(bench: Bench, asked: Question): Promise<void> {
  await bench.clock.advance(asked.pause)
  const before = bench.trace()
  const planned = await bench.ask(asked, 'plan')
  same(asked, 'trace', bench.trace(), before)
  const act = await bench.ask(asked, 'act')
  const { head, history, plan: acted, route } = act.exchange
  const { attempts, removed } = history
  const candidates = acted?.candidates ?? []
  const models = route?.models ?? []
  count('cases')
  if (planned.status === 500 || act.status === 500) fail(asked, 'an error of our own', planned.body, act.body)
  if (planned.status !== 200) {
    count(`refused ${planned.status}`)
    same(asked, 'refusal', comparedError(planned.status, planned.body), comparedError(act.status, act.body))
    if (attempts.length > 0) fail(asked, 'refusal', planned.body, attempts)
    return
  }
  const plan = planned.body as unknown as Plan
  const order = plan.candidates.map(({ model, endpoint }) => `${model}@${endpoint}`)
  same(asked, 'format', plan.format, asked.format)
  same(
    asked,
    'order',
    order,
    candidates.map(({ id }) => id),
  )
  same(asked, 'first', order[0], attempts[0]?.endpoint)
  same(asked, 'hold', plan.hold.usd, usdText(head.costs.hold.amount))
  same(
    asked,
    'models',
    plan.models,
    models.map((model) => model.slug),
  )
  for (const { endpoint: gone } of removed) {
    if (!plan.excluded.some(({ model, endpoint }) => `${model}@${endpoint}` === gone.id)) fail(asked, 'exclusion', plan.excluded, gone.id)
  }
  const offered = new Set(models.flatMap((model) => model.endpoints))
  const told = plan.excluded.filter(({ model }) => plan.models.includes(model)).length
  same(asked, 'every endpoint is told of', plan.candidates.length + told, offered.size)
  // Who is tried is tried in the plan's order; some may be passed over after an error that they would repeat.
  const places = attempts.map(({ endpoint }) => order.indexOf(endpoint))
  if (places.some((place, i) => place < 0 || (i > 0 && place < places[i - 1]))) fail(asked, 'attempts', order, attempts)
  count(order.length > 1 ? 'several candidates' : 'one candidate')
  if (attempts.length > 1) count('fallbacks')
  if (act.status === 200) count('served')
  const [{ why }] = plan.candidates
  count(`by ${why.by}`)
  count(`strategy ${plan.strategy}`)
  if (plan.candidates.some((candidate) => candidate.why.health !== 'ok')) count('unwell')
}

const CASES = 25

t.test('a thousand plans, and what then happened', async (t) => {
  const parameters = property(40, 400)
  await fc.assert(
    fc.asyncProperty(catalogue, fc.array(question, { minLength: CASES, maxLength: CASES }), async (yaml, questions) => {
      const bench = new Bench(yaml as unknown as JsonObject)
      try {
        for (const asked of questions) await compare(bench, asked)
      } finally {
        await bench.runtime.close()
      }
    }),
    { ...parameters, includeErrorInReport: true },
  )
  t.comment(JSON.stringify(tally))
  t.ok(tally.cases >= parameters.numRuns * CASES, `${tally.cases} cases`)
  await every(t, 'every case', async (t) => {
    for (const what of [
      'several candidates',
      'one candidate',
      'fallbacks',
      'served',
      'unwell',
      'by draw',
      'by price',
      'by order',
      'by session',
      'strategy fallback',
      'strategy alias',
      'strategy auto',
    ]) {
      t.ok(tally[what] >= 3, `${what}: ${tally[what]}`)
    }
  })
  for (const status of [400, 401, 402, 403, 404])
    t.ok(tally[`refused ${status}`] >= 1, `refused with ${status}: ${tally[`refused ${status}`]}`)
})
