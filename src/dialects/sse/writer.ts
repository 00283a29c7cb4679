/** Writes an event stream to a client: own chunk framing, one socket write per turn, back-pressure. */
import type { OutgoingHttpHeaders } from 'node:http'

/** Held bytes that are not left waiting for the end of the turn. */
const MOST_HELD = 64 * 1024

interface StreamTarget {
  readonly destroyed: boolean
  write(chunk: string, encoding: BufferEncoding): boolean
  once(event: 'drain', fn: () => void): unknown
}

/** The reply that a stream goes into: Node's own, or that to a plain request. */
export interface StreamReply extends StreamTarget {
  readonly writableEnded: boolean
  /** Null behind another reply of its pipeline. */
  readonly socket: StreamTarget | null
  /** False where what is written is framed already. */
  chunkedEncoding: boolean
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown
  end(chunk: string, encoding: BufferEncoding): unknown
}

/**
 * Node frames a chunk with four socket writes. Here all that comes within one turn becomes one chunk in one write;
 * `chunkedEncoding` is switched off once the head is made (RFC 9112, 7.1 is kept by us).
 */
export class EventWriter {
  private readonly response: StreamReply
  private draining: (() => void) | undefined
  /** Bytes of this turn, one per character. */
  private held = ''
  private scheduled = false
  private flowing = true
  private begun = false

  constructor(response: StreamReply) {
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
    // The head waits for the first chunk, which is never far: one write for both.
    response.chunkedEncoding = false
  }

  /** `text` holds raw bytes, one per character. @returns false if the client should be waited for. */
  writeBytes(text: string): boolean {
    if (text === '') return true
    this.held += text
    if (this.held.length >= MOST_HELD) this.flush()
    else if (!this.scheduled) {
      this.scheduled = true
      process.nextTick(this.flush)
    }
    return this.flowing
  }

  /** `text` is text; it leaves as UTF-8. */
  writeText(text: string): boolean {
    return this.writeBytes(bytesOf(text))
  }

  end(text: string): void {
    const last = this.held + bytesOf(text)
    this.held = ''
    this.response.end(last === '' ? LAST_CHUNK : `${framed(last)}${LAST_CHUNK}`, 'latin1')
  }

  /** Calls `fn` once when the client has read enough to go on; a later call replaces an earlier one. */
  onDrain(fn: () => void): void {
    this.draining = fn
  }

  private readonly flush = (): void => {
    this.scheduled = false
    const { held, response } = this
    if (held === '' || response.writableEnded) return
    this.held = ''
    const { socket } = response
    // The first write takes the head along. Later ones spare the detour through the reply, which would wait another tick;
    // a reply that is not first in its pipeline has no socket yet.
    const target: StreamTarget = this.begun && socket ? socket : response
    this.begun = true
    if (target.destroyed || target.write(framed(held), 'latin1') || !this.flowing) return
    this.flowing = false
    target.once('drain', () => {
      this.flowing = true
      const waiting = this.draining
      this.draining = undefined
      waiting?.()
    })
  }
}

const LAST_CHUNK = '0\r\n\r\n'

function framed(bytes: string): string {
  return `${bytes.length.toString(16)}\r\n${bytes}\r\n`
}

/** Most text is ASCII, which is its own bytes. */
function bytesOf(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1')
}
