/** The scheme by which a caller has sent a request. */
import type { IncomingMessage } from 'node:http'

/** `https` over TLS, and where a balancer that ends TLS says so. The header is the caller's word: only its own reply depends on it. */
export function requestScheme({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): 'http' | 'https' {
  const isSecure = 'encrypted' in socket || /^https\b/i.test(String(headers['x-forwarded-proto'] ?? ''))
  return isSecure ? 'https' : 'http'
}
