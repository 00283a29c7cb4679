/**
 * Reasoning that a provider writes as `reasoning_content` alone, under the names that callers read from every provider
 * (contract section 3): `reasoning` and `reasoning_details`. The provider's own name stays beside them.
 */
import type { JsonObject } from '../../core/json.ts'

const MARKERS = ['"reasoning_content":"', '"reasoning_content": "']
/** Members that say it already; where one is there, the text alone does not tell whether it is filled. */
const NAMES = ['"reasoning":', '"reasoning_details":']

export const REASONING = '"reasoning_content":'
/** What follows the text of `reasoning_content`, with the same text between the three pieces; the last one has no quote behind it. */
export const COPIES = ['","reasoning":"', '","reasoning_details":[{"type":"reasoning.text","text":"', '","index":0}]'] as const

/** Adds the names to a parsed delta or message, in place. @returns true where it had to. */
export function mirrorReasoning(message: JsonObject): boolean {
  const { reasoning_content: text, reasoning, reasoning_details: details } = message
  if (typeof text !== 'string' || text === '' || (reasoning ?? '') !== '' || (Array.isArray(details) && details.length > 0)) return false
  message.reasoning = text
  message.reasoning_details = [{ type: 'reasoning.text', text, index: 0 }]
  return true
}

/**
 * The same by text, for a frame whose reasoning need not be parsed.
 * @returns undefined where the frame has to be parsed.
 */
export function mirroredFrame(frame: string): string | undefined {
  if (!frame.includes(REASONING)) return frame
  for (const marker of MARKERS) {
    const at = frame.indexOf(marker)
    if (at === -1) continue
    const from = at + marker.length
    const end = endOfString(frame, from)
    if (end === -1 || NAMES.some((name) => frame.includes(name)) || frame.includes(REASONING, end)) return undefined
    if (end === from) return frame
    const text = frame.slice(from, end)
    return frame.slice(0, end) + COPIES[0] + text + COPIES[1] + text + COPIES[2] + frame.slice(end + 1)
  }
  return frame
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** The index of the quote that ends a JSON string whose inside begins at `from`; -1 if there is none. */
export function endOfString(text: string, from: number): number {
  for (let i = from; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === BACKSLASH) i++
    else if (unit === QUOTE) return i
  }
  return -1
}
