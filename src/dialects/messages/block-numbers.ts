/**
 * Numbers of content blocks in a stream of the pass lane. The SDKs keep blocks by the order in which they start and find them by `index`,
 * one open at a time. Ollama 0.17.4 numbers a tool call 0 like the thought before it, and llama.cpp (release b11549) ends all blocks of a
 * message behind the last one; such a stream is numbered anew, and each block ends before the next one starts.
 */
import type { JsonObject } from '../../core/json.ts'
import { isPlace } from '../canon/places.ts'
import { FrameNumbers } from '../sse/frame-numbers.ts'
import { LikeTexts } from '../sse/like-texts.ts'

const INDEX = /"index": ?(\d{1,6})(?=[,}\s])/

/** Deltas whose words are the model's. */
const SPOKEN = /"delta":\{"type":"(text|thinking|input_json)_delta"/

export class BlockNumbers {
  private next = 0
  private open: number | undefined
  private readonly numbers = new FrameNumbers()
  /** Deltas of the block that has started last. */
  private like = new LikeTexts()
  /** True where these are of the answer's text. */
  isText = false
  /** Ours, by the provider's. */
  private readonly ours = new Map<number, number>()
  /** False once a block has started out of turn: from then on each event of content is read. */
  isUsual = true

  /** Reads a frame that starts or ends a block. @returns false where it may not travel as it is. */
  follows(frame: string, isStart: boolean): boolean {
    const given = this.givenIn(frame)
    if (isStart ? given !== this.next || this.open !== undefined : given !== this.open) {
      this.isUsual = false
      return false
    }
    if (isStart) this.started(given)
    else this.open = undefined
    return true
  }

  /** True for a delta that is like the last one of the open block but for its words, of which there are `wordBytes`. */
  isLike(frames: string, from: number, end: number): boolean {
    return this.open !== undefined && this.like.has(frames, from, end - 2)
  }

  get wordBytes(): number {
    return this.like.bytes
  }

  /** True for another delta that may travel as it is: it names a block that has started, and no other number in it is odd. */
  carries(frame: string): boolean {
    const given = this.givenIn(frame)
    if (this.ours.get(given) !== given) return false
    const [, kind] = given === this.open ? (SPOKEN.exec(frame) ?? []) : []
    if (kind !== undefined) {
      this.like.learn(frame, 0, frame.length - 2)
      this.isText = kind === 'text'
    }
    return true
  }

  /** The number of the block; NaN where it is none, or where any other number of the frame is odd. */
  private givenIn(frame: string): number {
    return this.numbers.read(frame, frame.indexOf('{'), frame.length) ? Number(INDEX.exec(frame)?.[1] ?? Number.NaN) : Number.NaN
  }

  /** Puts the number of a content event right. @returns false for an event of a block that has ended: it does not travel. */
  place(message: JsonObject): boolean {
    const { type, index } = message
    const given = isPlace(index) ? index : (this.open ?? this.next)
    if (type === 'content_block_start') {
      message.index = this.started(given)
      return true
    }
    const place = this.ours.get(given) ?? this.open
    // Deltas without any start travel with their own number.
    if (place === undefined) message.index = given
    if (place === undefined) return this.next === 0
    if (place !== this.open) return false
    if (type === 'content_block_stop') this.open = undefined
    message.index = place
    return true
  }

  /** The number of the block that has to end before another one starts. */
  ending(): number | undefined {
    const { open } = this
    this.open = undefined
    return open
  }

  private started(given: number): number {
    const place = this.next++
    this.like = new LikeTexts()
    this.ours.set(given, place)
    this.open = place
    return place
  }
}
