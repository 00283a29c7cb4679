/** Requests of the control room to the gateway's own public listener: what its pages show is what any client of the API gets. */
import type { Agent as HttpAgent, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { pipeline } from 'node:stream'
import { Fault } from '../../core/faults.ts'
import { Agent, request as open } from '../../core/node-http.ts'

/** Of a page's request, what the API reads; never the cookie. */
const SENT = ['accept', 'anthropic-version', 'cache-control', 'content-length', 'content-type', 'transfer-encoding', 'if-none-match']
/** Of the reply, what belongs to one connection. */
const DROPPED: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding', 'set-cookie', 'strict-transport-security'])

export interface PublicApiOptions {
  /** Address of the listener, once it listens. */
  readonly url: () => string | undefined
  /** True where a connection from this machine has to begin with a header of the PROXY protocol. */
  readonly sendsProxyHeader: () => boolean
}

export interface Whole {
  readonly status: number
  readonly body: string
}

export class PublicApi {
  private readonly options: PublicApiOptions
  private readonly agent: HttpAgent

  constructor(options: PublicApiOptions) {
    this.options = options
    this.agent = new Agent({ keepAlive: true })
    const { sendsProxyHeader } = options
    this.agent.createConnection = ((target: AddressInfo & { host: string }) => {
      const socket = connect(target.port, target.host)
      // Section 2.1 of the protocol: the address of the connection itself counts.
      if (sendsProxyHeader()) socket.write('PROXY UNKNOWN\r\n')
      return socket
    }) as unknown as HttpAgent['createConnection']
  }

  /** GET with this key. @throws Fault 503. */
  get(path: string, secret: string): Promise<Whole> {
    return new Promise((resolve, reject) => {
      const outgoing = open(this.target(path), { agent: this.agent, headers: { authorization: `Bearer ${secret}` } }, (reply) => {
        let body = ''
        reply.setEncoding('utf8').on('data', (text: string) => {
          body += text
        })
        reply.on('end', () => resolve({ status: reply.statusCode ?? 502, body })).on('error', reject)
      })
      outgoing.on('error', (cause) => reject(unavailable(cause))).end()
    })
  }

  /**
   * Sends a page's request on and its reply back, both as they come. Resolves with the status once the reply has begun.
   * @throws Fault 503, with nothing replied.
   */
  forward(request: IncomingMessage, response: ServerResponse, sent: { path: string; authorization: string }): Promise<number> {
    const headers: OutgoingHttpHeaders = { authorization: sent.authorization }
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
    // An address that stands for all of this machine's is reached at its own.
    return `${url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')}${path}`
  }
}

function replyHeaders({ headers }: IncomingMessage): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !DROPPED.has(name) && !name.startsWith('access-control-')))
}

const unavailable = (cause: unknown): Fault =>
  new Fault('unavailable', { message: "The gateway's public listener cannot be reached from the control room", cause })
