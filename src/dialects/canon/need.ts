/** Number of tokens that a request needs, estimated on the high side. */
import { isTextFile, mediaInside, opaqueText } from './media.ts'
import type { CanonicalRequest, Item, Opaque, Part } from './request.ts'

export type Estimate = (text: string) => number

/** Role marks and separators around an item. */
const ITEM_TOKENS = 4
/** A medium is not measured here, only counted; a file of plain text is text. */
export const COUNTED_MEDIA_TOKENS = 1000

export interface Need {
  /** Tokens of the items, tools and output schema. */
  prompt: number
  /** The caller's cap on output tokens, 0 where there is none. */
  completion: number
  total: number
}

/** The need of a whole request, in tokens. */
export function estimatedNeed(request: CanonicalRequest, estimate: Estimate): Need {
  let prompt = fixedTokens(request, estimate)
  for (const item of request.items) prompt += itemTokens(item, estimate)
  const completion = request.sampling.maxOutput ?? 0
  return { prompt, completion, total: prompt + completion }
}

/** Tokens beside the items: tools and output schema. */
export function fixedTokens(request: CanonicalRequest, estimate: Estimate): number {
  let tokens = request.tools.length === 0 ? 0 : estimate(JSON.stringify(request.tools))
  if (request.format?.schema) tokens += estimate(JSON.stringify(request.format.schema))
  return tokens
}

export function itemTokens(item: Item, estimate: Estimate): number {
  switch (item.kind) {
    case 'message':
    case 'result':
      return ITEM_TOKENS + item.parts.reduce((sum, part) => sum + partTokens(part, estimate), 0)
    case 'call':
      return ITEM_TOKENS + estimate(item.name) + estimate(item.args)
    case 'reasoning':
      return ITEM_TOKENS + estimate(item.text ?? '') + (item.summary ?? []).reduce((sum, text) => sum + estimate(text), 0)
    case 'opaque':
      return ITEM_TOKENS + opaqueTokens(item.of, estimate)
  }
}

function opaqueTokens(of: Opaque, estimate: Estimate): number {
  let tokens = estimate(opaqueText(of))
  for (const _ of mediaInside(of)) tokens += COUNTED_MEDIA_TOKENS
  return tokens
}

function partTokens(part: Part, estimate: Estimate): number {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return estimate(part.text)
    case 'media':
      return part.data !== undefined && isTextFile(part) ? estimate(part.data) : COUNTED_MEDIA_TOKENS
    case 'opaque':
      return opaqueTokens(part.of, estimate)
  }
}
