/**
 * The TLS side of a listener: makes the handshake of each connection and hands it to the HTTP server, which does not see a difference.
 * Handshakes are bounded in time and number, since they come before every other limit.
 */
import type { Server as HttpServer } from 'node:http'
import type { Socket } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import type { Clock } from '../../core/clock.ts'
import { Fault, faultReply } from '../../core/faults.ts'
import { closed, counter } from '../../machines/metrics/metrics.ts'
import { announceAddress, announcedAddress } from '../client-address.ts'
import type { Front } from '../front.ts'
import { keepCertificate } from './client-certificate.ts'
import type { ListenerCertificate } from './listener-certificate.ts'

const failures = counter('tls_handshake_failures_total', 'TLS handshakes that did not become a connection, by reason.', {
  labels: [closed('listener'), closed('reason')],
  limit: 14,
})

/** Handshakes under way at once: a real one takes milliseconds, so that of more the oldest ones are those that do not go on. */
const MAX_HANDSHAKES = 1_024

export interface SecureFrontOptions {
  /** Milliseconds for a handshake. */
  readonly handshakeTimeout: number
  /** Answers on the bare connection and closes it. */
  readonly refuse: (socket: Socket, fault: Fault) => void
}

/** @returns what listens in place of `server`. */
export function openSecureFront(
  server: HttpServer,
  certificate: ListenerCertificate,
  { handshakeTimeout, refuse }: SecureFrontOptions,
): Front {
  const { clock, metrics } = certificate.parts
  const failed = (reason: string): void => metrics.of(failures).series(certificate.name, reason).add()
  const front = createServer({
    ...certificate.context,
    handshakeTimeout,
    // As Node's server for plain HTTP: a caller may close its sending side and still wait for the reply.
    allowHalfOpen: true,
    noDelay: true,
    ALPNProtocols: ['http/1.1'],
    requestCert: certificate.requestsCertificates,
    rejectUnauthorized: certificate.requiresCertificates,
  })
  certificate.serve(front)
  /** Each with what its certificate is verified with: Node gives it the context of the moment in which it is accepted. */
  const pending = new Map<Socket, string>()
  // In front of Node's own listener, which begins the handshake.
  front.prependListener('connection', (socket) => {
    pending.set(socket, certificate.trustDigest)
    socket.once('close', () => pending.delete(socket))
    const [oldest] = pending.keys()
    if (pending.size <= MAX_HANDSHAKES || !oldest) return
    failed('too_many')
    pending.delete(oldest)
    oldest.destroy()
  })
  front.on('secureConnection', (socket) => {
    const bare = bareSocket(socket)
    const trustDigest = (bare && pending.get(bare)) ?? ''
    if (bare) {
      pending.delete(bare)
      const address = announcedAddress(bare)
      if (address !== undefined) announceAddress(socket, address)
    }
    if (isUnverified(socket)) {
      failed('certificate')
      refuseUnverified(socket, { refuse, clock })
      return
    }
    if (certificate.requestsCertificates) keepCertificate(socket, certificate, trustDigest)
    server.emit('connection', socket)
  })
  front.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    failed(FAILURES[error.code ?? ''] ?? (socket.authorizationError ? 'certificate' : 'handshake'))
    if (error.code === HTTP_REQUEST) writePlainly(bareSocket(socket))
    socket.destroy()
  })
  // Node's server begins to look after slow requests when it listens (lib/_http_server.js, setupConnectionsTracking); this one never does.
  front.once('listening', () => server.emit('listening'))
  const cut = (): void => {
    for (const socket of pending.keys()) socket.destroy()
  }
  return { server: front, cut }
}

/** The connection below (lib/internal/tls/wrap.js, TLSSocket). */
function bareSocket(socket: TLSSocket & { _parent?: Socket }): Socket | undefined {
  return socket._parent
}

const HTTP_REQUEST = 'ERR_SSL_HTTP_REQUEST'
const FAILURES: Readonly<Record<string, string>> = {
  [HTTP_REQUEST]: 'plain_http',
  ERR_TLS_HANDSHAKE_TIMEOUT: 'timeout',
  ECONNRESET: 'left',
  ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE: 'certificate',
}

const TLS_EXPECTED = new Fault('bad_request', {
  message: 'This port speaks TLS, and the request came as plain HTTP: expected an address that begins with https://',
})

/** The connection is still the system's to write to: OpenSSL has read the request and answered nothing (lib/internal/tls/wrap.js, onerror). */
function writePlainly(socket: Socket | undefined): void {
  const { status, json } = faultReply(TLS_EXPECTED)
  socket?.write(
    `HTTP/1.1 ${status} Bad Request\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(json)}\r\nConnection: close\r\n\r\n${json}`,
  )
}

/** True if the client has shown a certificate that does not verify, where it need not show one at all. */
function isUnverified(socket: TLSSocket): boolean {
  return !socket.authorized && socket.authorizationError !== undefined && socket.authorizationError !== null && hasCertificate(socket)
}

const hasCertificate = (socket: TLSSocket): boolean => socket.getPeerX509Certificate() !== undefined

/** Milliseconds for a request whose reply says why the certificate is refused. */
const MAX_WAIT_MS = 10_000

/** The refusal waits for a request, since clients take what comes before it for a broken connection. */
function refuseUnverified(
  socket: TLSSocket,
  { refuse, clock }: Pick<SecureFrontOptions, 'refuse'> & { clock: Pick<Clock, 'after'> },
): void {
  const fault = new Fault('invalid_key', { message: `The client certificate does not verify (${String(socket.authorizationError)})` })
  const timer = clock.after(MAX_WAIT_MS, () => socket.destroy())
  socket.once('close', () => timer.cancel())
  socket.on('error', () => {})
  socket.once('data', () => refuse(socket, fault))
}
