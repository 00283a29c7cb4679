/** Server-sent events as text: eventsource-parser behind one streaming UTF-8 decoder. */
import { createParser, type EventSourceParser } from 'eventsource-parser'
import { MAX_FRAME } from './frames.ts'
import type { FrameReader, OnFrame } from './framing.ts'

export class EventReader implements FrameReader {
  private readonly parser: EventSourceParser
  private readonly decoder = new TextDecoder('utf-8')

  constructor(onEvent: OnFrame) {
    this.parser = createParser({
      onEvent,
      onError: ({ type }) => {
        if (type === 'max-buffer-size-exceeded') throw new RangeError('an event of the stream is too long')
      },
      maxBufferSize: MAX_FRAME,
    })
  }

  /** @throws RangeError when one event passes the size cap. */
  push(chunk: Buffer): void {
    this.parser.feed(this.decoder.decode(chunk, { stream: true }))
  }

  /** Flushes an event whose last blank line the provider left out. */
  close(): void {
    this.parser.feed(`${this.decoder.decode()}\n\n`)
  }
}
