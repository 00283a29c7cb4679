/** Long replies that their callers do not take: they count in the memory of all bodies, and have to be taken at a certain rate. Runs with `npm run test:servers`. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { FakeClock, turn } from '../../support/clock.ts'
import { eventually, steady } from '../../support/eventually.ts'
import { type Gateway, KEY } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, Gate, JSON_TYPE, type Seen, sseAnswer } from '../../support/upstream.ts'
import { framesFor } from '../../support/wire.ts'
import { chatReply } from '../../support/wire-chat.ts'

const OTHER = 'sk-router-v1-other0123456789abcdef'
const MB = 1024 ** 2
/** More than the system takes at once for a caller that reads nothing, and more than the memory of all bodies below. */
const LONG = 14 * MB
const LONG_REPLY = JSON.stringify(chatReply({ text: ['x'.repeat(LONG)] }))
const CHAT = 'POST /v1/chat/completions'
/** Milliseconds between two readings of a caller. */
const STEP = 15_000

const reply = (text: string): Answer => ({ headers: JSON_TYPE, body: [text] })
const answer = ({ body }: Seen): Answer => reply(body.includes('long') ? LONG_REPLY : JSON.stringify(chatReply({ text: ['Hello'] })))

async function slowlyRead(t: Test, script: (seen: Seen) => Answer = answer, models = '') {
  const clock = new FakeClock()
  const { gateway, upstream } = await startScene(t, {
    answer: script,
    config: (url) => `
server: { host: 127.0.0.1, port: 0, max_body: 1MB, body_memory: 12MB, silence: 36000s, deadline: 36000s }
auth: { keys: [ { name: test, key: "${KEY}" }, { name: other, key: "${OTHER}" } ] }
providers:
  up: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up, timeouts: { first_byte: 36000s, idle: 36000s, total: 36000s } }
models:
  acme/one: { endpoints: [ { provider: up, model: m, price: free } ] }
${models}`,
    clock,
  })
  return { clock, gateway, upstream }
}

const asking = (about: string, more = ''): string => `{"model":"acme/one",${more}"messages":[{"role":"user","content":"${about}"}]}`

/** A caller that reads as much as the test says, and not a byte more than comes with it. */
class Reader {
  readonly socket: Socket
  text = ''
  bytes = 0
  private wake: () => void = () => undefined

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('error', () => undefined)
    for (const event of ['readable', 'end', 'close']) socket.on(event, () => this.wake())
  }

  static async open(t: Test, { url }: Gateway): Promise<Reader> {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port) })
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    return new Reader(socket)
  }

  /** @param connection `close` with the last request. */
  send(request: string, body = '', connection = 'close'): this {
    const head = [`${request} HTTP/1.1`, 'Host: g', `Authorization: Bearer ${KEY}`, `Connection: ${connection}`]
    if (body !== '') head.push(`Content-Length: ${body.length}`)
    this.socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
    return this
  }

  /** Reads until it has so many bytes more, or the connection ends. @returns false where it has ended. */
  async take(bytes: number): Promise<boolean> {
    const { socket } = this
    const enough = this.bytes + bytes
    while (this.bytes < enough) {
      const chunk = socket.read() as Buffer | null
      if (chunk) {
        this.bytes += chunk.length
        this.text = (this.text + chunk.toString('latin1')).slice(-1000)
      } else if (socket.readableEnded || socket.destroyed) return false
      else {
        await new Promise<void>((resolve) => {
          this.wake = resolve
        })
      }
    }
    return true
  }

  /** @returns the last words of the reply. */
  async rest(): Promise<string> {
    await this.take(Number.POSITIVE_INFINITY)
    return this.text
  }
}

/** Resolves once all buffers on the way are full: the provider cannot send any more. */
const heldBack = (seen: Seen): Promise<void> => steady(() => seen.sentBytes)

const used = ({ running }: Gateway): number => running.runtime.bodies.used

t.test('a long reply counts until its caller has it, and meanwhile bodies wait', async (t) => {
  const { clock, gateway } = await slowlyRead(t)
  const reader = (await Reader.open(t, gateway)).send(CHAT, asking('long'))
  await eventually('the reply', () => used(gateway) >= LONG)
  const refused = gateway.post('/v1/chat/completions', asking('short'), { authorization: `Bearer ${OTHER}` })
  await clock.armed(2_000)
  await clock.advance(2_000)
  const { status, headers } = await refused
  t.same([status, headers.get('retry-after')], [503, '2'])
  t.ok(used(gateway) < LONG + 10_000, 'the reply once, and no longer the body')
  t.match(await reader.rest(), /"finish_reason":"stop"/, 'it is never refused')
  await eventually('the end', () => used(gateway) === 0)
  t.equal((await gateway.post('/v1/chat/completions', asking('short'))).status, 200)
})

t.test('a body that waits goes on when the caller of a long reply leaves', async (t) => {
  const { clock, gateway } = await slowlyRead(t)
  const reader = (await Reader.open(t, gateway)).send(CHAT, asking('long'))
  await eventually('the reply', () => used(gateway) >= LONG)
  const waiting = gateway.post('/v1/chat/completions', asking('short'), { authorization: `Bearer ${OTHER}` })
  await clock.armed(2_000)
  reader.socket.destroy()
  t.equal((await waiting).status, 200)
  await eventually('the end', () => used(gateway) === 0)
})

t.test('a reply behind another one on its connection counts too', async (t) => {
  const gate = new Gate()
  const { gateway } = await slowlyRead(t, (seen) =>
    seen.body.includes('long') ? reply(LONG_REPLY) : { ...reply('{}'), body: [gate.step, '{}'] },
  )
  const reader = await Reader.open(t, gateway)
  reader.send(CHAT, asking('short'), 'keep-alive').send(CHAT, asking('long'))
  await eventually('the second reply', () => used(gateway) >= LONG)
  gate.open()
  t.match(await reader.rest(), /"finish_reason":"stop"/)
})

// What the system takes at a time is large and has its own time: `test/server/reading-watch.test.ts` has the rates.
t.test('a caller that takes less than 16 KB per second is cut off', async (t) => {
  const { clock, gateway } = await slowlyRead(t)
  const reader = (await Reader.open(t, gateway)).send(CHAT, asking('long'))
  await eventually('the reply', () => used(gateway) >= LONG)
  let open = true
  for (let elapsed = 0; open && elapsed < 240_000; elapsed += STEP) {
    open = await reader.take(200_000)
    await clock.advance(STEP)
  }
  t.notMatch(await reader.rest(), /"finish_reason"/)
  await eventually('the end', () => used(gateway) === 0)
})

t.test('a caller that is slow but takes enough gets all of it', async (t) => {
  const { clock, gateway } = await slowlyRead(t)
  const reader = (await Reader.open(t, gateway)).send(CHAT, asking('long'))
  await eventually('the reply', () => used(gateway) >= LONG)
  for (let at = 2 * MB; at < LONG; at += 2 * MB) {
    t.equal(await reader.take(2 * MB), true)
    await clock.advance(STEP)
  }
  t.match(await reader.rest(), /"finish_reason":"stop"/)
})

t.test('a stream is not cut off for the time that its provider takes', async (t) => {
  const gates = [new Gate(), new Gate()]
  const words = Array.from({ length: 400 }, () => 'x'.repeat(64 * 1024))
  const frames = framesFor('/v1/chat/completions', { text: words })
  const script = (): Answer =>
    sseAnswer([...frames.slice(0, 200), gates[0].step, ...frames.slice(200, 390), gates[1].step, ...frames.slice(390)])
  const { clock, gateway, upstream } = await slowlyRead(t, script)
  const reader = (await Reader.open(t, gateway)).send(CHAT, asking('stream', '"stream":true,'))
  for (const [at, gate] of gates.entries()) {
    await heldBack(await upstream.request(0))
    await clock.advance(20_000)
    t.equal(await reader.take((at === 0 ? 198 : 188) * 64 * 1024), true)
    await heldBack(await upstream.request(0))
    await clock.advance(3_600_000)
    gate.open()
  }
  t.match(await reader.rest(), /data: \[DONE\]/)
})

t.test('the last events of a stream, which hold the answer once more, count as well', async (t) => {
  const { gateway } = await slowlyRead(t, () =>
    sseAnswer(framesFor('/v1/chat/completions', { text: Array.from({ length: 96 }, () => 'x'.repeat(64 * 1024)) })),
  )
  const reader = await Reader.open(t, gateway)
  reader.send('POST /v1/responses', '{"model":"acme/one","stream":true,"input":"Hello"}')
  // The deltas alone are 6 MB, and all of the stream is four times as much.
  while (used(gateway) < 2 * MB && (await reader.take(64 * 1024))) await turn()
  t.ok(reader.bytes < 20 * MB, `${reader.bytes} bytes read`)
  t.match(await reader.rest(), /data: \[DONE\]/)
  await eventually('the end', () => used(gateway) === 0)
})

t.test('a long list counts like other replies', async (t) => {
  const words = 'x'.repeat(2000)
  const models = Array.from(
    { length: 1800 },
    (_, at) => `  acme/m${at}: { description: "${words}", endpoints: [ { provider: up, model: m, price: free } ] }`,
  )
  const { clock, gateway } = await slowlyRead(t, answer, models.join('\n'))
  const reader = (await Reader.open(t, gateway)).send('GET /v1/models')
  await eventually('the list', () => used(gateway) > 3 * MB)
  // What the system takes at first counts as taken in the first minute, and nothing is taken in the second.
  await clock.advance(60_000)
  await clock.advance(60_000)
  t.notMatch(await reader.rest(), /\}$/, 'and its caller has to take it')
  await eventually('the end', () => used(gateway) === 0)
})
