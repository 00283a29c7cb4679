/** Responses over WebSocket, with clients that misbehave, leave or do not read, and with connections that have to end. */
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { eventually, steady } from '../../support/eventually.ts'
import { type Gateway, oneModel } from '../../support/gateway.ts'
import { READ_ON } from '../../support/leaving.ts'
import { RawClient } from '../../support/raw.ts'
import { lastEvent, openSocket, type ResponsesSocket, refusedSocket, responseId } from '../../support/responses-socket.ts'
import { startScene } from '../../support/scene.ts'
import { Gate, sseAnswer, type Upstream } from '../../support/upstream.ts'
import { answerFor, framesFor } from '../../support/wire.ts'

const model = 'acme/one'
const MINUTE = 60_000

interface WithSocket {
  clock: FakeClock
  gateway: Gateway
  upstream: Upstream
  /** Lets responses of the input `wait` go on after their first word. */
  gate: Gate
  open(key?: string): Promise<ResponsesSocket>
}

const waits = (body: string): boolean => body.includes('"wait"')

async function withSocket(t: Test, yaml = '', words = ['first ', 'last']): Promise<WithSocket> {
  const clock = new FakeClock()
  const gate = new Gate()
  const { gateway, upstream } = await startScene(t, {
    answer: (seen) => {
      if (!waits(seen.body)) return answerFor(seen, { text: words, usage: { input: 10, output: 2 } })
      const frames = framesFor(seen.path, { text: words, usage: { input: 10, output: 2 } })
      const cut = frames.findIndex((frame) => frame.includes('last'))
      return sseAnswer([...frames.slice(0, cut), gate.step, ...frames.slice(cut)])
    },
    config: (url) => yaml + oneModel(url, 'openai-responses', { provider: 'timeouts: { idle: 7200s, total: 7200s }' }),
    clock,
  })
  return { clock, gateway, upstream, gate, open: (key = gateway.key) => openSocket({ url: gateway.url, key }) }
}

/** A response of which the first word has come. */
async function begun(client: ResponsesSocket): Promise<void> {
  client.send({ type: 'response.create', model, input: 'wait' })
  await eventually('the first word', () => client.messages.some(({ type }) => type === 'response.output_text.delta'))
}

const usedMemory = ({ gateway }: WithSocket): number => gateway.running.runtime.bodies.used

t.test('a request in mid-response waits, and is refused where many wait', async (t) => {
  const one = await withSocket(t)
  const { open, gate, upstream } = one
  const client = await open()
  await begun(client)
  for (let at = 0; at < 65; at++) client.send({ type: 'response.create', model, generate: false, input: `Hello ${at}` })
  const refused = (await client.reply()).at(-1)
  t.match(refused, { type: 'error', status: 409, error: { code: 'response_already_in_flight' } })
  t.ok(usedMemory(one) > 0, 'those that wait count in the memory of bodies')
  gate.open()
  const end = lastEvent(await client.reply())
  t.match(end, { type: 'response.completed', response: { output: [{ content: [{ text: 'first last' }] }] } })
  for (let at = 0; at < 64; at++) t.equal(lastEvent(await client.reply()).type, 'response.completed')
  t.equal(upstream.requests.length, 1)
  client.ws.close()
  await eventually('its memory', () => usedMemory(one) === 0)
})

t.test('at most 16 responses run at the same time', async (t) => {
  const one = await withSocket(t)
  const { open, gate, upstream } = one
  const client = await open()
  for (let at = 0; at < 20; at++) client.send({ type: 'response.create', model, input: 'wait', stream_id: `lane-${at}` })
  await eventually('the first 16', () => upstream.requests.length === 16)
  await steady(() => upstream.requests.length)
  t.equal(upstream.requests.length, 16)
  gate.open()
  await eventually('all', () => client.messages.filter(({ type }) => type === 'response.completed').length === 20)
  client.send({ type: 'response.create', model, input: 'wait', stream_id: 'lane-0' })
  await eventually('all memory but that of conversations', () => one.gateway.running.runtime.bodies.used > 0)
  client.ws.close()
  await eventually('its memory', () => usedMemory(one) === 0)
})

t.test('drops waiting requests with their client', async (t) => {
  const one = await withSocket(t)
  const { open, clock, upstream } = one
  const leaving = await open()
  await begun(leaving)
  for (const stream_id of ['a', 'a']) leaving.send({ type: 'response.create', model, input: 'wait', stream_id })
  leaving.send({ type: 'response.create', model, input: 'Never' })
  await eventually('two run', () => upstream.requests.length === 2)
  leaving.ws.terminate()
  await eventually('it is noticed', () => clock.waiting.includes(READ_ON))
  await clock.advance(READ_ON)
  await eventually('its memory', () => usedMemory(one) === 0)
  t.equal(upstream.requests.length, 2, 'nothing that waited has begun')
})

t.test('a client that leaves in mid-response stops the provider at once, and pays what was spent', async (t) => {
  const ways: [string, (client: ResponsesSocket) => void][] = [
    ['a close', (client) => client.ws.close()],
    ['a reset', (client) => client.ws.terminate()],
    ['an end without a close', (client) => (client.ws as unknown as { _socket: { end(): void } })._socket.end()],
  ]
  for (const [name, leave] of ways) {
    const { clock, gateway, upstream, open } = await withSocket(t)
    const client = await open()
    await begun(client)
    leave(client)
    // The clock stands still: the gateway learns it from the connection, not by a look at it.
    await eventually(`${name} is noticed`, () => clock.waiting.includes(READ_ON))
    await clock.advance(READ_ON)
    const seen = await upstream.request(0)
    await seen.closed
    t.ok(seen.aborted, name)
    const settled = await eventually('the settlement', () => [...gateway.running.store.journal.export()][0]?.settled)
    t.equal(settled.status, 'aborted')
    t.ok(settled.cost > 0 && settled.output > 0, `${settled.output} tokens`)
    await eventually('its memory', () => gateway.running.runtime.bodies.used === 0)
  }
})

/** More than the buffers of the system on the way hold. */
const LONG = Array.from({ length: 400 }, (_, at) => `${'x'.repeat(64 * 1024)} word-${at} `)
const LONG_BYTES = 400 * 64 * 1024

t.test('a client that stops reading holds the provider back, and gets everything once it reads', async (t) => {
  const one = await withSocket(t)
  const { clock, upstream, open } = one
  upstream.script = (seen) => {
    const frames = framesFor(seen.path, { text: LONG })
    return sseAnswer(frames.slice(0, frames.findLastIndex((frame) => frame.includes('output_text.delta')) + 1), { after: 'stall' })
  }
  const client = await open()
  client.ws.pause()
  client.send({ type: 'response.create', model, input: 'Hello' })
  await clock.armed(MINUTE)
  const seen = await upstream.request(0)
  await steady(() => seen.sentBytes)
  t.ok(seen.sentBytes < LONG_BYTES, `${seen.sentBytes} bytes of the provider were read`)
  client.ws.resume()
  const deltas = (): unknown[] => client.messages.flatMap(({ type, delta }) => (type === 'response.output_text.delta' ? [delta] : []))
  await eventually('the last word', () => deltas().length === LONG.length, { found: () => deltas().length })
  t.same(deltas(), LONG)
  client.ws.terminate()
  await eventually('it is noticed', () => clock.waiting.includes(READ_ON))
  await clock.advance(READ_ON)
  await eventually('its memory', () => usedMemory(one) === 0)
  const stopped = await open()
  stopped.ws.pause()
  stopped.send({ type: 'response.create', model, input: 'Hello' })
  await clock.armed(MINUTE)
  const last = await upstream.request(1)
  await steady(() => last.sentBytes)
  // The first look sees what the sockets took after the first full write; the next one is due within a minute of it.
  for (let minute = 0; minute < 3; minute++) await clock.advance(MINUTE)
  await eventually('it is cut off', () => last.aborted || clock.waiting.includes(READ_ON))
  await clock.advance(READ_ON)
  await eventually('its provider is stopped', () => last.aborted)
})

t.test('a key that is revoked in between gets no further response', async (t) => {
  const boss = 'sk-router-v1-boss-0123456789abcdef'
  const { gateway, upstream, open } = await withSocket(t, `auth: { keys: [ { name: boss, key: "${boss}", management: true } ] }\n`)
  const manage = async (method: string, path: string, body: JsonObject): Promise<JsonObject> => {
    const headers = { authorization: `Bearer ${boss}`, 'content-type': 'application/json' }
    return (await (await fetch(`${gateway.url}${path}`, { method, headers, body: JSON.stringify(body) })).json()) as JsonObject
  }
  t.match(await refusedSocket({ url: gateway.url, key: boss }), { status: 403 }, 'a management key')
  const { key, data } = await manage('POST', '/v1/keys', { name: 'app' })
  const client = await open(String(key))
  const first = await client.respond({ model, input: 'Hello' })
  t.equal(lastEvent(first).type, 'response.completed')
  await manage('PATCH', `/v1/keys/${(data as JsonObject).hash}`, { disabled: true })
  const [failure] = await client.respond({ model, previous_response_id: responseId(first), input: 'More' })
  t.match(failure, { type: 'error', status: 401, error: { code: 'invalid_api_key', type: 'authentication_error' } })
  t.match(await client.ended(), { code: 1008 })
  t.equal(upstream.requests.length, 1)
})

t.test('limits count for each response, and their refusals have the headers of HTTP', async (t) => {
  const limited = 'auth: { keys: [ { name: app, key: "sk-router-v1-0123456789abcdef", limits: { requests: 2, bytes: 64KB } } ] }\n'
  const { open } = await withSocket(t, limited)
  const client = await open()
  t.equal(lastEvent(await client.respond({ model, input: 'Hello' })).type, 'response.completed')
  const [long] = await client.respond({ model, input: 'x'.repeat(70_000) })
  t.match(long, { status: 429, error: { code: 'rate_limit_exceeded' } }, 'bytes in flight')
  const [failure] = await client.respond({ model, input: 'Hello' })
  const headers = { 'Retry-After': /^\d+$/, 'X-RateLimit-Limit': '2', 'X-Generation-Id': /^gen-/ }
  t.match(failure, { type: 'error', status: 429, headers, error: { code: 'rate_limit_exceeded', headers } })
})

/** A client frame with a mask of zeros. @param first opcode, and 0x80 where it is the last of its message. */
function frame(first: number, payload: Buffer, announced = payload.length): Buffer {
  const head = Buffer.alloc(14)
  head[0] = first
  head[1] = 0x80 | 127
  head.writeBigUInt64BE(BigInt(announced), 2)
  return Buffer.concat([head, payload])
}
const shortFrame = (first: number, payload: Buffer): Buffer =>
  Buffer.concat([Buffer.from([first, 0x80 | payload.length, 0, 0, 0, 0]), payload])
const TEXT = 0x01
const CONTINUATION = 0x00
const FINAL = 0x80
const PING = 0x89

/** A connection that is handed over, without a library at the client. */
async function raw(t: Test, { gateway }: WithSocket): Promise<RawClient> {
  const client = await RawClient.open(gateway.url)
  t.teardown(() => client.close())
  const key = randomBytes(16).toString('base64')
  client.send(
    `GET /v1/responses HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${gateway.key}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
  )
  await client.until(/^HTTP\/1\.1 101 [\s\S]*\r\n\r\n/)
  return client
}

/** The close frame of the server, by its code. */
const closePattern = (code: number): RegExp =>
  new RegExp(`\\x88[\\x02-\\x7d]${[code >> 8, code & 0xff].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}`)

t.test('a giant frame is refused by its head', async (t) => {
  const one = await withSocket(t)
  const client = await raw(t, one)
  client.send(frame(FINAL | TEXT, Buffer.from('{'), 1024 ** 3))
  await client.until(closePattern(1009))
  const pieces = await raw(t, one)
  pieces.send(frame(TEXT, Buffer.alloc(20 * 1024 ** 2, 'x'))).send(frame(CONTINUATION, Buffer.alloc(20 * 1024 ** 2, 'x')))
  await pieces.until(closePattern(1009))
  client.close()
  pieces.close()
  await eventually('the memory is free', () => usedMemory(one) === 0)
  t.notOk(
    one.gateway.logs.some((line) => line.includes('unexpected')),
    'and nothing unexpected happens',
  )
})

t.test('a message that does not come to its end counts in the memory, and ends its connection', async (t) => {
  const one = await withSocket(t)
  const client = await raw(t, one)
  client.send(frame(TEXT, Buffer.alloc(100_000, 'x')))
  await eventually('its memory', () => usedMemory(one) >= 300_000)
  // Pings between the pieces do not help.
  client.send(shortFrame(PING, Buffer.alloc(0)))
  await one.clock.advance(29_000)
  client.send(shortFrame(CONTINUATION, Buffer.alloc(1, 'x')))
  await eventually('the further piece', () => usedMemory(one) >= 300_003)
  await one.clock.advance(29_000)
  t.notOk(client.ended, 'it still comes')
  await one.clock.advance(2_000)
  await client.until(closePattern(1008))
  t.match(client.text, /"status":408/)
  client.close()
  await eventually('the memory is free', () => usedMemory(one) === 0)
})

t.test('pings are bounded, and a client that answers none is cut off', async (t) => {
  const one = await withSocket(t)
  const flood = await raw(t, one)
  for (let sent = 0; sent <= 120; sent += 11) {
    flood.send(Buffer.concat(Array.from({ length: 11 }, () => shortFrame(PING, Buffer.alloc(0)))))
    await flood.until(new RegExp(`(?:\\x8a\\x00){${Math.min(120, sent + 11)}}`))
  }
  await flood.until(closePattern(1008))
  const mute = await raw(t, one)
  const answering = await one.open()
  for (let pings = 1; pings <= 11; pings++) {
    t.notOk(mute.ended && pings <= 9, `before ping ${pings}`)
    await one.clock.advance(30_000)
    await eventually('the ping', () => answering.pings === pings)
  }
  await eventually('the end of the one without pongs', () => mute.ended)
  t.equal(answering.closed, undefined)
  t.equal(lastEvent(await answering.respond({ model, input: 'Hello' })).type, 'response.completed')
})

t.test('connections are bounded, and half of them are for one key', async (t) => {
  const keys = ['a', 'b'].map((name) => `{ name: ${name}, key: "sk-router-v1-0123456789abcde${name}" }`)
  const server = 'server: { host: 127.0.0.1, port: 0, responses_websocket: { max_connections: 4 } }\n'
  const { gateway, open } = await withSocket(t, `${server}auth: { keys: [ ${keys.join(', ')} ] }\n`)
  const [one, two] = ['a', 'b'].map((name) => `sk-router-v1-0123456789abcde${name}`)
  const first = await open(one)
  await open(one)
  t.match(await refusedSocket({ url: gateway.url, key: one }), { status: 503, headers: { 'retry-after': '10' } })
  await open(two)
  first.ws.close()
  await first.ended()
  const again = await open(one)
  t.equal(lastEvent(await again.respond({ model, input: 'Hello' })).type, 'response.completed')
})

t.test('a connection ends after 60 minutes, one with a response in flight after that', async (t) => {
  const server = 'server: { host: 127.0.0.1, port: 0, deadline: 7200s }\n'
  const { clock, gate, open, upstream } = await withSocket(t, server)
  const idle = await open()
  const busy = await open()
  for (let pings = 1; pings < 118; pings++) {
    await clock.advance(MINUTE / 2)
    await eventually('both are pinged', () => idle.pings === pings && busy.pings === pings)
  }
  await begun(busy)
  busy.send({ type: 'response.create', model, input: 'Never' })
  busy.send({ type: 'response.create', model, input: 'wait', stream_id: 'b' })
  busy.send({ type: 'response.create', model, input: 'Never', stream_id: 'b' })
  await eventually('two run', () => upstream.requests.length === 2)
  await eventually('the end of the idle one', async () => {
    await clock.advance(MINUTE / 2)
    return idle.closed
  })
  const limit = { type: 'error', error: { code: 'websocket_connection_limit_reached' } }
  t.match(idle.messages, [limit])
  t.match(idle.closed, { code: 1000 })
  t.equal(busy.closed, undefined)
  const refused = await eventually('what waits is refused', () => {
    const errors = busy.messages.filter(({ type }) => type === 'error')
    return errors.length === 2 ? errors : undefined
  })
  t.match(refused, [limit, { ...limit, stream_id: 'b' }])
  gate.open()
  t.match(await busy.ended(), { code: 1000 })
  t.equal(busy.messages.filter(({ type }) => type === 'response.completed').length, 2, 'what runs ends first')
  t.match(busy.messages.at(-1), limit)
  t.equal(upstream.requests.length, 2)
})

t.test('a shutdown lets the response in flight end, and closes the others at once', async (t) => {
  const { gateway, gate, open } = await withSocket(t)
  const idle = await open()
  const busy = await open()
  await begun(busy)
  const drained = gateway.running.drain.begin()
  t.match(await idle.ended(), { code: 1001 })
  t.equal(busy.closed, undefined)
  gate.open()
  t.equal(lastEvent(await busy.reply()).type, 'response.completed')
  t.match(await busy.ended(), { code: 1001 })
  t.same(await drained, { cut: 0 })
})

t.test('conversations that are kept count in the memory of bodies, and make way', async (t) => {
  const server = 'server: { host: 127.0.0.1, port: 0, body_memory: 1MB, max_body: 256KB }\n'
  const one = await withSocket(t, server)
  const { gateway, open } = one
  const long = 'x'.repeat(50_000)
  const clients = await Promise.all(Array.from({ length: 4 }, () => open()))
  const ids: string[] = []
  for (const client of clients) ids.push(responseId(await client.respond({ model, input: long })))
  await eventually('what is kept', () => usedMemory(one) > 0 && usedMemory(one) <= 128 * 1024)
  t.ok(usedMemory(one) >= 100_000, `${usedMemory(one)} bytes of two conversations, an eighth of the memory`)
  const [dropped] = await (clients[0] as ResponsesSocket).respond({ model, previous_response_id: ids[0] as string, input: 'x' })
  t.match(dropped, { error: { code: 'previous_response_not_found' } }, 'the oldest')
  const kept = await (clients[3] as ResponsesSocket).respond({ model, previous_response_id: ids[3] as string, input: 'x' })
  t.equal(lastEvent(kept).type, 'response.completed', 'the latest')
  t.equal((await gateway.post('/v1/responses', { model, input: 'x'.repeat(200_000) })).status, 200, 'a request finds room')
  for (const client of clients) client.ws.close()
  await eventually('the memory is free', () => usedMemory(one) === 0)
  const client = await open()
  const first = responseId(await client.respond({ model, input: 'x'.repeat(100_000) }))
  const [beyond] = await client.respond({ model, previous_response_id: first, input: 'x'.repeat(200_000) })
  t.match(beyond, { status: 413 }, 'with its conversation a message is as long as a body may be')
})
