/** Nothing that a caller writes becomes a second request at a provider: raw sockets on both sides of the gateway. */
import t, { type Test } from 'tap'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { type Gateway, KEY, startGateway } from '../../support/gateway.ts'
import { parseReply, RawClient, rawExchange } from '../../support/raw.ts'
import { type RawUpstream, rawJson, startRawUpstream } from '../../support/raw-upstream.ts'
import { chatReply } from '../../support/wire-chat.ts'

const HOST = 'Host: headgate.example'
const AUTH = `Authorization: Bearer ${KEY}`
const join = (...lines: string[]): string => `${lines.join('\r\n')}\r\n\r\n`
/** The request that a caller tries to hide in a body. */
const HIDDEN = join('GET /v1/hidden HTTP/1.1', 'Host: provider', 'X-Hidden: 1')
const METHODS = ['GET', 'DELETE', 'OPTIONS', 'HEAD', 'POST', 'PUT', 'PATCH', 'QUERY', 'PROPFIND', 'SEARCH']

interface PassingThrough {
  gateway: Gateway
  upstream: RawUpstream
}

async function passingThrough(t: Test): Promise<PassingThrough> {
  const upstream = await startRawUpstream(({ line, body }) =>
    line.includes('/chat/completions') ? rawJson(chatReply({ text: ['fine'] })) : rawJson({ line, body }),
  )
  const gateway = await startGateway(`
auth: { keys: [ { name: app, key: "${KEY}", pass_through: true } ] }
providers:
  first: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: "sk-provider-secret", pass_through: { price: "0" } }
models:
  acme/one:
    endpoints:
      - { provider: first, model: upstream-model, price: { prompt: "1.00", completion: "2.00" } }
`)
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  return { gateway, upstream }
}

/** Sends the bytes and, on a connection of its own, the request of another caller. @returns status, and lines of requests seen upstream. */
async function attack({ gateway, upstream }: PassingThrough, bytes: string): Promise<{ status: number; reply: string; lines: string[] }> {
  const from = upstream.requests.length
  const reply = await rawExchange(gateway.url, bytes)
  const other = parseReply(await rawExchange(gateway.url, join('GET /v1/passage/first/other HTTP/1.1', HOST, AUTH, 'Connection: close')))
  if (other.status !== 200 || !other.body.includes('GET /v1/other HTTP/1.1')) throw new Error(`another caller received ${other.body}`)
  return { status: parseReply(reply).status, reply, lines: upstream.requests.slice(from).map(({ line }) => line) }
}

const target = (method: string): string => `${method} /v1/passage/first/x HTTP/1.1`
const OTHER = 'GET /v1/other HTTP/1.1'

t.test('a Connection option that names framing or an end-to-end field is 400 and names the option', async (t) => {
  const place = await passingThrough(t)
  const options = ['content-length', 'Content-Length', 'close, content-length', 'transfer-encoding', 'host', 'authorization', 'cookie']
  await every(t, 'every method', async (t) => {
    for (const method of METHODS)
      for (const option of options) {
        const head = join(target(method), HOST, AUTH, `Content-Length: ${HIDDEN.length}`, `Connection: ${option}`)
        const { status, reply, lines } = await attack(place, head + HIDDEN)
        t.equal(status, 400, `${method}, ${option}`)
        t.same(lines, [OTHER], `${method}, ${option}: nothing of it reaches the provider`)
        if (method !== 'HEAD') t.match(parseReply(reply).body, option.split(', ').at(-1)?.toLowerCase(), 'the option is named')
      }
  })
})

t.test('other spellings of such an option', async (t) => {
  const place = await passingThrough(t)
  const spellings = [
    'Connection: keep-alive\r\nConnection: content-length',
    'Connection: ,,content-length,',
    'Connection:\tcontent-length',
    'Connection: "content-length"',
    'Connection: content-length;q=1',
    'Connection: content-length\0',
    'cONNECTION: cONTENT-lENGTH',
    'Connection: content-type',
    'Connection: accept-encoding',
    'Connection: if-match',
    'Connection: x-api-key',
    'Connection: user-agent',
  ]
  await every(t, 'every line', async (t) => {
    for (const line of spellings) {
      const { status, lines } = await attack(place, join(target('DELETE'), HOST, AUTH, `Content-Length: ${HIDDEN.length}`, line) + HIDDEN)
      t.equal(status, 400, JSON.stringify(line))
      t.same(lines, [OTHER], JSON.stringify(line))
    }
  })
})

t.test('fields of one hop may be named, and stay behind', async (t) => {
  const { gateway, upstream } = await passingThrough(t)
  const bytes = join(target('GET'), HOST, AUTH, 'Connection: close, X-Hop, TE', 'X-Hop: 1', 'TE: trailers', 'X-Kept: 1')
  t.equal(parseReply(await rawExchange(gateway.url, bytes)).status, 200)
  const [{ headers }] = upstream.requests
  t.equal(headers.get('x-hop'), undefined)
  t.equal(headers.get('te'), undefined)
  t.equal(headers.get('x-kept'), '1')
})

t.test('a body is one body whatever its method', async (t) => {
  const place = await passingThrough(t)
  const { upstream } = place
  await every(t, 'every method', async (t) => {
    for (const method of METHODS)
      for (const framed of [
        join(target(method), HOST, AUTH, 'Connection: close', `Content-Length: ${HIDDEN.length}`) + HIDDEN,
        `${join(target(method), HOST, AUTH, 'Connection: close', 'Transfer-Encoding: chunked')}${HIDDEN.length.toString(16)};a=b\r\n${HIDDEN}\r\n0\r\nX-Trailer: 1\r\n\r\n`,
      ]) {
        const from = upstream.requests.length
        const { lines } = await attack(place, framed)
        t.same(lines, [`${method} /v1/x HTTP/1.1`, OTHER], `${method}: one request`)
        t.equal(upstream.requests[from].body, HIDDEN, `${method}: with its body`)
        t.notOk(upstream.requests[from].headers.has('x-trailer'), 'trailers stay behind')
      }
  })
  t.same(upstream.garbage, [])
})

t.test('a body that comes in pieces is framed as it was declared', async (t) => {
  const { gateway, upstream } = await passingThrough(t)
  await every(t, 'every case', async (t) => {
    for (const [method, framing, first, second] of [
      ['DELETE', 'Content-Length: 6', 'abc', 'def'],
      ['GET', 'Transfer-Encoding: chunked', '3\r\nabc\r\n', '3\r\ndef\r\n0\r\n\r\n'],
      ['OPTIONS', 'Transfer-Encoding: chunked', '3\r\nabc\r\n', '3\r\ndef\r\n0\r\n\r\n'],
    ] as const) {
      const index = upstream.requests.length
      const client = await RawClient.open(gateway.url)
      client.send(join(target(method), HOST, AUTH, 'Connection: close', framing, 'Expect: 100-continue'))
      await client.until(/100 Continue/)
      client.send(first)
      client.send(second)
      t.match(await client.closed(), / 200 /, method)
      const seen = await upstream.request(index)
      t.equal(seen.body, 'abcdef', method)
    }
  })
  t.same(upstream.garbage, [])
})

t.test('a body that never becomes whole is no request, and nothing of another caller completes it', async (t) => {
  await every(t, 'every framing', async (t) => {
    for (const framing of ['Content-Length: 500000', 'Transfer-Encoding: chunked']) {
      const { gateway, upstream } = await passingThrough(t)
      const client = await RawClient.open(gateway.url)
      client.send(`${join(target('POST'), HOST, AUTH, framing)}5\r\nabcde\r\n`)
      await upstream.accepts(1)
      client.reset()
      const reply = await gateway.get('/v1/passage/first/other')
      t.match(await reply.json(), { line: OTHER, body: '' }, framing)
      t.same(
        upstream.requests.map(({ line }) => line),
        [OTHER],
      )
    }
  })
})

t.test('an upgrade carries no bytes of HTTP to a provider that refuses it', async (t) => {
  const place = await passingThrough(t)
  const upgrade = (method: string, ...more: string[]): string =>
    join(target(method), HOST, AUTH, 'Connection: Upgrade', 'Upgrade: websocket', ...more) + HIDDEN
  const plain = await attack(place, upgrade('GET'))
  t.same(plain.lines, ['GET /v1/x HTTP/1.1', OTHER], 'bytes behind the handshake are not sent')
  await every(t, 'every bytes', async (t) => {
    for (const bytes of [
      upgrade('GET', `Content-Length: ${HIDDEN.length}`),
      upgrade('GET', 'Transfer-Encoding: chunked'),
      upgrade('POST', `Content-Length: ${HIDDEN.length}`),
      upgrade('DELETE'),
      upgrade('GET', 'Upgrade: h2c'),
      upgrade('GET').replace('Connection: Upgrade', 'Connection: Upgrade, content-length'),
    ]) {
      const { status, lines } = await attack(place, bytes)
      t.equal(status, 400, bytes)
      t.same(lines, [OTHER], bytes)
    }
  })
})

t.test('an offer of another protocol is left out, and the bytes behind it are requests as ever', async (t) => {
  const place = await passingThrough(t)
  const offer = (method: string, ...more: string[]): string =>
    join(
      target(method),
      HOST,
      AUTH,
      'Connection: Upgrade, HTTP2-Settings, X-Hop',
      'Upgrade: h2c',
      'HTTP2-Settings: AA',
      'X-Hop: 1',
      ...more,
    )
  await every(t, 'every framing', async (t) => {
    for (const [bytes, lines, bodies] of [
      [offer('DELETE', `Content-Length: ${HIDDEN.length}`) + HIDDEN, ['DELETE /v1/x HTTP/1.1', OTHER], [HIDDEN, '']],
      [
        `${offer('POST', 'Transfer-Encoding: chunked')}${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`,
        [`POST /v1/x HTTP/1.1`, OTHER],
        [HIDDEN, ''],
      ],
      [
        offer('POST', 'Content-Length: 0') + join(`${target('GET')}`, HOST, AUTH),
        ['POST /v1/x HTTP/1.1', 'GET /v1/x HTTP/1.1', OTHER],
        ['', '', ''],
      ],
    ] as const) {
      const from = place.upstream.requests.length
      const client = await RawClient.open(place.gateway.url)
      client.send(bytes)
      await place.upstream.request(from + lines.length - 2)
      await client.until(/ 200 /)
      t.same((await attack(place, join('GET /v1/models HTTP/1.1', HOST, 'Connection: close'))).lines, [OTHER])
      const seen = place.upstream.requests.slice(from)
      t.same(
        seen.map(({ line }) => line),
        lines,
      )
      t.same(
        seen.map(({ body }) => body),
        bodies,
      )
      t.ok(seen.every(({ headers }) => !['upgrade', 'http2-settings', 'x-hop'].some((name) => headers.has(name))))
      client.close()
    }
  })
  t.same(place.upstream.garbage, [])
})

/** Starts a request that the provider does not answer yet. */
async function pending({ gateway, upstream }: PassingThrough, bytes: string): Promise<{ client: RawClient; answer: () => void }> {
  const usual = upstream.answer
  upstream.answer = () => undefined
  const index = upstream.requests.length
  const client = await RawClient.open(gateway.url)
  client.send(bytes)
  const seen = await upstream.request(index)
  upstream.answer = usual
  const [socket] = upstream.sockets
  return {
    client,
    answer: () => {
      const reply = usual(seen, socket)
      if (typeof reply === 'string') socket.write(reply)
    },
  }
}

t.test('answers bytes behind a request after it: an upgrade, a tunnel, and bytes that are no request', async (t) => {
  const upgrade = join(target('GET'), HOST, AUTH, 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: a')
  await every(t, 'every case', async (t) => {
    for (const [name, behind, status] of [
      ['an upgrade', upgrade, 400],
      ['an upgrade with a body', upgrade.replace('\r\n\r\n', `\r\nContent-Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`), 400],
      ['a tunnel', join('CONNECT provider:80 HTTP/1.1', HOST), 405],
      ['noise', 'no request at all\r\n\r\n', 400],
    ] as const) {
      const place = await passingThrough(t)
      const { client, answer } = await pending(place, join(target('GET'), HOST, AUTH) + behind)
      answer()
      const text = await client.closed()
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, found]) => Number(found))
      t.same(statuses, [200, status], name)
      t.match(text, /^HTTP\/1\.1 200 [^}]*"line":"GET \/v1\/x HTTP\/1\.1"/, `${name}: the first reply is the first request's`)
      t.equal(place.upstream.requests.length, 1, `${name}: nothing more reaches the provider`)
      t.notMatch(place.gateway.logs.join(''), '"unexpected"', name)
      const rows = [...place.gateway.running.store.journal.export()]
      t.ok(rows.length === 1 && rows.every((row) => row.settled), `${name}: no hold is left behind`)
    }
  })
})

t.test('replies that wait behind another end with their connection, also where a tunnel was asked for', async (t) => {
  const place = await passingThrough(t)
  const { gateway, upstream } = place
  const whole = join(target('GET'), HOST, AUTH)
  const { client } = await pending(place, whole)
  upstream.answer = () => undefined
  client.send(whole + whole + join('CONNECT provider:80 HTTP/1.1', HOST))
  await upstream.request(2)
  t.equal(gateway.running.drain.open, 3)
  client.reset()
  await eventually('no connection to the provider is open', () => upstream.sockets.size === 0)
  await eventually('no request is open', () => gateway.running.drain.open === 0)
  t.same(
    [...gateway.running.store.journal.export()].map((row) => row.settled?.status),
    ['aborted', 'aborted', 'aborted'],
  )
})

t.test('replies whose framing is ambiguous are 502, and their connection serves nobody else', async (t) => {
  const place = await passingThrough(t)
  const { gateway, upstream } = place
  const usual = upstream.answer
  const second = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison'
  const heads = [
    'Content-Length: 2\r\nContent-Length: 2',
    'Content-Length: 2\r\nContent-Length: 3',
    'Content-Length: 2\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\r\nContent-Length: 2',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked, chunked',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: xchunked',
    'Transfer-Encoding: identity',
    'Content-Length: 2\r\nConnection: content-length',
    'Content-Length: +2',
  ]
  await every(t, 'every head', async (t) => {
    for (const head of heads)
      for (const path of ['/v1/passage/first/x', '/v1/chat/completions']) {
        upstream.answer = () => {
          upstream.answer = usual
          return `HTTP/1.1 200 OK\r\n${head}\r\n\r\n2\r\nok\r\n0\r\n\r\n${second}`
        }
        const body = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'x' }] })
        const reply = await (path.endsWith('x') ? gateway.get(path) : gateway.post(path, body))
        t.equal(reply.status, 502, `${path}: ${head}`)
        t.match(await reply.json(), { error: { message: /unreadable/ } }, `${path}: ${head}`)
        const other = await gateway.get('/v1/passage/first/other')
        t.match(await other.json(), { line: OTHER }, 'the next reply is its own')
      }
  })
})
