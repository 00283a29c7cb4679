/** Requests as bytes that were right before something of their structure was changed: for fuzzing at the socket. */
import { createHash } from 'node:crypto'

type Random = () => number

export interface Written {
  /** Bytes, one character each, as they are written one after the other. */
  readonly pieces: readonly string[]
  /** Requests that were meant. */
  readonly requests: number
  /** True if single bytes were changed as well, so that even a marker may be another one. */
  readonly garbled: boolean
}

export interface FuzzTarget {
  key: string
  /** Model that one provider serves. */
  model: string
  /** Provider of the pass-through. */
  provider: string
}

/** Names one request; the check makes it unlikely that a changed one is another. */
export function numberMarker(number: number): string {
  return `mk${number}z${numberCheck(number)}`
}

function numberCheck(number: number): string {
  return createHash('sha1').update(String(number)).digest('hex').slice(0, 6)
}

/** Every marker that stands in the text, those that were changed left out. */
export function markersIn(text: string): string[] {
  return [...text.matchAll(/mk(\d+)z([0-9a-f]{6})/g)]
    .filter(([, number, check]) => numberCheck(Number(number)) === check)
    .map(([all]) => all)
}

/** Request that a caller hides in a body: a provider must never see it as a request. It has no credentials, so the gateway serves it nowhere. */
export const HIDDEN = 'GET /v1/hidden HTTP/1.1\r\nHost: provider\r\nX-Hidden: 1\r\n\r\n'

interface Draft {
  line: string
  headers: string[]
  /** As it goes behind the head. */
  body: string
}

const pick = <T>(random: Random, all: readonly T[]): T => all[Math.floor(random() * all.length)]
const chance = (random: Random, share: number): boolean => random() < share

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY', 'PROPFIND', 'SEARCH', 'TRACE', 'CONNECT', 'PURGE']
const FRAMING = ['content-length', 'transfer-encoding', 'host', 'content-type', 'authorization', 'expect', 'te', 'trailer', 'upgrade']
const LENGTHS = [
  '0',
  '1',
  '5',
  '+5',
  '-1',
  '0x5',
  '5, 5',
  '5,6',
  '5 5',
  '',
  '00005',
  '1e1',
  '5\0',
  '5\x0b',
  '\t5',
  '5;a',
  '99999999999999999999',
  '999999',
  '９',
]
const CODINGS = [
  'chunked',
  'Chunked',
  'CHUNKED',
  'xchunked',
  'chunked, chunked',
  'gzip, chunked',
  'chunked, gzip',
  'identity',
  '"chunked"',
  'chunked;q=1',
  '',
  ' chunked',
  '\tchunked',
  'chunked\x0b',
  'chun\0ked',
  '\r\n chunked',
  'chunked,',
  ',chunked',
]
const HOSTS = ['', 'a b', 'x@y', 'a/b', 'a:b', '[::1', '[::1]:80', 'h\xf6st', 'a, b', 'provider', 'a.example:99999999', 'a\tb', 'a%00']
const OPTIONS = [
  'close',
  'keep-alive',
  'Upgrade',
  'x-hop',
  'TE',
  ...FRAMING,
  'cookie',
  'content-encoding',
  '"content-length"',
  'content-length;q=1',
  '',
  'a b',
  'close, content-length',
  'content-length\0',
  'Content-Length, Upgrade',
]
const SIZES = ['+', '-', '0x', ' ', '0', '00000000', 'ffffffffffffffff', '\t', '\n', 'g']
const EXTENSIONS = [';a=b', ';a="b"', '; a', ';a=\n', ';a=\r', ';', ';a="\r\n"', `;${'x'.repeat(300)}`, ' ;a', '\0']
const VERSIONS = ['HTTP/1.0', 'HTTP/1.2', 'HTTP/2.0', 'HTTP/0.9', 'http/1.1', 'HTTP/1.1 ', 'HTTP/11', '', 'HTTP/1.1\t', 'HTTPS/1.1']

/** One connection's bytes. `first` numbers its requests. */
export function writeRequests(target: FuzzTarget, random: Random, first: number): Written {
  const count = pick(random, [1, 1, 1, 2, 3])
  let text = ''
  for (let index = 0; index < count; index++) text += requestText(target, random, numberMarker(first + index))
  const garbled = chance(random, 0.1)
  if (garbled) text = garble(text, random)
  return { pieces: cut(text, random), requests: count, garbled }
}

function requestText(target: FuzzTarget, random: Random, marker: string): string {
  const draft = soundRequest(target, random, marker)
  for (let changes = pick(random, [0, 1, 1, 1, 2, 3]); changes > 0; changes--) pick(random, CHANGES)(draft, random)
  return `${draft.line}\r\n${draft.headers.map((line) => `${line}\r\n`).join('')}\r\n${draft.body}`
}

/** A request that the gateway takes, to a generation route or through the pass-through. */
function soundRequest({ key, model, provider }: FuzzTarget, random: Random, marker: string): Draft {
  const headers = ['Host: headgate.example', `Authorization: Bearer ${key}`]
  const generation = chance(random, 0.4)
  const content = chance(random, 0.3) ? HIDDEN : 'hello'
  const conversation = { model, stream: chance(random, 0.3), max_tokens: 50, messages: [{ role: 'user', content: `${marker} ${content}` }] }
  const path = generation ? pick(random, ['/v1/chat/completions', '/v1/messages']) : `/v1/passage/${provider}/${marker}`
  const method = generation ? 'POST' : pick(random, METHODS.slice(0, 10))
  const body = generation ? JSON.stringify(conversation) : pick(random, ['', '', 'abcde', HIDDEN, HIDDEN + HIDDEN, `0\r\n\r\n${HIDDEN}`])
  if (generation) headers.push('Content-Type: application/json')
  const draft = { line: `${method} ${path} HTTP/1.1`, headers, body: '' }
  frame(draft, body, random)
  return draft
}

function frame(draft: Draft, body: string, random: Random): void {
  if (body === '' && chance(random, 0.8)) return
  if (chance(random, 0.5)) {
    draft.headers.push(`Content-Length: ${body.length}`)
    draft.body = body
  } else {
    draft.headers.push('Transfer-Encoding: chunked')
    const split = Math.floor(random() * body.length)
    // A marker stays whole, so that it can be counted in what was written.
    const middle = /m(?:k[\dz\da-f]*)?$/.test(body.slice(0, split)) ? 0 : split
    const parts = [body.slice(0, middle), body.slice(middle)].filter((part) => part !== '')
    draft.body = `${parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\n`
  }
}

function insert(draft: Draft, random: Random, line: string): void {
  draft.headers.splice(Math.floor(random() * (draft.headers.length + 1)), 0, line)
}

function replace(draft: Draft, name: string, line: string): void {
  const at = draft.headers.findIndex((header) => header.toLowerCase().startsWith(name))
  if (at !== -1) draft.headers[at] = line
}

const CHANGES: readonly ((draft: Draft, random: Random) => void)[] = [
  // Request line (RFC 9112 section 3)
  (draft, random) => {
    draft.line = draft.line.replace(/[^ ]*$/, pick(random, VERSIONS))
  },
  (draft, random) => {
    draft.line = draft.line.replace(/^[A-Z]+/, pick(random, [...METHODS, 'get', 'GE T', 'G\0T', '\r\nGET', ' GET', 'PRI']))
  },
  (draft, random) => {
    const odd = ['%0d%0a', '%00', '/../', '/%2e%2e/', '//', '#', '?a=b', '\t', ' ', '\0', '\r', '\\', '%', '@', ';', `/${'x'.repeat(9000)}`]
    draft.line = draft.line.replace(/ (\/[^ ]*)/, (_all, path: string) => ` ${path}${pick(random, odd)}`)
  },
  (draft, random) => {
    const prefix = pick(random, ['http://provider', 'http://headgate.example', '*', '//provider', ''])
    draft.line = draft.line.replace(/ (\/[^ ]*)/, (_all, path: string) => ` ${prefix}${path}`)
  },
  // Host (RFC 9112 section 3.2)
  (draft, random) => replace(draft, 'host:', `Host: ${pick(random, HOSTS)}`),
  (draft, random) => insert(draft, random, `Host: ${pick(random, [...HOSTS, 'headgate.example'])}`),
  (draft) => {
    draft.headers = draft.headers.filter((line) => !line.startsWith('Host'))
  },
  // Framing (RFC 9112 section 6)
  (draft, random) => insert(draft, random, `Content-Length: ${pick(random, LENGTHS)}`),
  (draft, random) => replace(draft, 'content-length:', `Content-Length: ${pick(random, LENGTHS)}`),
  (draft, random) => insert(draft, random, `Transfer-Encoding: ${pick(random, CODINGS)}`),
  (draft, random) => replace(draft, 'transfer-encoding:', `Transfer-Encoding: ${pick(random, CODINGS)}`),
  (draft, random) => {
    const spelling = pick(random, [
      'Content-Length : 5',
      'Content_Length: 5',
      ' Content-Length: 5',
      'Content-Length\t: 5',
      'Content-\0Length: 5',
      'Transfer-Encoding : chunked',
      'X: y\nTransfer-Encoding: chunked',
      'X: y\rContent-Length: 5',
    ])
    insert(draft, random, spelling)
  },
  (draft) => {
    draft.headers = draft.headers.filter((line) => !/^(content-length|transfer-encoding)/i.test(line))
  },
  // Chunks (RFC 9112 section 7.1)
  (draft, random) => {
    draft.body = draft.body.replace(/^([0-9a-f]+)\r\n/, (_all, size: string) => `${pick(random, SIZES)}${size}\r\n`)
  },
  (draft, random) => {
    draft.body = draft.body.replace(/^([0-9a-f]+)\r\n/, (_all, size: string) => `${size}${pick(random, EXTENSIONS)}\r\n`)
  },
  (draft) => {
    draft.body = draft.body.replaceAll('\r\n', '\n')
  },
  (draft, random) => {
    const trailers = [
      'X-Trailer: 1',
      'Content-Length: 5',
      'Transfer-Encoding: chunked',
      'Host: other',
      'Authorization: Bearer x',
      'bad trailer',
      '\0: 1',
    ]
    draft.body = draft.body.replace(/0\r\n\r\n$/, `0\r\n${pick(random, trailers)}\r\n\r\n`)
  },
  // Connection, Expect, Upgrade (RFC 9110 sections 7.6.1, 10.1.1, 7.8)
  (draft, random) => insert(draft, random, `Connection: ${pick(random, OPTIONS)}`),
  (draft, random) => insert(draft, random, `Connection: ${pick(random, OPTIONS)}, ${pick(random, OPTIONS)}`),
  (draft, random) => insert(draft, random, `Expect: ${pick(random, ['100-continue', '100-Continue', '200-ok', '', '100-continue, x'])}`),
  (draft, random) => {
    insert(draft, random, 'Connection: Upgrade')
    insert(draft, random, `Upgrade: ${pick(random, ['websocket', 'WebSocket', 'h2c', 'websocket, h2c', '', 'HTTP/2.0'])}`)
    if (chance(random, 0.5)) insert(draft, random, 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==')
    if (chance(random, 0.5)) insert(draft, random, 'Sec-WebSocket-Version: 13')
  },
  (draft, random) => insert(draft, random, `TE: ${pick(random, ['trailers', 'chunked', 'gzip', ''])}`),
  (draft, random) => insert(draft, random, `HTTP2-Settings: ${pick(random, ['AAMAAABk', ''])}`),
  // Field lines (RFC 9112 section 5)
  (draft, random) => {
    const at = Math.floor(random() * draft.headers.length)
    draft.headers[at] = draft.headers[at].replace(': ', pick(random, [':\r\n ', ':\r\n\t', ' : ', ':', ': \0', ': \r', ':\n ', '']))
  },
  (draft, random) =>
    insert(
      draft,
      random,
      pick(random, ['no colon', ': empty', 'X-Nul: a\0b', 'X-Obs: \xff\xfe', `X-Long: ${'x'.repeat(17_000)}`, 'X\xe9: 1', '']),
    ),
  (draft, random) => {
    for (let index = 0; index < 120; index++) insert(draft, random, `X-${index}: 1`)
  },
  // Bodies
  (draft) => {
    draft.body += HIDDEN
  },
  (draft, random) => {
    draft.body = draft.body.slice(0, Math.floor(random() * draft.body.length))
  },
]

/** Changes bytes that stand anywhere. */
function garble(text: string, random: Random): string {
  const at = Math.floor(random() * text.length)
  const end = at + Math.floor(random() * 40)
  switch (Math.floor(random() * 4)) {
    case 0:
      return text.slice(0, at) + String.fromCharCode(Math.floor(random() * 256)) + text.slice(at + 1)
    case 1:
      return text.slice(0, end) + text.slice(at)
    case 2:
      return text.slice(0, at) + text.slice(end)
    default:
      return text.slice(0, at)
  }
}

function cut(text: string, random: Random): string[] {
  if (chance(random, 0.6)) return [text]
  const places = Array.from({ length: pick(random, [1, 2, 4]) }, () => Math.floor(random() * text.length)).sort((a, b) => a - b)
  return [0, ...places].map((place, index) => text.slice(place, [...places, text.length][index])).filter((piece) => piece !== '')
}
