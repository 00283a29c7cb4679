/**
 * Requests whose body is a text or a Buffer go over connections of ours, all others over undici's client: both must read every reply alike,
 * and nothing that a provider sends of itself may become a reply.
 */
import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { setDefaultCACertificates } from 'node:tls'
import t, { type Test } from 'tap'
import type { Dispatcher } from 'undici'
import { networkFault } from '../../src/machines/http1-client/network-fault.ts'
import { type ConnectionPool, Pools } from '../../src/services/upstream/pools.ts'
import { certificate } from '../support/certificates.ts'
import { eventually } from '../support/eventually.ts'
import { type RawUpstream, startRawUpstream } from '../support/raw-upstream.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

interface Seen {
  status: number
  headers: IncomingHttpHeaders
  body: string
  /** The code of the fault, or `ended`. */
  end: string
}

/** Of a small answer only these are read out of its head (`plain-reply.ts`). */
function answerFields({
  'content-type': type,
  'content-encoding': encoding,
  'keep-alive': keepAlive,
}: IncomingHttpHeaders): IncomingHttpHeaders {
  return {
    ...(type === undefined ? {} : { 'content-type': type }),
    ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
    ...(keepAlive === undefined ? {} : { 'keep-alive': keepAlive }),
  }
}

interface Call {
  readonly done: Promise<Seen>
  controller: Dispatcher.DispatchController | undefined
}

function call(pool: Dispatcher, body: string | Uint8Array = '{}', more: { path?: string; headers?: string[]; pause?: boolean } = {}): Call {
  const { promise, resolve } = Promise.withResolvers<Seen>()
  const made: Call = { done: promise, controller: undefined }
  const seen: Seen = { status: 0, headers: {}, body: '', end: '' }
  pool.dispatch(
    { method: 'POST', path: more.path ?? '/', headers: more.headers ?? ['x-test', 'yes'], body },
    {
      onRequestStart: (controller) => {
        made.controller = controller
      },
      onResponseStart: (controller, status, headers) => {
        if (status < 200) return
        Object.assign(seen, { status, headers: status > 201 ? { ...headers } : answerFields(headers) })
        if (more.pause) controller.pause()
      },
      onResponseData: (_controller, chunk) => {
        seen.body += chunk.toString('latin1')
      },
      onResponseEnd: () => resolve({ ...seen, end: 'ended' }),
      onResponseError: (_controller, error) => resolve({ ...seen, end: networkFault(error, seen.status !== 0).code }),
    },
  )
  return made
}

async function scene(t: Test, answer: RawUpstream['answer'] = () => OK): Promise<{ upstream: RawUpstream; pool: ConnectionPool }> {
  const upstream = await startRawUpstream(answer)
  const pools = new Pools()
  t.teardown(async () => {
    await pools.close()
    await upstream.close()
  })
  return { upstream, pool: pools.for({ origin: upstream.url, connectTimeout: 5_000 }) }
}

const idle = (pool: ConnectionPool, count = 1): Promise<unknown> => eventually(`${count} idle`, () => pool.idleCount === count)

/** Bytes of a reply, after which the connection stays open or is closed by the provider. */
const REPLIES: Record<string, { bytes: string; closes?: boolean }> = {
  length: { bytes: OK },
  empty: { bytes: 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n' },
  chunks: { bytes: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n4;x=y\r\n two\r\n0\r\n\r\n' },
  'plain chunks': { bytes: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0A\r\n and twenty\r\n0\r\n\r\n' },
  'chunks and more': { bytes: `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n${OK}` },
  'a chunk without its end': { bytes: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none0\r\n\r\n' },
  trailers: { bytes: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\nX-Late: 1\r\n\r\n' },
  'until its end': { bytes: 'HTTP/1.1 200 OK\r\n\r\nall of it', closes: true },
  'HTTP/1.0': { bytes: 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', closes: true },
  interim: { bytes: `HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${OK}` },
  'no content': { bytes: 'HTTP/1.1 204 No Content\r\n\r\n' },
  error: { bytes: 'HTTP/1.1 529 Overloaded\r\nRetry-After: 3\r\nContent-Length: 2\r\n\r\n{}' },
  'repeated names': { bytes: 'HTTP/1.1 200 OK\r\nX-A: 1\r\nset-cookie: a\r\nx-a: 2\r\nX-A: 3\r\nContent-Length: 2\r\n\r\nok' },
  'many headers': { bytes: `HTTP/1.1 200 OK\r\n${'X-Some: thing\r\n'.repeat(90)}Content-Length: 2\r\n\r\nok` },
  'said to close': { bytes: 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok' },
  'cut in the head': { bytes: 'HTTP/1.1 200 OK\r\nContent-Le', closes: true },
  'cut in the body': { bytes: 'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok', closes: true },
  'cut in a chunk': { bytes: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\none', closes: true },
  'cut, said to close': { bytes: 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 20\r\n\r\nok', closes: true },
  nothing: { bytes: '', closes: true },
  garbage: { bytes: 'hello\r\n\r\n' },
  'two lengths': { bytes: 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok' },
  'length and chunks': { bytes: 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n' },
  'a length that is none': { bytes: 'HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok' },
  'a chunk that is none': { bytes: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n' },
  'a folded header': { bytes: 'HTTP/1.1 200 OK\r\nX-A: 1\r\n 2\r\nContent-Length: 2\r\n\r\nok' },
  'a blank before the colon': { bytes: 'HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok' },
  'too long a head': { bytes: `HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(20_000)}\r\nContent-Length: 2\r\n\r\nok` },
  'an upgrade': { bytes: 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n' },
}

t.test('every reply is read as undici reads it', async (t) => {
  for (const [name, { bytes, closes }] of Object.entries(REPLIES)) {
    const { upstream, pool } = await scene(t, (_request, socket) => {
      if (closes) socket.end(Buffer.from(bytes, 'latin1'))
      return closes ? undefined : bytes
    })
    const ours = await call(pool, '{"a":1}').done
    const undici = await call(pool, new Uint8Array(Buffer.from('{"a":1}'))).done
    // undici has one error for a body that ends early and for lengths that contradict each other.
    if (name === 'cut, said to close') t.same(ours, { ...undici, end: 'upstream_cut' }, name)
    else t.same(ours, undici, name)
    const [first, second] = upstream.requests
    t.same(first && { ...first, socket: 0 }, second && { ...second, socket: 0 }, `${name}: the request is the same`)
  }
})

t.test('however a reply is cut into pieces, it is the same', async (t) => {
  for (const name of ['length', 'chunks', 'plain chunks', 'trailers', 'interim', 'many headers']) {
    const bytes = REPLIES[name]?.bytes ?? ''
    const { upstream, pool } = await scene(t, (_request, socket) => {
      void inPieces(socket, bytes)
      return undefined
    })
    const inParts = await call(pool).done
    upstream.answer = () => bytes
    t.same(inParts, await call(pool).done, name)
  }
})

async function inPieces(socket: Socket, bytes: string): Promise<void> {
  for (let at = 0; at < bytes.length; at += 7) {
    socket.write(bytes.slice(at, at + 7), 'latin1')
    await new Promise((resolve) => setImmediate(resolve))
  }
}

t.test('calls one after the other use one connection, calls at once one each', async (t) => {
  const { upstream, pool } = await scene(t)
  for (let i = 0; i < 5; i++) {
    t.equal((await call(pool).done).body, 'ok')
    await idle(pool)
  }
  t.equal(upstream.accepted, 1)
  t.equal(pool.made, 1)
  await Promise.all(Array.from({ length: 20 }, () => call(pool).done))
  t.equal(upstream.accepted, 20)
  await idle(pool, 20)
})

t.test('bytes that follow a reply never become the next one', async (t) => {
  const smuggled = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'
  for (const more of [smuggled, 'HTTP/1.1 200', 'x', smuggled + smuggled]) {
    const { upstream, pool } = await scene(t, () => OK + more)
    t.equal((await call(pool).done).body, 'ok')
    upstream.answer = () => OK
    t.equal((await call(pool).done).body, 'ok', 'in one piece with the reply')
    t.equal(upstream.accepted, 2, 'the connection is not used again')
  }
  const { upstream, pool } = await scene(t)
  t.equal((await call(pool).done).body, 'ok')
  await idle(pool)
  for (const socket of upstream.sockets) socket.write(smuggled)
  await eventually('the connection is closed', () => pool.size === 0)
  t.equal((await call(pool).done).body, 'ok', 'while it was idle')
})

t.test('a connection whose provider answers before it has read the request serves once', async (t) => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => {
      socket.pause()
      socket.write(OK)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const pools = new Pools()
  t.teardown(async () => {
    await pools.close()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const pool = pools.for({ origin, connectTimeout: 5_000 })
  const long = 'x'.repeat(32 * 1024 * 1024)
  t.equal((await call(pool, long).done).body, 'ok')
  t.equal(pool.idleCount, 0, 'the rest of the request is not read')
  t.equal((await call(pool).done).body, 'ok')
  t.equal(pool.made, 2)
})

t.test('a connection that has ended while it was idle costs no request', async (t) => {
  for (const end of [
    (socket: Socket) => socket.end(),
    (socket: Socket) => socket.resetAndDestroy(),
    (socket: Socket) => socket.write(OK),
  ]) {
    const { upstream, pool } = await scene(t)
    await call(pool).done
    await idle(pool)
    // The pool cannot know it yet: the event loop looks at connections before immediates, not between them.
    const next = await new Promise<Seen>((resolve) => {
      setImmediate(() => {
        for (const socket of upstream.sockets) end(socket)
        resolve(call(pool).done)
      })
    })
    t.same(next, { status: 200, headers: {}, body: 'ok', end: 'ended' })
    t.equal(upstream.requests.length, 2, 'each request is received once')
  }
})

t.test('the time that a provider names for an idle connection is kept', async (t) => {
  const { upstream, pool } = await scene(t, () => 'HTTP/1.1 200 OK\r\nKeep-Alive: timeout=2\r\nContent-Length: 2\r\n\r\nok')
  await call(pool).done
  await eventually('nothing is left', () => pool.size === 0)
  await call(pool).done
  t.equal(upstream.accepted, 2)
})

t.test('a call that is given up takes its connection along, one that has ended does not', async (t) => {
  const { upstream, pool } = await scene(t, () => undefined)
  const first = call(pool)
  await upstream.request(0)
  first.controller?.abort(new Error('given up'))
  t.equal((await first.done).end, 'upstream_cut')
  await eventually('no connection is left on either side', () => pool.size === 0 && upstream.sockets.size === 0)
  upstream.answer = () => OK
  const second = call(pool)
  await second.done
  await idle(pool)
  upstream.answer = () => undefined
  const third = call(pool)
  await upstream.request(2)
  second.controller?.abort(new Error('too late'))
  for (const socket of upstream.sockets) socket.write(OK)
  t.equal((await third.done).body, 'ok', 'the next call on it goes on')
})

t.test('a paused reply is not read, and the connection serves again afterwards', async (t) => {
  const size = 32 * 1024 * 1024
  let sent = false
  const { upstream, pool } = await scene(t, (_request, socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`)
    socket.write(Buffer.alloc(size, 'x'), () => {
      sent = true
    })
    return undefined
  })
  const paused = call(pool, '{}', { pause: true })
  await upstream.request(0)
  await eventually('the reply has begun', () => paused.controller?.paused === true)
  t.notOk(sent)
  paused.controller?.resume()
  t.equal((await paused.done).body.length, size)
  await idle(pool)
  upstream.answer = () => OK
  t.equal((await call(pool).done).body, 'ok')
  t.equal(upstream.accepted, 1)
})

t.test('texts beyond ASCII are sent in full, and headers that decide about the connection are left to undici', async (t) => {
  const { upstream, pool } = await scene(t)
  await call(pool, '{"a":"Grüße, 世界"}', { headers: ['x-name', 'M\xfcller'] }).done
  const { body, headers } = await upstream.request(0)
  t.equal(Buffer.from(body, 'latin1').toString('utf8'), '{"a":"Grüße, 世界"}')
  t.equal(headers.get('x-name'), 'M\xfcller')
  await call(pool, '{}', { headers: ['host', 'other.example'] }).done
  t.equal((await upstream.request(1)).headers.get('host'), 'other.example')
  const refused = { path: 'no path', headers: ['x-bad', 'a\r\nb: c'] }
  for (const [name, value] of Object.entries(refused)) {
    const seen = await call(pool, '{}', { [name]: value }).done
    t.equal(seen.end, 'upstream_cut', `${name} that would break the frame`)
  }
  t.equal(upstream.requests.length, 2)
})

t.test('after the end of the pool nothing is sent', async (t) => {
  const upstream = await startRawUpstream(() => undefined)
  const pools = new Pools()
  t.teardown(() => upstream.close())
  const pool = pools.for({ origin: upstream.url, connectTimeout: 5_000 })
  const open = call(pool)
  await upstream.request(0)
  await pools.close()
  t.equal((await open.done).end, 'upstream_cut')
  t.equal((await call(pool).done).end, 'upstream_cut')
  t.equal(upstream.requests.length, 1)
})

t.test('over TLS the provider is checked, and connections are used again', async (t) => {
  const authority = certificate({ name: 'the test authority' })
  setDefaultCACertificates([authority.cert])
  const served: { body: string; socket: Socket }[] = []
  const open = async (by = authority): Promise<ConnectionPool> => {
    const { cert, key } = certificate({ name: '127.0.0.1', by, addresses: ['127.0.0.1'] })
    const server = createServer({ cert, key: key.export({ type: 'pkcs8', format: 'pem' }) }, async (request, response) => {
      let body = ''
      for await (const piece of request.setEncoding('utf8')) body += piece
      served.push({ body, socket: request.socket })
      response.end('x'.repeat(300_000))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const pools = new Pools()
    t.teardown(async () => {
      await pools.close()
      server.close()
    })
    return pools.for({ origin: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, connectTimeout: 5_000 })
  }
  const pool = await open()
  const long = `{"a":"${'ü'.repeat(100_000)}"}`
  for (const body of ['{}', long, '{}']) {
    t.equal((await call(pool, body).done).body.length, 300_000)
    await idle(pool)
  }
  t.same(
    served.map(({ body }) => body),
    ['{}', long, '{}'],
  )
  t.equal(new Set(served.map(({ socket }) => socket)).size, 1)
  const strange = await open(certificate({ name: 'another authority' }))
  t.not((await call(strange).done).end, 'ended')
  t.equal(served.length, 3, 'a provider whose certificate nothing vouches for gets no request')
})
