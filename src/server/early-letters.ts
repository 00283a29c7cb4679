/**
 * The first letters of a reply, sent one by one before the rest of it is known: every status line begins with them, whatever the version
 * of the request (RFC 9112 sections 2.5 and 4). Interim replies (RFC 9110 section 15.2) would show as well whether a caller is there, but
 * HTTP/1.0 has none, and http.client of Python takes each but 100 for the reply itself (`HTTPResponse.begin` in Lib/http/client.py of 3.13).
 */
import type { ServerResponse } from 'node:http'

/** Letters before the status. */
export const FIRST_LETTERS = 'HTTP/1.1 '

const SENT = Symbol('letters sent')

/** Letters that Node writes before the body (lib/_http_outgoing.js, `_storeHeader` and `_send`). */
type Lettered = ServerResponse & { [SENT]?: number; _header?: string | null | undefined }

/** Sends something that means nothing to the reader of a reply of Node's server. */
export function probeReply(response: Lettered): void {
  const { socket } = response
  // A reply behind another one in its pipeline has no socket yet.
  if (!socket || response.writableEnded || !socket.writable) return
  if (!response.headersSent) sendLetter(response)
  // Node frames the chunks, each whole: the size of the next one, or of the last, may begin with zeros (RFC 9112 section 7.1).
  else if (response.chunkedEncoding) socket.write('0')
}

function sendLetter(response: Lettered): void {
  const sent = response[SENT] ?? 0
  if (sent === FIRST_LETTERS.length) return
  if (sent === 0) {
    const writeHead = response.writeHead.bind(response) as (...head: unknown[]) => unknown
    const restOfHead = (...head: unknown[]): ServerResponse => {
      writeHead(...head)
      response._header = response._header?.slice(response[SENT])
      return response
    }
    // Behind a letter of the reply an interim one can no longer be sent; that of an expectation may be left out (RFC 9110 section 10.1.1).
    Object.assign(response, { writeHead: restOfHead, writeContinue: () => {} })
  }
  response[SENT] = sent + 1
  response.socket?.write(FIRST_LETTERS.charAt(sent))
}
