/** Parts of an answer that come whole: data of items, titles of sources. */
import type { JsonObject } from '../core/json.ts'
import type { AnswerPolicy } from './answer-policy.ts'
import { ArgsStream } from './args-stream.ts'
import type { Findings } from './findings.ts'
import { withTexts } from './json-texts.ts'

/** Pictures and sound are no text, with or without a label. */
const MEDIA = /^data:(?:image|audio|video)\//
const LONG_CODE = /^[A-Za-z0-9+/_-]{2000}/

/** True for what nobody reads. */
export function isMedia(text: string): boolean {
  return MEDIA.test(text) || LONG_CODE.test(text)
}

/** @returns the very value where nothing of it is hidden. */
export function wholeValue(data: JsonObject, policy: AnswerPolicy, findings: Findings): JsonObject {
  const known = new Map<string, string | undefined>()
  return withTexts(data, (text) => {
    if (text === '' || isMedia(text)) return undefined
    if (!known.has(text)) {
      const stream = new ArgsStream(policy, findings)
      const read = stream.push(text) + stream.end()
      known.set(text, read === text ? undefined : read)
    }
    return known.get(text)
  })
}
