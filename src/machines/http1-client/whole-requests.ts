/** Sends requests whose body is at hand over connections of its own: chooses the connection, and writes the head of the request. */
import type { IncomingHttpHeaders } from 'node:http'
import { performance } from 'node:perf_hooks'
import type { Dispatcher } from 'undici'
import type { Connector } from '../../services/connections/connector.ts'
import { MACHINES_ON } from '../switch.ts'
import { type ConnectionOwner, ProviderConnection } from './provider-connection.ts'
import { ReplyParser } from './reply-parser.ts'
import type { RunningRequest, WholeRequest } from './running-request.ts'

/** Milliseconds between two looks for idle connections whose time is over. */
const LOOK = 1_000

/** Idle connections that are kept: the rest of a burst is closed as it ends. */
export const MAX_IDLE = 512

export interface RequestOptions extends Dispatcher.DispatchOptions {
  /** A request of a caller whose reply goes on to it: its headers are an object, and all fields of the reply's head count. */
  readonly isRelayed?: boolean
}

interface WholeRequestsOptions {
  /** Scheme, host and port. */
  readonly origin: string
  readonly connector: Connector
  /** Milliseconds after which a connection takes no further request. */
  readonly maxAge: number
  /** A connection had been closed while it was idle. */
  readonly stale: () => void
  /** A provider has sent bytes that nothing requested. */
  readonly surplus: () => void
}

/**
 * Sends a request and reads its reply at half of what undici's client costs, which has queues and a stream for each side of a
 * connection (docs/decisions/0016-connections-to-providers.md). Node's parser reads the replies.
 */
export class WholeRequests implements ConnectionOwner {
  /** Connections made so far. */
  made = 0
  readonly maxAge: number
  singleUseUntil = 0
  readonly stale: () => void
  readonly surplus: () => void
  private readonly connector: Connector
  /** As the field `host` has it. */
  private readonly host: string
  private readonly connections = new Set<ProviderConnection>()
  /** The one used last is taken first, so that those of a burst run out. */
  readonly idle: ProviderConnection[] = []
  /** The head of the last request but for its last field, which alone differs from one request to the next. */
  private last: { path: string; fields: readonly unknown[]; text: string } | undefined
  private looking: NodeJS.Timeout | undefined

  constructor({ origin, connector, maxAge, stale, surplus }: WholeRequestsOptions) {
    this.connector = connector
    this.maxAge = maxAge
    this.stale = stale
    this.surplus = surplus
    this.host = new URL(origin).host
  }

  get size(): number {
    return this.connections.size
  }

  /** @param anew true for a new connection. @returns undefined for a request that only undici sends, or refuses. */
  send(options: RequestOptions, handler: Dispatcher.DispatchHandler, anew: boolean): RunningRequest | undefined {
    if (!MACHINES_ON || !ReplyParser.isThere) return undefined
    const request = options.isRelayed ? this.relayed(options) : this.own(options)
    if (request === undefined) return undefined
    const connection = anew ? this.open() : (this.take() ?? this.open())
    return connection.send(request, handler)
  }

  private own({ method, path, headers, body }: RequestOptions): WholeRequest | undefined {
    if (method !== 'POST' || !(typeof body === 'string' || Buffer.isBuffer(body)) || !Array.isArray(headers)) return undefined
    const head = this.buildHead(path, headers)
    return head === undefined ? undefined : { head, body, isRelayed: false, isHead: false }
  }

  /** A request of a caller: of any method, with or without a body. */
  private relayed({ method, path, headers, body }: RequestOptions): WholeRequest | undefined {
    if (!METHOD.test(method) || !isPath(path) || !(body === null || Buffer.isBuffer(body))) return undefined
    const head = withFields(this.startLine(method, path), flatList(headers as IncomingHttpHeaders), 0)
    if (head === undefined) return undefined
    const more = { isRelayed: true, isHead: method === 'HEAD' }
    if (body !== null) return { head, body, ...more }
    return { head: `${head}${HAVE_CONTENT.has(method) ? 'content-length: 0\r\n' : ''}\r\n`, body: undefined, ...more }
  }

  again(request: WholeRequest, handler: Dispatcher.DispatchHandler): void {
    this.open().send(request, handler)
  }

  opened(): void {
    this.made++
  }

  free(connection: ProviderConnection): void {
    if (this.idle.length >= MAX_IDLE) {
      connection.close()
      return
    }
    this.idle.push(connection)
    this.looking ??= setTimeout(this.look, LOOK).unref()
  }

  closed(connection: ProviderConnection): void {
    this.connections.delete(connection)
    const place = this.idle.lastIndexOf(connection)
    if (place !== -1) this.idle.splice(place, 1)
  }

  /** Closes the connections that have no request. */
  dropIdle(): void {
    for (const connection of [...this.idle]) connection.close()
  }

  /** Ends every connection, with what is under way on it. */
  end(): void {
    clearTimeout(this.looking)
    for (const connection of [...this.connections]) connection.fail(new Error('the gateway has closed its connections'))
  }

  /** @param headers flat list. @returns undefined where something in it is not ordinary. */
  private buildHead(path: string, headers: readonly unknown[]): string | undefined {
    const { last } = this
    const shared = Math.max(0, headers.length - 2)
    if (last?.path === path && last.fields.length === shared && startsWith(headers, last.fields))
      return withFields(last.text, headers, shared)
    if (!isPath(path)) return undefined
    const fields = headers.slice(0, shared)
    const text = withFields(this.startLine('POST', path), fields, 0)
    if (text === undefined) return undefined
    // Made one string: V8 would otherwise join its pieces again for every request that begins with it.
    this.last = { path, fields, text: Buffer.from(text, 'latin1').toString('latin1') }
    return withFields(text, headers, shared)
  }

  private startLine(method: string, path: string): string {
    return `${method} ${path} HTTP/1.1\r\nhost: ${this.host}\r\nconnection: keep-alive\r\n`
  }

  private take(): ProviderConnection | undefined {
    const connection = this.idle.pop()
    if (connection === undefined || connection.usableUntil > performance.now()) return connection
    connection.close()
    return this.take()
  }

  private open(): ProviderConnection {
    const connection = new ProviderConnection(this)
    this.connections.add(connection)
    connection.attempt = this.connector.connect((error, socket, byEvents) => connection.connected(error, socket, byEvents))
    return connection
  }

  private readonly look = (): void => {
    const now = performance.now()
    for (const connection of this.idle.filter(({ usableUntil }) => usableUntil <= now)) connection.close()
    this.looking = this.idle.length > 0 ? setTimeout(this.look, LOOK).unref() : undefined
  }
}

/** Methods that Node's server takes, but for CONNECT, whose reply has another meaning. */
const METHOD = /^(?!CONNECT$)[A-Z-]+$/

/** Methods whose request states that it has no content: servers refuse some of them without a length (RFC 9110 section 8.6). */
const HAVE_CONTENT: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'QUERY', 'PROPFIND', 'PROPPATCH'])

const isPath = (path: string): boolean => path.startsWith('/') && !NOT_IN_A_PATH.test(path)

/** @returns name, value, name, value. */
function flatList(headers: IncomingHttpHeaders): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    Array.isArray(value) ? value.flatMap((each) => [name, each]) : [name, value ?? ''],
  )
}

/** Characters that undici refuses in a path and in the value of a header (lib/core/request.js and lib/core/util.js of 8.12.4). */
const NOT_IN_A_PATH = /[^\u0021-\u00ff]/
const NOT_IN_A_VALUE = /[^\t\x20-\x7e\x80-\xff]/

/** Names of headers, but for those that decide about the connection or the framing. */
const ORDINARY = /^(?!(?:host|connection|content-length|expect|keep-alive|transfer-encoding|upgrade)$)[\w!#$%&'*+\-.^`|~]+$/i

/** Names that were found ordinary: providers have few. */
const ordinary = new Set<string>()
const MAX_NAMES = 1_000

function isOrdinary(name: string): boolean {
  if (ordinary.has(name)) return true
  if (!ORDINARY.test(name)) return false
  if (ordinary.size < MAX_NAMES) ordinary.add(name)
  return true
}

function startsWith(headers: readonly unknown[], fields: readonly unknown[]): boolean {
  for (let i = 0; i < fields.length; i++) if (headers[i] !== fields[i]) return false
  return true
}

/** @param headers flat list, of which those from `from` on are added. @returns undefined where something in them is not ordinary. */
function withFields(head: string, headers: readonly unknown[], from: number): string | undefined {
  let text = head
  for (let i = from; i < headers.length; i += 2) {
    const name = headers[i]
    const value = headers[i + 1]
    if (typeof name !== 'string' || typeof value !== 'string' || !isOrdinary(name) || NOT_IN_A_VALUE.test(value)) return undefined
    text += `${name}: ${value}\r\n`
  }
  return text
}
