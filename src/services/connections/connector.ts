/**
 * Makes the connections to one origin: the look-up of its name, TCP, the tunnel through a proxy, TLS. In place of undici's connector,
 * which looks a name up for every connection, and forgets TLS sessions within seconds.
 */
import { connect as connectTcp, isIP, type OnReadOpts, type Socket, type TcpNetConnectOpts } from 'node:net'
import { type ConnectionOptions, connect as connectTls, type SecureContext } from 'node:tls'
import type { NameLookups } from '../../core/name-lookups.ts'
import { ConnectionFailure, EXHAUSTED, lacksFiles, type Phase, phaseFailure } from './connection-failure.ts'
import { proxyCredentials } from './proxy.ts'
import { openTunnel } from './proxy-tunnel.ts'

export interface ConnectorOptions {
  /** Scheme, host and port. */
  readonly origin: string
  /** Milliseconds for all steps together. */
  readonly timeout: number
  readonly names: NameLookups
  /** @throws ConnectionFailure */
  readonly proxy: () => URL | undefined
  /** Authorities and certificate of its own. @throws where they cannot be read. */
  readonly secureContext: () => SecureContext | undefined
  /** Buffer into which its sockets read, but for those that go through a proxy. Absent: as Node does. */
  readonly onread?: OnReadOpts | undefined
  /** Called with the code of the error where a limit of this process stops a connection. */
  readonly onExhausted?: ((code: string) => void) | undefined
}

/** Called once. @param byEvents true for a socket whose bytes come by its `data` events, not by `onread`. */
export type ConnectionReceiver = (error: Error | null, socket: Socket | null, byEvents: boolean) => void

/** Milliseconds for one of several addresses: two round trips to the other side of the world, and a packet that is lost. Node's 250 give up those. */
const PER_ADDRESS = 1_000
/** Milliseconds of silence before TCP looks whether the other side is there. */
const KEEP_ALIVE = 60_000

export class Connector {
  readonly options: ConnectorOptions
  readonly target: { readonly hostname: string; readonly port: number; readonly isSecure: boolean }
  /** The last TLS session, so that the next connection resumes it. */
  session: Buffer | undefined

  constructor(options: ConnectorOptions) {
    const { hostname, protocol, port } = new URL(options.origin)
    const isSecure = protocol === 'https:'
    this.options = options
    this.target = { hostname: bare(hostname), port: Number(port) || (isSecure ? 443 : 80), isSecure }
  }

  /** @returns the attempt, which can be given up. */
  connect(receive: ConnectionReceiver): Connecting {
    const attempt = new Connecting(this, receive)
    // Never within the call: the caller has not kept the attempt yet.
    queueMicrotask(() => attempt.start())
    return attempt
  }
}

const bare = (hostname: string): string => hostname.replace(/^\[|\]$/g, '')

/** An attempt at a connection. */
export class Connecting {
  phase: Phase = 'name'
  private readonly connector: Connector
  private receive: ConnectionReceiver | undefined
  private socket: Socket | undefined
  private timer: NodeJS.Timeout | undefined
  /** Target of the connection: the provider's host, or its proxy's. */
  private host = ''
  private isProxied = false

  constructor(connector: Connector, receive: ConnectionReceiver) {
    this.connector = connector
    this.receive = receive
  }

  /** Ends the attempt; the receiver is not called. */
  cancel(): void {
    this.receive = undefined
    clearTimeout(this.timer)
    this.socket?.destroy()
  }

  start(): void {
    const { connector } = this
    if (!this.receive) return
    const { timeout } = connector.options
    this.timer = setTimeout(() => this.fail(new ConnectionFailure(this.phase, 'TIMEOUT', { timedOut: true })), timeout)
    let proxy: URL | undefined
    try {
      proxy = connector.options.proxy()
    } catch (thrown) {
      this.fail(thrown as Error)
      return
    }
    const { target } = connector
    if (proxy) this.throughProxy(proxy)
    else this.reach(target.hostname, target.port, (options) => (target.isSecure ? this.openTls(options) : this.openTcp(options)))
  }

  /** Finds the addresses of a host and opens a connection to one of them. */
  private reach(host: string, port: number, open: (options: TcpNetConnectOpts) => void): void {
    const options = { host, port }
    this.host = host
    if (isIP(host) !== 0) {
      this.enter('connect')
      open(options)
      return
    }
    this.connector.options.names.addresses(host, (error, addresses) => {
      if (!this.receive) return
      if (error) {
        this.fail(lacksFiles() ? new ConnectionFailure(this.phase, 'EMFILE', { cause: error }) : phaseFailure(this.phase, error))
        return
      }
      this.enter('connect')
      open({
        ...options,
        autoSelectFamily: true,
        autoSelectFamilyAttemptTimeout: PER_ADDRESS,
        lookup: (_host, { all }, callback) => {
          const [first] = addresses
          if (all) callback(null, [...addresses])
          else callback(null, first?.address ?? '', first?.family)
        },
      })
    })
  }

  /** All that comes before the tunnel stands is the proxy's. */
  private enter(phase: Phase): void {
    if (!this.isProxied) this.phase = phase
  }

  private openTcp(options: TcpNetConnectOpts): void {
    const { onread } = this.connector.options
    this.follow(connectTcp({ ...options, ...(onread && { onread }) }), 'connect', (socket) => this.succeed(socket))
  }

  private openTls(options: TcpNetConnectOpts): void {
    const { onread } = this.connector.options
    const socket = this.secure({ ...options, ...(onread && { onread }) } as ConnectionOptions)
    socket?.once('connect', () => {
      this.phase = 'tls'
    })
  }

  /** TLS with the provider. */
  private secure(way: ConnectionOptions): Socket | undefined {
    const { connector } = this
    const { hostname } = connector.target
    let secureContext: SecureContext | undefined
    try {
      secureContext = connector.options.secureContext()
    } catch (thrown) {
      this.fail(phaseFailure('tls', thrown as NodeJS.ErrnoException))
      return undefined
    }
    const { session } = connector
    const socket = connectTls({
      ...way,
      host: hostname,
      ...(isIP(hostname) === 0 && { servername: hostname }),
      ...(session && { session }),
      ...(secureContext && { secureContext }),
      ALPNProtocols: ['http/1.1'],
    })
    socket.on('session', (given) => {
      connector.session = given
    })
    this.follow(socket, 'secureConnect', () => this.succeed(socket))
    return socket
  }

  private throughProxy(proxy: URL): void {
    const { target } = this.connector
    this.isProxied = true
    this.phase = 'proxy'
    const host = bare(proxy.hostname)
    const isSecure = proxy.protocol === 'https:'
    this.reach(host, Number(proxy.port) || (isSecure ? 443 : 80), (way) => {
      const socket = isSecure ? connectTls({ ...way, ...(isIP(host) === 0 && { servername: host }) }) : connectTcp(way)
      this.follow(socket, isSecure ? 'secureConnect' : 'connect', () => {
        openTunnel(socket, target, { credentials: proxyCredentials(proxy), isOver: () => !this.receive }, (error) => {
          if (error) this.fail(error)
          else if (target.isSecure) {
            this.phase = 'tls'
            this.secure({ socket })
          } else this.succeed(socket)
        })
      })
    })
  }

  /** Waits until the socket stands. */
  private follow(socket: Socket, event: 'connect' | 'secureConnect', stands: (socket: Socket) => void): void {
    this.socket = socket
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE)
    socket.once(event, () => this.receive && stands(socket)).on('error', (error) => this.fail(phaseFailure(this.phase, error)))
  }

  private succeed(socket: Socket): void {
    const { receive, connector } = this
    if (!receive) return
    this.receive = undefined
    clearTimeout(this.timer)
    connector.options.names.connected(this.host, socket.remoteFamily === 'IPv6' ? 6 : 4)
    receive(null, socket, this.isProxied)
  }

  private fail(error: Error): void {
    const { receive, connector, phase } = this
    if (!receive) return
    this.cancel()
    if (phase === 'connect' || phase === 'proxy') connector.options.names.doubt(this.host)
    const { code } = error as NodeJS.ErrnoException
    if (code !== undefined && EXHAUSTED.has(code)) connector.options.onExhausted?.(code)
    receive(error, null, false)
  }
}
