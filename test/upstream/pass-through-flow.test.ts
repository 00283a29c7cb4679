/** Flow of the pass-through: back-pressure in both directions, callers that leave, and what each time limit ends. */
import type { ServerResponse } from 'node:http'
import { createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { turn } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { LIMITS, listening, serverAddress, startFront } from '../support/pass-through-front.ts'
import { parseReply, RawClient, rawExchange } from '../support/raw.ts'
import { startRawUpstream } from '../support/raw-upstream.ts'
import { Gate, sseAnswer, startUpstream } from '../support/upstream.ts'

const LARGE = 64 * 1024 * 1024
const PIECE = 64 * 1024
/** Relayed in one piece. */
const SMALL = 4096

/** Calls `count` with the bytes of every piece that is written to the caller. */
function countWrites(response: ServerResponse, count: (bytes: number) => void): void {
  const write = response.write.bind(response)
  response.write = (chunk: Buffer) => {
    count(chunk.length)
    return write(chunk)
  }
}

t.test('a caller that does not read holds the provider back, and then receives everything', async (t) => {
  const piece = Buffer.alloc(PIECE, 'x')
  const upstream = await startUpstream(() => ({
    headers: { 'content-length': String(LARGE) },
    body: Array.from({ length: LARGE / PIECE }, () => piece),
  }))
  const front = await startFront(upstream.url)
  t.teardown(() => Promise.all([front.close(), upstream.close()]))
  const client = await RawClient.open(front.url)
  client.pause().send('GET /x HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n')
  const seen = await upstream.request(0)
  await eventually('the caller holds the reply back', () => front.exchanges[0]?.response.writableNeedDrain === true)
  t.ok(front.exchanges[0].response.writableLength < 4 * 1024 * 1024, 'little waits here')
  await front.clock.advance(LIMITS.idle)
  await front.clock.advance(LIMITS.idle)
  t.same(front.ends, [], 'the silence is the caller’s')
  t.ok(seen.sentBytes < LARGE, `the provider waits after ${seen.sentBytes} bytes`)
  const text = await client.resume().closed()
  t.equal(text.length - text.indexOf('\r\n\r\n') - 4, LARGE)
  t.match(front.ends, [{ outcome: 'completed' }])
})

t.test('the time for which a caller does not read is no silence of the provider', async (t) => {
  const more = new Gate()
  let sent = 0
  let relayed = 0
  let held = false
  const crowded = (): boolean => front.exchanges[0]?.response.writableNeedDrain === true
  // Piece by piece, each once the one before has been relayed, until one is held back: nothing waits behind it.
  const piece = async (): Promise<string | undefined> => {
    if (held) return undefined
    await eventually('all that was sent is relayed', () => relayed === sent)
    for (let turns = 0; turns < 20 && crowded(); turns++) await turn()
    held = crowded()
    if (held) return undefined
    if (sent === 0) countWrites(front.exchanges[0].response, (bytes) => (relayed += bytes))
    sent += SMALL
    return 'x'.repeat(SMALL)
  }
  const upstream = await startUpstream(() => ({ body: [...Array.from({ length: 10_000 }, () => piece), more.step, 'the end'] }))
  const front = await startFront(upstream.url)
  t.teardown(() => Promise.all([front.close(), upstream.close()]))
  const client = await RawClient.open(front.url)
  client.pause().send('GET /x HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n')
  await eventually('the reply is held back', () => held)
  await front.clock.advance(LIMITS.idle - 1)
  const closed = client.resume().closed()
  await eventually('the reply flows again', () => !crowded())
  await front.clock.advance(1)
  t.same(front.ends, [], 'the provider has had no time to say more')
  more.open()
  t.match(await closed, /the end/)
  t.match(front.ends, [{ outcome: 'completed' }])
})

t.test('a provider that does not read holds the caller back, and then receives everything', async (t) => {
  let received = 0
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket.pause())
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length - (received === 0 ? chunk.indexOf('\r\n\r\n') + 4 : 0)
      if (received === LARGE) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine')
    })
    socket.pause()
  })
  await listening(server)
  const front = await startFront(serverAddress(server))
  t.teardown(async () => {
    await front.close()
    await new Promise((resolve) => server.close(resolve))
  })
  const client = await RawClient.open(front.url)
  client.send(`PUT /x HTTP/1.1\r\nHost: g\r\nConnection: close\r\nContent-Length: ${LARGE}\r\n\r\n`)
  client.send(Buffer.alloc(LARGE, 'x'))
  await eventually('the request is paused', () => sockets.length === 1 && front.exchanges[0]?.request.isPaused() === true)
  t.ok(front.exchanges[0].request.readableLength < 4 * 1024 * 1024, 'little waits here')
  t.equal(received, 0)
  for (let step = 0; step < 5; step++) await front.clock.advance(25_000)
  t.same(front.ends, [], 'the silence is the provider’s, and no limit but that on the whole exchange runs')
  sockets[0].resume()
  t.equal(parseReply(await client.closed()).body, 'fine')
  t.equal(received, LARGE)
})

t.test('a caller that leaves in the middle of its upload ends the request at the provider', async (t) => {
  const upstream = await startRawUpstream(() => undefined)
  const front = await startFront(upstream.url)
  t.teardown(() => Promise.all([front.close(), upstream.close()]))
  const client = await RawClient.open(front.url)
  client.send('PUT /x HTTP/1.1\r\nHost: g\r\nContent-Length: 1000000\r\n\r\nabc')
  await upstream.accepts(1)
  const ended = front.nextEnd()
  client.reset()
  t.same(await ended, { status: null, outcome: 'aborted' })
  await eventually('the provider has no connection left', () => upstream.sockets.size === 0)
  t.same(upstream.requests, [], 'what came is no request')
  t.same(front.clock.waiting, [], 'no timer is left behind')
})

t.test('a provider that answers before the upload has ended: the caller gets the reply and its connection lives on', async (t) => {
  const early = await startRawUpstream(() => undefined)
  const front = await startFront(early.url)
  t.teardown(() => Promise.all([front.close(), early.close()]))
  const client = await RawClient.open(front.url)
  client.send(`PUT /x HTTP/1.1\r\nHost: g\r\nContent-Length: 200003\r\n\r\n${'x'.repeat(200_000)}`)
  await early.accepts(1)
  for (const socket of early.sockets) socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno')
  await client.until(/ 413 [\s\S]*no$/)
  client.send('defGET /y HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n')
  early.answer = () => 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes'
  t.match(await client.closed(), / 200 [\s\S]*yes$/)
  t.same(
    early.requests.map(({ line }) => line),
    ['GET /y HTTP/1.1'],
    'the rest of the upload is no request',
  )
})

t.test('the limit on the whole exchange is the provider’s before the head, and charged after it', async (t) => {
  const gate = new Gate()
  const upstream = await startUpstream(() => ({ before: 'stall' }))
  const front = await startFront(upstream.url, { timeouts: { ...LIMITS, firstByteWhole: 700_000, idle: 700_000 } })
  t.teardown(() => Promise.all([front.close(), upstream.close()]))
  const silent = rawExchange(front.url, 'GET /x HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n')
  await upstream.request(0)
  await front.clock.advance(LIMITS.total - 1)
  t.same(front.ends, [])
  await front.clock.advance(1)
  t.equal(parseReply(await silent).status, 524)
  t.match(front.ends.shift(), { status: null, outcome: 'failed' })
  upstream.script = () => sseAnswer(['data: one\n\n', gate.step])
  const client = await RawClient.open(front.url)
  client.send('GET /x HTTP/1.1\r\nHost: g\r\n\r\n')
  await client.until(/data: one/)
  await front.clock.advance(LIMITS.total - 1)
  t.notOk(client.ended)
  await front.clock.advance(1)
  t.notMatch(await client.closed(), '\r\n0\r\n\r\n', 'no proper end is feigned')
  t.match(front.ends, [{ status: 200, outcome: 'aborted', fault: { code: 'upstream_silent' } }])
  gate.open()
})

t.test('a body that stops arriving, or comes too slowly, is 408 and the provider is left', async (t) => {
  const head = 'PUT /x HTTP/1.1\r\nHost: g\r\nContent-Length: 2000000\r\n\r\n'
  const open = async (t: Test) => {
    const upstream = await startRawUpstream(() => undefined)
    const front = await startFront(upstream.url)
    t.teardown(() => Promise.all([front.close(), upstream.close()]))
    const client = await RawClient.open(front.url)
    client.send(`${head}abc`)
    await upstream.accepts(1)
    // The limits on the whole exchange and on the body; that on the connection has gone.
    await eventually('both timers wait', () => front.clock.waiting.length === 2)
    return { upstream, front, client }
  }
  t.test('silence of 30 s', async (t) => {
    const { upstream, front, client } = await open(t)
    await front.clock.advance(29_999)
    t.same(front.ends, [])
    await front.clock.advance(1)
    const reply = parseReply(await client.closed())
    t.match([reply.status, reply.headers.get('connection')], [408, 'close'])
    t.match(JSON.parse(reply.body), { error: { code: 408, message: /nothing of the body came for 30 seconds/ } })
    t.match(front.ends, [{ status: null, outcome: 'aborted', fault: { code: 'client_timeout' } }])
    await eventually('no connection and no timer is left', () => upstream.sockets.size === 0 && front.clock.waiting.length === 0)
  })
  t.test('silence of 30 s in a short body, for which the provider is not called', async (t) => {
    const upstream = await startRawUpstream(() => undefined)
    const front = await startFront(upstream.url)
    t.teardown(() => Promise.all([front.close(), upstream.close()]))
    const client = await RawClient.open(front.url)
    client.send('PUT /x HTTP/1.1\r\nHost: g\r\nContent-Length: 20000\r\n\r\nabc')
    await eventually('the limit on the body waits', () => front.clock.waiting.length === 1)
    await front.clock.advance(29_999)
    t.same(front.ends, [])
    await front.clock.advance(1)
    t.equal(parseReply(await client.closed()).status, 408)
    t.match(front.ends, [{ status: null, outcome: 'aborted', sent: false, fault: { code: 'client_timeout' } }])
    t.equal(upstream.accepted, 0)
    t.same(front.clock.waiting, [], 'no timer is left')
  })
  t.test('less than 16 KB per second after 60 s', async (t) => {
    const { front, client } = await open(t)
    const taken = (): number => front.exchanges[0].request.socket.bytesRead
    for (let step = 0; step < 5; step++) {
      const before = taken()
      client.send('x'.repeat(100_000))
      await eventually('100 KB more are taken', () => taken() === before + 100_000)
      await front.clock.advance(11_999)
      t.same(front.ends, [])
    }
    await front.clock.advance(5)
    t.match(JSON.parse(parseReply(await client.closed()).body), { error: { message: /less than 16 KB per second/ } })
  })
})
