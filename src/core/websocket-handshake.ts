/** The one kind of request that may leave HTTP for another protocol. */
import type { IncomingMessage } from 'node:http'

export const HANDSHAKE = 'expected a GET of HTTP/1.1 with the value websocket, without a body'

/**
 * Whether the head is a WebSocket handshake (RFC 6455 section 4.1). Once a connection is handed over, the bytes behind the
 * head are the start of another protocol, whatever length the head announced: so it must announce none.
 */
export function isHandshake({ method, httpVersion, headers }: IncomingMessage): boolean {
  if (method !== 'GET' || httpVersion !== '1.1' || headers.upgrade?.toLowerCase() !== 'websocket') return false
  return headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
}

/** Whether the request wants to leave HTTP (RFC 9110 section 7.8): then its `Connection` names the field. */
export function asksUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /(?:^|[\s,])upgrade(?:[\s,]|$)/i.test(headers.connection ?? '')
}
