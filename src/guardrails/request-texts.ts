/** Every text of the items, for whoever counts their bytes. */
import type { CanonicalRequest, Item, Part } from '../canon/request.ts'
import { jsonTexts } from './json-texts.ts'

/**
 * Every text of the items once: messages of every role, replayed reasoning, tool arguments and results, and what is
 * inside items that only their own dialect understands, since they travel upstream as they are.
 */
export function* ownTexts(request: CanonicalRequest): Generator<string> {
  for (const item of request.items) yield* itemTexts(item)
}

function* itemTexts(item: Item): Generator<string> {
  switch (item.kind) {
    case 'message':
      if (item.name !== undefined) yield item.name
      yield* partTexts(item.parts)
      return
    case 'reasoning':
      if (item.text !== undefined) yield item.text
      if (item.summary) yield* item.summary
      return
    case 'call':
      yield item.name
      yield item.args
      return
    case 'result':
      yield* partTexts(item.parts)
      return
    case 'opaque':
      yield* jsonTexts(item.of.data)
  }
}

function* partTexts(parts: readonly Part[]): Generator<string> {
  for (const part of parts) {
    if (part.kind === 'text' || part.kind === 'refusal') yield part.text
    else if (part.kind === 'opaque') yield* jsonTexts(part.of.data)
  }
}
