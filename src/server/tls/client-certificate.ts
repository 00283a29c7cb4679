/** The certificate of a client, by its connection. */
import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { ListenerCertificate } from './listener-certificate.ts'

const CERTIFICATE = Symbol('client certificate')
interface Shown {
  readonly certificate: X509Certificate
  /** Authorities and lists that it was verified with. */
  readonly trustDigest: string
  readonly listener: Pick<ListenerCertificate, 'trustDigest'>
}
type Certified = Socket & { [CERTIFICATE]?: Shown }

/** Keeps a certificate that has verified with its connection. */
export function keepCertificate(socket: TLSSocket & Certified, listener: Pick<ListenerCertificate, 'trustDigest'>): void {
  const certificate = socket.getPeerX509Certificate()
  if (certificate) socket[CERTIFICATE] = { certificate, trustDigest: listener.trustDigest, listener }
}

/** The certificate of a connection; undefined where it has shown none, or speaks no TLS. */
export function clientCertificate(socket: Certified): X509Certificate | undefined {
  return socket[CERTIFICATE]?.certificate
}

/** True once authorities or revocation lists have changed since it was verified: the next request belongs on a new connection. */
export function hasOutlivedTrust(socket: Certified): boolean {
  const shown = socket[CERTIFICATE]
  return shown !== undefined && shown.trustDigest !== shown.listener.trustDigest
}
