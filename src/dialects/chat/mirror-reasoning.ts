/**
 * Reasoning under the names that callers read from every provider (contract section 3): `reasoning` and `reasoning_details`.
 * Providers write one of these, or `reasoning_content`, and what they wrote stays.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

/** What each of the names begins with; where a frame has it not, there is no reasoning. */
export const REASONING = '"reasoning'
const PLAIN = '"reasoning":'
const CONTENT = '"reasoning_content":'
const DETAILS = '"reasoning_details":'

const filled = (value: Json | undefined): value is string => typeof value === 'string' && value !== ''

/** Adds the names to a parsed delta or message, in place. @returns true where it had to. */
export function mirrorReasoning(message: JsonObject): boolean {
  const { reasoning_content: content, reasoning: plain, reasoning_details: details } = message
  const isDetailed = Array.isArray(details) && details.length > 0
  if (!isDetailed && !filled(plain) && !filled(content)) return false
  let isChanged = false
  if (!filled(plain)) {
    const text = filled(content) ? content : spokenIn(details)
    if (text === '') return false
    message.reasoning = text
    isChanged = true
  }
  if (isDetailed) return isChanged
  message.reasoning_details = [{ type: 'reasoning.text', text: message.reasoning, index: 0 }]
  return true
}

/** The words of details, as the translate lane joins them: texts and summaries. */
function spokenIn(details: Json | undefined): string {
  let text = ''
  for (const detail of Array.isArray(details) ? details : []) {
    if (!isObject(detail)) continue
    const words = detail.type === 'reasoning.text' ? detail.text : detail.type === 'reasoning.summary' ? detail.summary : undefined
    if (filled(words)) text += words
  }
  return text
}

/** What a member of a frame says, where it is no index: not there; null or empty; something else. */
const ABSENT = -1
const EMPTY = -2
const UNCLEAR = -3

/**
 * The same by text, for a frame whose reasoning need not be parsed.
 * @returns the same frame where nothing is missing, undefined where it has to be parsed.
 */
export function mirroredFrame(frame: string): string | undefined {
  if (!frame.includes(REASONING)) return frame
  const plain = startOf(frame, PLAIN, QUOTE, QUOTE)
  const details = startOf(frame, DETAILS, OPENING, CLOSING)
  if (plain >= 0 && details >= 0) return frame
  const content = startOf(frame, CONTENT, QUOTE, QUOTE)
  if (plain === UNCLEAR || content === UNCLEAR || details === UNCLEAR || details >= 0) return undefined
  const from = plain >= 0 ? plain : content
  if (from < 0) return frame
  // An empty member cannot be written a second time.
  if (details === EMPTY || plain === EMPTY) return undefined
  const end = endOfString(frame, from)
  if (end === -1 || frame.includes(plain >= 0 ? PLAIN : CONTENT, end)) return undefined
  return frame.slice(0, end) + copiesOf(frame.slice(from, end), plain >= 0) + frame.slice(end + 1)
}

/** True where `mirroredFrame` adds what is missing. */
export function mirrorsByText(frame: string): boolean {
  const mirrored = mirroredFrame(frame)
  return mirrored !== undefined && mirrored !== frame
}

/**
 * The copies of a text behind its own member, in place of the quote that ends it.
 * @param text as it stands in JSON. @param isPlain true where its member is `reasoning`.
 */
export function copiesOf(text: string, isPlain: boolean): string {
  const details = `","reasoning_details":[{"type":"reasoning.text","text":"${text}","index":0}]`
  return isPlain ? details : `","reasoning":"${text}${details}`
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20
const OPENING = 0x5b
const CLOSING = 0x5d

/** Index behind the opening character of a member's value. */
function startOf(frame: string, name: string, opening: number, closing: number): number {
  const at = frame.indexOf(name)
  if (at === -1) return ABSENT
  let from = at + name.length
  if (frame.charCodeAt(from) === SPACE) from++
  if (frame.startsWith('null', from)) return EMPTY
  if (frame.charCodeAt(from) !== opening) return UNCLEAR
  return frame.charCodeAt(from + 1) === closing ? EMPTY : from + 1
}

/** The index of the quote that ends a JSON string whose inside begins at `from`; -1 if there is none. */
export function endOfString(text: string, from: number): number {
  for (let i = from; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === BACKSLASH) i++
    else if (unit === QUOTE) return i
  }
  return -1
}
