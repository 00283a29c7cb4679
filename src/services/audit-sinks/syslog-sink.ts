/** A receiver of syslog: over TLS (RFC 5425), TCP (RFC 6587) or UDP (RFC 5426). */
import { createSocket } from 'node:dgram'
import { connect, isIP, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectSecurely } from 'node:tls'
import type { Clock } from '../../core/clock.ts'
import type { SyslogFacility } from '../../core/syslog-facilities.ts'
import { type Delivery, DeliveryError, type Destination } from '../exports/destination.ts'
import { framedMessages } from './syslog-message.ts'

export interface SyslogSettings {
  readonly protocol: 'tls' | 'tcp' | 'udp'
  readonly host: string
  /** That of the protocol where absent. */
  readonly port?: number | undefined
  readonly facility: SyslogFacility
  readonly appName: string
  readonly tls: { readonly ca?: string | undefined; readonly certificate?: string | undefined; readonly key?: string | undefined }
}

/** RFC 5425, 4.1; IANA `syslog-conn`; RFC 5426, 3.3. */
const PORTS = { tls: 6514, tcp: 601, udp: 514 } as const
/** Bytes of a datagram (RFC 5426, 3.2: 65,535 less the headers of IP). Of a longer message the beginning is sent. */
const MAX_DATAGRAM = 65_000
/** Milliseconds in which a receiver closes its side once it has read all; one that does not has had the bytes taken by its machine. */
const CLOSE_MS = 2_000

export class SyslogSink implements Destination {
  readonly place: string
  private readonly settings: SyslogSettings & { readonly port: number }
  private readonly timeout: number
  private readonly clock: Clock
  private readonly open = new Set<{ destroy(): void }>()

  constructor(settings: SyslogSettings, timeout: number, clock: Clock) {
    const { protocol, host, port = PORTS[protocol] } = settings
    this.settings = { ...settings, port }
    this.place = `${protocol}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`
    this.timeout = timeout
    this.clock = clock
  }

  deliver({ body }: Delivery): Promise<void> {
    return this.settings.protocol === 'udp' ? this.sendDatagrams(body) : this.sendStream(body)
  }

  close(): void {
    for (const each of this.open) each.destroy()
  }

  /**
   * One connection for each batch. Syslog has no receipts: a batch counts as taken when the receiver has closed its side after ours, which
   * it does when it has read to the end, or when its machine has taken the bytes and no error came.
   */
  private sendStream(body: Buffer): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const socket = this.connection()
    const holder = { destroy: () => socket.destroy(new DeliveryError('the gateway ends')) }
    this.open.add(holder)
    let isSent = false
    const late = this.clock.after(this.timeout, () => socket.destroy(new DeliveryError('no end within the timeout')))
    let closing = { cancel: (): void => {} }
    socket.once('error', (error) => reject(failure(error)))
    socket.once('close', () => {
      late.cancel()
      closing.cancel()
      this.open.delete(holder)
      if (isSent) resolve()
      else reject(new DeliveryError('the connection ended before all was sent'))
    })
    // What a receiver says is read, so that its end is seen.
    socket.resume()
    socket.once('finish', () => {
      isSent = true
      closing = this.clock.after(CLOSE_MS, () => socket.destroy())
    })
    socket.once(this.settings.protocol === 'tls' ? 'secureConnect' : 'connect', () => socket.end(body))
    return promise
  }

  private connection(): Socket {
    const { protocol, host, port, tls } = this.settings
    if (protocol === 'tcp') return connect({ host, port, allowHalfOpen: true })
    const { ca, certificate: cert, key } = tls
    // RFC 6066, 3: an address is no name of a server.
    const named = isIP(host) ? {} : { servername: host }
    const options = { host, port, allowHalfOpen: true, ...named, ...(ca ? { ca } : {}), ...(cert && key ? { cert, key } : {}) }
    return connectSecurely(options as ConnectionOptions)
  }

  /** No reply says that a datagram came: those that the machine has sent count as taken. */
  private async sendDatagrams(body: Buffer): Promise<void> {
    const { host, port } = this.settings
    const socket = createSocket({ type: isIP(host) === 6 ? 'udp6' : 'udp4' })
    try {
      const failed = new Promise<never>((_, reject) => socket.once('error', (error) => reject(failure(error))))
      failed.catch(() => {})
      for (const message of framedMessages(body)) {
        const sent = new Promise<void>((resolve, reject) =>
          socket.send(message.subarray(0, MAX_DATAGRAM), port, host, (error) => (error ? reject(failure(error)) : resolve())),
        )
        await Promise.race([sent, failed])
      }
    } finally {
      socket.close()
    }
  }
}

/** The code alone: texts of errors of TLS quote the certificate of the receiver. */
function failure(error: Error): DeliveryError {
  if (error instanceof DeliveryError) return error
  return new DeliveryError((error as NodeJS.ErrnoException).code ?? 'the connection failed')
}
