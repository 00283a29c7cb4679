/** One export request over HTTP, by the rules of the OTLP specification 1.11 ("OTLP/HTTP Response", "Retryable Response Codes"). */
import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import type { Clock } from '../../core/clock.ts'
import { FirstUse } from '../../core/first-use.ts'
import { ServiceConnections } from '../connections/service-connections.ts'
import type { OtlpTarget } from './settings.ts'

export type Outcome =
  /** @property rejected records that the collector has left out. */
  | { readonly kind: 'taken'; readonly rejected: number }
  /** @property after milliseconds for which the collector wants to be left alone. */
  | { readonly kind: 'later'; readonly why: string; readonly after: number }
  | { readonly kind: 'refused'; readonly why: string }

const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504])
/** Bytes of a reply that are read. */
const MAX_REPLY_LENGTH = 64 * 1024

interface Transport {
  readonly agent: Agent
  request(url: string, options: object): ClientRequest
}

export class Delivery {
  /** Called when whatever waits is to end. */
  onAbort: (() => void) | undefined
  private readonly target: OtlpTarget
  private readonly clock: Clock
  private running: ClientRequest | undefined
  private readonly transport: FirstUse<Transport>

  constructor(target: OtlpTarget, clock: Clock) {
    this.target = target
    this.clock = clock
    this.transport = new FirstUse(async () => {
      const { protocol } = new URL(target.url)
      const { request } = protocol === 'https:' ? await import('node:https') : await import('../../core/node-http.ts')
      const connections = new ServiceConnections({ agent: { keepAlive: true, maxSockets: 1 } })
      return { agent: connections.agent(protocol), request: request as Transport['request'] }
    })
  }

  abort(): void {
    this.running?.destroy(new Error('aborted'))
    this.onAbort?.()
  }

  close(): void {
    void this.transport.ifMade(({ agent }) => agent.destroy())
  }

  /** Never rejects. */
  async send(plain: Buffer): Promise<Outcome> {
    const { headers, compression } = this.target
    try {
      const transport = await this.transport.get()
      const body = compression === 'gzip' ? await gzipped(plain) : plain
      const sent = {
        ...headers,
        'content-type': 'application/x-protobuf',
        'content-length': body.length,
        ...(compression === 'gzip' ? { 'content-encoding': 'gzip' } : undefined),
      }
      return await this.exchange(transport, sent, body)
    } catch (thrown) {
      return {
        kind: 'later',
        why: thrown instanceof Error ? ((thrown as NodeJS.ErrnoException).code ?? thrown.message) : 'failed',
        after: 0,
      }
    }
  }

  private exchange({ agent, request }: Transport, headers: object, body: Buffer): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const call = request(this.target.url, { method: 'POST', headers, agent })
      this.running = call
      const timer = this.clock.after(this.target.timeout, () => call.destroy(new Error('timeout')))
      call.on('error', reject)
      call.on('close', () => {
        timer.cancel()
        // Without a reply it has failed before; a reply that was cut has none of its events.
        reject(new Error('cut'))
      })
      call.on('response', (reply: IncomingMessage) => {
        const pieces: Buffer[] = []
        let size = 0
        reply.on('data', (piece: Buffer) => {
          size += piece.length
          if (size > MAX_REPLY_LENGTH) call.destroy(new Error('its reply is too long'))
          else pieces.push(piece)
        })
        reply.on('error', reject)
        reply.on('end', () => {
          timer.cancel()
          resolve(replyOutcome(reply, Buffer.concat(pieces), this.clock.now()))
        })
      })
      call.end(body)
    })
  }
}

/** Loaded at first use: most collectors are near. */
async function gzipped(plain: Buffer): Promise<Buffer> {
  const { gzip } = await import('node:zlib')
  return promisify<Buffer, Buffer>(gzip)(plain)
}

function replyOutcome({ statusCode: status = 0, headers }: IncomingMessage, body: Buffer, now: number): Outcome {
  if (status >= 200 && status <= 299) return { kind: 'taken', rejected: countRejected(body) }
  const why = `status ${status}`
  return RETRYABLE.has(status) ? { kind: 'later', why, after: retryAfter(headers['retry-after'], now) } : { kind: 'refused', why }
}

/** Seconds, or a date (RFC 9110 section 10.2.3). */
function retryAfter(header: string | undefined, now: number): number {
  if (header === undefined) return 0
  const wait = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now
  return Number.isFinite(wait) && wait > 0 ? wait : 0
}

/** `partial_success.rejected_*` of an export response: field 1 of field 1; 0 where it is missing or unreadable. */
function countRejected(body: Buffer): number {
  if (body[0] !== 0x0a || body[2] !== 0x08) return 0
  let rejected = 0
  let unit = 1
  for (const byte of body.subarray(3, 13)) {
    rejected += (byte & 0x7f) * unit
    if (byte < 0x80) return Number.isSafeInteger(rejected) ? rejected : 0
    unit *= 0x80
  }
  return 0
}
