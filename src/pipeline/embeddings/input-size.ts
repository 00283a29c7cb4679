/** How long inputs are, and cutting one that is too long. Estimates err high, as everywhere. */
import { itemTokens } from '../../dialects/canon/need.ts'
import type { EmbeddingInput } from '../../dialects/types.ts'
import { estimateTokens } from '../../ledger/settlement.ts'

/** Estimated tokens; exact where the caller sent tokens. */
export function inputTokens(input: EmbeddingInput): number {
  if (input.kind === 'tokens') return input.tokens.length
  if (input.kind === 'text') return estimateTokens(input.text)
  return itemTokens({ kind: 'message', role: 'user', parts: [...input.parts] }, estimateTokens)
}

/** So many of the estimated tokens are those of images, which may have a price of their own. */
export function imageTokens(input: EmbeddingInput): number {
  if (input.kind !== 'parts') return 0
  const others = input.parts.filter((part) => part.kind !== 'media' || part.media !== 'image')
  return others.length === input.parts.length ? 0 : inputTokens(input) - inputTokens({ kind: 'parts', parts: others })
}

export function imagesIn(input: EmbeddingInput): number {
  if (input.kind !== 'parts') return 0
  return input.parts.filter((part) => part.kind === 'media' && part.media === 'image').length
}

/** The beginning of an input, so much of it that it surely fits. Media are never cut. */
export function cutTo(input: EmbeddingInput, tokens: number): EmbeddingInput {
  if (input.kind === 'tokens') return { kind: 'tokens', tokens: input.tokens.slice(0, tokens) }
  return input.kind === 'text' ? { kind: 'text', text: beginningOf(input.text, tokens) } : input
}

function beginningOf(text: string, tokens: number): string {
  let fits = 0
  let over = text.length
  while (over - fits > 1) {
    const middle = (fits + over) >> 1
    if (estimateTokens(text.slice(0, middle)) <= tokens) fits = middle
    else over = middle
  }
  // Half of a pair is no character.
  const last = text.charCodeAt(fits - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? fits - 1 : fits)
}
