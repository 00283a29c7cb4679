/** The one kind of request that may leave HTTP for another protocol, and the offers of others, which are ignored. */
import type { IncomingMessage } from 'node:http'

export const HANDSHAKE = 'expected a GET of HTTP/1.1 with the value websocket, without a body'

/**
 * True if the head is a WebSocket handshake (RFC 6455 section 4.1). It must announce no body: once a connection is handed over, the bytes
 * behind the head belong to another protocol, whatever length was announced.
 */
export function isHandshake({ method, httpVersion, headers }: IncomingMessage): boolean {
  if (method !== 'GET' || httpVersion !== '1.1' || headers.upgrade?.toLowerCase() !== 'websocket') return false
  return headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
}

/** True where the request wants to leave HTTP (RFC 9110 section 7.8): then its `Connection` names the field. */
export function asksUpgrade({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers.upgrade !== undefined && /(?:^|[\s,])upgrade(?:[\s,]|$)/i.test(headers.connection ?? '')
}

/**
 * True if the request offers protocols that this server does not speak, such as the `h2c` of java.net.http.HttpClient and of `curl
 * --http2`. It is answered as if the offer were not there (RFC 9110 section 7.8). An offer of HTTP/1.0 is always ignored.
 */
export function isIgnoredOffer(request: Pick<IncomingMessage, 'headers' | 'httpVersion'>): boolean {
  return asksUpgrade(request) && (request.httpVersion !== '1.1' || !/(?:^|[\s,])websocket(?:[\s,/]|$)/i.test(request.headers.upgrade ?? ''))
}
