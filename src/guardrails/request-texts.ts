/** The texts of a request that input guardrails read. */
import type { CanonicalRequest, Item, Part } from '../canon/request.ts'
import type { Json } from '../core/json.ts'

/**
 * Every text of the items once: messages of every role, replayed reasoning, tool arguments and results, and what is
 * inside items that only their own dialect understands, since they travel upstream as they are.
 */
export function* ownTexts(request: CanonicalRequest): Generator<string> {
  for (const item of request.items) yield* itemTexts(item)
}

/**
 * What an input guardrail reads (contract section 7): every text once, and again in the forms in which a match
 * could otherwise hide (parts joined, escapes of arguments decoded). Not for counting.
 */
export function* requestTexts(request: CanonicalRequest): Generator<string> {
  for (const item of request.items) {
    yield* itemTexts(item)
    if (item.kind === 'call') yield* decodedTexts(item.args)
    else if (item.kind === 'message' || item.kind === 'result') yield* joinedTexts(item.parts)
  }
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

/** A provider may join the parts of a message, so a text cut in two is still one text. */
function* joinedTexts(parts: readonly Part[]): Generator<string> {
  if (parts.length < 2) return
  const texts: string[] = []
  for (const part of parts) if (part.kind === 'text' || part.kind === 'refusal') texts.push(part.text)
  if (texts.length > 1) yield texts.join('')
}

/** Arguments are JSON text, where an escape such as `\u0041` would hide a match. */
function* decodedTexts(args: string): Generator<string> {
  if (!args.includes('\\')) return
  let parsed: Json
  try {
    parsed = JSON.parse(args)
  } catch {
    return
  }
  yield* jsonTexts(parsed)
}

/** Every key and text value, without recursion: depth is the caller's to choose. */
function* jsonTexts(root: Json): Generator<string> {
  const rest: Json[] = [root]
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    if (typeof value === 'string') yield value
    else if (Array.isArray(value)) for (const child of value) rest.push(child)
    else if (value !== null && typeof value === 'object') {
      for (const [key, child] of Object.entries(value)) {
        yield key
        if (child !== undefined) rest.push(child)
      }
    }
  }
}
