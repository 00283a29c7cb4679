/** Charge of a batch of embeddings that takes several calls: by which call ended it, and what the others had done. Runs with `npm run test:servers`. */
import t, { type Test } from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import type { GenerationRecord } from '../../../src/ledger/types.ts'
import { FakeClock } from '../../support/clock.ts'
import { openaiVectors } from '../../support/embedder.ts'
import { eventually } from '../../support/eventually.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { heardLeave, READ_ON } from '../../support/leaving.ts'
import { type Answer, Gate, jsonAnswer, type Script, type Seen, startUpstream, type Upstream } from '../../support/upstream.ts'

/** Tokens that a provider reports for each call: far beyond what is held for such short inputs. */
const TOKENS = 50_000
/** Nano-dollars per token. */
const PRICE = 1_000
const OTHER_PRICE = 2_000
const DEADLINE = 'X-Router-Deadline'

interface Batched {
  clock: FakeClock
  gateway: Gateway
  /** Takes one input a call; the other takes all of them at once. */
  first: Upstream
  second: Upstream
  ask(input: Json, more?: JsonObject, headers?: Record<string, string>): { response: Promise<Response>; leave(): void }
  /** The row with this number once it is settled: its columns agree with `GET /v1/generation`. */
  charged(number?: number): Promise<Charged>
}

interface Charged {
  cost: number
  input: number
  estimated: boolean
  status: string
  reason: unknown
}

async function batched(t: Test, script: Script, { clock = new FakeClock(), key = '' } = {}): Promise<Batched> {
  const first = await startUpstream(script)
  const second = await startUpstream(openaiVectors({ usage: TOKENS }))
  t.teardown(() => Promise.all([first.close(), second.close()]))
  const single = `dialect: openai-chat, base_url: "${first.url}/v1", key: sk-up`
  const gateway = await startGateway(
    `
auth: { keys: [ { name: app, key: sk-router-v1-0123456789abcdef${key} } ] }
providers:
  first: { ${single}, quirks: { max_batch: 1, input_parts: true } }
  second: { dialect: openai-chat, base_url: "${second.url}/v1", key: sk-up }
models:
  acme/one: { kind: embedding, context: 1000000, endpoints: [ { provider: first, model: m, price: { prompt: "1.00" } } ] }
  acme/other: { kind: embedding, context: 1000000, endpoints: [ { provider: second, model: m, price: { prompt: "2.00" } } ] }
  acme/both:
    kind: embedding
    context: 1000000
    endpoints: [ { provider: first, model: m, price: { prompt: "1.00" } }, { provider: second, model: m, price: { prompt: "2.00" } } ]
  acme/images:
    kind: embedding
    input: [ text, image ]
    endpoints: [ { provider: first, model: m, price: { prompt: "1.00", image: "0.01" } } ]
`,
    { clock },
  )
  t.teardown(() => gateway.close())
  const rows = (): GenerationRecord[] => [...gateway.running.store.journal.export()]
  return {
    clock,
    gateway,
    first,
    second,
    ask: (input, more = {}, headers = {}) => {
      const aborter = new AbortController()
      const response = fetch(`${gateway.url}/v1/embeddings`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ model: 'acme/one', input, ...more }),
        signal: aborter.signal,
      })
      response.catch(() => undefined)
      return { response, leave: () => aborter.abort() }
    },
    charged: async (number = 0) => {
      await eventually('the settlement', () => rows()[number]?.settled)
      const { id, settled } = rows()[number]
      const { data } = (await (await gateway.get(`/v1/generation?id=${id}`)).json()) as { data: JsonObject }
      const { cost = -1, input = -1, estimated = false, status = '' } = settled ?? {}
      t.match(data, { total_cost: cost / 1e9, tokens_prompt: input, estimated, status }, 'the row as it is shown')
      return { cost, input, estimated, status, reason: data.charge_reason }
    },
  }
}

const seenWords = (seen: Seen): string => JSON.stringify(seen.json.input)
const good = openaiVectors({ usage: TOKENS })
const refusal = (status = 400): Answer => jsonAnswer({ error: { message: 'input is wrong', code: 'invalid_value' } }, status)
const INPUTS: readonly string[] = ['good 1', 'good 2', 'good 3', 'good 4', 'good 5', 'good 6', 'good 7']
/** Would show in any sum: some 17,000 tokens. */
const BAD = `bad ${'word '.repeat(10_000)}`

/** Milliseconds that a provider has for a whole reply, by default. */
const WHOLE_REPLY = 600_000

/** Resolves once the gateway has taken in the replies of all calls but one. */
const oneUnderWay = (clock: FakeClock): Promise<true> =>
  eventually('one call is left under way', () => clock.waiting.filter((delay) => delay === WHOLE_REPLY).length === 1)

/** Refuses the bad input once the gateway has the answers of the others. */
function refusingLast(clock: FakeClock, answer = refusal()): Script {
  const done = new Gate()
  let answered = 0
  return async (seen, index) => {
    if (!seenWords(seen).includes('bad')) {
      const reply = await good(seen, index)
      if (++answered === INPUTS.length) done.open()
      return reply
    }
    await done.opened
    await oneUnderWay(clock)
    return answer
  }
}

t.test('a call that the provider refuses costs nothing itself, and the finished calls stay charged', async (t) => {
  const answers: [answer: Answer, status: number][] = [
    [refusal(), 400],
    [refusal(413), 413],
    [refusal(422), 422],
    [jsonAnswer({ error: { message: 'input is wrong', code: 400 } }), 400],
  ]
  for (const [answer, status] of answers)
    for (const place of [0, 3, INPUTS.length]) {
      const clock = new FakeClock()
      const scene = await batched(t, refusingLast(clock, answer), { clock })
      const { response } = scene.ask(INPUTS.toSpliced(place, 0, BAD))
      t.equal((await response).status, status)
      const tokens = INPUTS.length * TOKENS
      t.same(await scene.charged(), {
        cost: tokens * PRICE,
        input: tokens,
        estimated: false,
        status: 'failed',
        reason: 'caller/usage_known/reported',
      })
    }
})

t.test('a refusal pays for calls that the provider had, not for those that were still to come', async (t) => {
  const scene = await batched(t, async (seen, index) => {
    if (seenWords(seen).includes('good 1')) return good(seen, index)
    if (!seenWords(seen).includes('bad')) return { before: 'stall' }
    // The last of the four that run at once.
    await eventually('the fifth call', () => scene.first.requests.length >= 5)
    return refusal()
  })
  const long = `good 1 ${'word '.repeat(3_000)}`
  t.equal((await scene.ask(['good 1', 'good 2', BAD, 'good 3', 'good 4', long, long]).response).status, 400)
  t.equal(scene.first.requests.length, 5)
  const { input, cost, reason, estimated } = await scene.charged()
  t.match({ reason, estimated }, { reason: 'caller/content/estimated', estimated: true })
  t.ok(input > TOKENS && input < TOKENS + 30, `${input}: one report in full though it passes the hold, and three short inputs`)
  t.equal(cost, input * PRICE)

  scene.first.script = async (seen) => {
    if (!seenWords(seen).includes('bad')) return { before: 'stall' }
    await eventually('the ninth call', () => scene.first.requests.length >= 9)
    return refusal()
  }
  t.equal((await scene.ask([BAD, 'good 2', 'good 3', 'good 4', long]).response).status, 400)
  const none = await scene.charged(1)
  t.equal(none.reason, 'caller/sent/estimated')
  t.ok(none.input > 0 && none.input < 30, `${none.input}`)
  t.equal(none.cost, none.input * PRICE)
})

t.test('a refusal of everything that was sent costs nothing', async (t) => {
  const scene = await batched(t, () => refusal())
  t.equal((await scene.ask('bad').response).status, 400)
  const nothing = { cost: 0, input: 0, estimated: false, status: 'failed', reason: 'caller/not_sent/nothing' }
  t.same(await scene.charged(), nothing)
})

t.test('images of the refused call, and of calls that were never made, are not charged', async (t) => {
  const clock = new FakeClock()
  const scene = await batched(t, refusingLast(clock), { clock })
  const entry = (text: string): Json => ({
    content: [
      { type: 'text', text },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    ],
  })
  t.equal((await scene.ask([...INPUTS, BAD].map(entry), { model: 'acme/images' }).response).status, 400)
  const { cost, input } = await scene.charged()
  t.equal(input, INPUTS.length * TOKENS)
  t.equal(cost, input * PRICE + INPUTS.length * 10_000_000)
  scene.first.script = good
  t.equal((await scene.ask([...INPUTS, 'good 8'].map(entry), { model: 'acme/images' }).response).status, 200)
  t.match(await scene.charged(1), { cost: 8 * (TOKENS * PRICE + 10_000_000), reason: 'model/usage_known/reported' })
})

t.test('a refusal that another model makes good leaves the finished calls charged', async (t) => {
  const clock = new FakeClock()
  const scene = await batched(t, refusingLast(clock), { clock })
  const response = await scene.ask([...INPUTS, BAD], { models: ['acme/other'] }).response
  t.equal(response.status, 200)
  const { usage } = (await response.json()) as { usage: JsonObject }
  const cost = INPUTS.length * TOKENS * PRICE + TOKENS * OTHER_PRICE
  const input = (INPUTS.length + 1) * TOKENS
  t.match(usage, { prompt_tokens: input, cost: cost / 1e9 }, 'as the caller is shown')
  t.match(await scene.charged(), { cost, input, status: 'completed', reason: 'model/usage_known/reported' })
  // Where the provider of that model fails as well, insurance covers the whole request.
  scene.first.script = refusingLast(clock)
  scene.second.script = () => jsonAnswer({ error: { message: 'down' } }, 503)
  t.equal((await scene.ask([...INPUTS, BAD], { models: ['acme/other'] }).response).status, 502)
  t.match(await scene.charged(1), { cost: 0, reason: 'provider/sent/nothing' })
})

t.test('a provider that fails one call is not paid for the others, and nothing is charged twice', async (t) => {
  const failing: Script = (seen, index) => (seenWords(seen).includes('bad') ? jsonAnswer({ error: {} }, 500) : good(seen, index))
  const scene = await batched(t, failing)
  const order = { model: 'acme/both', provider: { order: ['first', 'second'] } }
  t.equal((await scene.ask([...INPUTS, 'bad'], order).response).status, 200)
  const second = { cost: TOKENS * OTHER_PRICE, input: TOKENS, estimated: false, reason: 'model/usage_known/reported' }
  t.match(await scene.charged(), second, 'only the endpoint that served')
  await scene.clock.advance(3_600_000)
  t.equal((await scene.ask([...INPUTS, 'bad']).response).status, 502)
  t.match(await scene.charged(1), { cost: 0, input: INPUTS.length * TOKENS, reason: 'provider/content/nothing' })
  await scene.clock.advance(3_600_000)
  // The provider's failure is insured even where the next one refuses the request.
  scene.second.script = () => refusal()
  t.equal((await scene.ask([...INPUTS, 'bad'], order).response).status, 400)
  t.match(await scene.charged(2), { cost: 0, input: 0, reason: 'caller/not_sent/nothing' })
  await scene.clock.advance(3_600_000)
  let failed = false
  scene.first.script = (seen, index) => {
    if (failed || !seenWords(seen).includes('bad')) return good(seen, index)
    failed = true
    return jsonAnswer({ error: {} }, 500)
  }
  t.equal((await scene.ask([...INPUTS, 'bad']).response).status, 200)
  t.match(await scene.charged(3), { cost: 8 * TOKENS * PRICE, input: 8 * TOKENS }, 'the call that is made again counts once')
})

/** A report within the hold, and one that passes it: then reports are charged in full, and estimates as far as the hold reaches. */
const REPORTS = [10, TOKENS] as const

function partlyEstimated(t: Test, { input, cost, reason, estimated }: Charged, report: number): void {
  t.match({ reason, estimated }, { reason: 'caller/content/estimated', estimated: true })
  const estimate = input - INPUTS.length * report
  if (report === TOKENS) t.equal(estimate, 0)
  else t.ok(estimate > 0 && estimate < 10, `${estimate}`)
  t.equal(cost, input * PRICE)
}

t.test('a deadline in the middle of a batch: reports in full, and the input of what was under way', async (t) => {
  for (const report of REPORTS) {
    const scene = await batched(t, (seen, index) => {
      return seenWords(seen).includes('good') ? openaiVectors({ usage: report })(seen, index) : { before: 'stall' }
    })
    const { response } = scene.ask([...INPUTS, 'slow'], {}, { [DEADLINE]: '5' })
    await scene.first.request(7)
    await oneUnderWay(scene.clock)
    await scene.clock.advance(5_000)
    t.equal((await response).status, 408)
    partlyEstimated(t, await scene.charged(), report)
  }
})

t.test('a caller that leaves in the middle of a batch', async (t) => {
  for (const report of REPORTS) {
    const gate = new Gate()
    let last: Answer = refusal()
    const scene = await batched(t, async (seen, index) => {
      if (seenWords(seen).includes('good')) return openaiVectors({ usage: report })(seen, index)
      await gate.opened
      return last
    })
    const leaves = async (): Promise<void> => {
      const from = scene.first.requests.length
      const { leave } = scene.ask([...INPUTS, 'bad'])
      await scene.first.request(from + 7)
      await oneUnderWay(scene.clock)
      leave()
      await heardLeave(scene.clock)
    }
    await leaves()
    gate.open()
    const input = INPUTS.length * report
    const reported = { cost: input * PRICE, input, estimated: false, status: 'aborted', reason: 'caller/usage_known/reported' }
    t.same(await scene.charged(), reported, 'a call that is refused while the gateway reads on costs nothing itself')
    last = { before: 'stall' }
    await leaves()
    await scene.clock.advance(READ_ON)
    partlyEstimated(t, await scene.charged(1), report)
  }
})

t.test('tokens per minute count what was charged', async (t) => {
  const limit = (INPUTS.length + 2) * TOKENS
  const clock = new FakeClock()
  const scene = await batched(t, refusingLast(clock), { clock, key: `, limits: { tokens: ${limit} }` })
  t.equal((await scene.ask([...INPUTS, BAD]).response).status, 400)
  const ids = (count: number): Json => Array.from({ length: count }, () => 1)
  scene.first.script = () => refusal()
  // Two bytes an id; a request takes a token for 2.5 bytes from the limit, and gives back what is not charged.
  t.equal((await scene.ask(ids(190_000)).response).status, 429, 'the finished calls count')
  t.equal((await scene.ask(ids(120_000)).response).status, 400, 'the refused one does not')
  t.equal((await scene.ask(ids(120_000)).response).status, 400, 'nor does one that is refused alone')
})
