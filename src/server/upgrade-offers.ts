/**
 * Answers a request that offers another protocol than WebSocket as if the offer were not there (RFC 9110 section 7.8).
 *
 * Node's parser stops behind such a request, whether it is handed over or not (llhttp, `HPE_PAUSED_UPGRADE`), and Node drops what came in
 * the same read where it is not. So the request is handed over, with all bytes behind its head, and goes to the server again without
 * the fields of the offer: its body and whatever follows are then read as those of any other request.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** Fields of this hop that make the offer: `HTTP2-Settings` belongs to `Upgrade: h2c` (RFC 7540 section 3.2.1). */
const OF_THE_OFFER: ReadonlySet<string> = new Set(['upgrade', 'http2-settings'])

/**
 * @param behind the bytes behind the head.
 * @param again takes the socket as a connection that has just been made.
 */
export function ignoreOffer(request: IncomingMessage, behind: Buffer, again: (socket: Socket) => void): void {
  const { socket } = request
  socket.unshift(Buffer.concat([Buffer.from(headWithoutOffer(request), 'latin1'), behind]))
  again(socket)
}

/** The head as it came, in its order, one character per byte. */
function headWithoutOffer({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  let head = `${method} ${url} HTTP/${httpVersion}\r\n`
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2)
    const lower = name.toLowerCase()
    if (OF_THE_OFFER.has(lower)) continue
    const kept = lower === 'connection' ? optionsWithoutOffer(value) : value
    if (kept !== undefined) head += `${name}: ${kept}\r\n`
  }
  return `${head}\r\n`
}

/** @returns undefined where the offer's were all of them. */
function optionsWithoutOffer(value: string): string | undefined {
  const kept = value.split(',').filter((option) => !OF_THE_OFFER.has(option.trim().toLowerCase()))
  return kept.some((option) => option.trim() !== '') ? kept.join(',') : undefined
}
