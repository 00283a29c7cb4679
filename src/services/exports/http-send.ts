/** One request with a body, within a time; redirects are not followed, so that credentials go to the configured address alone. */
import { type Agent, request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { Clock } from '../../core/clock.ts'
import { ServiceConnections } from '../connections/service-connections.ts'
import { DeliveryError } from './destination.ts'

export interface HttpRequest {
  readonly method: 'PUT' | 'POST'
  /** Path and query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export interface HttpReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Its first bytes. */
  readonly text: string
}

/** Bytes of a reply that are looked at. */
const MAX_READ = 16_384

export class HttpSender {
  private readonly origin: string
  private readonly timeout: number
  private readonly clock: Clock
  private readonly agent: Agent
  private readonly request: typeof plainRequest

  /** @param timeout milliseconds for everything. */
  constructor(origin: string, timeout: number, clock: Clock) {
    const isSecure = origin.startsWith('https:')
    this.origin = origin
    this.timeout = timeout
    this.clock = clock
    this.agent = new ServiceConnections({ agent: { keepAlive: true, maxSockets: 1 } }).agent(isSecure ? 'https:' : 'http:')
    this.request = isSecure ? secureRequest : plainRequest
  }

  /** Rejects with a `DeliveryError` that has the code of a network error, or `timeout`. */
  send({ method, path, headers, body }: HttpRequest): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      const call = this.request(`${this.origin}${path}`, {
        method,
        agent: this.agent,
        headers: { ...headers, 'content-length': body.length },
      })
      const timer = this.clock.after(this.timeout, () => fail('timeout'))
      const fail = (why: string): void => {
        timer.cancel()
        call.destroy()
        reject(new DeliveryError(why))
      }
      call.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? 'failed'))
      call.on('response', (reply) => {
        let text = ''
        reply.setEncoding('latin1')
        reply.on('data', (piece: string) => {
          if (text.length < MAX_READ) text += piece
        })
        reply.on('error', () => fail('cut'))
        reply.on('end', () => {
          timer.cancel()
          if (reply.complete) resolve({ status: reply.statusCode ?? 0, headers: reply.headers, text: text.slice(0, MAX_READ) })
          else fail('cut')
        })
      })
      call.end(body)
    })
  }

  close(): void {
    this.agent.destroy()
  }
}
