/** The time-outs of one provider: each fires at its value and not before, over real sockets on a clock that only the test moves. */
import t, { type Test } from 'tap'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { parseStream } from '../../support/fold.ts'
import type { Gateway } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, Gate, JSON_TYPE, type Script, sseAnswer, startMuteUpstream, type Upstream } from '../../support/upstream.ts'
import { framesFor, replyFor, type Utterance } from '../../support/wire.ts'

/** Milliseconds, each unlike every other timer of the gateway. */
const LIMITS = { connect: 3_300, first_byte: 40_400, idle: 15_500, total: 99_900 }
const UTTERANCES: Utterance = { text: ['one ', 'two ', 'three ', 'four ', 'five ', 'six ', 'seven ', 'eight ', 'nine'] }

interface Limited {
  clock: FakeClock
  gateway: Gateway
  upstream: Upstream
  ask(stream: boolean): Promise<Response>
}

interface LimitedOptions {
  script?: Script
  limits?: Partial<typeof LIMITS>
  address?: string
  dialect?: string
  path?: string
}

async function limited(
  t: Test,
  { script = () => ({}), limits = {}, address, dialect = 'openai-chat', path }: LimitedOptions,
): Promise<Limited> {
  const clock = new FakeClock()
  const { gateway, upstream } = await startScene(t, {
    answer: script,
    config: (url) => {
      const timeouts = Object.entries({ ...LIMITS, ...limits }).map(([name, ms]) => `${name}: ${ms}ms`)
      const base = address ?? (dialect === 'anthropic' ? url : `${url}/v1`)
      return `
server: { host: 127.0.0.1, port: 0, silence: 3600s }
providers:
  up: { dialect: ${dialect}, base_url: "${base}", key: sk-up, timeouts: { ${timeouts.join(', ')} } }
models:
  acme/one: { context: 100000, endpoints: [ { provider: up, model: m, price: { prompt: "1.00", completion: "2.00" } } ] }
`
    },
    clock,
  })
  const body = { model: 'acme/one', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] }
  return { clock, gateway, upstream, ask: (stream) => gateway.post(path ?? '/v1/chat/completions', { ...body, stream }) }
}

/** Moves time to the tick before a limit, where nothing may have happened, and past it, where the reply must have ended. */
async function firesAfter(t: Test, { clock }: Limited, { left, reply }: { left: number; reply: Promise<unknown> }): Promise<void> {
  let ended = false
  const done = reply.finally(() => {
    ended = true
  })
  done.catch(() => undefined)
  await clock.advance(left - 1)
  t.equal(ended, false, `not before its value: ${left} ms are left`)
  await clock.advance(2)
  await done
}

const role = (seen: { path: string }): string => framesFor(seen.path, UTTERANCES)[0]
const words = (seen: { path: string }): string[] => framesFor(seen.path, UTTERANCES).slice(1)

t.test('connect: until the request goes out', async (t) => {
  const mute = await startMuteUpstream()
  t.teardown(() => mute.close())
  const address = `${mute.url}/v1`
  for (const stream of [false, true]) {
    const scene = await limited(t, { address })
    const reply = scene.ask(stream)
    await scene.clock.armed(LIMITS.connect)
    await mute.connected
    await firesAfter(t, scene, { left: LIMITS.connect, reply })
    t.equal((await reply).status, 524)
  }
})

t.test('first_byte: until the reply begins, whether or not its head has come', async (t) => {
  const silences: [name: string, stream: boolean, answer: Answer][] = [
    ['no head', false, { before: 'stall' }],
    ['no head of a stream', true, { before: 'stall' }],
    ['a head alone', true, sseAnswer([], { after: 'stall' })],
    ['comments', true, sseAnswer([': working\n\n'], { after: 'stall' })],
    ['keep-alives', true, sseAnswer(['event: ping\ndata: {"type": "ping"}\n\n'], { after: 'stall' })],
    ['blanks', false, { headers: JSON_TYPE, body: ['\n\n \n'], after: 'stall' }],
  ]
  for (const [name, stream, answer] of silences) {
    const scene = await limited(t, { script: () => answer })
    const reply = scene.ask(stream)
    const seen = await scene.upstream.request(0)
    await scene.clock.armed(LIMITS.first_byte)
    if (answer.body?.length) await eventually('the first bytes of the reply', () => seen.sentBytes > 0)
    await firesAfter(t, scene, { left: LIMITS.first_byte, reply })
    t.equal((await reply).status, 524, name)
  }
})

t.test('idle: between data, from the first on', async (t) => {
  const streams: [name: string, answer: Script][] = [
    ['silence', (seen) => sseAnswer([role(seen), words(seen)[0]], { after: 'stall' })],
    ['comments', (seen) => sseAnswer([role(seen), words(seen)[0], ': working\n\n'], { after: 'stall' })],
    ['half an event', (seen) => sseAnswer([role(seen), `${words(seen)[0]}data: {"choi`], { after: 'stall' })],
  ]
  for (const [name, script] of streams) {
    const scene = await limited(t, { script })
    const response = await scene.ask(true)
    const reply = response.text()
    await scene.clock.armed(LIMITS.idle)
    await firesAfter(t, scene, { left: LIMITS.idle, reply })
    t.match(parseStream(await reply).at(-1), { error: { code: 524 } }, name)
  }
  const whole = await limited(t, { script: () => ({ headers: JSON_TYPE, body: ['{"id":"x","choices":['], after: 'stall' }) })
  const reply = whole.ask(false)
  await whole.clock.armed(LIMITS.idle)
  await firesAfter(t, whole, { left: LIMITS.idle, reply })
  t.equal((await reply).status, 524, 'an answer that is not streamed and stalls midway')
})

t.test('a long idle is not cut by first_byte, nor a short one stretched by it', async (t) => {
  for (const idle of [60_600, 1_100]) {
    const scene = await limited(t, { limits: { idle }, script: (seen) => sseAnswer([role(seen), words(seen)[0]], { after: 'stall' }) })
    const reply = (await scene.ask(true)).text()
    await scene.clock.armed(idle)
    await firesAfter(t, scene, { left: idle, reply })
    t.match(parseStream(await reply).at(-1), { error: { code: 524 } }, `${idle} ms`)
  }
})

t.test('events that are held back count as life', async (t) => {
  // Neither a role nor what opens a message or a response is content: nothing of it reaches the caller yet.
  const ways: [path: string, dialect: string][] = [
    ['/v1/chat/completions', 'openai-chat'],
    ['/v1/responses', 'openai-responses'],
    ['/v1/messages', 'anthropic'],
    ['/v1/messages', 'openai-chat'],
  ]
  for (const [path, dialect] of ways) {
    const scene = await limited(t, {
      path,
      dialect,
      limits: { first_byte: 5_500 },
      script: (seen) => sseAnswer([role(seen)], { after: 'stall' }),
    })
    const reply = path === '/v1/responses' ? scene.gateway.post(path, { model: 'acme/one', input: 'Hello', stream: true }) : scene.ask(true)
    await scene.clock.armed(LIMITS.idle)
    await firesAfter(t, scene, { left: LIMITS.idle, reply })
    t.equal((await reply).status, 524, `${path} to ${dialect}: idle counts, first_byte is over`)
  }
})

t.test('total: all of it, however much comes', async (t) => {
  const gates = Array.from({ length: 8 }, () => new Gate())
  const scene = await limited(t, {
    script: (seen) => {
      const utterance = words(seen).slice(0, 9)
      return sseAnswer([role(seen), utterance[0], ...gates.flatMap((gate, at) => [gate.step, utterance[at + 1]])], { after: 'stall' })
    },
  })
  const response = await scene.ask(true)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  let text = ''
  const readTo = async (word: string): Promise<void> => {
    while (!text.includes(word)) text += Buffer.from((await reader.read()).value ?? []).toString()
  }
  await readTo('one ')
  let now = 0
  for (const gate of gates) {
    await scene.clock.advance(12_000)
    now += 12_000
    gate.open()
    await readTo(UTTERANCES.text?.[now / 12_000] ?? '')
  }
  const rest = (async () => {
    // The cut behind the failure comes later.
    while (!text.includes('data: {"error":')) text += Buffer.from((await reader.read()).value ?? []).toString()
  })()
  await firesAfter(t, scene, { left: LIMITS.total - now, reply: rest })
  t.match(parseStream(text).at(-1), { error: { code: 524, message: /longer than is allowed/ } })
})

t.test('a reply in time meets none of them', async (t) => {
  const scene = await limited(t, {
    script: (seen) =>
      seen.json.stream
        ? sseAnswer(framesFor(seen.path, UTTERANCES))
        : { headers: JSON_TYPE, body: [JSON.stringify(replyFor(seen.path, UTTERANCES))] },
  })
  for (const stream of [false, true]) {
    t.equal((await scene.ask(stream)).status, 200)
    const left = Object.values(LIMITS)
    await eventually('no limit is left', () => !scene.clock.waiting.some((delay) => left.includes(delay)))
  }
})
