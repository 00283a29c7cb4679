/**
 * Frames of the pass lanes whose numbers have been looked at once: most frames of a stream differ from the one before in one text of the
 * model, and in a text that pads them.
 */
import { alone, endOfString, textBytes } from '../../machines/sse/frames.ts'

const WORDS = /"(?:delta|content|text|thinking|partial_json|arguments|reasoning|reasoning_content)": ?"/
/** Text in front of the padding of an event (openai 7.59.0, `stream_options.include_obfuscation`), which is its last member. */
const PADDED = /^(.*"obfuscation": ?")[^"\\]*"\}$/s
const CLOSING = '"}'
const QUOTE = 0x22

export class LikeTexts {
  hasLearnt = false
  /** Text around the words. A cut that is compared whole is the fastest comparison. */
  private head = ''
  private tail = ''
  /** Length of the words of the text that `has` has looked at last. */
  bytes = 0

  /** True where the text from `from` to `end` is the learned one but for the words and the padding. */
  has(text: string, from: number, end: number): boolean {
    const { head, tail } = this
    const words = from + head.length
    if (head === '' || text.slice(from, words) !== head) return false
    this.bytes = textBytes(text, words)
    // Escapes are longer than what they stand for.
    const at = text.charCodeAt(words + this.bytes) === QUOTE ? words + this.bytes : endOfString(text, words)
    const padding = at + tail.length
    if (text.slice(at, padding) !== tail) return false
    return padding === end || (text.indexOf('"', padding) === end - CLOSING.length && text.startsWith(CLOSING, end - CLOSING.length))
  }

  /** Takes a text that is known to be in order. @param end behind the brace that closes its JSON. */
  learn(text: string, from: number, end: number): void {
    const like = text.slice(from, end)
    const found = WORDS.exec(like)
    if (!found) return
    const words = found.index + found[0].length
    const rest = like.slice(endOfString(like, words))
    this.hasLearnt = true
    this.head = alone(like.slice(0, words))
    this.tail = alone(PADDED.exec(rest)?.[1] ?? rest)
  }
}
