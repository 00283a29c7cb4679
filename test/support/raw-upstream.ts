/** A provider of raw sockets: it parses what arrives by the letter of RFC 9112 and records every request on every socket. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/** One request as it stood on the wire. */
export interface WireRequest {
  /** Number of the socket, from 0. */
  readonly socket: number
  /** Its position on that socket, from 0. */
  readonly position: number
  readonly line: string
  /** Names in lower case; a repeated field is joined with a comma. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** Bytes to answer with; undefined answers nothing, and `close` ends the connection. */
export type RawReply = string | Buffer | undefined | 'close'

export interface RawUpstream {
  readonly url: string
  /** Everything parsed so far; a test may empty it. */
  readonly requests: WireRequest[]
  /** Sockets whose bytes were no HTTP, with their first characters. */
  readonly garbage: string[]
  readonly sockets: ReadonlySet<Socket>
  /** Connections accepted so far. */
  readonly accepted: number
  /** Resolves when this many connections have been accepted. */
  accepts(count: number): Promise<void>
  answer: (request: WireRequest, socket: Socket) => RawReply
  /** The request of this index, as soon as it is whole. */
  request(index: number): Promise<WireRequest>
  close(): Promise<void>
}

/** A whole reply of JSON. */
export function rawJson(body: unknown, ...more: string[]): string {
  const text = JSON.stringify(body)
  const lines = ['HTTP/1.1 200 OK', 'Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`, ...more]
  return `${lines.join('\r\n')}\r\n\r\n${text}`
}

export async function startRawUpstream(answer: RawUpstream['answer']): Promise<RawUpstream> {
  const requests: WireRequest[] = []
  const garbage: string[] = []
  const sockets = new Set<Socket>()
  const watchers: { index: number; resolve: (request: WireRequest) => void }[] = []
  let accepted = 0
  const accepting: { count: number; resolve: () => void }[] = []
  const server = createServer((socket) => {
    const number = accepted++
    for (const { count, resolve } of accepting) if (accepted >= count) resolve()
    sockets.add(socket)
    socket.setNoDelay(true)
    let position = 0
    let pending = ''
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (chunk: Buffer) => {
      pending += chunk.toString('latin1')
      for (;;) {
        const parsed = parseRequest(pending)
        if (parsed === 'more') return
        if (parsed === 'garbage') {
          garbage.push(pending.slice(0, 200))
          socket.destroy()
          return
        }
        pending = pending.slice(parsed.length)
        const request = { socket: number, position: position++, line: parsed.line, headers: parsed.headers, body: parsed.body }
        const index = requests.push(request) - 1
        for (const watcher of watchers) if (watcher.index === index) watcher.resolve(request)
        const reply = upstream.answer(request, socket)
        if (reply === 'close') socket.end()
        else if (reply !== undefined) socket.write(typeof reply === 'string' ? Buffer.from(reply, 'latin1') : reply)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const upstream: RawUpstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    garbage,
    sockets,
    get accepted() {
      return accepted
    },
    accepts: (count) => (accepted >= count ? Promise.resolve() : new Promise((resolve) => accepting.push({ count, resolve }))),
    answer,
    request: (index) => (requests[index] ? Promise.resolve(requests[index]) : new Promise((resolve) => watchers.push({ index, resolve }))),
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return upstream
}

interface Parsed {
  line: string
  headers: Map<string, string>
  body: string
  /** Characters that it took. */
  length: number
}

/** The first request of the text (RFC 9112 sections 3, 6 and 7.1). A length beside a transfer coding is garbage. */
function parseRequest(text: string): Parsed | 'more' | 'garbage' {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return text.length > 100_000 || /^[^A-Z]/.test(text) ? 'garbage' : 'more'
  const [line = '', ...fields] = text.slice(0, end).split('\r\n')
  if (!/^[A-Z-]+ [^ ]+ HTTP\/1\.1$/.test(line)) return 'garbage'
  const headers = new Map<string, string>()
  for (const field of fields) {
    const colon = field.indexOf(':')
    if (colon < 1 || /[\s\0]/.test(field.slice(0, colon)) || field.includes('\n')) return 'garbage'
    const name = field.slice(0, colon).toLowerCase()
    const value = field.slice(colon + 1).trim()
    const before = headers.get(name)
    headers.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  const length = headers.get('content-length')
  const coding = headers.get('transfer-encoding')
  const start = end + 4
  if (coding !== undefined) return length !== undefined || coding !== 'chunked' ? 'garbage' : chunked(text, start, { line, headers })
  if (length !== undefined && !/^\d+$/.test(length)) return 'garbage'
  const bytes = Number(length ?? 0)
  if (text.length < start + bytes) return 'more'
  return { line, headers, body: text.slice(start, start + bytes), length: start + bytes }
}

function chunked(text: string, start: number, head: Pick<Parsed, 'line' | 'headers'>): Parsed | 'more' | 'garbage' {
  let body = ''
  for (let at = start; ; ) {
    const lineEnd = text.indexOf('\r\n', at)
    if (lineEnd === -1) return 'more'
    const size = text.slice(at, lineEnd)
    if (!/^[\dA-Fa-f]+$/.test(size)) return 'garbage'
    const bytes = Number.parseInt(size, 16)
    const next = lineEnd + 2 + bytes + 2
    if (text.length < next) return 'more'
    if (text.slice(next - 2, next) !== '\r\n') return 'garbage'
    if (bytes === 0) return { ...head, body, length: next }
    body += text.slice(lineEnd + 2, next - 2)
    at = next
  }
}
