/** The listener against raw bytes: what no library would send, and what must never pass. */
import t, { type Test } from 'tap'
import { every } from '../../support/every.ts'
import { KEY } from '../../support/gateway.ts'
import { parseReply, RawClient, rawExchange } from '../../support/raw.ts'
import { startScene } from '../../support/scene.ts'
import { says } from '../../support/wire.ts'

const { gateway, upstream } = await startScene(t)

const BODY = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] })
const HOST = 'Host: headgate.example'
const AUTH = `Authorization: Bearer ${KEY}`
const JSON_LINE = 'Content-Type: application/json'
const CHAT = 'POST /v1/chat/completions HTTP/1.1'
const LENGTH = `Content-Length: ${BODY.length}`

const join = (...lines: string[]): string => `${lines.join('\r\n')}\r\n\r\n`
/** A sound request as raw bytes, with more header lines. */
const sound = (...more: string[]): string => `${join(CHAT, HOST, AUTH, JSON_LINE, LENGTH, ...more)}${BODY}`
const chunkedRequest = (te: string, version = '1.1'): string =>
  `${join(`POST /v1/chat/completions HTTP/${version}`, HOST, AUTH, JSON_LINE, te)}${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`

/** Follows every probe on the same connection: it must never be answered. */
const SMUGGLED = join('GET /v1/models HTTP/1.1', HOST, AUTH, 'X-Smuggled: 1')

/** The JSON of a body, or its text where it is none. */
function parseJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}

/** Checks one refusal: the status, the JSON error body, the closed connection, and nothing upstream. */
async function refused(t: Test, name: string, bytes: string, status: number | number[]): Promise<void> {
  const before = upstream.requests.length
  const text = await rawExchange(gateway.url, bytes)
  const reply = parseReply(text)
  const wanted = [status].flat()
  await every(t, name, (t) => {
    t.ok(wanted.includes(reply.status), `${wanted.join(' or ')} (${reply.status})`)
    t.match(parseJson(reply.body), { error: { code: reply.status, message: String } }, 'the standard body')
    t.match(reply.headers.get('content-type'), /^application\/json/, 'JSON')
    t.equal(text.match(/^HTTP\/1\.1 \d{3} /gm)?.length, 1, 'one answer, what follows gets none')
    t.equal(upstream.requests.length, before, 'the upstream sees nothing')
  })
}

t.test('a sound request is answered', async (t) => {
  for (const bytes of [sound('Connection: close'), chunkedRequest('Transfer-Encoding: chunked\r\nConnection: close')]) {
    const reply = parseReply(await rawExchange(gateway.url, bytes))
    t.equal(reply.status, 200)
    t.match(JSON.parse(reply.body), { object: 'chat.completion' })
  }
})

t.test('refuses ambiguous framing', async (t) => {
  const smuggle = (request: string): string => request + SMUGGLED
  const framed = (...lines: string[]): string => smuggle(`${join(CHAT, HOST, AUTH, JSON_LINE, ...lines)}${BODY}`)
  await refused(t, 'length and chunked', smuggle(`${chunkedRequest(`${LENGTH}\r\nTransfer-Encoding: chunked`)}`), 400)
  await refused(t, 'chunked and length', smuggle(`${chunkedRequest(`Transfer-Encoding: chunked\r\n${LENGTH}`)}`), 400)
  await refused(t, 'two lengths', framed(LENGTH, 'Content-Length: 3'), 400)
  for (const length of [`+${BODY.length}`, '0x5', '5, 5', '-1', '5 5', '1e1', ''])
    await refused(t, `length ${JSON.stringify(length)}`, framed(`Content-Length: ${length}`), 400)
  for (const coding of ['xchunked', 'gzip, chunked', 'chunked, chunked', 'chunked, identity', 'identity', 'chunked;q=1', '"chunked"'])
    await refused(t, `coding ${coding}`, smuggle(chunkedRequest(`Transfer-Encoding: ${coding}`)), 400)
  await refused(t, 'two codings', smuggle(chunkedRequest('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked')), 400)
  await refused(t, 'a space before the colon', smuggle(chunkedRequest('Transfer-Encoding : chunked')), 400)
  await refused(t, 'chunked in HTTP/1.0', smuggle(chunkedRequest('Transfer-Encoding: chunked', '1.0')), 400)
  await refused(t, 'chunks ended by LF', `${join(CHAT, HOST, AUTH, JSON_LINE, 'Transfer-Encoding: chunked')}2\n{}\n0\n\n${SMUGGLED}`, 400)
  await refused(
    t,
    'a chunk size with a sign',
    `${join(CHAT, HOST, AUTH, JSON_LINE, 'Transfer-Encoding: chunked')}+2\r\n{}\r\n0\r\n\r\n`,
    400,
  )
})

t.test('refuses malformed heads', async (t) => {
  const head = (...lines: string[]): string => join(...lines, AUTH, JSON_LINE, LENGTH) + BODY + SMUGGLED
  await refused(t, 'no Host', head(CHAT), 400)
  await refused(t, 'a folded header', head(CHAT, HOST, 'X-Folded: one\r\n two'), 400)
  await refused(t, 'a bare LF in a header', head(CHAT, HOST, 'X-Bare: one\nX-Evil: two'), 400)
  await refused(t, 'a bare CR in a header', head(CHAT, HOST, 'X-Bare: one\rtwo'), 400)
  await refused(t, 'a NUL in a header', head(CHAT, HOST, 'X-Nul: one\0two'), 400)
  await refused(t, 'a NUL in a name', head(CHAT, HOST, 'X-N\0l: one'), 400)
  await refused(t, 'no version', `POST /v1/chat/completions\n${HOST}\n${AUTH}\nContent-Length: 2\n\n{}`, 400)
  await refused(
    t,
    'HTTP/1.0 with a body of unknown length',
    `${join('POST /v1/chat/completions HTTP/1.0', HOST, AUTH, JSON_LINE)}${BODY}`,
    400,
  )
  await refused(t, 'HTTP/3.7', head('POST /v1/chat/completions HTTP/3.7', HOST), 400)
  await refused(t, 'a space in the target', head('POST /v1/chat completions HTTP/1.1', HOST), 400)
  await refused(t, 'noise', '\x16\x03\x01\x02\x00\x01\x00\x01', 400)
})

t.test('RFC 9112 section 3.2: a Host that is no host', async (t) => {
  const hosts = [
    'a b',
    '',
    'x@y',
    'user:secret@host',
    'a/b',
    'a?b',
    'a#b',
    'host:port',
    'host:1:2',
    ':80',
    '[::1',
    '[1:2]',
    '[]',
    '%zz',
    'a\tb',
    'h\u00f6st',
    '"a"',
    '<a>',
  ]
  for (const host of hosts) {
    await refused(t, `Host: ${JSON.stringify(host)}`, `${join(CHAT, `Host: ${host}`, AUTH, JSON_LINE, LENGTH)}${BODY}${SMUGGLED}`, 400)
    await refused(t, `GET, Host: ${JSON.stringify(host)}`, join('GET /v1/models HTTP/1.1', `Host: ${host}`, AUTH) + SMUGGLED, 400)
  }
  await refused(t, 'HTTP/1.0', join('GET /v1/models HTTP/1.0', 'Host: a b', AUTH), 400)
  await every(t, 'every host', async (t) => {
    for (const host of [
      'a',
      'a.example:8080',
      'a_b.example.',
      '127.0.0.1:80',
      '[::1]:8080',
      '[2001:db8::1]',
      'a:',
      'xn--hst-sna.example',
      'a%2Eb',
    ]) {
      const reply = parseReply(await rawExchange(gateway.url, join('GET /v1/models HTTP/1.1', `Host: ${host}`, AUTH, 'Connection: close')))
      t.equal(reply.status, 200, host)
    }
  })
})

t.test('refuses headers that stand twice and may stand once', async (t) => {
  const twice = (...lines: string[]): string => `${join(CHAT, ...lines)}${BODY}${SMUGGLED}`
  await refused(t, 'Host', twice(HOST, HOST, AUTH, JSON_LINE, LENGTH), 400)
  await refused(t, 'Authorization', twice(HOST, AUTH, AUTH, JSON_LINE, LENGTH), 400)
  await refused(t, 'Content-Type', twice(HOST, AUTH, JSON_LINE, JSON_LINE, LENGTH), 400)
  await refused(t, 'x-session-id', twice(HOST, AUTH, JSON_LINE, LENGTH, 'x-session-id: a', 'X-Session-Id: b'), 400)
  const many = Array.from({ length: 150 }, (_, index) => `X-Pad-${index}: 1`)
  await refused(t, 'Authorization far behind', twice(HOST, AUTH, JSON_LINE, LENGTH, ...many, 'Authorization: Bearer other'), [400, 431])
})

t.test('answers other kinds of request', async (t) => {
  const probe = (line: string, ...more: string[]): string => join(line, HOST, AUTH, ...more)
  await refused(t, 'absolute form', probe('GET http://other.example/v1/models HTTP/1.1'), 400)
  await refused(t, 'authority form', probe('GET other.example:80 HTTP/1.1'), 400)
  await refused(t, 'asterisk form', probe('OPTIONS * HTTP/1.1'), [400, 405])
  await refused(t, 'a network path', probe('GET //other.example/v1/models HTTP/1.1'), [400, 404])
  await refused(t, 'TRACE', probe('TRACE /v1/models HTTP/1.1'), [400, 405])
  await refused(t, 'CONNECT', probe('CONNECT other.example:80 HTTP/1.1'), [400, 405])
  await refused(t, 'CONNECT to a path', probe('CONNECT /v1/models HTTP/1.1'), [400, 405])
  const upgrade = probe('GET /v1/models HTTP/1.1', 'Connection: Upgrade', 'Upgrade: websocket')
  await refused(t, 'Upgrade: websocket', upgrade, [400, 404, 405, 426])
})

t.test('refuses oversized heads', async (t) => {
  const head = (line: string, ...more: string[]): string => join(line, HOST, AUTH, JSON_LINE, LENGTH, ...more) + BODY
  await refused(t, 'a header of 17 KB', head(CHAT, `X-Long: ${'x'.repeat(17 * 1024)}`), 431)
  await refused(t, '2,500 headers', head(CHAT, ...Array.from({ length: 2500 }, (_, index) => `a${index}: 1`)), 431)
  await refused(t, '150 headers', head(CHAT, ...Array.from({ length: 150 }, (_, index) => `a${index}: 1`)), 431)
  await refused(t, 'a target of 20 KB', head(`POST /v1/chat/completions?${'x'.repeat(20 * 1024)} HTTP/1.1`), [414, 431])
  await refused(t, 'a target of 10 KB', head(`POST /v1/chat/completions?${'x'.repeat(10 * 1024)} HTTP/1.1`), 414)
  const extension = `${join(CHAT, HOST, AUTH, JSON_LINE, 'Transfer-Encoding: chunked')}2;${'x'.repeat(17 * 1024)}\r\n{}\r\n0\r\n\r\n`
  await refused(t, 'a chunk extension of 17 KB', extension, [400, 413])
})

t.test('requests no body from a caller with a bad key', async (t) => {
  const head = join(CHAT, HOST, 'Authorization: Bearer wrong', JSON_LINE, LENGTH, 'Expect: 100-continue')
  const text = await rawExchange(gateway.url, head)
  t.notMatch(text, /100 Continue/)
  t.equal(parseReply(text).status, 401)
  const good = await RawClient.open(gateway.url)
  good.send(join(CHAT, HOST, AUTH, JSON_LINE, LENGTH, 'Expect: 100-continue', 'Connection: close'))
  await good.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/)
  t.match(await good.send(BODY).closed(), /HTTP\/1\.1 200 /)
})

t.test('pipelined requests are answered in order', async (t) => {
  const upstreamUtterance = upstream.script
  upstream.script = (seen, index) => says({ text: [String((seen.json.messages as { content: string }[])[0].content)] })(seen, index)
  t.teardown(() => {
    upstream.script = upstreamUtterance
  })
  const requests = Array.from({ length: 20 }, (_, index) => {
    const body = JSON.stringify({ model: 'acme/one', stream: index % 2 === 1, messages: [{ role: 'user', content: `marker-${index}.` }] })
    const close = index === 19 ? ['Connection: close'] : []
    return join(CHAT, HOST, AUTH, JSON_LINE, `Content-Length: ${body.length}`, ...close) + body
  })
  const text = await rawExchange(gateway.url, requests.join(''))
  t.same(
    [...text.matchAll(/marker-(\d+)\./g)].map((match) => Number(match[1])),
    Array.from({ length: 20 }, (_, index) => index),
  )
})

t.test('a half-closed client still gets its reply', async (t) => {
  const stream = BODY.replace('{', '{"stream":true,')
  for (const [body, end] of [
    [BODY, /"object":"chat\.completion"/],
    [stream, /data: \[DONE\]/],
  ] as const) {
    const client = await RawClient.open(gateway.url)
    client.send(join(CHAT, HOST, AUTH, JSON_LINE, `Content-Length: ${body.length}`) + body).halfClose()
    const text = await client.closed()
    t.match(text, /HTTP\/1\.1 200 /)
    t.match(text, end)
  }
})

t.test('returns 413 for a body over the limit, and calls no provider', async (t) => {
  const before = upstream.requests.length
  const limit = 32 * 1024 * 1024
  const declared = await rawExchange(gateway.url, join(CHAT, HOST, AUTH, JSON_LINE, `Content-Length: ${limit + 1}`))
  t.equal(parseReply(declared).status, 413, 'refused from the head alone, before a byte of the body')
  t.match(JSON.parse(parseReply(declared).body), { error: { code: 413, metadata: { error_type: 'payload_too_large' } } })
  const client = await RawClient.open(gateway.url)
  client.send(join(CHAT, HOST, AUTH, JSON_LINE, 'Transfer-Encoding: chunked'))
  const piece = Buffer.alloc(1024 * 1024, 0x20)
  for (let sent = 0; sent <= limit && !client.ended; sent += piece.length) client.send('100000\r\n').send(piece).send('\r\n')
  t.match(await client.closed(), /^HTTP\/1\.1 413 /, 'refused when the limit is passed')
  t.equal(upstream.requests.length, before)
})

t.test('accepts JSON bodies, and refuses other types and encodings with 415', async (t) => {
  const typed = (...lines: string[]): string => `${join(CHAT, HOST, AUTH, LENGTH, ...lines, 'Connection: close')}${BODY}`
  const status = async (...lines: string[]): Promise<number> => parseReply(await rawExchange(gateway.url, typed(...lines))).status
  t.equal(await status(), 200, 'no type')
  t.equal(await status('Content-Type: application/json; charset=utf-8'), 200)
  t.equal(await status('Content-Type: application/x-www-form-urlencoded'), 200, 'what curl says by default')
  for (const type of ['text/plain', 'multipart/form-data; boundary=x', 'application/json; charset=utf-16', 'application/xml'])
    await refused(t, type, typed(`Content-Type: ${type}`), 415)
  for (const coding of ['gzip', 'br', 'deflate', 'bogus']) await refused(t, coding, typed(JSON_LINE, `Content-Encoding: ${coding}`), 415)
})

t.test('forwards to the provider no header of the connection or of the caller', async (t) => {
  const evil = 'a\\r\\nX-Evil: 1'
  const body = `{"model":"acme/one","session_id":"${evil}","user":"${evil}","metadata":{"k":"${evil}"},"messages":[{"role":"user","content":"${evil}"}]}`
  const lines = [
    'Connection: x-drop, close',
    'X-Drop: 1',
    'Keep-Alive: timeout=5',
    'TE: trailers',
    'Proxy-Authorization: Basic c2VjcmV0',
    'Cookie: a=b',
    'X-Router-Title: caf\u00e9',
    'HTTP-Referer: https://app.example',
  ]
  const before = upstream.requests.length
  const reply = parseReply(
    await rawExchange(gateway.url, join(CHAT, HOST, AUTH, JSON_LINE, `Content-Length: ${body.length}`, ...lines) + body),
  )
  await every(t, 'every seen', async (t) => {
    for (const seen of upstream.requests.slice(before)) {
      const raw = seen.rawHeaders.join('\n').toLowerCase()
      for (const name of [
        'x-evil',
        'x-drop',
        'keep-alive: timeout',
        'trailers',
        'proxy-authorization',
        'cookie',
        KEY.toLowerCase(),
        'x-router',
        'referer',
      ])
        t.notOk(raw.includes(name), `${name} does not cross`)
      t.equal(seen.headers.authorization, 'Bearer sk-provider-secret')
      t.notOk('session_id' in seen.json, 'our own fields do not cross')
    }
  })
  t.ok(reply.status === 200 || reply.status === 400, `taken or refused (${reply.status})`)
  for (const name of ['keep-alive', 'proxy-authenticate', 'openai-organization', 'set-cookie', 'server', 'x-powered-by'])
    t.notOk(reply.headers.has(name) && name !== 'keep-alive', `${name} does not come back`)
})

t.test('accepts each kind of credentials, and refuses two that differ', async (t) => {
  const status = async (...lines: string[]): Promise<number> =>
    parseReply(await rawExchange(gateway.url, `${join(CHAT, HOST, JSON_LINE, LENGTH, ...lines, 'Connection: close')}${BODY}`)).status
  const wrong = [
    '',
    'Authorization:',
    'Authorization: Bearer',
    'Authorization: Basic c2VjcmV0',
    `Authorization: ${KEY}`,
    `Authorization: Bearer  ${KEY}x`,
    `Authorization: Token ${KEY}`,
    `Cookie: key=${KEY}`,
  ]
  await every(t, 'every line', async (t) => {
    for (const line of wrong) t.equal(await status(...(line ? [line] : [])), 401, line.replace(KEY, 'KEY') || 'none')
  })
  t.equal(await status(`Authorization: Bearer ${'x'.repeat(8000)}`), 401, 'a long token')
  t.equal(await status(`x-api-key: ${KEY}`), 200, 'the other header')
  t.equal(await status(AUTH, 'x-api-key: other'), 400, 'two that differ')
  t.equal(await status(`authorization: bearer ${KEY}`), 200, 'the scheme in small letters')
  const query = await rawExchange(
    gateway.url,
    `${join(`POST /v1/chat/completions?api_key=${KEY} HTTP/1.1`, HOST, JSON_LINE, LENGTH, 'Connection: close')}${BODY}`,
  )
  t.equal(parseReply(query).status, 401, 'never from the query')
})

t.test('the process is well after all of it', async (t) => {
  t.equal((await gateway.post('/v1/chat/completions', BODY)).status, 200)
  t.equal((await fetch(`${gateway.admin}/healthz`)).status, 200)
  const lines = gateway.logs.join('\n')
  t.notOk(lines.includes(KEY) || lines.includes('sk-provider-secret'), 'no key in the log')
})
