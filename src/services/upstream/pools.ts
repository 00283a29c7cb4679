/** One connection pool per provider address, kept over reloads: connections of ours for requests whose body is at hand, undici's for all others. */

import type { Agent } from 'node:http'
import type { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import type { Dispatcher as DispatcherType } from 'undici'
// Not the package's entry point, which loads 13 MB of fetch, WebSocket, caches and mocks.
import symbols from 'undici/lib/core/symbols.js'
import Client from 'undici/lib/dispatcher/client.js'
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import { type NameLookups, names } from '../../core/name-lookups.ts'
import { socketConnection } from '../../machines/http1-client/provider-connection.ts'
import { type RequestOptions, WholeRequests } from '../../machines/http1-client/whole-requests.ts'
import { createAgent } from '../connections/agent.ts'
import type { Phase } from '../connections/connection-failure.ts'
import { type ConnectionSettings, MAX_USE_MS, secureContext } from '../connections/connection-settings.ts'
import { type Connecting, Connector } from '../connections/connector.ts'
import { type ProxyEnvironment, proxyFor } from '../connections/proxy.ts'

export interface PoolsOptions {
  /** Variables that may name a proxy. */
  readonly env?: ProxyEnvironment
  readonly names?: NameLookups
  /** Called with the origin of a provider that has sent bytes which nothing requested. */
  readonly onSurplus?: (origin: string) => void
  /** Called with the code of the system's error each time that a limit of this process stops a connection. */
  readonly onExhausted?: (code: string) => void
}

/** Milliseconds for which no connection to an origin is used again after it has sent bytes that nothing requested. */
export const SINGLE_USE = 300_000

const { kSize } = symbols

/** Requests that a client has: its `stats.size`, without the object that `stats` makes. */
function queuedRequests(client: Client): number {
  const size = (client as Client & { readonly [kSize]: number })[kSize]
  if (size === undefined) throw new TypeError('the client does not state its size')
  return size
}

/**
 * Read buffer that all connections share: each read is copied out of it before the next one begins (libuv, `uv__read` in
 * src/unix/stream.c). Without it Node allocates 64 KB for every read and cuts them to what has come.
 */
const READS = {
  buffer: Buffer.allocUnsafeSlow(64 * 1024),
  callback(this: Socket, length: number): boolean {
    const bytes = READS.buffer.subarray(0, length)
    const connection = socketConnection(this)
    if (!connection) return this.push(Buffer.from(bytes))
    connection.read(bytes)
    return true
  },
}

/** A request that has been given to a pool. */
export interface Started {
  /** Stage that its connection waits for, where that does not stand yet. */
  readonly phase: Phase | undefined
  /** Ends it with this error, unless it has ended. */
  abort(reason: Error): void
}

/** A client of undici, for one request. */
class Member implements Started {
  readonly client: Client
  attempt: Connecting | undefined
  private readonly drop: (member: Member) => void

  constructor(client: Client, drop: (member: Member) => void) {
    this.client = client
    this.drop = drop
  }

  get phase(): Phase | undefined {
    return this.attempt?.phase
  }

  abort(reason: Error): void {
    void this.client.destroy(reason)
    this.attempt?.cancel()
    // The client reports nothing of a connection that it still waited for.
    this.drop(this)
  }
}

/**
 * Connections to one provider address, each with one request at a time; a free one is found in constant time. Requests whose
 * body is at hand go over those of `WholeRequests`. Each of the others, a body that is sent as it comes, has a connection of undici's to
 * itself: it could not be sent again over a new one, and undici does not report bytes that nothing requested
 * (docs/decisions/0055-pass-through-connections.md).
 */
export class ConnectionPool extends Dispatcher {
  private readonly whole: WholeRequests
  private madeByClients = 0
  readonly connector: Connector
  private readonly origin: string
  private readonly onSurplus: ((origin: string) => void) | undefined
  private readonly members = new Set<Member>()
  private ended = false

  constructor(
    { origin, connectTimeout, connection }: PoolSettings,
    { env = {}, names: lookups = names, onSurplus, onExhausted }: PoolsOptions,
  ) {
    super()
    const url = new URL(origin)
    this.origin = origin
    this.onSurplus = onSurplus
    this.connector = new Connector({
      origin,
      timeout: connectTimeout,
      names: lookups,
      proxy: () => proxyFor(url, connection?.proxy, env),
      secureContext: () => secureContext(connection),
      onread: READS,
      onExhausted,
    })
    this.whole = new WholeRequests({
      origin,
      connector: this.connector,
      maxAge: connection?.maxAge ?? MAX_USE_MS,
      stale: () => this.whole.dropIdle(),
      surplus: () => this.surplus(),
    })
  }

  /** Connections made so far. */
  get made(): number {
    return this.madeByClients + this.whole.made
  }

  /** Connections and attempts at one, idle ones among them. */
  get size(): number {
    return this.members.size + this.whole.size
  }

  /** Connections over which a request whose body is at hand goes at once. */
  get idleCount(): number {
    return this.whole.idle.length
  }

  /** @returns true: there is no limit at which a request waits for a connection. */
  override dispatch(options: DispatcherType.DispatchOptions, handler: DispatcherType.DispatchHandler): boolean {
    this.begin(options, handler)
    return true
  }

  /**
   * As `dispatch`.
   * @param anew true where the connection must be a new one.
   * @returns what ends the request, also before its connection stands.
   */
  begin(options: RequestOptions, handler: DispatcherType.DispatchHandler, anew = false): Started {
    const sent = this.ended ? undefined : this.whole.send(options, handler, anew)
    if (sent) return sent
    const member = this.open()
    member.client.dispatch(options, handler)
    // A request that failed at once has not made the client busy, so it will not report that it is free again.
    if (queuedRequests(member.client) === 0) this.drop(member)
    return member
  }

  /** Bytes that nothing requested may be another caller's, and what comes within the next request could not be distinguished from its reply. */
  private surplus(): void {
    this.whole.singleUseUntil = performance.now() + SINGLE_USE
    this.whole.dropIdle()
    this.onSurplus?.(this.origin)
  }

  /** Ends every connection, with what is under way on it. */
  async end(): Promise<void> {
    this.ended = true
    this.whole.end()
    const clients = [...this.members].map(({ client }) => client)
    this.members.clear()
    await Promise.all(clients.map((client) => client.destroy()))
  }

  private open(): Member {
    const client = new Client(this.origin, {
      pipelining: 1,
      allowH2: false,
      // The time-outs of a running call are ours, on the injected clock: the client's own are coarse and comments reset them.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (_target, callback) => {
        member.attempt = this.connector.connect((error, socket) => {
          member.attempt = undefined
          if (socket) callback(null, socket)
          else callback(error ?? new Error('no socket'), null)
        })
      },
    })
    // A request that comes too late gets the client's own error.
    if (this.ended) void client.destroy()
    const member = new Member(client, (ended) => this.drop(ended))
    this.members.add(member)
    client.on('connect', () => {
      this.madeByClients++
    })
    client.on('disconnect', () => {
      // With a request that has not been written yet the client connects again by itself.
      if (queuedRequests(client) === 0) this.drop(member)
    })
    client.on('connectionError', () => this.drop(member))
    client.on('drain', () => this.drop(member))
    return member
  }

  private drop(member: Member): void {
    // `close` lets a running request end first.
    if (this.members.delete(member) && !member.client.destroyed) void member.client.close()
  }
}

export interface PoolSettings {
  origin: string
  /** Milliseconds. */
  connectTimeout: number
  connection?: ConnectionSettings | undefined
}

export class Pools {
  private readonly options: PoolsOptions
  private readonly pools = new Map<string, ConnectionPool>()
  /** The same by the settings' own identity: callers that keep theirs pay for no text key. */
  private known = new WeakMap<PoolSettings, ConnectionPool>()

  constructor(options: PoolsOptions = {}) {
    this.options = options
  }

  for(settings: PoolSettings): ConnectionPool {
    let pool = this.known.get(settings)
    if (!pool) {
      pool = this.open(settings)
      this.known.set(settings, pool)
    }
    return pool
  }

  /** For requests by Node's own client: each has a connection to itself, made as those of the pool are. */
  agent(settings: PoolSettings): Agent {
    return createAgent(this.for(settings).connector)
  }

  /** True where a proxy stands in front of a provider. */
  isProxied(url: URL, connection: ConnectionSettings | undefined): boolean {
    return proxyFor(url, connection?.proxy, this.options.env ?? {}) !== undefined
  }

  private open(settings: PoolSettings): ConnectionPool {
    const { origin, connectTimeout, connection } = settings
    const key = JSON.stringify([origin, connectTimeout, connection])
    let pool = this.pools.get(key)
    if (!pool) {
      // Certificates and proxies that a reload has replaced: their pools serve what is open, and are forgotten.
      for (const [other, { size, connector }] of this.pools) if (size === 0 && connector.options.origin === origin) this.pools.delete(other)
      pool = new ConnectionPool(settings, this.options)
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
