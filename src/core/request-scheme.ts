/** The scheme by which a caller has sent a request. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** True for a connection over TLS (`tls.TLSSocket.encrypted`). */
export function isEncrypted(socket: Socket): boolean {
  return 'encrypted' in socket
}

/** `https` over TLS, and where a balancer that ends TLS says so. The header is the caller's word: only its own reply depends on it. */
export function schemeIn(headers: IncomingHttpHeaders, overTls: boolean): 'http' | 'https' {
  return overTls || /^https\b/i.test(String(headers['x-forwarded-proto'] ?? '')) ? 'https' : 'http'
}

export function requestScheme({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): 'http' | 'https' {
  return schemeIn(headers, isEncrypted(socket))
}
