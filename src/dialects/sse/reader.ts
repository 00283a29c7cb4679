/** Server-sent events as text: eventsource-parser behind one streaming UTF-8 decoder. */
import { createParser, type EventSourceParser } from 'eventsource-parser'
import { MAX_FRAME } from './frames.ts'
import type { FrameReader, OnFrame } from './framing.ts'

const CR = '\r'

export class EventReader implements FrameReader {
  private readonly parser: EventSourceParser
  private readonly decoder = new TextDecoder('utf-8')
  /** The text so far ends in a CR, whose LF may follow. */
  private afterCr = false

  constructor(onEvent: OnFrame) {
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
    this.parser.feed(this.withLineFeeds(this.decoder.decode(chunk, { stream: true })))
  }

  /** A CR and its LF as one LF, which the parser reads in half the time. */
  private withLineFeeds(text: string): string {
    const { afterCr } = this
    if (!text.includes(CR)) {
      this.afterCr &&= text === ''
      return text
    }
    this.afterCr = text.endsWith(CR)
    return afterCr || text.includes('\r\r') ? text : text.replaceAll('\r\n', '\n')
  }

  /** Flushes an event whose last blank line the provider left out. */
  close(): void {
    this.parser.feed(`${this.decoder.decode()}\n\n`)
  }
}
