/** Numbers of chunks that are relayed unread: of their choice, and of the fragment of a call. */
import { FrameNumbers } from '../sse/frame-numbers.ts'
import { LikeTexts } from '../sse/like-texts.ts'

/** Depth of a choice and of a fragment, where the first members of the chunk are cut off (`FrameNumbers`). */
const CHOICE = 2
const FRAGMENT = 5
const TOOL_CALLS = '"tool_calls"'

export class ChunkNumbers {
  /** Chunks that are in order but for their words. */
  readonly like = new LikeTexts()
  private readonly numbers = new FrameNumbers()
  /** A stream may need no more than one look. */
  private hasLooked = false

  /** True where no number is odd. @param rest of a frame, from the comma before `choices`. */
  isReadable(rest: string): boolean {
    return this.numbers.read(rest, 0, rest.length - 2)
  }

  /** True where a choice and the fragment of a call have their numbers as well. */
  isNumbered(rest: string): boolean {
    const { numbers, like } = this
    const end = rest.length - 2
    if (like.hasLearnt && like.has(rest, 0, end)) return true
    if (!numbers.read(rest, 0, end) || numbers.indexes[CHOICE] !== 1) return false
    if (rest.includes(TOOL_CALLS) && (numbers.indexes[FRAGMENT] !== 1 || numbers.objects[FRAGMENT] !== 1)) return false
    if (this.hasLooked) like.learn(rest, 0, end)
    this.hasLooked = true
    return true
  }
}
