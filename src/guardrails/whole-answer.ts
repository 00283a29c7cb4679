/** Parts of an answer that come whole: data of items, titles of sources. */
import type { JsonObject } from '../core/json.ts'
import type { AnswerPolicy } from './answer-policy.ts'
import { ArgsStream } from './args-stream.ts'
import type { Findings } from './findings.ts'
import { withTexts } from './json-texts.ts'

/** Pictures and sound are no text, with or without a label. Each is one of them to its end: what only begins so is read. */
const MEDIA = /^data:(?:image|audio|video)\/[\w.+-]+(?:;[\w=.+-]+)*;base64,[A-Za-z0-9+/]*={0,2}$/
// A counted repetition would keep a place to go back to for every character, and run out of stack.
const CODE = /^[A-Za-z0-9+/_-]*={0,2}$/
const LONG_CODE = 2_000

export function isPicture(text: string): boolean {
  return text.startsWith('data:') && MEDIA.test(text)
}

/** True for media and long codes, which are no text to check. */
export function isMedia(text: string): boolean {
  return isPicture(text) || (text.length >= LONG_CODE && CODE.test(text))
}

/** Pictures and sound within a longer text, such as the result of a tool. */
const WITHIN = /data:(?:image|audio|video)\/[\w.+-]+;base64,[A-Za-z0-9+/]{64}[A-Za-z0-9+/]*={0,2}/g
/** Stands for one of them while the rest is read: a character for private use. */
const MARK = '\uf8ff'

/** A text without the pictures in it. */
export interface Legible {
  readonly text: string
  /** Puts the pictures back into what has become of the text. */
  whole(text: string): string
}

export function legible(text: string): Legible {
  if (!text.includes(';base64,') || text.includes(MARK)) return { text, whole: (read) => read }
  const media: string[] = []
  const bare = text.replace(WITHIN, (found) => {
    media.push(found)
    return MARK
  })
  return {
    text: bare,
    whole: (read) => {
      const pieces = read.split(MARK)
      // If a mark was redacted together with the text around it, the marks that are left cannot be matched to the media.
      return pieces.length === media.length + 1 ? pieces.map((piece, i) => piece + (media[i] ?? '')).join('') : pieces.join('')
    },
  }
}

/** @returns the very value where nothing of it is hidden. */
export function wholeValue(data: JsonObject, policy: AnswerPolicy, findings: Findings): JsonObject {
  const known = new Map<string, string | undefined>()
  return withTexts(data, (source) => {
    if (source === '' || isMedia(source)) return undefined
    if (!known.has(source)) {
      const stream = new ArgsStream(policy, findings)
      const { text, whole } = legible(source)
      const read = stream.push(text) + stream.end()
      known.set(source, read === text ? undefined : whole(read))
    }
    return known.get(source)
  })
}
