/** Inputs of the caller's tools in a stream of the pass lane, whose events travel unread. */

import { alone, endOfString, utf8 } from '../../machines/sse/frames.ts'
import { isBroken } from '../canon/call-arguments.ts'

const START = '{"type":"content_block_start"'
const CALL = '"type":"tool_use"'
const PIECE = '"partial_json":"'
const INDEX = /"index": ?(\d{1,4})/

export class CallInputs {
  /** By the index of the block: the inside of a JSON text, one character per byte. */
  private readonly raw = new Map<string, string>()

  /** Reads whole frames of content, from one index to another. */
  gather(frames: string, from: number, to: number): void {
    for (let at = from; at < to; ) {
      const end = frames.indexOf('\n\n', at) + 2
      this.frame(frames.slice(at, end))
      at = end
    }
  }

  /** True where the input of any call is no JSON. */
  get areBroken(): boolean {
    for (const raw of this.raw.values()) if (isBroken(JSON.parse(`"${utf8(raw)}"`) as string)) return true
    return false
  }

  private frame(frame: string): void {
    const piece = frame.indexOf(PIECE)
    const isCall = piece === -1 && frame.includes(CALL) && frame.includes(START)
    if (piece === -1 && !isCall) return
    const index = INDEX.exec(frame)?.[1] ?? '0'
    if (isCall) {
      this.raw.set(index, '')
      return
    }
    const before = this.raw.get(index)
    if (before === undefined) return
    const from = piece + PIECE.length
    this.raw.set(index, before + alone(frame.slice(from, endOfString(frame, from))))
  }
}
