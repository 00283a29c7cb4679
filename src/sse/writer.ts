/** Writes an event stream to a client: own chunk framing, one socket write per batch, back-pressure. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'

/**
 * Node frames a chunk with four socket writes. Here head, data and tail are one string, so that a batch of events
 * costs one write; `chunkedEncoding` is switched off once the head is out (RFC 9112, 7.1 is kept by us).
 */
export class EventWriter {
  private readonly response: ServerResponse
  private draining: (() => void) | undefined
  /** Bytes handed to the socket, framing aside. */
  bytes = 0

  constructor(response: ServerResponse) {
    this.response = response
  }

  open(headers: OutgoingHttpHeaders): void {
    const { response } = this
    response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-cache',
      'X-Accel-Buffering': 'no',
      'Transfer-Encoding': 'chunked',
      ...headers,
    })
    response.flushHeaders()
    response.chunkedEncoding = false
  }

  /** `text` holds raw bytes, one per character. @returns false if the client should be waited for. */
  writeBytes(text: string): boolean {
    if (text === '') return true
    this.bytes += text.length
    return this.response.write(`${text.length.toString(16)}\r\n${text}\r\n`, 'latin1')
  }

  /** `text` is text; it leaves as UTF-8. */
  writeText(text: string): boolean {
    if (text === '') return true
    const length = Buffer.byteLength(text)
    this.bytes += length
    return this.response.write(`${length.toString(16)}\r\n${text}\r\n`, length === text.length ? 'latin1' : 'utf8')
  }

  end(text: string): void {
    if (text !== '') this.writeText(text)
    this.response.end('0\r\n\r\n', 'latin1')
  }

  /** Calls `fn` once when the client has read enough to go on; a later call replaces an earlier one. */
  onDrain(fn: () => void): void {
    if (!this.draining) {
      this.response.once('drain', () => {
        const waiting = this.draining
        this.draining = undefined
        waiting?.()
      })
    }
    this.draining = fn
  }
}
