import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import t from 'tap'
import { Fault } from '../../src/core/faults.ts'
import { startAdmin } from '../../src/server/admin.ts'
import type { AdminReply } from '../../src/server/admin-route.ts'
import { Drain } from '../../src/server/drain.ts'
import { drainOnSignals } from '../../src/server/signals.ts'
import { FakeClock, turn } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { parseReply, RawClient, rawExchange } from '../support/raw.ts'

t.test('the admin listener', async (t) => {
  let reasons: string[] = []
  const errors: unknown[] = []
  const routes = new Map<string, () => AdminReply>([
    ['GET /keys', () => ({ status: 200, body: { data: [] } })],
    [
      'POST /keys',
      () => {
        throw new Fault('bad_request', { message: 'name: is required' })
      },
    ],
    ['GET /long', () => ({ status: 200, chunks: { type: 'application/x-ndjson', content: ['{}\n', '[]\n'] } })],
    [
      'GET /breaks',
      () => ({
        status: 200,
        chunks: {
          type: 'application/x-ndjson',
          content: (function* () {
            yield '{}\n'
            throw new Error('disk gone')
          })(),
        },
      }),
    ],
    [
      'GET /broken',
      () => {
        throw new Error('secret inside')
      },
    ],
  ])
  const metrics = { contentType: 'text/plain; version=0.0.4', text: async () => 'up 1\n' }
  const token = 'the-admin-token'
  const admin = await startAdmin({ port: 0, token, metrics, notReady: () => reasons, routes, onError: (error) => errors.push(error) })
  t.teardown(() => admin.close())
  t.match(admin.url, /^http:\/\/127\.0\.0\.1:\d+$/)
  const get = async (path: string, init?: RequestInit) => {
    const reply = await fetch(`${admin.url}${path}`, { ...init, headers: { authorization: `Bearer ${token}` } })
    return { status: reply.status, type: reply.headers.get('content-type'), text: await reply.text() }
  }
  t.same(await get('/healthz'), { status: 200, type: 'application/json', text: '{"status":"ok"}' })
  t.match(await get('/readyz?verbose'), { status: 200 })
  reasons = ['draining', 'store']
  t.match(await get('/readyz'), { status: 503, text: '{"status":"not ready","reasons":["draining","store"]}' })
  t.match(await get('/healthz'), { status: 200 }, 'health is not readiness')
  t.match(await get('/metrics'), { status: 200, type: metrics.contentType, text: 'up 1\n' })
  t.same(await get('/metrics', { method: 'HEAD' }), { status: 200, type: metrics.contentType, text: '' })
  t.match(await get('/keys'), { status: 200 })
  t.match(JSON.parse((await get('/keys', { method: 'POST' })).text), { error: { code: 400, message: 'name: is required' } })
  t.same(await get('/long'), { status: 200, type: 'application/x-ndjson', text: '{}\n[]\n' })
  await t.rejects(get('/breaks'), 'a reply that breaks off is no whole reply')
  const missing = await get('/nowhere')
  t.match(missing, { status: 404, type: 'application/json' })
  t.match(JSON.parse(missing.text), { error: { code: 404 } })
  t.match(await get('/healthz', { method: 'DELETE' }), { status: 405 })
  const broken = await get('/broken')
  t.match(broken, { status: 500 })
  t.notMatch(broken.text, 'secret')
  t.match(errors, [{ message: 'secret inside' }])
  t.equal((await fetch(`${admin.url}/keys`)).status, 401)
  t.equal(parseReply(await rawExchange(admin.url, 'GET http://[ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).status, 400)
  const named = async (host: string, path: string): Promise<number> =>
    parseReply(await rawExchange(admin.url, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).status
  t.equal(await named('evil.example', '/keys'), 403, 'a web page that was led here names another host')
  await every(t, 'every path', async (t) => {
    for (const path of ['/healthz', '/readyz', '/metrics']) t.not(await named('headgate.internal', path), 401, 'monitors need no token')
  })
  await t.rejects(
    startAdmin({ port: Number(new URL(admin.url).port), metrics, notReady: () => [] }),
    /admin\.port: .*another program listens there/,
  )
})

interface Site {
  server: Server
  url: string
  /** Replies that a handler was given and has not answered, in order. */
  held: ServerResponse[]
  /** Resolves once so many requests have come. */
  arrived(count: number): Promise<void>
}

/** A server that answers nothing by itself. */
async function startSite(drain: Drain): Promise<Site> {
  const held: ServerResponse[] = []
  const bell = new EventEmitter()
  const hold = (_request: IncomingMessage, response: ServerResponse) => {
    held.push(response)
    bell.emit('arrival')
  }
  const server = createServer(hold)
  server.on('checkContinue', hold)
  server.on('upgrade', (_request: IncomingMessage, socket: Socket) => {
    socket.on('error', () => undefined)
    socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n')
  })
  drain.follow(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    server,
    held,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrived: async (count) => {
      while (held.length < count) await once(bell, 'arrival')
    },
  }
}

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

t.test('drain: open exchanges finish, idle connections close, new ones are refused', async (t) => {
  const drain = new Drain(new FakeClock(), () => 30_000)
  const site = await startSite(drain)
  const idle = await RawClient.open(site.url)
  idle.send(GET)
  await site.arrived(1)
  site.held[0].end('done')
  await idle.until(/done/)
  const waiting = await RawClient.open(site.url)
  waiting.send(GET)
  const streaming = await RawClient.open(site.url)
  streaming.send(GET)
  await site.arrived(3)
  site.held[2].write('first ')
  await streaming.until(/first/)
  t.equal(drain.draining, false)
  t.equal(drain.open, 2)
  const ended = drain.begin()
  t.equal(drain.draining, true, 'readiness is red at once')
  t.equal(drain.begin(), ended, 'once only')
  await idle.closed()
  await t.rejects(fetch(site.url), 'nobody listens any more')
  t.notOk(waiting.ended || streaming.ended)
  site.held[1].end('late')
  const reply = await waiting.closed()
  t.match(reply, /connection: close/i)
  t.match(reply, /late$/)
  site.held[2].end('second')
  t.match(await streaming.closed(), /first [\s\S]*second[\s\S]*\r\n0\r\n\r\n$/, 'a stream that promised to stay closes after its last byte')
  t.same(await ended, { cut: 0 })
})

t.test('drain: what is open after the grace time is cut', async (t) => {
  const clock = new FakeClock()
  const drain = new Drain(clock, () => 30_000)
  const site = await startSite(drain)
  const stuck = await RawClient.open(site.url)
  stuck.send(GET)
  const upgraded = await RawClient.open(site.url)
  upgraded.send('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  await upgraded.until(/101/)
  const expecting = await RawClient.open(site.url)
  expecting.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n')
  await site.arrived(2)
  t.equal(drain.open, 3)
  const ended = drain.begin()
  await clock.advance(29_999)
  t.notOk(stuck.ended || upgraded.ended)
  await clock.advance(1)
  await Promise.all([stuck.closed(), upgraded.closed(), expecting.closed()])
  t.same(await ended, { cut: 3 })
  t.same(clock.waiting, [])
})

t.test('drain: a half-sent request does not hold it', async (t) => {
  const clock = new FakeClock()
  const drain = new Drain(clock, () => 30_000)
  const site = await startSite(drain)
  const slow = await RawClient.open(site.url)
  slow.send('GET / HT')
  const busy = await RawClient.open(site.url)
  busy.send(GET)
  await site.arrived(1)
  site.held[0].write('one')
  await busy.until(/one/)
  const ended = drain.begin()
  site.held[0].end()
  await busy.closed()
  await clock.armed(1_000)
  await clock.advance(1_000)
  await slow.closed()
  t.same(await ended, { cut: 0 })
})

t.test('drain: nothing open, nothing listening', async (t) => {
  t.same(await new Drain(new FakeClock(), () => 30_000).begin(), { cut: 0 })
  const drain = new Drain(new FakeClock(), () => 30_000)
  const done = drain.track({ cut: () => t.fail('not cut') })
  const ended = drain.begin()
  done()
  done()
  t.same(await ended, { cut: 0 })
})

class FakeProcess extends EventEmitter {
  readonly codes: number[] = []
  exit(code: number): void {
    this.codes.push(code)
    this.emit('exited')
  }
}

t.test('signals: the first drains, the second cuts, the third leaves', async (t) => {
  const clock = new FakeClock()
  const start = (close: () => Promise<void> = async () => undefined) => {
    const process = new FakeProcess()
    const drain = new Drain(clock, () => 30_000)
    const notices: string[] = []
    const off = drainOnSignals({ clock, process, drain, close, notice: (text) => notices.push(text) })
    return { process, drain, off, notices }
  }
  const calm = start()
  calm.process.emit('SIGTERM')
  await once(calm.process, 'exited')
  t.same(calm.process.codes, [0])

  let cuts = 0
  const busy = start()
  busy.drain.track({ cut: () => cuts++ })
  busy.process.emit('SIGINT')
  await turn()
  t.same(busy.process.codes, [])
  busy.process.emit('SIGTERM')
  await once(busy.process, 'exited')
  t.same([cuts, busy.process.codes], [1, [0]])
  busy.process.emit('SIGTERM')
  t.same(busy.process.codes, [0, 1])

  const failing = start(async () => {
    throw new Error('disk full')
  })
  failing.process.emit('SIGTERM')
  await once(failing.process, 'exited')
  t.same(failing.process.codes, [1])
  t.match(failing.notices.join(), 'disk full')

  const hanging = start(() => new Promise(() => undefined))
  hanging.process.emit('SIGTERM')
  await clock.armed(10_000)
  await clock.advance(10_000)
  t.same(hanging.process.codes, [1])

  const gone = start()
  gone.off()
  gone.process.emit('SIGTERM')
  t.equal(gone.drain.draining, false)
})
