/** Charges by who ended a request and how far it had come, over real sockets. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import type { GenerationRecord } from '../../../src/ledger/types.ts'
import { cutReadable } from '../../support/body-text.ts'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { object, parseStream } from '../../support/fold.ts'
import type { Gateway } from '../../support/gateway.ts'
import { heardLeave, READ_ON } from '../../support/leaving.ts'
import { startScene } from '../../support/scene.ts'
import {
  type Answer,
  Gate,
  JSON_TYPE,
  jsonAnswer,
  type Script,
  type Seen,
  sseAnswer,
  startMuteUpstream,
  type Upstream,
} from '../../support/upstream.ts'
import { answerFor, framesFor, type Utterance, upstreamError } from '../../support/wire.ts'

/** Nano-dollars per token. */
const INPUT = 1_000
const OUTPUT = 2_000
const QUESTION = 'What is the meaning of all this? '.repeat(20)
const UTTERANCES: Utterance = { text: ['one ', 'two'], usage: { input: 150, output: 40 } }
const DEADLINE = 'X-Router-Deadline'

interface PayingKey {
  clock: FakeClock
  gateway: Gateway
  upstream: Upstream
  /** Sends the question; `leave` goes away. */
  ask(more?: JsonObject, headers?: Record<string, string>): { response: Promise<Response>; leave(): void }
  rows(): GenerationRecord[]
  /** The one row with this number, once it is settled, as `GET /v1/generation` shows it. */
  charged(number?: number): Promise<Charged>
}

interface Charged {
  cost: number
  input: number
  output: number
  estimated: boolean
  reason: unknown
  hold: number
}

interface PayingKeyOptions {
  script: Script
  /** YAML of the key. */
  key?: string
  /** YAML of the provider. */
  provider?: string
  address?: string
}

/** Out of the way, and unlike any other timer: `idle` is armed when a reply begins. */
const IDLE = 777_000
const PATIENT = '{ connect: 900s, first_byte: 700s, idle: 777s, total: 899s }'

async function payingKey(t: Test, { script, key = '', provider = `timeouts: ${PATIENT}`, address }: PayingKeyOptions): Promise<PayingKey> {
  const clock = new FakeClock()
  const { gateway, upstream } = await startScene(t, {
    answer: script,
    config: (url) => `
auth: { keys: [ { name: app, key: sk-router-v1-0123456789abcdef${key} } ] }
providers:
  up: { dialect: openai-chat, base_url: "${address ?? `${url}/v1`}", key: sk-up, ${provider} }
models:
  acme/one:
    context: 1000000
    endpoints: [ { provider: up, model: m, price: { prompt: "1.00", completion: "2.00" } } ]
`,
    clock,
  })
  const rows = (): GenerationRecord[] => [...gateway.running.store.journal.export()]
  return {
    clock,
    gateway,
    upstream,
    rows,
    ask: (more = {}, headers = {}) => {
      const aborter = new AbortController()
      const response = cutReadable(
        fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json', ...headers },
          body: JSON.stringify({ model: 'acme/one', max_tokens: 2000, messages: [{ role: 'user', content: QUESTION }], ...more }),
          signal: aborter.signal,
        }),
      )
      response.catch(() => undefined)
      return { response, leave: () => aborter.abort() }
    },
    charged: async (number = 0) => {
      await eventually('the settlement', () => rows()[number]?.settled)
      const { id, settled, hold } = rows()[number]
      const { data } = (await (await gateway.get(`/v1/generation?id=${id}`)).json()) as { data: JsonObject }
      const { cost = -1, input = -1, output = -1, estimated = false } = settled ?? {}
      return { cost, input, output, estimated, reason: data.charge_reason, hold: hold.hold }
    },
  }
}

/** Reads a stream until it holds a text. @returns reads the rest; the whole text. */
async function readTo(response: Response, text: string): Promise<() => Promise<string>> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  let read = ''
  const more = async (): Promise<boolean> => {
    const { value, done } = await reader.read()
    read += Buffer.from(value ?? []).toString()
    return !done
  }
  while (!read.includes(text)) if (!(await more())) throw new Error(`the stream ended before ${text}`)
  return async () => {
    // The cut behind a failure comes later, on a clock that stands still.
    while (!read.includes('data: {"error":') && (await more()));
    return read
  }
}

/** The frames of a stream up to a text. */
function until(seen: Seen, text: string, utterance = UTTERANCES): string[] {
  const frames = framesFor(seen.path, utterance)
  return frames.slice(0, frames.findIndex((frame) => frame.includes(text)) + 1)
}

const stalled = (frames: Answer['body']): Answer => sseAnswer(frames, { after: 'stall' })

/** Input alone: never less than a token for three bytes of what was asked. */
function inputCharged(t: Test, { input, cost, output, estimated }: Charged, name: string): void {
  t.ok(input > QUESTION.length / 5, `${name}: ${input} tokens of input`)
  t.equal(cost, input * INPUT + output * OUTPUT, `${name}: at the price of the endpoint`)
  t.equal(estimated, true, `${name}: flagged`)
}

t.test('a caller that leaves before the first content pays for the input', async (t) => {
  await every(t, 'streamed or not', async (t) => {
    for (const stream of [false, true])
      for (const script of [() => ({ before: 'stall' as const }), () => stalled([])]) {
        if (!stream && script().before === undefined) continue
        const scene = await payingKey(t, { script })
        const { leave } = scene.ask({ stream })
        await scene.upstream.request(0)
        leave()
        await heardLeave(scene.clock)
        await scene.clock.advance(READ_ON)
        const charged = await scene.charged()
        t.equal(charged.reason, 'caller/sent/estimated')
        inputCharged(t, charged, `stream ${stream}`)
        t.equal(await scene.upstream.requests[0].closed.then(({ aborted }) => aborted), true, 'the provider is told')
      }
  })
})

t.test('a caller that sends a long recording and leaves pays for the recording', async (t) => {
  const scene = await payingKey(t, { script: () => ({ before: 'stall' as const }) })
  const sound = { type: 'input_audio', input_audio: { data: 'A'.repeat(8_000_000), format: 'wav' } }
  const { leave } = scene.ask({ messages: [{ role: 'user', content: [sound] }] })
  await scene.upstream.request(0)
  await leaves(scene, leave)
  const charged = await scene.charged()
  t.equal(charged.reason, 'caller/sent/estimated')
  t.ok(charged.input >= 40_000, `6 MB are more than ${charged.input} tokens`)
})

t.test('a request that never left costs nothing', async (t) => {
  const mute = await startMuteUpstream()
  t.teardown(() => mute.close())
  const address = `${mute.url}/v1`
  const scene = await payingKey(t, { script: () => ({}), address })
  const { response } = scene.ask({}, { [DEADLINE]: '5' })
  await mute.connected
  await scene.clock.advance(5_000)
  t.equal((await response).status, 408)
  t.match(await scene.charged(), { cost: 0, input: 0, output: 0, reason: 'caller/not_sent/nothing' })
})

/** Frames that begin a reply without content, and the rest of it. */
function begun(seen: Seen, utterance = UTTERANCES): [string, ...string[]] {
  const [role, ...rest] = framesFor(seen.path, utterance)
  return [role, ...rest]
}

/** Leaves, and lets the time pass in which the provider is read on. */
async function leaves({ clock }: PayingKey, leave: () => void): Promise<void> {
  leave()
  await heardLeave(clock)
  await clock.advance(READ_ON)
}

t.test('hidden reasoning is charged by time and pace', async (t) => {
  const SECONDS = 30
  const scene = await payingKey(t, { script: () => ({}) })
  const gate = new Gate()
  scene.upstream.script = (seen) => {
    const [role, one, ...rest] = begun(seen, { ...UTTERANCES, usage: { input: 9, output: 100 } })
    return sseAnswer([role, one, gate.step, ...rest])
  }
  const response = await scene.ask({ stream: true }).response
  await scene.clock.advance(10_000)
  gate.open()
  await response.text()

  await every(t, 'every case', async (t) => {
    for (const [number, name] of [
      [1, 'before the first content'],
      [2, 'right after it'],
    ] as const) {
      const content = new Gate()
      scene.upstream.script = (seen) => {
        const [role, one] = begun(seen)
        return stalled([role, content.step, one])
      }
      const { response, leave } = scene.ask({ stream: true })
      await scene.clock.armed(IDLE)
      await scene.clock.advance(SECONDS * 1000)
      if (number === 2) {
        content.open()
        await readTo(await response, 'one ')
      }
      await leaves(scene, leave)
      const charged = await scene.charged(number)
      const tokens = SECONDS * 10
      t.ok(charged.output >= tokens && charged.output <= tokens + 5, `${name}: ${charged.output} tokens, at 10 a second`)
      inputCharged(t, charged, name)
    }
  })
})

t.test('an image that came counts, though it is no text', async (t) => {
  const scene = await payingKey(t, {
    script: (seen) => {
      const [role, one] = begun(seen)
      const images = [{ type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(20_000)}` } }]
      return stalled([role, one.replace('"content":"one "', `"images":${JSON.stringify(images)}`)])
    },
  })
  const { response, leave } = scene.ask({ stream: true })
  await readTo(await response, 'AAAA')
  await leaves(scene, leave)
  const charged = await scene.charged()
  t.equal(charged.reason, 'caller/content/estimated')
  t.ok(charged.output >= 1_290, `${charged.output} tokens`)
  inputCharged(t, charged, 'an image')
})

t.test('credit that ends between two turns leaves the first one charged', async (t) => {
  const CALL: Utterance = {
    text: ['let me see '],
    calls: [{ id: 'call_1', name: 'router_datetime', args: ['{}'] }],
    usage: { input: 150, output: 40 },
  }
  const key = ', limit: "0.0025"'
  await every(t, 'streamed or not', async (t) => {
    for (const stream of [false, true]) {
      // A report beyond what was held takes what the second turn would have needed.
      const scene = await payingKey(t, { key, script: (seen) => answerFor(seen, { ...CALL, usage: { input: 2_000, output: 40 } }) })
      await (await scene.ask({ stream, max_tokens: 100, tools: [{ type: 'router:datetime' }] }).response).text()
      const charged = await scene.charged()
      t.equal(scene.upstream.requests.length, 1, 'no second call')
      t.equal(charged.reason, 'caller/not_sent/nothing')
      t.ok(charged.cost >= 2_000 * INPUT, `${charged.cost}`)
    }
  })
})

t.test('no estimate passes the hold', async (t) => {
  const scene = await payingKey(t, { script: (seen) => stalled(begun(seen).slice(0, 1)) })
  const { response } = scene.ask({ stream: true, max_tokens: 50 }, { [DEADLINE]: '700' })
  await scene.clock.armed(IDLE)
  await scene.clock.advance(700_000)
  await (await response).text()
  const charged = await scene.charged()
  t.equal(charged.reason, 'caller/sent/estimated')
  t.equal(charged.output, 50, 'the cap of the request')
  t.ok(charged.cost <= charged.hold)
})

t.test('a deadline is the end of the caller', async (t) => {
  const scene = await payingKey(t, { script: () => ({ before: 'stall' }) })
  const whole = scene.ask({}, { [DEADLINE]: '5' })
  await scene.upstream.request(0)
  await scene.clock.advance(5_000)
  t.equal((await whole.response).status, 408, 'at once: nobody reads on for a caller that waits')
  const first = await scene.charged(0)
  t.equal(first.reason, 'caller/sent/estimated')
  inputCharged(t, first, 'not streamed')

  scene.upstream.script = (seen) => stalled(until(seen, 'one'))
  const stream = await scene.ask({ stream: true }, { [DEADLINE]: '5' }).response
  await scene.clock.armed(IDLE)
  await scene.clock.advance(5_000)
  const text = await stream.text()
  t.match(parseStream(text).at(-1), { error: { code: 408 } })
  const second = await scene.charged(1)
  t.equal(second.reason, 'caller/content/estimated')
  t.ok(second.output > 0, 'what came')
  inputCharged(t, second, 'streamed')
})

t.test('half a tool loop: what had been done stays charged', async (t) => {
  const CALL: Utterance = {
    text: ['let me see '],
    calls: [{ id: 'call_1', name: 'router_datetime', args: ['{}'] }],
    usage: { input: 150, output: 40 },
  }
  const tools = [{ type: 'router:datetime' }]
  const loops: [name: string, second: Script, headers: Record<string, string>, reason: string, more: boolean][] = [
    ['a deadline', () => ({ before: 'stall' }), { [DEADLINE]: '5' }, 'caller/sent/estimated', true],
    ['a request that the provider refuses', () => upstreamError(400, 'too long'), {}, 'caller/not_sent/nothing', false],
  ]
  await every(t, 'every case', async (t) => {
    for (const [name, second, headers, reason, more] of loops)
      for (const stream of [false, true]) {
        const scene = await payingKey(t, { script: (seen, index) => (index === 0 ? answerFor(seen, CALL) : second(seen, index)) })
        const { response } = scene.ask({ stream, tools }, headers)
        await scene.upstream.request(1)
        if (headers[DEADLINE]) await scene.clock.advance(5_000)
        await (await response).text()
        const charged = await scene.charged()
        t.equal(charged.reason, reason, name)
        t.ok(more ? charged.input > 150 + QUESTION.length / 5 : charged.input === 150, `${name}: ${charged.input} tokens of input`)
        t.equal(charged.output, 40, 'what the first turn reported')
        t.equal(charged.cost, charged.input * INPUT + charged.output * OUTPUT)
      }
  })
  const scene = await payingKey(t, { script: (seen, index) => (index === 0 ? answerFor(seen, CALL) : upstreamError(500)) })
  await (await scene.ask({ stream: true, tools }).response).text()
  t.match(await scene.charged(), { cost: 0, reason: 'provider/sent/nothing' }, 'insurance covers the whole of it')
})

t.test('insurance: what the provider broke off is free', async (t) => {
  const gate = new Gate()
  const scene = await payingKey(t, { script: (seen) => sseAnswer([...until(seen, 'one'), gate.step], { after: 'close' }) })
  const broken = await scene.ask({ stream: true }).response
  await scene.clock.armed(IDLE)
  gate.open()
  t.match(parseStream(await broken.text()).at(-1), { error: { code: 502 } })
  t.match(await scene.charged(), { cost: 0, reason: 'provider/content/nothing', estimated: false })
  scene.upstream.script = () => upstreamError(500)
  await (await scene.ask().response).text()
  t.match(await scene.charged(1), { cost: 0, reason: 'provider/sent/nothing' })
})

t.test('the final report that comes while the provider is read on is what is charged', async (t) => {
  await every(t, 'every usage', async (t) => {
    for (const usage of [
      { input: 150, output: 900 },
      { input: 0, output: 0 },
    ]) {
      const gate = new Gate()
      const scene = await payingKey(t, {
        script: (seen) => {
          const [role, one, ...rest] = begun(seen, { ...UTTERANCES, usage })
          return sseAnswer([role, one, gate.step, ...rest])
        },
      })
      const { response, leave } = scene.ask({ stream: true })
      await readTo(await response, 'one ')
      leave()
      await heardLeave(scene.clock)
      gate.open()
      const cost = usage.input * INPUT + usage.output * OUTPUT
      t.match(
        await scene.charged(),
        { ...usage, cost, estimated: false, reason: 'caller/usage_known/reported' },
        'an explicit zero is zero',
      )
    }
  })
})

t.test('at most 64 are read on at once', async (t) => {
  const scene = await payingKey(t, { script: (seen) => stalled(until(seen, 'one')) })
  const reading = (): number => scene.clock.waiting.filter((delay) => delay === READ_ON).length
  const callers = Array.from({ length: 65 }, () => scene.ask({ stream: true }))
  for (const { response } of callers) await readTo(await response, 'one ')
  for (const { leave } of callers) leave()
  const settled = (): number => scene.rows().findIndex((row) => row.settled)
  await eventually('the first settlement', async () => {
    await heardLeave(scene.clock)
    return settled() !== -1
  })
  const charged = await scene.charged(settled())
  t.equal(charged.reason, 'caller/content/estimated', 'the one too many is settled at once')
  inputCharged(t, charged, 'the next one')
  await eventually('64 are read on', () => reading() === 64)
  t.equal(scene.rows().filter((row) => row.settled).length, 1)
  await scene.clock.advance(READ_ON)
  await eventually('all are settled', () => scene.rows().every(({ settled }) => settled))
})

t.test('reading on counts in the streams and bytes of the key', async (t) => {
  await every(t, 'every key', async (t) => {
    for (const key of [', limits: { streams: 1 }', ', limits: { bytes: 1KB }']) {
      const scene = await payingKey(t, { key, script: (seen) => stalled(until(seen, 'one')) })
      const first = scene.ask({ stream: true })
      await readTo(await first.response, 'one ')
      first.leave()
      await heardLeave(scene.clock)
      t.equal((await scene.ask({ stream: true }).response).status, 429, key)
      await scene.clock.advance(READ_ON)
      await scene.charged()
      const second = scene.ask({ stream: true })
      t.equal((await second.response).status, 200, 'it is given back with the settlement')
      second.leave()
    }
  })
})

t.test('tokens per minute are not given back for what the caller ended', async (t) => {
  const key = ', limits: { tokens: 3000 }'
  const scene = await payingKey(t, { key, script: () => ({ before: 'stall' }) })
  const early = scene.ask({ max_tokens: 2000 }, { [DEADLINE]: '1' })
  await scene.upstream.request(0)
  await scene.clock.advance(1_000)
  t.equal((await early.response).status, 408)
  const { input } = await scene.charged()
  const refused = await scene.ask({ max_tokens: 3000 - input - 100 }).response
  t.equal(refused.status, 429, 'the input counts')
  const failing = await payingKey(t, { key, script: () => upstreamError(500) })
  t.equal((await failing.ask({ max_tokens: 2000 }).response).status, 502)
  failing.upstream.script = (seen) => answerFor(seen, UTTERANCES)
  t.equal((await failing.ask({ max_tokens: 2500 }).response).status, 200, 'a failure of the provider counts for nothing')
})

t.test('a reply that passes the time limit while it arrives is charged, and is no outage', async (t) => {
  const gate = new Gate()
  const scene = await payingKey(t, {
    provider: 'timeouts: { first_byte: 50s, idle: 70s, total: 90s }',
    script: (seen) => {
      const [role, one, two] = begun(seen)
      return stalled([role, one, gate.step, two])
    },
  })
  const response = await scene.ask({ stream: true }).response
  await scene.clock.armed(70_000)
  await scene.clock.advance(60_000)
  gate.open()
  const rest = await readTo(response, 'two')
  await scene.clock.advance(30_000)
  t.match(parseStream(await rest()).at(-1), { error: { code: 524, metadata: { error_type: 'timeout' } } })
  const charged = await scene.charged()
  t.equal(charged.reason, 'operator/content/estimated')
  inputCharged(t, charged, 'total')
  const [endpoint] = (await (await scene.gateway.get('/v1/models/acme/one/endpoints')).json().then(dataEndpoints)) as JsonObject[]
  t.equal(endpoint.status, 0, 'the endpoint is not demoted')
})

t.test('a reply that is too large is charged for what came', async (t) => {
  const scene = await payingKey(t, {
    script: (seen) => sseAnswer([...until(seen, 'one'), 'data: {"choices":[{"delta":{"content":"', 'x'.repeat(17 * 1024 * 1024)]),
  })
  const text = await (await scene.ask({ stream: true }).response).text()
  t.match(parseStream(text).at(-1), { error: { code: 502 } })
  const charged = await scene.charged()
  t.equal(charged.reason, 'operator/content/estimated')
  inputCharged(t, charged, 'an event without end')
  scene.upstream.script = () => ({ headers: JSON_TYPE, body: ['{"id":"', 'x'.repeat(17 * 1024 * 1024)], after: 'stall' })
  t.equal((await scene.ask().response).status, 502)
  const whole = await scene.charged(1)
  t.equal(whole.reason, 'operator/content/estimated')
  t.equal(whole.output, 2000, 'never more than the output cap')
  inputCharged(t, whole, 'not streamed')
})

t.test('a reply that the provider completes is charged as it says', async (t) => {
  const scene = await payingKey(t, { script: (seen) => answerFor(seen, UTTERANCES) })
  await every(t, 'streamed or not', async (t) => {
    for (const stream of [false, true]) {
      await (await scene.ask({ stream }).response).text()
      t.match(await scene.charged(Number(stream)), { input: 150, output: 40, estimated: false, reason: 'model/usage_known/reported' })
    }
  })
  scene.upstream.script = (seen) => jsonAnswer(replyWithoutUsage(seen))
  await (await scene.ask().response).text()
  t.match(await scene.charged(2), { estimated: true, reason: 'model/content/estimated' })
})

function replyWithoutUsage(seen: Seen): JsonObject {
  const body = JSON.parse(String(answerFor(seen, UTTERANCES).body?.[0])) as JsonObject
  return { ...body, usage: null }
}

const dataEndpoints = (body: unknown): unknown => object((body as JsonObject).data as JsonObject).endpoints
