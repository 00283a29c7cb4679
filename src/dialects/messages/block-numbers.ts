/**
 * Numbers of content blocks in a stream of the pass lane. The SDKs keep blocks by the order in which they start and find them by `index`,
 * one open at a time. Ollama 0.17.4 numbers a tool call 0 like the thought before it, and llama.cpp (release b11549) ends all blocks of a
 * message behind the last one; such a stream is numbered anew, and each block ends before the next one starts.
 */
import type { JsonObject } from '../../core/json.ts'

const INDEX = /"index": ?(\d{1,6})/

export class BlockNumbers {
  private next = 0
  private open: number | undefined
  /** Ours, by the provider's. */
  private readonly ours = new Map<number, number>()
  /** False once a block has started out of turn: from then on each event of content is read. */
  isUsual = true

  /** Reads a frame that starts or ends a block. @returns false where it may not travel as it is. */
  follows(frame: string, isStart: boolean): boolean {
    const given = Number(INDEX.exec(frame)?.[1] ?? Number.NaN)
    if (isStart ? given !== this.next || this.open !== undefined : given !== this.open) {
      this.isUsual = false
      return false
    }
    if (isStart) this.started(given)
    else this.open = undefined
    return true
  }

  /** Puts the number of a content event right. @returns false for an event of a block that has ended: it does not travel. */
  place(message: JsonObject): boolean {
    const { type, index } = message
    const given = typeof index === 'number' ? index : (this.open ?? this.next)
    if (type === 'content_block_start') {
      message.index = this.started(given)
      return true
    }
    const place = this.ours.get(given) ?? this.open
    // Deltas without any start travel as they came.
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
    this.ours.set(given, place)
    this.open = place
    return place
  }
}
