/** Framing of the bytes of a stream. */

export interface Frame {
  readonly data: string
  /** Name of the event; undefined where the frame has none. */
  readonly event?: string | undefined
}

export type OnFrame = (frame: Frame) => void

export interface FrameReader {
  /** @throws RangeError for bytes that are no frame, or too many for one. */
  push(chunk: Buffer): void
  /** The upstream closed. */
  close(): void
}

/** Framing of a provider's streams, where they are no server-sent events. */
export interface Framing {
  /** Media type of such a stream. */
  readonly type: string
  reader(onFrame: OnFrame): FrameReader
}
