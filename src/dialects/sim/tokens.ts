/** The simulator's tokens: a word with the space before it, or up to 12 characters of a longer word. */
import type { CanonicalRequest, Item, Part } from '../canon/request.ts'

const LONGEST = 12
/** Plausible counts for what is not text. */
const ITEM_TOKENS = 4
export const MEDIA_TOKENS = 85

/** End of the piece that starts at `from`. Never inside a surrogate pair. */
function pieceEnd(text: string, from: number): number {
  let at = from
  while (at < text.length && isSpace(text.charCodeAt(at))) at++
  const limit = at + LONGEST
  while (at < text.length && at < limit && !isSpace(text.charCodeAt(at))) at++
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d)
}

/** Pieces that join to the text again; each is one token. */
export function* pieces(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const end = pieceEnd(text, from)
    yield text.slice(from, end)
    from = end
  }
}

export function countTokens(text: string): number {
  let count = 0
  for (let from = 0; from < text.length; from = pieceEnd(text, from)) count++
  return count
}

/** Tokens of the whole prompt. */
export function inputTokens(request: CanonicalRequest): number {
  let count = 0
  for (const item of request.items) count += ITEM_TOKENS + itemTokens(item)
  if (request.tools.length > 0) count += countTokens(JSON.stringify(request.tools))
  if (request.format?.schema) count += countTokens(JSON.stringify(request.format.schema))
  return count
}

function itemTokens(item: Item): number {
  switch (item.kind) {
    case 'message':
    case 'result':
      return item.parts.reduce((sum, part) => sum + partTokens(part), 0)
    case 'call':
      return countTokens(item.name) + countTokens(item.args)
    case 'reasoning':
      return countTokens(item.text ?? '') + (item.summary ?? []).reduce((sum, text) => sum + countTokens(text), 0)
    case 'opaque':
      return countTokens(JSON.stringify(item.of.data))
  }
}

function partTokens(part: Part): number {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return countTokens(part.text)
    case 'media':
      return MEDIA_TOKENS
    case 'opaque':
      return countTokens(JSON.stringify(part.of.data))
  }
}
