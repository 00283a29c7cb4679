/**
 * Requests that a hostile caller sends, at the public listener and the admin's: each is refused with the usual error body and the end of its
 * connection, and nothing behind it is read as a request (RFC 9112 sections 2.2, 3, 5, 6, 7.1 and 9.6).
 */
import { once } from 'node:events'
import { Agent, createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { ADMIN_TOKEN } from '../../support/admin.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { type Gateway, KEY, startGateway } from '../../support/gateway.ts'
import { parseReply, RawClient } from '../../support/raw.ts'
import { type RawUpstream, rawJson, startRawUpstream } from '../../support/raw-upstream.ts'
import { LONG } from '../../support/seed.ts'
import { chatReply } from '../../support/wire-chat.ts'

t.setTimeout(LONG ? 600_000 : 120_000)

const BODY = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'x' }] })
const AUTH = `Authorization: Bearer ${KEY}`
const JSON_TYPE = 'Content-Type: application/json'
const LENGTH = `Content-Length: ${BODY.length}`
const CHUNKED = 'Transfer-Encoding: chunked'
const CHUNKS = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`
/** A request that the attacker hides behind the first. */
const HIDDEN = `GET /v1/passage/first/hidden HTTP/1.1\r\nHost: g\r\n${AUTH}\r\n\r\n`
const LARGE = 1024 * 1024

const head = (start: string, ...lines: string[]): string => `${[start, ...lines].join('\r\n')}\r\n\r\n`
const chat = (...lines: string[]): string => head('POST /v1/chat/completions HTTP/1.1', 'Host: g', AUTH, JSON_TYPE, ...lines)
const get = (target: string, ...lines: string[]): string =>
  head(`GET ${target} HTTP/1.1`, ...(lines.length > 0 ? lines : ['Host: g']), AUTH)

/** Bytes, and the status that refuses them. */
const REFUSED: Readonly<Record<string, readonly [bytes: string, status: number]>> = {
  'a length with a sign': [chat('Content-Length: +5') + BODY, 400],
  'a negative length': [chat('Content-Length: -1') + BODY, 400],
  'a length in hexadecimal': [chat('Content-Length: 0x10') + BODY, 400],
  'a length with an exponent': [chat('Content-Length: 1e2') + BODY, 400],
  'a length of two numbers': [chat('Content-Length: 1 0') + BODY, 400],
  'an empty length': [chat('Content-Length:') + BODY, 400],
  'a length of 20 digits': [chat('Content-Length: 99999999999999999999') + BODY, 400],
  'the same length twice': [chat(LENGTH, LENGTH) + BODY, 400],
  'a list of the same length': [chat(`${LENGTH}, ${BODY.length}`) + BODY, 400],
  'two lengths': [chat(LENGTH, 'Content-Length: 3') + BODY, 400],
  'a vertical tab behind a length': [`${chat(`${LENGTH}\u000b`)}${BODY}`, 400],
  'chunked, identity': [chat('Transfer-Encoding: chunked, identity') + CHUNKS, 400],
  identity: [chat('Transfer-Encoding: identity', LENGTH) + BODY, 400],
  'identity, chunked': [chat('Transfer-Encoding: identity, chunked') + CHUNKS, 400],
  'an unknown coding': [chat('Transfer-Encoding: xchunked') + CHUNKS, 400],
  'chunked with a parameter': [chat('Transfer-Encoding: chunked;q=1') + CHUNKS, 400],
  'chunked in quotes': [chat('Transfer-Encoding: "chunked"') + CHUNKS, 400],
  'an empty element before chunked': [chat('Transfer-Encoding: , chunked') + CHUNKS, 400],
  'an empty element behind chunked': [chat('Transfer-Encoding: chunked,') + CHUNKS, 400],
  'chunked twice': [chat(CHUNKED, CHUNKED) + CHUNKS, 400],
  'chunked and a length': [chat(CHUNKED, LENGTH) + CHUNKS, 400],
  'a length and chunked': [chat(LENGTH, CHUNKED) + CHUNKS, 400],
  'a folded coding': [chat('Transfer-Encoding:\r\n chunked', LENGTH) + BODY, 400],
  'a blank before the colon': [chat('Transfer-Encoding : chunked', LENGTH) + BODY, 400],
  'chunks of HTTP/1.0': [chat(CHUNKED).replace('HTTP/1.1', 'HTTP/1.0') + CHUNKS, 400],
  'a folded field': [chat('X-A: b\r\n c', LENGTH) + BODY, 400],
  'a fold before the first field': [head('GET /v1/models HTTP/1.1', ' Host: g', AUTH), 400],
  'lines without CR': [get('/v1/models').replaceAll('\r\n', '\n'), 400],
  'one line without CR': [chat('X-A: b\nX-B: c', LENGTH) + BODY, 400],
  'a CR within a value': [chat('X-A: a\rb', LENGTH) + BODY, 400],
  'two CRs at the end of a line': [chat('X-A: a\r', LENGTH) + BODY, 400],
  'NUL in a value': [chat('X-A: a\0b', LENGTH) + BODY, 400],
  'NUL in a name': [chat('X\0A: b', LENGTH) + BODY, 400],
  'DEL in a value': [chat('X-A: a\u007fb', LENGTH) + BODY, 400],
  'a line without a colon': [chat('XA', LENGTH) + BODY, 400],
  'an empty name': [chat(': b', LENGTH) + BODY, 400],
  'no Host': [get('/v1/models', 'X-A: b'), 400],
  'two Hosts': [get('/v1/models', 'Host: g', 'Host: h'), 400],
  'the same Host twice': [get('/v1/models', 'Host: g', 'Host: g'), 400],
  'a list of Hosts': [get('/v1/models', 'Host: g, h'), 400],
  'an empty Host': [get('/v1/models', 'Host:'), 400],
  'a Host with userinfo': [get('/v1/models', 'Host: a@g'), 400],
  'a Host with a path': [get('/v1/models', 'Host: g/x'), 400],
  'another host in absolute form': [get('http://other/v1/models'), 400],
  'another scheme': [get('ftp://g/v1/models'), 400],
  'two slashes': [get('//g/v1/models'), 400],
  'no path': [get('v1/models'), 400],
  'a blank in the path': [get('/v1/ models'), 400],
  'letters beyond ASCII in the path': [get('/v1/\u00c3\u00a9'), 400],
  'NUL in the path': [get('/v1/\0models'), 400],
  'a version that is none': [get('/v1/models').replace('HTTP/1.1', 'HTTP/1.2'), 400],
  'a version of two digits': [get('/v1/models').replace('HTTP/1.1', 'HTTP/1.10'), 400],
  'HTTP/2.0': [get('/v1/models').replace('HTTP/1.1', 'HTTP/2.0'), 400],
  'the preface of HTTP/2': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  'a method in lower case': [get('/v1/models').replace('GET', 'get'), 400],
  'a tunnel': [head('CONNECT g:80 HTTP/1.1', 'Host: g'), 405],
  TRACE: [head('TRACE / HTTP/1.1', 'Host: g'), 405],
  'two credentials': [get('/v1/models', 'Host: g', 'Authorization: Bearer x'), 400],
  'one field of a megabyte': [chat(`X-A: ${'y'.repeat(LARGE)}`, LENGTH) + BODY, 431],
  'fields of a megabyte': [chat(...new Array(50_000).fill('X-A: yyyyyyyyyyyyy'), LENGTH) + BODY, 431],
  'a name of a hundred KB': [chat(`${'X'.repeat(100_000)}: a`, LENGTH) + BODY, 431],
  'a path of a megabyte': [get(`/v1/models?${'a'.repeat(LARGE)}`), 431],
  'a method of a megabyte': [`${'A'.repeat(LARGE)} / HTTP/1.1\r\n\r\n`, 400],
}

/** Bodies in chunks that are none: the head is good. */
const CHUNKS_REFUSED: Readonly<Record<string, readonly [bytes: string, status: number]>> = {
  'a size with a sign': [`+${CHUNKS}`, 400],
  'a size with 0x': [`0x${CHUNKS}`, 400],
  'a blank before a size': [` ${CHUNKS}`, 400],
  'a size beyond any number': [`10000000000000000${CHUNKS}`, 400],
  'lines without CR': [CHUNKS.replaceAll('\r\n', '\n'), 400],
  'an extension that ends without CR': [CHUNKS.replace('\r\n', ';a\n'), 400],
  'a CR within an extension': [CHUNKS.replace('\r\n', ';a\rb\r\n'), 400],
  'content longer than its size': [`1\r\n${BODY}\r\n0\r\n\r\n`, 400],
  'a length among the trailers': [CHUNKS.replace('0\r\n\r\n', '0\r\nContent-Length: 5\r\n\r\n'), 400],
  'an extension of a megabyte': [CHUNKS.replace('\r\n', `;a=${'x'.repeat(LARGE)}\r\n`), 413],
  'trailers of a megabyte': [CHUNKS.replace('0\r\n\r\n', `0\r\n${'X-A: yyyyyyyyyyyyyyy\r\n'.repeat(50_000)}\r\n`), 431],
}

interface Place {
  gateway: Gateway
  upstream: RawUpstream
}

async function place(t: Test): Promise<Place> {
  const upstream = await startRawUpstream(({ line }) =>
    line.includes('/chat/completions') ? rawJson(chatReply({ text: ['fine'] })) : rawJson({ line }),
  )
  const gateway = await startGateway(`
auth: { keys: [ { name: app, key: "${KEY}", pass_through: true } ] }
providers:
  first: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: "sk-provider-secret", pass_through: { price: "0" } }
models: { acme/one: { endpoints: [ { provider: first, model: m, price: free } ] } }
`)
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  return { gateway, upstream }
}

/** @returns the statuses of all replies, and the last one; the connection has been closed by the listener. */
async function closedAfter(url: string, bytes: string): Promise<{ statuses: number[]; last: ReturnType<typeof parseReply> }> {
  const client = await RawClient.open(url)
  const text = await client.send(bytes).closed()
  const heads = [...text.matchAll(/HTTP\/1\.1 (\d{3}) [^\r]*\r\n/g)]
  return { statuses: heads.map(([, status]) => Number(status)), last: parseReply(text.slice(heads.at(-1)?.index)) }
}

t.test('refuses bytes that are no request with the usual error body, and reads nothing behind them', async (t) => {
  const { gateway, upstream } = await place(t)
  for (const [door, url] of [
    ['public', gateway.url],
    ['admin', gateway.admin],
  ] as const)
    await every(t, `each at the ${door} listener`, async (t) => {
      for (const [name, [bytes, status]] of Object.entries(REFUSED)) {
        const sent = door === 'admin' ? bytes.replaceAll(KEY, ADMIN_TOKEN) : bytes
        const { statuses, last } = await closedAfter(url, sent + HIDDEN)
        t.same(statuses, [status], `${door}: ${name}`)
        t.equal(last.headers.get('connection'), 'close', `${door}: ${name}`)
        t.match(JSON.parse(last.body), { error: { code: status } }, `${door}: ${name}`)
        t.same(upstream.requests, [], `${door}: ${name}: nothing reaches the provider`)
      }
    })
  t.notMatch(gateway.logs.join(''), '"unexpected"')
})

t.test('chunks that are none: no provider is called, and nothing behind them is read', async (t) => {
  const { gateway, upstream } = await place(t)
  await every(t, 'each', async (t) => {
    for (const [name, [bytes, status]] of Object.entries(CHUNKS_REFUSED)) {
      const { statuses } = await closedAfter(gateway.url, chat(CHUNKED) + bytes + HIDDEN)
      t.same(statuses, [status], name)
      const atAdmin = await closedAfter(gateway.admin, chat(CHUNKED).replace(KEY, ADMIN_TOKEN) + bytes + HIDDEN)
      // The path is none of its own: that is known before the body.
      t.ok([404, status].includes(atAdmin.statuses[0] ?? 0) && atAdmin.statuses.length <= 2, `admin: ${name}: ${atAdmin.statuses}`)
      t.same(upstream.requests, [], name)
    }
  })
})

t.test('absolute form names the listener itself, without userinfo', async (t) => {
  const { gateway } = await place(t)
  const { host } = new URL(gateway.url)
  for (const [target, status] of [
    [`http://${host}/v1/models`, 200],
    [`http://user:secret@${host}/v1/models`, 400],
    [`http://user@${host}/v1/models`, 400],
    [`http://${host}@other/v1/models`, 400],
    [`http://other#@${host}/v1/models`, 400],
  ] as const) {
    const { statuses } = await closedAfter(gateway.url, get(target, 'Host: g', 'Connection: close'))
    t.same(statuses, [status], target)
  }
})

const PIPELINED = LONG ? 100_000 : 5_000

t.test('thousands of pipelined requests are answered in their order, one reply each', async (t) => {
  const { gateway } = await place(t)
  for (const [url, auth] of [
    [gateway.url, AUTH],
    [gateway.admin, `Authorization: Bearer ${ADMIN_TOKEN}`],
  ] as const) {
    const client = await RawClient.open(url)
    const one = (n: number): string => head(`GET /none-${n} HTTP/1.1`, 'Host: g', auth)
    client.send(Array.from({ length: PIPELINED - 1 }, (_, n) => one(n)).join(''))
    client.send(head('GET /last HTTP/1.1', 'Host: g', auth, 'Connection: close'))
    const text = await client.closed()
    t.equal(text.split('HTTP/1.1 404 ').length - 1, PIPELINED)
    if (url === gateway.url) {
      const order = [...text.matchAll(/No such path: \/none-(\d+)/g)].map(([, n]) => Number(n))
      t.ok(order.length === PIPELINED - 1 && order.every((n, place) => n === place))
    }
  }
  await eventually('no request is open', () => gateway.running.drain.open === 0)
})

t.test('a caller that does not read what it has requested stops being read', async (t) => {
  const { gateway } = await place(t)
  const client = await RawClient.open(gateway.url)
  client.pause()
  const before = process.memoryUsage().rss
  client.send(get('/v1/models').repeat(20_000))
  await eventually('requests are open', () => gateway.running.drain.open > 0)
  // Another caller is served meanwhile.
  for (let i = 0; i < 20; i++) t.equal((await gateway.get('/v1/models')).status, 200)
  t.ok(gateway.running.drain.open < 5_000, `${gateway.running.drain.open} are open`)
  t.ok(process.memoryUsage().rss - before < 200 * 1024 * 1024)
  client.close()
  await eventually('no request is open', () => gateway.running.drain.open === 0)
})

t.test('hundreds of heads and bodies that never end leave room for others, and half-closed ones are refused at once', async (t) => {
  const { gateway, upstream } = await place(t)
  const starts = ['GET / HTTP/1.1\r\nX-A: ', chat(LENGTH).slice(0, -4), chat(LENGTH) + BODY.slice(0, -3), `${chat(CHUNKED)}5\r\nab`, '\r\n']
  const clients: RawClient[] = []
  for (const start of starts)
    for (let i = 0; i < 100; i++) clients.push((await RawClient.open(i % 2 === 0 ? gateway.url : gateway.admin)).send(start))
  t.equal((await gateway.post('/v1/chat/completions', BODY)).status, 200)
  t.equal((await fetch(`${gateway.admin}/healthz`)).status, 200)
  t.equal(upstream.requests.length, 1)
  for (const client of clients) client.halfClose()
  await eventually('all are closed', () => clients.every(({ ended }) => ended))
  t.equal(upstream.requests.length, 1, 'half a request is none')
  await eventually('no request is open', () => gateway.running.drain.open === 0)
})

t.test('behind a proxy that keeps connections, no caller receives the reply of another', async (t) => {
  const { gateway, upstream } = await place(t)
  const agent = new Agent({ keepAlive: true, maxSockets: 2 })
  // As lenient as a proxy gets: what its parser takes goes on, with its fields as they came.
  const proxy = createServer({ insecureHTTPParser: true, requireHostHeader: false }, (request, response) => {
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => name !== 'connection'))
    const relayed = (reply: IncomingMessage): void => {
      response.writeHead(reply.statusCode ?? 502, { 'content-type': 'application/json' })
      reply.pipe(response)
    }
    try {
      const outgoing = httpRequest(new URL(request.url ?? '/', gateway.url), { method: request.method, headers, agent }, relayed)
      outgoing.on('error', () => response.destroy())
      request.on('error', () => outgoing.destroy())
      request.pipe(outgoing)
    } catch {
      // Node's client does not write everything that its lenient parser reads.
      response.destroy()
    }
  })
  proxy.on('clientError', (_error, socket) => socket.destroy())
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => {
    agent.destroy()
    proxy.closeAllConnections()
    proxy.close()
  })
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  await every(t, 'each', async (t) => {
    for (const [name, [bytes]] of Object.entries(REFUSED)) {
      if (bytes.length > 100_000) continue
      const attacker = await RawClient.open(url)
      attacker.send(bytes + HIDDEN).halfClose()
      const own = await Promise.all(
        ['a', 'b', 'c'].map(async (path) => {
          const reply = await fetch(`${url}/v1/passage/first/${path}`, { headers: { authorization: `Bearer ${KEY}` } })
          return [reply.status, ((await reply.json()) as { line: string }).line]
        }),
      )
      t.same(
        own,
        ['a', 'b', 'c'].map((path) => [200, `GET /v1/${path} HTTP/1.1`]),
        name,
      )
      await attacker.closed()
    }
  })
  t.same(upstream.garbage, [])
})
