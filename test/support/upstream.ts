/** A provider that misbehaves on demand: one local server, scripted per request, with everything on record. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { JsonObject } from '../../src/core/json.ts'

/** End of one answer, instead of as HTTP wants it. */
export type Ending = 'close' | 'reset' | 'stall'

export interface Answer {
  status?: number | undefined
  headers?: Record<string, string> | undefined
  /** Written one after the other; a function is awaited first, and may return text to write. */
  body?: readonly (string | Buffer | (() => Promise<string | undefined>))[] | undefined
  /** Line ends of an event stream. */
  lineEnd?: '\n' | '\r' | '\r\n' | undefined
  /** Bytes per write; absent: one write per step of the body. */
  split?: number | undefined
  gzip?: boolean | undefined
  /** Before any header. */
  before?: Ending | undefined
  /** After the body; absent ends it properly. */
  after?: Ending | undefined
}

export type Script = (request: Seen, index: number) => Answer | Promise<Answer>

/** One request as the provider saw it. */
export class Seen {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  body = ''
  sentBytes = 0
  /** True where the gateway went away before the answer was whole. */
  aborted = false
  /** Monotonic milliseconds at which the exchange ended. */
  closedAt = 0
  /** Resolves when the exchange is over on this side. */
  readonly closed: Promise<this>

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.method = request.method ?? ''
    this.path = request.url ?? ''
    this.headers = request.headers
    this.rawHeaders = request.rawHeaders
    this.closed = new Promise((resolve) => {
      response.on('close', () => {
        this.aborted = !response.writableFinished
        this.closedAt = performance.now()
        resolve(this)
      })
    })
  }

  get json(): JsonObject {
    try {
      return JSON.parse(this.body) as JsonObject
    } catch (cause) {
      throw new Error(`${this.method} ${this.path} has no JSON: ${this.rawHeaders.join(' ')} ${JSON.stringify(this.body)}`, { cause })
    }
  }
}

const delivered = (response: ServerResponse, chunk: string | Buffer): Promise<void> =>
  new Promise((resolve) => {
    if (response.destroyed) resolve()
    else response.write(chunk, () => resolve())
  })

async function write(response: ServerResponse, seen: Seen, chunk: Buffer, split: number): Promise<void> {
  for (let at = 0; at < chunk.length; at += split) {
    const piece = chunk.subarray(at, at + split)
    seen.sentBytes += piece.length
    await delivered(response, piece)
  }
}

function finish(response: ServerResponse, ending: Ending | undefined): void {
  if (ending === 'stall') return
  if (ending === 'reset') response.socket?.resetAndDestroy()
  else if (ending === 'close') response.socket?.destroy()
  else response.end()
}

async function perform(response: ServerResponse, seen: Seen, answer: Answer): Promise<void> {
  if (answer.before) return finish(response, answer.before)
  const { status = 200, headers = {}, body = [], lineEnd = '\n' } = answer
  const coding: Record<string, string> = answer.gzip ? { 'content-encoding': 'gzip' } : {}
  response.writeHead(status, { ...headers, ...coding })
  response.flushHeaders()
  for (const step of body) {
    const piece = typeof step === 'function' ? await step() : step
    if (piece === undefined) continue
    const text = typeof piece === 'string' && lineEnd !== '\n' ? piece.replaceAll('\n', lineEnd) : piece
    const bytes = Buffer.from(text as string)
    const chunk = answer.gzip ? gzipSync(bytes) : bytes
    await write(response, seen, chunk, answer.split ?? Math.max(1, chunk.length))
  }
  finish(response, answer.after)
}

export interface Upstream {
  readonly url: string
  readonly requests: readonly Seen[]
  /** Replaces the script; the index of requests goes on. */
  script: Script
  /** The request of this index, as soon as its body has been read. */
  request(index: number): Promise<Seen>
  close(): Promise<void>
}

/** Starts the provider on a free port of the loopback. */
export async function startUpstream(script: Script): Promise<Upstream> {
  const requests: Seen[] = []
  const watchers: { index: number; resolve: (seen: Seen) => void }[] = []
  const server = createServer(async (request, response) => {
    const seen = new Seen(request, response)
    response.on('error', () => undefined)
    request.on('error', () => undefined)
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer)
    } catch {
      return
    }
    seen.body = Buffer.concat(chunks).toString('utf8')
    const index = requests.push(seen) - 1
    for (const watcher of watchers) if (watcher.index === index) watcher.resolve(seen)
    await perform(response, seen, await upstream.script(seen, index))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const upstream: Upstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    script,
    request: (index) => (requests[index] ? Promise.resolve(requests[index]) : new Promise((resolve) => watchers.push({ index, resolve }))),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return upstream
}

/** An address at which nothing listens: the port has no service (IANA), and none of ours gets one below 1,024. */
export const REFUSING_URL = 'http://127.0.0.1:4'

/** An address with TLS whose handshake is never answered: no connection ever stands. */
export async function startMuteUpstream(): Promise<{ url: string; connected: Promise<void>; close(): void }> {
  const sockets: Socket[] = []
  const connected = new Gate()
  const server = createTcpServer((socket) => {
    sockets.push(socket.on('error', () => undefined))
    connected.open()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = (): void => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return { url: `https://127.0.0.1:${port}`, connected: connected.opened, close }
}

/** A promise with its handle outside: the gate that a test opens. */
export class Gate {
  readonly opened: Promise<void>
  open: () => void = () => undefined

  constructor() {
    this.opened = new Promise((resolve) => {
      this.open = resolve
    })
  }

  /** A step of an answer's body: waits here. */
  readonly step = async (): Promise<undefined> => {
    await this.opened
    return undefined
  }
}

export const JSON_TYPE = { 'content-type': 'application/json' }
export const SSE_TYPE = { 'content-type': 'text/event-stream; charset=utf-8' }

export function jsonAnswer(body: unknown, status = 200, headers: Record<string, string> = {}): Answer {
  return { status, headers: { ...JSON_TYPE, ...headers }, body: [JSON.stringify(body)] }
}

export function sseAnswer(body: Answer['body'], more: Omit<Answer, 'body'> = {}): Answer {
  return { headers: SSE_TYPE, body, ...more }
}
