/** The certificate of a client, by its connection. */
import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { Fault } from '../../core/faults.ts'
import type { CallerReply } from '../caller.ts'
import type { ListenerCertificate } from './listener-certificate.ts'

const CERTIFICATE = Symbol('client certificate')
interface Shown {
  readonly certificate: X509Certificate
  /** Authorities and lists that it was verified with. */
  readonly trustDigest: string
  readonly listener: Pick<ListenerCertificate, 'trustDigest' | 'onTrustChange'>
}
type Certified = Socket & { [CERTIFICATE]?: Shown }

/** Keeps a certificate that has verified with its connection. @param trustDigest as its handshake began: it may have changed meanwhile. */
export function keepCertificate(socket: TLSSocket & Certified, listener: Shown['listener'], trustDigest: string): void {
  const certificate = socket.getPeerX509Certificate()
  if (certificate) socket[CERTIFICATE] = { certificate, trustDigest, listener }
}

const OUTLIVED =
  'The authorities or revocation lists of client certificates have changed since this connection was made: connect anew, so that the certificate is verified with them'

/**
 * The certificate of a connection, as long as what it was verified with still holds; undefined where it has shown none, or speaks no TLS.
 * Once authorities or revocation lists have changed it is no caller: OpenSSL verifies in the handshake alone.
 * @param reply ends the connection where its certificate is refused. @throws Fault 401 after a change.
 */
export function trustedCertificate(
  socket: Certified,
  reply?: Pick<CallerReply, 'headersSent' | 'shouldKeepAlive'>,
): X509Certificate | undefined {
  const shown = socket[CERTIFICATE]
  if (!shown) return undefined
  if (shown.trustDigest === shown.listener.trustDigest) return shown.certificate
  if (reply && !reply.headersSent) reply.shouldKeepAlive = false
  throw new Fault('invalid_key', { message: OUTLIVED })
}

/** Ends a connection that has shown a certificate as soon as authorities or revocation lists change: for what is not looked at any more. */
export function endWithTrust(socket: Certified): void {
  const stop = socket[CERTIFICATE]?.listener.onTrustChange(() => socket.destroy())
  if (stop) socket.once('close', stop)
}
