/** The texts of a request that the plugin judges. */
import type { CanonicalRequest } from '../../dialects/canon/request.ts'
import { itemPassages } from '../passages.ts'

/** Texts of messages, reasoning, arguments and results; parts of one message as one text, for a provider may join them. */
export function moderatedTexts(request: CanonicalRequest): string[] {
  const texts: string[] = []
  for (const item of request.items) {
    for (const passage of itemPassages(item)) texts.push(passage.texts.join('\n'))
  }
  return texts
}
