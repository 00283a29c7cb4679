/** Overload: requests that would come too late are refused before their bodies are read, and nothing is refused on account of one long turn. */
import t, { type Test } from 'tap'
import type { LoopSource } from '../../src/server/overload.ts'
import { type Gateway, KEY, oneModel, startGateway } from '../support/gateway.ts'
import { parseReply, RawClient } from '../support/raw.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { answerFor } from '../support/wire.ts'
import { metricsOf } from '../support/workers.ts'

/** An event loop whose time the test tells. */
class ScriptedLoop implements LoopSource {
  private elapsed = 0
  private idled = 0
  private used = 0
  private ends: (() => void)[] = []

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

  /** One turn of so many milliseconds. */
  turn(work: number, idle: number): void {
    this.begin(work, idle)
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

async function scene(t: Test): Promise<{ gateway: Gateway; upstream: Upstream; loop: ScriptedLoop }> {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['Hello'] }))
  t.teardown(() => upstream.close())
  const loop = new ScriptedLoop()
  const gateway = await startGateway(oneModel(upstream.url, 'openai-chat', { provider: 'passage: { price: "0.001" }' }), { loop })
  t.teardown(() => gateway.close())
  return { gateway, upstream, loop }
}

/** Long bodies, most of them blanks. */
const PADDING = 70_000
const long = (body: object): string => JSON.stringify(body).padEnd(PADDING)
const BODY = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }

t.test('a request late in a turn of a saturated process is 503 before its body comes', async (t) => {
  const { gateway, upstream, loop } = await scene(t)
  loop.saturate()
  loop.begin(6, 0)
  const client = await RawClient.open(gateway.url)
  const text = JSON.stringify(BODY)
  const head = (bytes: number): string =>
    `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\nContent-Length: ${bytes}\r\n\r\n`
  client.send(head(330_000))
  const refused = parseReply(await client.until(/HTTP\/1.1 503[\s\S]*\}$/))
  t.equal(refused.headers.get('retry-after'), '1')
  t.match(refused.body, 'the gateway is overloaded')
  t.equal((await metricsOf(gateway.admin))('headgate_shed_total '), 1)
  loop.turn(0, 0)
  client.send(Buffer.alloc(330_000, 'a')).send(head(text.length) + text)
  t.match(await client.until(/HTTP\/1.1 200[\s\S]*\}$/), 'Hello', 'the next turn serves the next request on the same connection')
  client.close()
  t.equal(upstream.requests.length, 1)
})

t.test('the same request is served where the process is not saturated', async (t) => {
  const { gateway, loop } = await scene(t)
  const ask = async (): Promise<number> => (await gateway.post('/v1/chat/completions', long(BODY))).status
  loop.turn(1_000, 0)
  loop.begin(500, 0)
  t.equal(await ask(), 200, 'after one long turn')
  loop.turn(0, 1_000)
  for (let i = 0; i < 20; i++) loop.turn(100, 10)
  loop.begin(500, 0)
  t.equal(await ask(), 200, 'where the loop waits for a tenth of the time')
  loop.saturate()
  loop.begin(5, 0)
  t.equal(await ask(), 200, 'early in a turn')
  loop.begin(0, 1_000)
  t.equal(await ask(), 200, 'waiting is no work')
  loop.stolen(1_000)
  t.equal(await ask(), 200, 'what other processes take is no work')
})

t.test('a short request is refused only late in a long turn, and none in the first long turn', async (t) => {
  const { gateway, loop } = await scene(t)
  const ask = async (): Promise<number> => (await gateway.post('/v1/chat/completions', BODY)).status
  loop.saturate()
  loop.turn(20, 0)
  loop.begin(24, 0)
  t.equal(await ask(), 200, 'in 24 ms')
  loop.begin(2, 0)
  t.equal(await ask(), 503, 'after 26 ms')
  loop.turn(0, 0)
  loop.turn(1, 0)
  loop.begin(50, 0)
  t.equal(await ask(), 200, 'in a long turn that follows a short one')
})

t.test('embeddings, counts and the pass-through are refused as well, and management is not', async (t) => {
  const { gateway, loop } = await scene(t)
  loop.saturate()
  loop.begin(6, 0)
  t.equal((await gateway.post('/v1/embeddings', long({ model: 'acme/one', input: 'Hello' }))).status, 503)
  t.equal((await gateway.post('/v1/messages/count_tokens', long(BODY))).status, 503)
  t.equal((await gateway.post('/v1/responses', long({ model: 'acme/one', input: 'Hello' }))).status, 503)
  t.equal((await gateway.get('/v1/passage/first/models')).status, 503)
  t.equal((await gateway.get('/v1/models')).status, 200)
})
