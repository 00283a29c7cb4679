/** Parts of an answer that come whole: data of items, titles of sources. */
import type { JsonObject } from '../core/json.ts'
import type { AnswerPolicy } from './answer-policy.ts'
import { ArgsStream } from './args-stream.ts'
import type { Findings } from './findings.ts'
import { withTexts } from './json-texts.ts'

/** Pictures and sound are no text; nor is what is sealed. */
const MEDIA = /^data:(?:image|audio|video)\//

/** @returns the very value where nothing of it is hidden. */
export function wholeValue(data: JsonObject, policy: AnswerPolicy, findings: Findings): JsonObject {
  const known = new Map<string, string | undefined>()
  return withTexts(data, (text) => {
    if (text === '' || MEDIA.test(text)) return undefined
    if (!known.has(text)) {
      const stream = new ArgsStream(policy, findings)
      const read = stream.push(text) + stream.end()
      known.set(text, read === text ? undefined : read)
    }
    return known.get(text)
  })
}
