/** Requests of the control room to the gateway's own public listener: what its pages show is what any client of the API gets. */
import type { Agent as HttpAgent, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { pipeline } from 'node:stream'
import { Fault } from '../../core/faults.ts'
import { Agent, request as open } from '../../core/node-http.ts'
import { secretHash } from '../../core/secret.ts'
import { visitorHeader } from '../../core/visitor-header.ts'

/** Of a page's request, what the API reads; never the cookie. */
const SENT = ['accept', 'anthropic-version', 'cache-control', 'content-length', 'content-type', 'transfer-encoding', 'if-none-match']
/** Of the reply, what belongs to one connection. */
const DROPPED: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding', 'set-cookie', 'strict-transport-security'])
/** Connections to the public listener at once; further requests wait for one. */
const MAX_SOCKETS = 256

export interface PublicApiOptions {
  /** Address of the listener, once it listens. */
  readonly url: () => string | undefined
  /** Path of a unix socket on which it is reached, where its port speaks TLS. */
  readonly socketPath?: string | undefined
  /** True where a connection from this machine has to begin with a header of the PROXY protocol. */
  readonly sendsProxyHeader: () => boolean
  /** Shows the public listener that the address of a visitor comes from the control room. */
  readonly operatorSecret: string
}

export interface Whole {
  readonly status: number
  readonly body: string
  /** True where the key opens nothing, also if that is refused for its number. */
  readonly isUnusable: boolean
}

export class PublicApi {
  private readonly options: PublicApiOptions
  private readonly agent: HttpAgent
  private readonly roomHash: string

  constructor(options: PublicApiOptions) {
    this.options = options
    this.roomHash = secretHash(options.operatorSecret)
    this.agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS })
    const { sendsProxyHeader, socketPath } = options
    this.agent.createConnection = ((target: AddressInfo & { host: string }) => {
      if (socketPath !== undefined) return connect(socketPath)
      const socket = connect(target.port, target.host)
      // Section 2.1 of the protocol: the address of the connection itself counts.
      if (sendsProxyHeader()) socket.write('PROXY UNKNOWN\r\n')
      return socket
    }) as unknown as HttpAgent['createConnection']
  }

  /** Looks up a key that this visitor shows. @throws Fault 503. */
  ownKey(secret: string, address: string): Promise<Whole> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${secret}`, ...visitorHeader(address, this.roomHash) }
      const outgoing = open(this.target('/v1/key'), { agent: this.agent, headers }, (reply) => {
        let body = ''
        reply.setEncoding('utf8').on('data', (text: string) => {
          body += text
        })
        const { statusCode: status = 502 } = reply
        // This 429 alone has a rate: it is made once the key has been found unusable.
        const isUnusable = status === 401 || (status === 429 && reply.headers['x-ratelimit-limit'] !== undefined)
        reply.on('end', () => resolve({ status, body, isUnusable })).on('error', reject)
      })
      outgoing.on('error', (cause) => reject(unavailable(cause))).end()
    })
  }

  /**
   * Sends a page's request on and its reply back, both as they come. Resolves with the status once the reply has begun.
   * @throws Fault 503, with nothing replied.
   */
  forward(
    request: IncomingMessage,
    response: ServerResponse,
    sent: { path: string; authorization: string; address: string },
  ): Promise<number> {
    const headers: OutgoingHttpHeaders = { authorization: sent.authorization, ...visitorHeader(sent.address, this.roomHash) }
    for (const name of SENT) if (request.headers[name] !== undefined) headers[name] = request.headers[name]
    return new Promise((resolve, reject) => {
      const options = { agent: this.agent, method: request.method, headers }
      const outgoing = open(this.target(sent.path), options, (reply) => {
        const status = reply.statusCode ?? 502
        response.writeHead(status, {
          ...replyHeaders(reply),
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
          'cross-origin-resource-policy': 'same-origin',
        })
        // Both ends are closed where one of them fails; the caller has left, or sees the reply cut.
        pipeline(reply, response, () => {})
        resolve(status)
      })
      response.once('close', () => outgoing.destroy())
      pipeline(request, outgoing, (error) => {
        if (error) reject(unavailable(error))
      })
    })
  }

  close(): void {
    this.agent.destroy()
  }

  private target(path: string): string {
    const url = this.options.url()
    if (url === undefined) throw new Fault('unavailable', { message: 'The gateway does not listen yet' })
    if (this.options.socketPath !== undefined) return `http://localhost${path}`
    // An address that stands for all of this machine's is reached at its own.
    return `${url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')}${path}`
  }
}

function replyHeaders({ headers }: IncomingMessage): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !DROPPED.has(name) && !name.startsWith('access-control-')))
}

const unavailable = (cause: unknown): Fault =>
  new Fault('unavailable', { message: "The gateway's public listener cannot be reached from the control room", cause })
