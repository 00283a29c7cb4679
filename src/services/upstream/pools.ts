/** One connection pool per provider address, kept over reloads: connections of ours for requests whose body is at hand, undici's for all others. */

import type { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import type { Dispatcher as DispatcherType } from 'undici'
// Not the package's entry point, which loads 13 MB of fetch, WebSocket, caches and mocks.
import buildConnector from 'undici/lib/core/connect.js'
import symbols from 'undici/lib/core/symbols.js'
import Client from 'undici/lib/dispatcher/client.js'
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import { type ConnectionOwner, connectionOf, ProviderConnection, type WholeRequest } from './provider-connection.ts'
import { ReplyParser } from './reply-parser.ts'

interface ConnectionPoolOptions {
  /** Milliseconds. */
  connectTimeout: number
}

/** Idle connections that are kept: the rest of a burst is closed as it ends. */
export const MOST_IDLE = 512
/** Milliseconds that an idle connection is kept where the provider names no shorter time. */
const KEEP_ALIVE = 30_000

const { kSize } = symbols

/** Requests that a client has: its `stats.size`, without the object that `stats` makes. */
function sizeOf(client: Client): number {
  const size = (client as Client & { readonly [kSize]: number })[kSize]
  if (size === undefined) throw new TypeError('the client does not state its size')
  return size
}

/**
 * Where connections read to. Without it Node allocates 64 KB for every read and cuts them to what has come. All connections
 * share one buffer: each read is copied out of it before the next one begins (libuv, `uv__read` in src/unix/stream.c).
 */
const READS = {
  buffer: Buffer.allocUnsafeSlow(64 * 1024),
  callback(this: Socket, length: number): boolean {
    const bytes = READS.buffer.subarray(0, length)
    const connection = connectionOf(this)
    if (!connection) return this.push(Buffer.from(bytes))
    connection.read(bytes)
    return true
  },
}

/** One connection, or the attempt at one. */
interface Member {
  readonly client: Client
  connected: boolean
  /** Index among the idle ones; -1 while it has a request. */
  place: number
}

/**
 * Connections to one provider address, each with one request at a time; a free one is found in constant time. Requests whose
 * body is at hand go over those of `WholeRequests`, all others over undici's clients.
 * In place of undici's `Pool`, which walks all its clients twice per dispatch and keeps a client for ever
 * (`kGetDispatcher` and `kHasDispatcher` in lib/dispatcher/pool.js of 8.12.4). A connection that closes leaves at once.
 */
export class ConnectionPool extends Dispatcher {
  private readonly whole: WholeRequests
  private madeByClients = 0
  private readonly origin: string
  private readonly connector: buildConnector.connector
  private readonly members = new Set<Member>()
  /** The one used last is taken first, so that those of a burst run out. */
  private readonly idle: Member[] = []
  private ended = false

  constructor(origin: string, { connectTimeout }: ConnectionPoolOptions) {
    super()
    this.origin = origin
    // One for all connections: it keeps the TLS sessions to resume.
    this.connector = buildConnector({ allowH2: false, timeout: connectTimeout, onread: READS })
    this.whole = new WholeRequests({ origin, connector: this.connector })
  }

  /** Connections made so far. */
  get made(): number {
    return this.madeByClients + this.whole.made
  }

  /** Connections and attempts at one, idle ones among them. */
  get size(): number {
    return this.members.size + this.whole.size
  }

  get idleCount(): number {
    return this.idle.length + this.whole.idleCount
  }

  /** True where a request whose body is at hand goes over a connection that stands already. */
  get isReady(): boolean {
    return this.whole.idleCount > 0
  }

  /** @returns true: there is no limit at which a request waits for a connection. */
  override dispatch(options: DispatcherType.DispatchOptions, handler: DispatcherType.DispatchHandler): boolean {
    if (!this.ended && this.whole.send(options, handler)) return true
    const member = this.idle.pop() ?? this.open()
    member.place = -1
    member.client.dispatch(options, handler)
    // A request that failed at once has not made the client busy, so it will not report that it is free again.
    if (sizeOf(member.client) === 0) this.drop(member)
    return true
  }

  /**
   * Closes what is idle: the connection used last has turned out to be closed by the provider, and these have been idle for
   * longer.
   */
  dropIdle(): void {
    this.whole.dropIdle()
    for (const member of [...this.idle]) this.drop(member)
  }

  /** Ends every connection, with what is under way on it. */
  async end(): Promise<void> {
    this.ended = true
    this.whole.end()
    const clients = [...this.members].map(({ client }) => client)
    this.members.clear()
    this.idle.length = 0
    await Promise.all(clients.map((client) => client.destroy()))
  }

  private open(): Member {
    const client = new Client(this.origin, {
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: KEEP_ALIVE,
      // The time-outs of a running call are ours, on the injected clock: the client's own are coarse and comments reset them.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: this.connector,
    })
    // A request that comes too late gets the client's own error.
    if (this.ended) void client.destroy()
    const member: Member = { client, connected: false, place: -1 }
    this.members.add(member)
    client.on('connect', () => {
      member.connected = true
      this.madeByClients++
    })
    client.on('disconnect', () => {
      member.connected = false
      // With a request that has not been written yet the client connects again by itself.
      if (sizeOf(client) === 0) this.drop(member)
    })
    client.on('connectionError', () => this.drop(member))
    client.on('drain', () => this.free(member))
    return member
  }

  /** The client can take a request again. */
  private free(member: Member): void {
    if (member.place !== -1 || !this.members.has(member)) return
    if (!member.connected || this.idle.length >= MOST_IDLE) this.drop(member)
    else member.place = this.idle.push(member) - 1
  }

  private drop(member: Member): void {
    if (!this.members.delete(member)) return
    if (member.place !== -1) {
      const last = this.idle.pop()
      if (last && last !== member) {
        this.idle[member.place] = last
        last.place = member.place
      }
      member.place = -1
    }
    // `close` lets a running request end first.
    if (!member.client.destroyed) void member.client.close()
  }
}

export interface PoolSettings {
  origin: string
  /** Milliseconds. */
  connectTimeout: number
}

/** Connections that a pool has made so far: as many before a call as after it, and the call went over one that had served before. */
export function connectionsMade(pool: DispatcherType): number | undefined {
  return pool instanceof ConnectionPool ? pool.made : undefined
}

/** True where a call goes over a connection that stands already. */
export function isConnected(pool: DispatcherType): boolean {
  return pool instanceof ConnectionPool && pool.isReady
}

export class Pools {
  private readonly pools = new Map<string, ConnectionPool>()
  /** The same by the settings' own identity: callers that keep theirs pay for no text key. */
  private known = new WeakMap<PoolSettings, ConnectionPool>()

  for(settings: PoolSettings): ConnectionPool {
    let pool = this.known.get(settings)
    if (!pool) {
      pool = this.open(settings)
      this.known.set(settings, pool)
    }
    return pool
  }

  private open({ origin, connectTimeout }: PoolSettings): ConnectionPool {
    const key = `${origin} ${connectTimeout}`
    let pool = this.pools.get(key)
    if (!pool) {
      pool = new ConnectionPool(origin, { connectTimeout })
      this.pools.set(key, pool)
    }
    return pool
  }

  async close(): Promise<void> {
    await Promise.all([...this.pools.values()].map((pool) => pool.end()))
    this.pools.clear()
    this.known = new WeakMap()
  }
}

/** Milliseconds between two looks for idle connections whose time is over. */
const LOOK = 1_000

interface WholeRequestsOptions {
  /** Scheme, host and port. */
  readonly origin: string
  readonly connector: buildConnector.connector
}

/**
 * Sends a request and reads its reply at half of what undici's client costs, which has queues and a stream for each side of a
 * connection (docs/decisions/0016-connections-to-providers.md). undici's connector still makes the connections, with TLS, its
 * sessions and the time limit, and Node's parser reads the replies.
 */
class WholeRequests implements ConnectionOwner {
  /** Connections made so far. */
  made = 0
  private readonly connector: buildConnector.connector
  private readonly target: buildConnector.Options
  private readonly connections = new Set<ProviderConnection>()
  /** The one used last is taken first, so that those of a burst run out. */
  private readonly idle: ProviderConnection[] = []
  /** The head of the last request but for its last field, which alone differs from one request to the next. */
  private last: { path: string; fields: readonly unknown[]; text: string } | undefined
  private looking: NodeJS.Timeout | undefined

  constructor({ origin, connector }: WholeRequestsOptions) {
    const { host, hostname, protocol, port } = new URL(origin)
    this.connector = connector
    this.target = { host, hostname: hostname.replace(/^\[|\]$/g, ''), protocol, port }
  }

  get size(): number {
    return this.connections.size
  }

  get idleCount(): number {
    return this.idle.length
  }

  /** @returns false for a request that only undici sends, or refuses. */
  send({ method, path, headers, body }: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const isAtHand = typeof body === 'string' || Buffer.isBuffer(body)
    if (method !== 'POST' || !isAtHand || !Array.isArray(headers) || !ReplyParser.isThere) return false
    const head = this.headOf(path, headers)
    if (head === undefined) return false
    const connection = this.take() ?? this.open()
    connection.send({ head, body }, handler)
    return true
  }

  again(request: WholeRequest, handler: Dispatcher.DispatchHandler): void {
    this.open().send(request, handler)
  }

  opened(): void {
    this.made++
  }

  free(connection: ProviderConnection): void {
    if (this.idle.length >= MOST_IDLE) {
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
  private headOf(path: string, headers: readonly unknown[]): string | undefined {
    const { last } = this
    const shared = Math.max(0, headers.length - 2)
    if (last?.path === path && last.fields.length === shared && startsWith(headers, last.fields))
      return withFields(last.text, headers, shared)
    if (!path.startsWith('/') || NOT_IN_A_PATH.test(path)) return undefined
    const fields = headers.slice(0, shared)
    const start = `POST ${path} HTTP/1.1\r\nhost: ${this.target.host ?? ''}\r\nconnection: keep-alive\r\n`
    const text = withFields(start, fields, 0)
    if (text === undefined) return undefined
    // In one piece: every request that begins with it would put it together again.
    this.last = { path, fields, text: Buffer.from(text, 'latin1').toString('latin1') }
    return withFields(text, headers, shared)
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
    this.connector(this.target, (error, socket) => connection.connected(error, socket))
    return connection
  }

  private readonly look = (): void => {
    const now = performance.now()
    for (const connection of this.idle.filter(({ usableUntil }) => usableUntil <= now)) connection.close()
    this.looking = this.idle.length > 0 ? setTimeout(this.look, LOOK).unref() : undefined
  }
}

/** What undici refuses in a path and in the value of a header (lib/core/request.js and lib/core/util.js of 8.12.4). */
const NOT_IN_A_PATH = /[^\u0021-\u00ff]/
const NOT_IN_A_VALUE = /[^\t\x20-\x7e\x80-\xff]/

/** Names of headers, but for those that decide about the connection or the framing. */
const ORDINARY = /^(?!(?:host|connection|content-length|expect|keep-alive|transfer-encoding|upgrade)$)[\w!#$%&'*+\-.^`|~]+$/i

/** Names that were found ordinary: providers have few. */
const ordinary = new Set<string>()
const MOST_NAMES = 1_000

function isOrdinary(name: string): boolean {
  if (ordinary.has(name)) return true
  if (!ORDINARY.test(name)) return false
  if (ordinary.size < MOST_NAMES) ordinary.add(name)
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
