/** Guarded fetching: whatever the address, nothing private is reached (docs/contract.md#server-tools). */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, Socket } from 'node:net'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { Fault } from '../../src/core/faults.ts'
import { isNeighbour, isPublic } from '../../src/services/outbound/addresses.ts'
import { type FetchOptions, guardedConnect, guardedFetch, OutboundPolicy, type Resolved } from '../../src/services/outbound/index.ts'
import { FakeClock } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { ADDRESSES, HOSTS } from '../support/private-addresses.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

let hits = 0
let answer: Answer = (_request, response) => response.end()
const servers: Server[] = []

async function listen(host: string, port: number, respond: Answer): Promise<number> {
  const server = createServer(respond)
  server.listen(port, host)
  await once(server, 'listening')
  servers.push(server)
  return (server.address() as AddressInfo).port
}

/** The canaries and the allowed server share one port, so that only the address tells them apart. */
let port = 0
/** Whom a policy lets through: a loopback address that stands for the public. */
const OPEN = '127.0.0.2'

t.before(async () => {
  const canary: Answer = (_request, response) => {
    hits++
    response.end('secret')
  }
  port = await listen('127.0.0.1', 0, canary)
  await listen('::1', port, canary)
  await listen('127.0.0.3', port, canary)
  await listen(OPEN, port, (request, response) => answer(request, response))
})
t.teardown(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

const open = (more: Partial<FetchOptions> = {}): FetchOptions => ({
  policy: new OutboundPolicy({ allowPrivate: [`${OPEN}/32`], ports: [80, 443, port] }),
  resolve: async () => [{ address: OPEN, family: 4 }],
  ...more,
})
const url = (path = '/'): string => `http://${OPEN}:${port}${path}`

async function catchFault(fetched: Promise<unknown>): Promise<Fault | undefined> {
  try {
    await fetched
    return undefined
  } catch (thrown) {
    return thrown instanceof Fault ? thrown : new Fault('internal', { cause: thrown })
  }
}

async function fails(t: Test, what: string, fetched: Promise<unknown>, status: number, failure: string): Promise<Fault | undefined> {
  const before = hits
  const fault = await catchFault(fetched)
  t.equal(fault?.status, status, `${what}: ${fault?.message}`)
  t.equal(fault?.metadata?.fetch, failure, what)
  t.equal(hits, before, `${what}: no canary was hit`)
  t.notMatch(fault?.message, /\d+\.\d+\.\d+\.\d+|::|ECONN|ENOT/, 'the text shows no address')
  return fault
}

t.test('fetches no private address, in whichever form it is written', async (t) => {
  await every(t, 'every host', async (t) => {
    for (const host of HOSTS) await fails(t, host, guardedFetch(`http://${host}:${port}/`, open()), 400, 'refused')
  })
  await every(t, 'every address', async (t) => {
    for (const address of ADDRESSES) await fails(t, JSON.stringify(address.slice(0, 60)), guardedFetch(address, open()), 400, 'refused')
  })
  t.equal(hits, 0)
  const direct = await (await fetch(`http://127.0.0.1:${port}/`)).text()
  t.same([direct, hits], ['secret', 1], 'the canary does sing')
  hits = 0
})

t.test('follows no redirect to a private address', async (t) => {
  const targets = [
    ...HOSTS.map((host) => `http://${host}:${port}/`),
    ...ADDRESSES.filter((address) => /^[a-z]+:|^\/\//.test(address) && !/\p{Cc}/u.test(address)),
    `//127.0.0.1:${port}/`,
    `http:/\\127.0.0.1:${port}/`,
  ]
  await every(t, 'every case', async (t) => {
    for (const [i, target] of targets.entries()) {
      const status = [301, 302, 303, 307, 308][i % 5]
      answer = (_request, response) => response.writeHead(status, { location: Buffer.from(target).toString('latin1') }).end('moved')
      const fault = await catchFault(guardedFetch(url(), open()))
      t.match(String(fault?.metadata?.fetch), /refused|unreachable/, `${status} to ${target.slice(0, 60)}`)
      t.equal(hits, 0)
    }
  })
  let turns = 0
  answer = (_request, response) => response.writeHead(302, { location: `/turn${++turns}` }).end()
  await fails(t, 'a circle', guardedFetch(url(), open()), 422, 'redirects')
  t.equal(turns, 6, 'five are followed')
  answer = (request, response) =>
    request.url === '/there' ? response.end('fine') : response.writeHead(307, { location: '/there#part' }).end()
  const fetched = await guardedFetch(url('/here'), open())
  t.match(fetched, { status: 200, url: url('/there') })
  t.equal(fetched.bytes.toString(), 'fine')
})

t.test('fetches no name with a private address, and looks each name up once', async (t) => {
  const name = `http://www.example.com:${port}/`
  const addresses = [
    '127.0.0.1',
    '::1',
    '10.0.0.1',
    '169.254.169.254',
    '::ffff:127.0.0.1',
    'fe80::1%eth0',
    '64:ff9b::7f00:1',
    'fd00:ec2::254',
    '0.0.0.0',
    'nonsense',
  ]
  const texts = new Set<string>()
  await every(t, 'every address', async (t) => {
    for (const address of addresses)
      for (const others of [[], [{ address: OPEN, family: 4 }]]) {
        const resolve = async (): Promise<Resolved[]> => [...others, { address, family: address.includes(':') ? 6 : 4 }]
        texts.add(
          (await fails(t, `${address} and ${others.length} more`, guardedFetch(name, open({ resolve })), 422, 'unreachable'))?.message ??
            '',
        )
      }
  })
  texts.add((await fails(t, 'no address', guardedFetch(name, open({ resolve: async () => [] })), 422, 'unreachable'))?.message ?? '')
  const missing = (): Promise<Resolved[]> =>
    Promise.reject(Object.assign(new Error('getaddrinfo ENOTFOUND www.example.com'), { code: 'ENOTFOUND' }))
  texts.add((await fails(t, 'no such name', guardedFetch(name, open({ resolve: missing })), 422, 'unreachable'))?.message ?? '')
  const closed = createTcpServer()
  closed.listen(0, OPEN)
  await once(closed, 'listening')
  const { port: deaf } = closed.address() as AddressInfo
  closed.close()
  await once(closed, 'close')
  const policy = new OutboundPolicy({ allowPrivate: [`${OPEN}/32`], ports: [deaf] })
  texts.add(
    (await fails(t, 'a closed port', guardedFetch(`http://www.example.com:${deaf}/`, open({ policy })), 422, 'unreachable'))?.message ?? '',
  )
  t.equal(texts.size, 1, 'nobody learns which of these it was')

  // Rebinding: allowed when it is checked, home when it is asked again.
  let lookups = 0
  const rebinding = async (): Promise<Resolved[]> => [{ address: lookups++ === 0 ? OPEN : '127.0.0.1', family: 4 }]
  answer = (_request, response) => response.end('public')
  const fetched = await guardedFetch(name, open({ resolve: rebinding }))
  t.same([fetched.bytes.toString(), lookups, hits], ['public', 1, 0])
  lookups = 0
  answer = (_request, response) => response.writeHead(302, { location: name }).end()
  await fails(t, 'rebinding at a redirect', guardedFetch(name, open({ resolve: rebinding })), 422, 'unreachable')
  t.equal(lookups, 2)
})

t.test('refuses a socket that is connected to a private address', async (t) => {
  const policy = new OutboundPolicy({ allowPrivate: [`${OPEN}/32`] })
  const resolve = async (): Promise<Resolved[]> => [{ address: OPEN, family: 4 }]
  const sockets: Socket[] = []
  const connectTo = (remoteAddress: string | undefined): Promise<Error | null> =>
    new Promise((settled) => {
      const connect = guardedConnect({
        policy,
        resolve,
        dial: () => (_target, callback) => {
          const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress })
          sockets.push(socket)
          callback(null, socket)
        },
      })
      connect({ hostname: 'www.example.com', protocol: 'http:', port: '80' }, (...[error]) => settled(error))
    })
  t.match(await connectTo('127.0.0.1'), { message: 'The address could not be fetched' })
  t.match(await connectTo(undefined), { message: 'The address could not be fetched' })
  t.equal(await connectTo(OPEN), null)
  t.same(
    sockets.map(({ destroyed }) => destroyed),
    [true, true, false],
  )
  for (const socket of sockets) socket.destroy()
})

t.test('exceptions of the operator', async (t) => {
  answer = (_request, response) => response.end('inside')
  const home = async (): Promise<Resolved[]> => [{ address: OPEN, family: 4 }]
  const reach = (allowPrivate: string[], address: string, resolve = home): Promise<Fault | undefined> =>
    catchFault(guardedFetch(address, { policy: new OutboundPolicy({ allowPrivate }), resolve }))
  t.equal(await reach([`wiki.corp:${port}`], `http://wiki.corp:${port}/`), undefined, 'a host and its port')
  t.equal(await reach([`*.corp:${port}`], `http://a.wiki.CORP.:${port}/`), undefined, 'all names below')
  t.equal(await reach([`wiki:${port}`], `http://wiki:${port}/`), undefined, 'a name without a dot')
  t.equal(await reach([`${OPEN}:${port}`], url()), undefined, 'an address and its port')
  const here = await guardedFetch(`http://localhost:${port}/`, { policy: new OutboundPolicy({ allowPrivate: [`localhost:${port}`] }) })
  t.equal(here.bytes.toString(), 'secret', "the machine's own names, as it knows them")
  hits = 0
  t.equal((await reach(['wiki.corp'], `http://wiki.corp:${port}/`))?.status, 400, 'not another port')
  t.equal((await reach([`wiki.corp:${port}`], `http://evilwiki.corp:${port}/`))?.status, 400, 'not another name')
  t.equal((await reach([`*.corp:${port}`], `http://corp:${port}/`))?.status, 400, 'not the name itself')
  t.equal((await reach([`wiki.corp:${port}`], url()))?.status, 400, 'not its address')
  const secrets = async (): Promise<Resolved[]> => [{ address: '169.254.169.254', family: 4 }]
  t.equal((await reach([`wiki.corp:${port}`], `http://wiki.corp:${port}/`, secrets))?.status, 422, "never a cloud's secrets by name")
  await every(t, 'every wrong', async (t) => {
    for (const wrong of ['', 'a b', '10.0.0.0/33', '10.0.0.0/', 'x/8', 'host:99999', '*.', 'http://x/', '[::1', '1.2.3.4/8/8', '*'])
      t.throws(() => new OutboundPolicy({ allowPrivate: [wrong] }), { message: /.+/ }, JSON.stringify(wrong))
  })
  t.equal(hits, 0)
})

t.test('ranges', async (t) => {
  await every(t, 'every address', async (t) => {
    for (const address of [
      '1.1.1.1',
      '8.8.8.8',
      '172.15.0.1',
      '172.32.0.1',
      '100.63.0.1',
      '100.128.0.1',
      '192.0.1.1',
      '223.255.255.255',
      '2606:4700::1',
      '2a00:1450::1',
    ])
      t.ok(isPublic(address), address)
  })
  await every(t, 'every address', async (t) => {
    for (const address of ['10.1.1.1', 'fd12::1', '127.0.0.1', '100.64.0.1', '::1'])
      t.same([isPublic(address), isNeighbour(address)], [false, true], address)
  })
  await every(t, 'every address', async (t) => {
    for (const address of [
      '169.254.169.254',
      'fd00:ec2::254',
      '100.100.100.200',
      '168.63.129.16',
      '0.0.0.0',
      '224.0.0.1',
      '',
      '1',
      'fe80::1%lo',
    ])
      t.same([isPublic(address), isNeighbour(address)], [false, false], address)
  })
})

t.test('a request carries nothing of ours', async (t) => {
  const headers: string[][] = []
  answer = (request, response) => {
    headers.push(request.rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()))
    if (request.url === '/') response.writeHead(302, { location: '/next', 'set-cookie': 'a=b' }).end()
    else response.setHeader('content-type', 'Text/HTML; charset=utf-8').end('<p>')
  }
  const saved = { ...process.env }
  Object.assign(process.env, { http_proxy: `http://127.0.0.1:${port}`, HTTP_PROXY: `http://127.0.0.1:${port}`, NODE_USE_ENV_PROXY: '1' })
  const fetched = await guardedFetch(url(), open({ types: ['text/html', 'image/*'] }))
  process.env = saved
  t.match(fetched, { status: 200, type: 'text/html' })
  const names = ['accept', 'accept-encoding', 'connection', 'host', 'user-agent']
  t.same(
    headers.map((list) => list.toSorted()),
    [names, names],
  )
  t.equal(hits, 0, 'no proxy of the environment is used')
})

t.test('size, type and encoding', async (t) => {
  const serve = (body: Buffer | string, headers: Record<string, string> = {}, status = 200): void => {
    answer = (_request, response) => response.writeHead(status, { 'content-type': 'text/plain', ...headers }).end(body)
  }
  serve('x'.repeat(1000))
  t.equal((await guardedFetch(url(), open({ maxBytes: 1000 }))).bytes.length, 1000)
  await fails(t, 'one byte more, told by the head', guardedFetch(url(), open({ maxBytes: 999 })), 413, 'too_large')
  let written = 0
  answer = (_request, response) => {
    response.on('error', () => {})
    const pour = (): void => {
      while (!response.destroyed && written < 1e9) {
        written += 65_536
        if (!response.write(Buffer.alloc(65_536))) return void response.once('drain', pour)
      }
    }
    pour()
  }
  await fails(t, 'without end', guardedFetch(url(), open({ maxBytes: 1_000_000 })), 413, 'too_large')
  t.ok(written < 20_000_000, `${written} bytes were written`)

  const bomb = gzipSync(Buffer.alloc(50_000_000))
  await every(t, 'every case', async (t) => {
    for (const [encoding, bytes] of [
      ['gzip', bomb],
      ['x-gzip', bomb],
      ['br', brotliCompressSync(Buffer.alloc(50_000_000))],
    ] as const) {
      serve(bytes, { 'content-encoding': encoding })
      await fails(t, `${encoding} bomb`, guardedFetch(url(), open({ maxBytes: 1_000_000 })), 413, 'too_large')
    }
  })
  serve(gzipSync('packed'), { 'content-encoding': 'GZIP' })
  t.equal((await guardedFetch(url(), open())).bytes.toString(), 'packed')
  serve(gzipSync(gzipSync('twice')), { 'content-encoding': 'gzip, gzip' })
  await fails(t, 'two encodings', guardedFetch(url(), open()), 422, 'unreachable')
  serve('plain', { 'content-encoding': 'gzip' })
  await fails(t, 'a lie', guardedFetch(url(), open()), 422, 'unreachable')
  serve('', { 'content-encoding': 'gzip' })
  t.equal((await guardedFetch(url(), open())).bytes.length, 0)

  await every(t, 'every case', async (t) => {
    for (const [type, wanted, fits] of [
      ['text/html', ['text/html'], true],
      ['TEXT/html;charset=x', ['text/*'], true],
      ['image/png', ['image/*', 'application/pdf'], true],
      ['application/octet-stream', ['image/*'], false],
      ['text/htmlx', ['text/html'], false],
      ['', ['text/html'], false],
      ['', ['*/*'], true],
    ] as const) {
      serve('x', { 'content-type': type })
      const fetched = guardedFetch(url(), open({ types: wanted }))
      if (fits) t.equal((await fetched).bytes.toString(), 'x', type)
      else await fails(t, `${type} is not wanted`, fetched, 415, 'type')
    }
  })
  serve('gone', { 'content-type': 'text/html' }, 404)
  t.match(await guardedFetch(url(), open({ types: ['image/*'] })), { status: 404, type: 'text/html' }, 'an error status is an answer')

  answer = (_request, response) => response.writeHead(200, { 'x-long': 'x'.repeat(20_000) }).end()
  await fails(t, 'a head without end', guardedFetch(url(), open()), 422, 'unreachable')
  answer = (_request, response) => void response.socket?.destroy()
  await fails(t, 'hung up', guardedFetch(url(), open()), 422, 'unreachable')
})

t.test('time and abort', async (t) => {
  const asked = (respond: Answer): Promise<void> =>
    new Promise((resolve) => {
      answer = (request, response) => {
        respond(request, response)
        resolve()
      }
    })
  const clock = new FakeClock()
  await every(t, 'every case', async (t) => {
    for (const [what, respond] of [
      ['silence', () => {}],
      ['a drip', (_request: IncomingMessage, response: ServerResponse) => void response.writeHead(200).write('x')],
    ] as [string, Answer][]) {
      const waiting = asked(respond)
      const fetched = fails(t, what, guardedFetch(url(), open({ clock, timeout: 3000 })), 408, 'timeout')
      await waiting
      clock.advance(3000)
      await fetched
    }
  })
  const stuck = guardedFetch(`http://www.example.com:${port}/`, open({ clock, timeout: 3000, resolve: () => new Promise(() => {}) }))
  clock.advance(3000)
  await fails(t, 'a look-up without end', stuck, 408, 'timeout')

  const controller = new AbortController()
  const closed = Promise.withResolvers<void>()
  const waiting = asked((request) => request.on('close', () => closed.resolve()))
  const aborted = catchFault(guardedFetch(url(), open({ signal: controller.signal })))
  await waiting
  controller.abort()
  t.equal((await aborted)?.code, 'client_gone')
  await closed.promise
  t.pass('the other side sees the end')
  const own = new Fault('deadline')
  t.equal(await catchFault(guardedFetch(url(), open({ signal: AbortSignal.abort(own) }))), own)
})

t.test('a further rule holds for redirects too', async (t) => {
  answer = (_request, response) => response.writeHead(302, { location: '/forbidden' }).end()
  const seen: string[] = []
  const allows = ({ pathname }: URL): boolean => {
    seen.push(pathname)
    return pathname !== '/forbidden'
  }
  await fails(t, 'a forbidden path', guardedFetch(url(), open({ allows })), 400, 'refused')
  t.same(seen, ['/', '/forbidden'])
})
