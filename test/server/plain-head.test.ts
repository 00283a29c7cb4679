/** A head that is taken for plain reads as Node's parser reads it: heads with random faults go through both. */
import type { IncomingHttpHeaders } from 'node:http'
import fc from 'fast-check'
import t from 'tap'
import { edgeFault } from '../../src/server/edge-guard.ts'
import { plainHead } from '../../src/server/plain/requests.ts'

/** The callbacks of Node's parser for requests (lib/_http_common.js of 24.21). */
interface RequestParser {
  [callback: number]: unknown
  initialize(type: number, resource: object, maxHeaderSize: number): void
  execute(bytes: Uint8Array): unknown
  close(): void
}
interface RequestParserClass {
  new (): RequestParser
  readonly REQUEST: number
  readonly kOnHeadersComplete: number
  readonly kOnBody: number
  readonly kOnMessageComplete: number
}
const { HTTPParser: Parser } = process.getBuiltinModule('_http_common') as unknown as { HTTPParser: RequestParserClass }
const METHODS = process.getBuiltinModule('_http_common') as unknown as { methods: string[] }

interface Read {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Node's reading; undefined where these bytes are not exactly one request after which the connection lives on, or the edge guard refuses it. */
function parsed(bytes: Buffer): Read | undefined {
  let head: { path: string; rawHeaders: string[]; method: string; lives: boolean } | undefined
  let body = ''
  let whole = 0
  const parser = new Parser()
  parser.initialize(Parser.REQUEST, {}, 16 * 1024)
  parser[Parser.kOnHeadersComplete] = (
    ...[, , rawHeaders, method, path, , , upgrade, lives]: [number, number, string[], number, string, number, string, boolean, boolean]
  ) => {
    head = { path, rawHeaders, method: METHODS.methods[method] ?? '', lives: lives && !upgrade }
    return 0
  }
  parser[Parser.kOnBody] = (piece: Buffer) => {
    body += piece.toString('latin1')
  }
  parser[Parser.kOnMessageComplete] = () => {
    whole++
  }
  const error = parser.execute(bytes) instanceof Error
  parser.close()
  if (error || whole !== 1 || !head?.lives || head.method !== 'POST') return undefined
  const { path, rawHeaders } = head
  const headers: Record<string, string> = {}
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = String(rawHeaders[at]).toLowerCase()
    headers[name] = name in headers ? `${headers[name]}, ${rawHeaders[at + 1]}` : String(rawHeaders[at + 1])
  }
  const request = { method: 'POST', url: path, httpVersion: '1.1', rawHeaders, headers }
  return edgeFault(request as unknown as Parameters<typeof edgeFault>[0], undefined) ? undefined : { path, headers, body }
}

function plain(bytes: Buffer): Read | undefined {
  const start = bytes.indexOf('\r\n\r\n') + 4
  const head = start < 4 ? undefined : plainHead(bytes.toString('latin1', 0, start))
  if (!head || bytes.length !== start + head.length) return undefined
  return { path: head.path, headers: { ...head.headers }, body: bytes.toString('latin1', start) }
}

const request = (fields: string, body = '{"a":1}'): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nHost: a.example\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`
const PLAIN = [
  request(''),
  request('', ''),
  request('Authorization: Bearer sk-1\r\nContent-Type: application/json\r\nConnection: keep-alive\r\nX-Session-Id: 7\r\n'),
  request('x-a:1\r\nX-B:   2  \r\nx-c: a: b, c\r\nx-d:\r\n'),
  request('accept: */*\r\naccept-encoding: gzip, br\r\nuser-agent: OpenAI/Python 2.9.0\r\nx-stainless-lang: python\r\n'),
]

t.test('the quick reader accepts usual requests, and reads them as the parser does', async (t) => {
  for (const text of PLAIN) {
    const bytes = Buffer.from(text, 'latin1')
    t.ok(plain(bytes), JSON.stringify(text.slice(0, 80)))
    t.same(plain(bytes), parsed(bytes))
  }
})

t.test('the quick reader leaves unusual requests to the parser', async (t) => {
  const fields = [
    ...[
      'Transfer-Encoding: chunked\r\n',
      'Connection: close\r\n',
      'Connection: keep-alive, x-a\r\n',
      'Upgrade: h2c\r\n',
      'Expect: 100-continue\r\n',
    ],
    ...['Content-Length: 7\r\n', 'Host: b.example\r\n', 'X-A: 1\r\n 2\r\n', 'X-A: 1\r\nx-a: 2\r\n', 'Origin: https://a.example\r\n'],
    ...['X-A : 1\r\n', ': 1\r\n', 'X_A: 1\r\n', 'X-A: \u00e9\r\n', 'X-A: 1\n', 'X-A: 1\rX-B: 2\r\n', 'X-A: \0\r\n', 'X-A:\t1\r\n'],
    ...['TE: trailers\r\n', 'Trailer: x\r\n', '__proto__: 1\r\n', 'constructor: 1\r\n'],
  ].map((field) => request(field))
  const heads = [
    request('').replace('POST', 'GET'),
    request('').replace('1.1', '1.0'),
    request('').replace('HTTP/1.1', 'HTTP/1.1 '),
    request('').replace('/v1', ' /v1'),
    request('').replace('Host: a.example\r\n', ''),
    request('').replace('a.example', 'a b'),
    request('').replace('Content-Length: 7', 'Content-Length: +7'),
    request('').replace('Content-Length: 7', 'Content-Length: 07'),
    request('').replace('Content-Length: 7', 'Content-Length: 7, 7'),
    request('').replace('Content-Length: 7\r\n', ''),
    request(Array.from({ length: 99 }, (_, at) => `x-${at}: 1\r\n`).join('')),
  ]
  for (const text of [...fields, ...heads]) t.equal(plain(Buffer.from(text, 'latin1')), undefined, JSON.stringify(text.slice(0, 120)))
})

t.test('the quick reader and the parser agree on randomly changed requests', async (t) => {
  const piece = fc.constantFrom(
    ...['\r\n', '\n', '\r', ' ', '\t', ':', ',', '\0', '0', '7', 'x', '-', '_', '\u00e9', '\r\n\r\n', ' HTTP/1.1', 'POST '],
    ...['Content-Length: 7\r\n', 'Connection: close\r\n', 'Transfer-Encoding: chunked\r\n', 'Host: b\r\n', 'Expect: x\r\n', 'x-a: 1\r\n'],
  )
  const change = fc.record({ at: fc.nat(260), cut: fc.nat(3), put: fc.oneof(piece, fc.constant('')) })
  let taken = 0
  fc.assert(
    fc.property(fc.constantFrom(...PLAIN), fc.array(change, { maxLength: 3 }), (text, changes) => {
      let changed = text
      for (const { at, cut, put } of changes) changed = changed.slice(0, at) + put + changed.slice(at + cut)
      const bytes = Buffer.from(changed, 'latin1')
      const found = plain(bytes)
      if (found === undefined) return
      taken++
      const same = parsed(bytes)
      if (JSON.stringify(found) !== JSON.stringify(same))
        throw new Error(`${JSON.stringify(changed)}: ${JSON.stringify(found)}, ${JSON.stringify(same)}`)
    }),
    { numRuns: 20_000, seed: 20261126 },
  )
  t.ok(taken > 2_000, `${taken} of 20,000 were plain`)
})
