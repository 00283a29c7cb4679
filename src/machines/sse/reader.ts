/** Server-sent events as text: eventsource-parser behind one streaming UTF-8 decoder, and past it the plainest frames. */
import { createParser, type EventSourceParser } from 'eventsource-parser'
import { MAX_FRAME } from './frames.ts'
import type { FrameReader, OnFrame } from './framing.ts'

const DATA = 'data: '
const LF = 0x0a
const CR = 0x0d
/** The beginning of a frame that is kept until the rest has come; longer ones are the parser's, which keeps pieces apart. */
const MOST_KEPT = 4_096
/** A comment. */
const NOTHING = ':\n'

export class EventReader implements FrameReader {
  private readonly onEvent: OnFrame
  private readonly parser: EventSourceParser
  private readonly decoder = new TextDecoder('utf-8')
  /** True where no frame has begun that the parser holds. */
  private between = true
  private begun = false
  private kept = ''

  constructor(onEvent: OnFrame) {
    this.onEvent = onEvent
    this.parser = createParser({
      onEvent: (message) => onEvent(message.data, message.event),
      onError: ({ type }) => {
        if (type === 'max-buffer-size-exceeded') throw new RangeError('an event of the stream is too long')
      },
      maxBufferSize: MAX_FRAME,
    })
  }

  /** @throws RangeError when one event passes the size cap. */
  push(chunk: Buffer): void {
    this.read(this.decoder.decode(chunk, { stream: true }))
  }

  private read(piece: string): void {
    const text = this.kept === '' ? piece : this.kept + piece
    this.kept = ''
    const from = this.between ? this.plainFrames(text) : 0
    if (from === text.length) return
    const rest = from === 0 ? text : text.slice(from)
    if (this.between && rest.length <= MOST_KEPT && mayBePlain(rest)) this.kept = rest
    else this.parse(rest)
  }

  private parse(text: string): void {
    this.begun = true
    this.between = text.endsWith('\n\n') || text.endsWith('\n\r\n')
    this.parser.feed(text)
  }

  /**
   * Hands on frames of one line of data and the blank line behind it: nearly all of a stream, and of the parser's work.
   * @returns where the first other one begins.
   */
  private plainFrames(text: string): number {
    let at = 0
    for (;;) {
      const end = text.startsWith(DATA, at) ? text.indexOf('\n', at) : -1
      if (end === -1) break
      const hasCr = text.charCodeAt(end - 1) === CR
      const last = hasCr ? end - 1 : end
      const blank = hasCr && text.charCodeAt(end + 1) === CR ? end + 2 : end + 1
      if (text.charCodeAt(blank) !== LF) break
      const data = text.slice(at + DATA.length, last)
      // A CR alone ends a line as well.
      if (data.includes('\r')) break
      at = blank + 1
      this.onEvent(data, undefined)
    }
    // A mark of the byte order is looked for at the beginning of a stream alone.
    if (at > 0 && !this.begun) this.parse(NOTHING)
    if (at > 0) this.between = true
    return at
  }

  /** Flushes an event whose last blank line the provider left out. */
  close(): void {
    this.read(this.decoder.decode())
    this.parser.feed(`${this.kept}\n\n`)
  }
}

/** True for the beginning of a frame of one line of data. */
function mayBePlain(text: string): boolean {
  const end = text.indexOf('\n')
  return text.startsWith(DATA) && (end === -1 || end >= text.length - 2)
}
