import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { createServer as createTcpServer } from 'node:net'
import t from 'tap'
import { openaiChat } from '../../src/dialects/chat/index.ts'
import { type PassThroughEnd, PassThroughProxy, passThroughTarget } from '../../src/services/upstream/pass-through.ts'
import { Pools } from '../../src/services/upstream/pools.ts'
import { provider } from '../routing/catalogue.ts'
import { FakeClock } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { LIMITS, listening, serverAddress, startFront } from '../support/pass-through-front.ts'
import { parseReply, RawClient, rawExchange } from '../support/raw.ts'
import { Gate, jsonAnswer, REFUSING_URL, sseAnswer, startUpstream } from '../support/upstream.ts'

/** A provider that answers every connection with fixed bytes, once the head of a request has come. */
async function startRaw(answer: (socket: Socket, head: string) => void): Promise<{ url: string; heads: string[]; close(): Promise<void> }> {
  const heads: string[] = []
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', (chunk) => {
      const head = chunk.toString('latin1')
      heads.push(head)
      answer(socket, head)
    })
  })
  await listening(server)
  return {
    url: serverAddress(server),
    heads,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

t.test('a request and its reply pass untouched but for the credentials', async (t) => {
  const upstream = await startUpstream((seen) => jsonAnswer({ got: seen.body }, 201, { 'x-own': 'yes', 'set-cookie': 'a=b' }))
  const front = await startFront(`${upstream.url}/v1`, { headers: { 'X-Project': 'p1' } })
  t.teardown(() => Promise.all([front.close(), upstream.close()]))
  const ended = front.nextEnd()
  const reply = await fetch(`${front.url}/files/a%2Fb?purpose=x&y=1`, {
    method: 'POST',
    headers: { authorization: 'Bearer our-client', 'x-api-key': 'our-client', cookie: 'sid=1', 'x-project': 'spoofed', 'x-kept': 'k' },
    body: 'payload',
  })
  t.equal(reply.status, 201)
  t.same(await reply.json(), { got: 'payload' })
  t.equal(reply.headers.get('x-own'), 'yes')
  t.equal(reply.headers.get('set-cookie'), null)
  const [seen] = upstream.requests
  t.equal(seen.path, '/v1/files/a%2Fb?purpose=x&y=1')
  t.match(seen.headers, { authorization: 'Bearer provider-key', 'x-project': 'p1', 'x-kept': 'k', host: new URL(upstream.url).host })
  t.notMatch(JSON.stringify(seen.rawHeaders), /our-client|sid=1|spoofed/)
  t.same(await ended, { status: 201, outcome: 'completed' })
  t.equal(front.ends.length, 1)
})

t.test('hop-by-hop headers cross in neither direction, nor do those that Connection names', async (t) => {
  const upstream = await startRaw((socket) => {
    socket.write(
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive, X-Reply-Hop\r\nX-Reply-Hop: 1\r\nKeep-Alive: timeout=9\r\n' +
        'Proxy-Authenticate: Basic\r\nProxy-Status: x\r\nX-End-To-End: 1\r\n\r\nok',
    )
  })
  const front = await startFront(upstream.url)
  t.teardown(() => Promise.all([front.close(), upstream.close()]))
  const client = await RawClient.open(front.url)
  client.send(
    'POST /x HTTP/1.1\r\nHost: gateway\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nTE: trailers\r\nProxy-Authorization: Basic abc\r\n' +
      'Proxy-Connection: keep-alive\r\nKeep-Alive: 1\r\nX-Kept: 1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
  )
  const reply = parseReply(await client.closed())
  t.equal(reply.body, 'ok')
  t.equal(reply.headers.get('x-end-to-end'), '1')
  await every(t, 'every name', async (t) => {
    for (const name of ['x-reply-hop', 'keep-alive', 'proxy-authenticate', 'proxy-status']) t.notOk(reply.headers.has(name), name)
  })
  const head = upstream.heads[0].toLowerCase()
  t.match(head, /\r\nx-kept: 1\r\n/)
  t.match(head, /\r\n(transfer-encoding: chunked|content-length: 3)\r\n/, 'a body without a length stays framed')
  await every(t, 'every name', async (t) => {
    for (const name of ['x-hop', 'te', 'proxy-authorization', 'proxy-connection', 'keep-alive']) t.notMatch(head, `\r\n${name}:`, name)
  })
})

t.test('an upstream that dies in the middle of a body closes the caller', async (t) => {
  await every(t, 'every after', async (t) => {
    for (const after of ['close', 'reset'] as const) {
      const upstream = await startUpstream(() => sseAnswer(['data: one\n\n'], { after }))
      const front = await startFront(upstream.url)
      t.teardown(() => Promise.all([front.close(), upstream.close()]))
      const ended = front.nextEnd()
      const text = await rawExchange(front.url, 'GET /x HTTP/1.1\r\nHost: g\r\n\r\n')
      t.match(text, 'data: one', `${after}: what came before is delivered`)
      t.notMatch(text, '\r\n0\r\n\r\n', `${after}: and no proper end is feigned`)
      t.match(await ended, { status: 200, outcome: 'failed', fault: { code: 'upstream_cut' } }, after)
      t.equal(front.ends.length, 1)
    }
  })
})

t.test('failures before the head are error bodies', async (t) => {
  const nobody = await startFront(REFUSING_URL)
  const refused = await fetch(`${nobody.url}/x`)
  t.equal(refused.status, 502)
  t.match(await refused.json(), { error: { code: 502, message: String, metadata: { error_type: 'provider_unavailable' } } })
  t.match(nobody.ends, [{ status: null, outcome: 'failed', fault: { code: 'upstream_connect' } }])

  const resetting = await startUpstream(() => ({ before: 'reset' }))
  const front = await startFront(resetting.url)
  const reset = await fetch(`${front.url}/x`, { method: 'POST', body: 'x' })
  t.equal(reset.status, 502)
  t.match(front.ends, [{ status: null, outcome: 'failed', fault: { code: 'upstream_cut' } }])

  await every(t, 'every status', async (t) => {
    for (const [status, code] of [
      [401, 'upstream_auth'],
      [402, 'upstream_credit'],
      [403, 'upstream_auth'],
    ] as const) {
      resetting.script = () => jsonAnswer({ error: 'Incorrect key provider-key' }, status)
      const reply = await fetch(`${front.url}/x`)
      t.equal(reply.status, 502, `${status} to us is a 502 to the caller`)
      t.notMatch(await reply.text(), 'provider-key')
      t.match(front.ends.at(-1), { status, outcome: 'failed', fault: { code } })
      t.equal(reply.headers.get('x-should-retry'), 'false')
    }
  })
  resetting.script = () => jsonAnswer({ error: 'no such file' }, 404)
  const missing = await fetch(`${front.url}/x`)
  t.equal(missing.status, 404, 'other statuses are the answer')
  t.same(await missing.json(), { error: 'no such file' })
  resetting.script = () => ({ status: 302, headers: { location: 'http://127.0.0.1:1/elsewhere' }, body: [] })
  const redirect = await fetch(`${front.url}/x`, { redirect: 'manual' })
  t.equal(redirect.status, 302, 'a redirect is not followed')
  await Promise.all([nobody.close(), front.close(), resetting.close()])
})

t.test('time limits run on the clock: first byte, idle, total', async (t) => {
  const gate = new Gate()
  const upstream = await startUpstream(() => ({ before: 'stall' }))
  const front = await startFront(upstream.url)
  t.teardown(() => Promise.all([front.close(), upstream.close()]))
  const silent = fetch(`${front.url}/x`, { method: 'POST', body: 'x' })
  const stalled = await upstream.request(0)
  await front.clock.armed(LIMITS.firstByteWhole)
  await front.clock.advance(LIMITS.firstByteWhole)
  t.equal((await silent).status, 524)
  await stalled.closed
  t.ok(stalled.aborted, 'the upstream call is given up')

  upstream.script = () => sseAnswer(['data: one\n\n', gate.step, 'data: two\n\n'])
  const client = await RawClient.open(front.url)
  client.send('GET /x HTTP/1.1\r\nHost: g\r\n\r\n')
  await client.until(/data: one/)
  await front.clock.advance(LIMITS.idle - 1)
  t.notOk(client.ended)
  const ended = front.nextEnd()
  await front.clock.advance(LIMITS.idle)
  t.match(await client.closed(), 'data: one')
  t.match(await ended, { outcome: 'failed', fault: { code: 'upstream_silent' } })
  t.same(front.clock.waiting, [], 'no timer is left behind')
  gate.open()
})

t.test('a caller that leaves closes the upstream', async (t) => {
  const gate = new Gate()
  const upstream = await startUpstream(() => sseAnswer(['data: one\n\n', gate.step]))
  const front = await startFront(upstream.url)
  t.teardown(() => Promise.all([front.close(), upstream.close()]))
  const client = await RawClient.open(front.url)
  client.send('GET /x HTTP/1.1\r\nHost: g\r\n\r\n')
  await client.until(/data: one/)
  const ended = front.nextEnd()
  client.reset()
  t.same(await ended, { status: 200, outcome: 'aborted' })
  const seen = await upstream.request(0)
  await seen.closed
  t.ok(seen.aborted)
  gate.open()
})

t.test('the end of a reply waits for the settlement, and is cut if that cannot be written', async (t) => {
  const upstream = await startUpstream(() => sseAnswer(['data: one\n\n']))
  const front = await startFront(upstream.url)
  t.teardown(() => Promise.all([front.close(), upstream.close()]))
  const settled = new Gate()
  front.holdEnds(settled.opened)
  const client = await RawClient.open(front.url)
  const ended = front.nextEnd()
  client.send('GET /x HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n')
  await client.until(/data: one/)
  await ended
  t.notOk(client.ended)
  settled.open()
  t.match(await client.closed(), /\r\n0\r\n\r\n$/)
  const full = Promise.reject(new Error('disk full'))
  full.catch(() => undefined)
  front.holdEnds(full)
  t.notMatch(await rawExchange(front.url, 'GET /x HTTP/1.1\r\nHost: g\r\n\r\n'), /\r\n0\r\n\r\n$/)
})

t.test('large bodies, empty ones, and an expected 100 go through whole', async (t) => {
  const upstream = await startUpstream((seen) => jsonAnswer({ length: seen.body.length, echo: seen.body }))
  const front = await startFront(upstream.url)
  t.teardown(() => Promise.all([front.close(), upstream.close()]))
  const large = 'x'.repeat(3_000_000)
  const reply = await fetch(`${front.url}/x`, { method: 'PUT', body: large })
  t.ok(((await reply.json()) as { echo: string }).echo === large)
  const head = await rawExchange(front.url, 'HEAD /x HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n')
  t.match(head, /^HTTP\/1\.1 200 /)
  t.match(head, /\r\n\r\n$/, 'a HEAD has no body')
  upstream.script = () => ({ status: 204, body: [] })
  t.equal((await fetch(`${front.url}/x`, { method: 'DELETE' })).status, 204)
  const client = await RawClient.open(front.url)
  client.send('POST /x HTTP/1.1\r\nHost: g\r\nConnection: close\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n')
  await client.until(/100 Continue/)
  client.send('ok')
  t.match(await client.closed(), / 204 /)
  const seen = upstream.requests.at(-1)
  t.equal(seen?.body, 'ok')
  t.equal(seen?.headers.expect, undefined, 'the expectation was of us')
  t.same(
    front.ends.map((end) => end.outcome),
    ['completed', 'completed', 'completed', 'completed'],
  )
})

t.test('a caller that left while the hold was written never reaches the provider', async (t) => {
  const upstream = await startUpstream(() => jsonAnswer({}))
  const clock = new FakeClock()
  const pools = new Pools()
  const proxy = new PassThroughProxy(clock, pools)
  const ends: PassThroughEnd[] = []
  const call = {
    provider: provider('acme', { baseUrl: upstream.url, timeouts: LIMITS }),
    path: '/x',
    address: 'http://gateway/v1/passage/acme',
    auth: undefined,
    errors: openaiChat.decodeFault,
    onEnd: (end: PassThroughEnd) => {
      ends.push(end)
      return undefined
    },
  }
  const server = createServer((request, response) => {
    response.once('close', () => proxy.web(request, response, call))
    client.reset()
  })
  server.on('upgrade', (request, socket: Socket, head) => {
    socket.destroy()
    proxy.upgrade(request, socket, head, call)
  })
  await listening(server)
  t.teardown(() => upstream.close())
  const client = await RawClient.open(serverAddress(server))
  await client.send('GET /x HTTP/1.1\r\nHost: g\r\n\r\n').closed()
  await rawExchange(serverAddress(server), 'GET /x HTTP/1.1\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  proxy.close()
  await pools.close()
  await new Promise((resolve) => server.close(resolve))
  t.same(ends, [
    { status: null, outcome: 'aborted', sent: false },
    { status: null, outcome: 'aborted', sent: false },
  ])
  t.equal(upstream.requests.length, 0)
  t.same(clock.waiting, [])
})

t.test('a path cannot leave the base URL, a body cannot leave its frame', async (t) => {
  const acme = provider('acme', { baseUrl: 'https://api.test/v1' })
  t.equal(passThroughTarget(acme, '/files?x=../y').href, 'https://api.test/v1/files?x=../y')
  t.equal(passThroughTarget(acme, '//evil.test/x').href, 'https://api.test/v1//evil.test/x')
  t.equal(passThroughTarget(provider('a', { baseUrl: 'https://api.test' }), '/@evil.test').href, 'https://api.test/@evil.test')
  for (const path of ['/../admin', '/a/../../admin', '/%2e%2e/admin', '/\\..\\..\\admin', '@evil.test/x', '.evil.test', '']) {
    t.throws(() => passThroughTarget(acme, path), { code: 'bad_request', message: /^path: / }, path)
  }
  const upstream = await startUpstream(() => jsonAnswer({}))
  const front = await startFront(`${upstream.url}/v1`)
  const inner = await startFront(undefined)
  t.teardown(() => Promise.all([front.close(), inner.close(), upstream.close()]))
  const smuggled =
    'DELETE /x HTTP/1.1\r\nHost: g\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n1f\r\nGET /v1/y HTTP/1.1\r\nHost: g\r\n\r\n\r\n0\r\n\r\n'
  t.equal(parseReply(await rawExchange(front.url, 'GET /../x HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n')).status, 400)
  t.equal(upstream.requests.length, 0)
  t.equal(parseReply(await rawExchange(front.url, smuggled)).status, 200)
  t.match(upstream.requests, [{ method: 'DELETE', body: 'GET /v1/y HTTP/1.1\r\nHost: g\r\n\r\n' }])
  t.equal(upstream.requests.length, 1)
  t.equal((await fetch(`${inner.url}/x`)).status, 404, 'a provider without an address')
  t.equal(front.ends.length + inner.ends.length, 3, 'each has its one end')
})

/** Answers a handshake and sends every masked text frame back unmasked, prefixed by the subprotocol. */
function echo(socket: Socket, head: string): void {
  const key = /sec-websocket-key: (\S+)/i.exec(head)?.[1]
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSet-Cookie: a=b\r\n' +
      `Sec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: realtime\r\n\r\n`,
  )
  socket.on('data', (frame) => {
    const length = frame[1] & 0x7f
    if ((frame[0] & 0x0f) === 8) socket.end(Buffer.from([0x88, 0]))
    if ((frame[0] & 0x0f) !== 1) return
    const text = Buffer.from(frame.subarray(6, 6 + length).map((byte, at) => byte ^ frame[2 + (at % 4)])).toString()
    if (text === 'die') socket.resetAndDestroy()
    else socket.write(Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)]))
  })
}

t.test('a WebSocket goes through, and closes with its upstream', async (t) => {
  const upstream = await startRaw(echo)
  const front = await startFront(`${upstream.url}/v1`)
  t.teardown(() => Promise.all([front.close(), upstream.close()]))
  const client = new WebSocket(`${front.url.replace('http', 'ws')}/realtime?model=m`, ['realtime'])
  await once(client, 'open')
  t.equal(client.protocol, 'realtime')
  client.send('hello')
  const [message] = (await once(client, 'message')) as [MessageEvent]
  t.equal(message.data, 'hello')
  t.match(upstream.heads[0], /^GET \/v1\/realtime\?model=m HTTP\/1\.1\r\n/)
  t.match(upstream.heads[0], /\r\nauthorization: Bearer provider-key\r\n/i)
  t.same(front.clock.waiting, [], 'an open WebSocket has no time limit of ours')
  const ended = front.nextEnd()
  client.send('die')
  await once(client, 'close')
  t.match(await ended, { status: 101, outcome: 'failed', fault: { code: 'upstream_cut' } })
  t.equal(front.ends.length, 1)

  const again = new WebSocket(`${front.url.replace('http', 'ws')}/realtime`, ['realtime'])
  await once(again, 'open')
  const closed = front.nextEnd()
  again.close()
  await once(again, 'close')
  t.same(await closed, { status: 101, outcome: 'completed' })
})

t.test('a WebSocket that the upstream refuses is answered in HTTP', async (t) => {
  const handshake =
    'GET /x HTTP/1.1\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\nAuthorization: Bearer our-client\r\n\r\n'
  const upstream = await startUpstream(() => jsonAnswer({ error: 'not here' }, 404))
  const front = await startFront(upstream.url)
  const nobody = await startFront(REFUSING_URL)
  t.teardown(() => Promise.all([front.close(), nobody.close(), upstream.close()]))
  const reply = parseReply(await rawExchange(front.url, handshake))
  t.equal(reply.status, 404)
  t.same(JSON.parse(reply.body), { error: 'not here' })
  t.notMatch(JSON.stringify(upstream.requests[0].rawHeaders), 'our-client')
  const refused = parseReply(await rawExchange(nobody.url, handshake))
  t.equal(refused.status, 502)
  t.match(JSON.parse(refused.body), { error: { code: 502 } })
  const odd = parseReply(await rawExchange(front.url, handshake.replace('websocket', 'h2c')))
  t.equal(odd.status, 400)
  t.same([front.ends.length, nobody.ends.length], [2, 1])

  upstream.script = () => ({ status: 404, headers: { 'content-length': '99' }, body: ['part'], after: 'close' })
  const cut = await rawExchange(front.url, handshake)
  t.match(cut, /part$/, 'a refusal that dies in the middle closes the caller')
})
