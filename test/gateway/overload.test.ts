/** Overload: requests that would come too late are refused before their bodies are read, and a burst or one long turn refuses nothing. */
import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../src/core/clock.ts'
import type { LoopSource } from '../../src/server/overload.ts'
import { FakeClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { type Gateway, KEY } from '../support/gateway.ts'
import { parseReply, RawClient } from '../support/raw.ts'
import { startScene } from '../support/scene.ts'
import type { Upstream } from '../support/upstream.ts'
import { says } from '../support/wire.ts'
import { metricsOf } from '../support/workers.ts'

/** May ask once a minute. */
const RARELY = `sk-hg-v1-${'5'.repeat(64)}`
const KEYS = `auth: { keys: [ { name: test, key: "${KEY}" }, { name: rarely, key: "${RARELY}", limits: { requests: 1 } } ] }
`

/** An event loop whose time the test tells. */
class ScriptedLoop implements LoopSource {
  private elapsed = 0
  private idled = 0
  private used = 0
  private ends: (() => void)[] = []
  private next: (() => void)[] = []

  now(): number {
    return this.elapsed
  }

  idle(): number {
    return this.idled
  }

  cpu(): number {
    return this.used
  }

  everyTurn(fn: () => void): () => void {
    this.ends.push(fn)
    return () => {}
  }

  soon(fn: () => void): void {
    this.next.push(fn)
  }

  /** One turn of so many milliseconds. */
  turn(work: number, idle: number): void {
    this.begin(work, idle)
    for (const fn of this.next.splice(0)) fn()
    for (const end of this.ends) end()
  }

  /** A turn that has not ended. */
  begin(work: number, idle: number): void {
    this.elapsed += work + idle
    this.idled += idle
    this.used += work
  }

  /** The thread could run, but other processes did. */
  stolen(time: number): void {
    this.elapsed += time
  }

  saturate(): void {
    for (let i = 0; i < 3; i++) this.turn(250, 0)
  }
}

interface Overloaded {
  gateway: Gateway
  upstream: Upstream
  loop: ScriptedLoop
}

async function overloaded(t: Test, clock: Clock = systemClock): Promise<Overloaded> {
  const loop = new ScriptedLoop()
  const { gateway, upstream } = await startScene(t, {
    answer: says({ text: ['Hello'] }),
    yaml: KEYS,
    provider: 'pass_through: { price: "0.001" }',
    loop,
    clock,
  })
  return { gateway, upstream, loop }
}

/** Most of it blanks: two do not go into one turn. */
const LONG = 400_000
const long = (body: object): string => JSON.stringify(body).padEnd(LONG)
const BODY = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }

/** Sends so many requests with a long body, of which the first is worked on. @returns their statuses, once all have arrived. */
async function crowd({ gateway, loop }: Overloaded, count: number): Promise<Promise<number>[]> {
  loop.turn(0, 0)
  const asked = Array.from({ length: count }, async () => {
    const reply = await gateway.post('/v1/chat/completions', long(BODY))
    await reply.text()
    return reply.status
  })
  await eventually('all wait', async () => (await waiting(gateway)) === count - 1 || undefined)
  return asked
}

const waiting = async ({ admin }: Gateway): Promise<number> => (await metricsOf(admin))('headgate_bodies_waiting ')

t.test('long bodies are worked on one turn after the other, and short ones do not wait for them', async (t) => {
  const stage = await overloaded(t)
  const { gateway, loop, upstream } = stage
  const asked = await crowd(stage, 4)
  t.equal((await gateway.post('/v1/chat/completions', BODY)).status, 200)
  t.equal(await Promise.race(asked), 200, 'the first')
  t.equal(upstream.requests.length, 2)
  loop.turn(1, 0)
  await eventually('two are served', () => upstream.requests.length === 3 || undefined)
  t.equal(await waiting(gateway), 2)
  loop.turn(1, 0)
  loop.turn(1, 0)
  t.same(await Promise.all(asked), [200, 200, 200, 200])
})

t.test('a deadline ends the wait, and the place goes to the next', async (t) => {
  const clock = new FakeClock()
  const stage = await overloaded(t, clock)
  const { gateway, loop, upstream } = stage
  const asked = await crowd(stage, 2)
  const hurried = gateway.post('/v1/chat/completions', long(BODY), { 'X-Router-Deadline': '1s' })
  await eventually('it has come', async () => (await waiting(gateway)) === 2 || undefined)
  await clock.advance(1_000)
  t.equal((await hurried).status, 408)
  t.equal(await waiting(gateway), 1)
  loop.turn(1, 0)
  t.same(await Promise.all(asked), [200, 200])
  t.equal(upstream.requests.length, 2)
})

t.test('a long body is 503 before it comes where enough of them have waited without a pause', async (t) => {
  const stage = await overloaded(t)
  const { gateway, loop, upstream } = stage
  const asked = await crowd(stage, 7)
  const client = await RawClient.open(gateway.url)
  const text = JSON.stringify(BODY)
  const head = (bytes: number): string =>
    `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\nContent-Length: ${bytes}\r\n\r\n`
  loop.stolen(500)
  client.send(head(LONG))
  const refused = parseReply(await client.until(/HTTP\/1.1 503[\s\S]*\}$/))
  t.equal(refused.headers.get('retry-after'), '1')
  t.match(refused.body, 'the gateway is overloaded')
  t.equal((await metricsOf(gateway.admin))('headgate_shed_total '), 1)
  t.equal(gateway.logs.filter((line) => line.includes('refused under overload')).length, 1)
  client.send(Buffer.alloc(LONG, 'a')).send(head(text.length) + text)
  t.match(await client.until(/HTTP\/1.1 200[\s\S]*\}$/), 'Hello', 'the next request on the same connection is served')
  client.close()
  for (let i = 0; i < 6; i++) loop.turn(1, 0)
  t.same(new Set(await Promise.all(asked)), new Set([200]), 'those that had come before are all served')
  t.equal(upstream.requests.length, 8)
})

t.test('a burst is served in full', async (t) => {
  const stage = await overloaded(t)
  const { gateway, loop } = stage
  const asked = await crowd(stage, 7)
  loop.stolen(499)
  const late = gateway.post('/v1/chat/completions', long(BODY))
  await eventually('it has come', async () => (await waiting(gateway)) === 7 || undefined)
  for (let i = 0; i < 7; i++) loop.turn(1, 0)
  t.equal((await late).status, 200)
  t.same(new Set(await Promise.all(asked)), new Set([200]))
})

t.test('after a refusal the limit stays for a second, in which a few bodies are taken', async (t) => {
  const stage = await overloaded(t)
  const { gateway, loop } = stage
  const ask = async (): Promise<number> => (await gateway.post('/v1/chat/completions', long(BODY))).status
  const first = await crowd(stage, 7)
  loop.stolen(500)
  t.equal(await ask(), 503)
  for (let i = 0; i < 7; i++) loop.turn(1, 0)
  await Promise.all(first)
  const second = await crowd(stage, 7)
  t.equal(await ask(), 503, 'without a wait of half a second')
  for (let i = 0; i < 7; i++) loop.turn(1, 0)
  await Promise.all(second)
  loop.stolen(1_000)
  const third = await crowd(stage, 7)
  const late = ask()
  await eventually('it has come', async () => (await waiting(gateway)) === 7 || undefined)
  for (let i = 0; i < 8; i++) loop.turn(1, 0)
  t.equal(await late, 200, 'a second later')
  await Promise.all(third)
})

t.test('a short request is refused only late in a long turn, and none in the first long turn', async (t) => {
  const { gateway, loop } = await overloaded(t)
  const ask = async (): Promise<number> => (await gateway.post('/v1/chat/completions', BODY)).status
  loop.saturate()
  loop.turn(20, 0)
  loop.begin(24, 0)
  t.equal(await ask(), 200, 'in 24 ms')
  loop.begin(0, 1_000)
  t.equal(await ask(), 200, 'waiting is no work')
  loop.stolen(1_000)
  t.equal(await ask(), 200, 'what other processes take is no work')
  loop.begin(2, 0)
  t.equal(await ask(), 503, 'after 26 ms')
  loop.turn(0, 0)
  loop.turn(1, 0)
  loop.begin(50, 0)
  t.equal(await ask(), 200, 'in a long turn that follows a short one')
})

t.test('nothing is refused in one long turn, or where the loop waits for a tenth of the time', async (t) => {
  const { gateway, loop } = await overloaded(t)
  const ask = async (): Promise<number> => (await gateway.post('/v1/chat/completions', BODY)).status
  loop.turn(1_000, 0)
  loop.begin(500, 0)
  t.equal(await ask(), 200, 'after one long turn')
  loop.turn(0, 1_000)
  for (let i = 0; i < 20; i++) loop.turn(100, 10)
  loop.begin(500, 0)
  t.equal(await ask(), 200, 'where the loop waits')
})

t.test('a refusal asks nobody who it is, and has the form of the caller', async (t) => {
  const { gateway, loop } = await overloaded(t)
  loop.saturate()
  loop.begin(26, 0)
  const ask = async (path: string, headers: Record<string, string> = {}) => (await gateway.post(path, BODY, headers)).json()
  t.match(await ask('/v1/messages', { authorization: 'Bearer nobody' }), { type: 'error', error: { type: 'overloaded_error' } })
  t.match(await ask('/v1/chat/completions'), { error: { code: 503, message: /the gateway is overloaded/ } })
  loop.turn(0, 0)
  t.equal((await gateway.post('/v1/chat/completions', BODY, { authorization: 'Bearer nobody' })).status, 401)
})

t.test('requests beyond the rate of a key take no place among the bodies on their way', async (t) => {
  const stage = await overloaded(t)
  const { gateway, loop } = stage
  const asked = await crowd(stage, 5)
  loop.stolen(500)
  for (let i = 0; i < 8; i++) {
    const reply = await gateway.post('/v1/chat/completions', i === 0 ? '{' : long(BODY), { authorization: `Bearer ${RARELY}` })
    t.equal(reply.status, i === 0 ? 400 : 429)
  }
  const late = gateway.post('/v1/chat/completions', long(BODY))
  await eventually('it has come', async () => (await waiting(gateway)) === 5 || undefined)
  for (let i = 0; i < 6; i++) loop.turn(1, 0)
  t.equal((await late).status, 200)
  t.same(new Set(await Promise.all(asked)), new Set([200]))
})

t.test('embeddings, counts and the pass-through are refused as well, and management is not', async (t) => {
  const { gateway, loop } = await overloaded(t)
  loop.saturate()
  loop.begin(26, 0)
  t.equal((await gateway.post('/v1/embeddings', { model: 'acme/one', input: 'Hello' })).status, 503)
  t.equal((await gateway.post('/v1/messages/count_tokens', BODY)).status, 503)
  t.equal((await gateway.post('/v1/responses', { model: 'acme/one', input: 'Hello' })).status, 503)
  t.equal((await gateway.get('/v1/passage/first/models')).status, 503)
  t.equal((await gateway.get('/v1/models')).status, 200)
})
