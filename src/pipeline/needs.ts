/** What a request asks of an endpoint, read from the body as cheaply as it can be. */
import { nativeSearchIn } from '../canon/native-search.ts'
import { estimatedNeed } from '../canon/need.ts'
import type { Item, Part } from '../canon/request.ts'
import type { Endpoint } from '../catalog/types.ts'
import { isObject, type Json } from '../core/json.ts'
import type { PriceMoment } from '../core/price.ts'
import { ownTexts } from '../guardrails/index.ts'
import { estimateFromBytes, estimateTokens, TOOL_PROMPT_TOKENS } from '../ledger/usage-estimate.ts'
import type { Tier } from '../routing/index.ts'
import type { Exchange } from './exchange.ts'

/** Upper bound of what one image, sound or file may count as input tokens; stated in the operations manual. */
export const MEDIA_TOKENS = 20_000

/** Kinds of input beside text; undefined where there are none. */
export function inputModalities(exchange: Exchange): Set<string> | undefined {
  if (!exchange.mayHoldMedia) return undefined
  const found = new Set<string>()
  for (const part of mediaParts(exchange)) found.add(part.media)
  return found.size > 0 ? found : undefined
}

function mediaCount(exchange: Exchange): number {
  if (!exchange.mayHoldMedia) return 0
  let count = 0
  for (const _part of mediaParts(exchange)) count++
  return count
}

export function imageCount(exchange: Exchange): number {
  if (!exchange.mayHoldMedia) return 0
  let count = 0
  for (const part of mediaParts(exchange)) if (part.media === 'image') count++
  return count
}

/** Searches held for where the caller sets no bound of its own. */
const USUAL_SEARCHES = 10

/** The most searches that the provider's own tools may run for this request; 0 where it offers none. */
export function searchBound(exchange: Exchange): number {
  if (exchange.edited) {
    return exchange.request().tools.reduce((most, tool) => {
      const search = nativeSearchIn(tool)
      if (search) return most + (search.maxUses ?? USUAL_SEARCHES)
      return most + (tool.kind === 'opaque' ? searchesOf(tool.of.data) : 0)
    }, 0)
  }
  const { tools } = exchange.body
  if (!Array.isArray(tools)) return 0
  let most = 0
  for (const tool of tools) most += searchesOf(tool)
  return most
}

function searchesOf(tool: Json): number {
  if (!isObject(tool) || typeof tool.type !== 'string' || !tool.type.startsWith('web_search')) return 0
  return typeof tool.max_uses === 'number' ? Math.max(0, tool.max_uses) : USUAL_SEARCHES
}

/**
 * Tokens that must fit into an endpoint's context: input and the caller's own output cap, erring high.
 * @param smallest context in question; where even a token per byte fits it, nothing is counted more closely.
 */
export function contextNeed(exchange: Exchange, smallest: number): number {
  // Each input has the context to itself; what is too long is the matter of its endpoint's rule.
  if (exchange.client.embedding) return 0
  const surely = exchange.bodyBytes + (callerCap(exchange) ?? 0)
  if (!exchange.edited && !exchange.mayHoldMedia && surely <= smallest) return surely
  return estimatedNeed(exchange.request(), estimateTokens).total
}

/** Tokens of input and output that the endpoint takes together. */
export const contextOf = (endpoint: Endpoint): number => endpoint.context ?? endpoint.model.context ?? Number.POSITIVE_INFINITY

/** Tokens of the input where no provider counted them: media by the piece, not by their bytes. */
export function inputEstimate(exchange: Exchange): number {
  if (!exchange.mayHoldMedia && !exchange.edited) return estimateFromBytes(exchange.bodyBytes)
  return estimatedNeed(exchange.request(), estimateTokens).prompt
}

/** What decides between the prices of these endpoints; undefined, and nothing is counted, where each has but one. */
export function priceMoment(exchange: Exchange, endpoints: readonly Endpoint[]): PriceMoment | undefined {
  for (const { price } of endpoints) {
    if (typeof price === 'object' && price.overrides !== undefined) return { at: exchange.at, promptTokens: inputEstimate(exchange) }
  }
  return undefined
}

/** Tokens that the input cannot pass: no token of a byte-level vocabulary is shorter than a byte. */
export function inputBound(exchange: Exchange): number {
  if (!exchange.mayHoldMedia && !exchange.edited) return exchange.bodyBytes + TOOL_PROMPT_TOKENS
  const { tools, format } = exchange.request()
  let bytes = TOOL_PROMPT_TOKENS + Buffer.byteLength(JSON.stringify([tools, format ?? null]))
  for (const text of ownTexts(exchange.request())) bytes += Buffer.byteLength(text) + ITEM_BYTES
  return bytes + mediaCount(exchange) * MEDIA_TOKENS
}

/** Room for the role and the separators around a text. */
const ITEM_BYTES = 16

/** The caller's own cap on output tokens, under whichever of its names. */
export function callerCap(exchange: Exchange): number | undefined {
  const { body } = exchange
  const cap = body.max_output_tokens ?? body.max_completion_tokens ?? body.max_tokens
  return typeof cap === 'number' ? cap : undefined
}

/** True where the model may call something. */
export function offersTools(exchange: Exchange): boolean {
  if (exchange.edited) return exchange.request().tools.length > 0
  const { tools } = exchange.body
  return Array.isArray(tools) && tools.length > 0
}

function* mediaParts(exchange: Exchange): Generator<Extract<Part, { kind: 'media' }>> {
  for (const item of exchange.request().items) {
    for (const part of partsOf(item)) if (part.kind === 'media') yield part
  }
}

function partsOf(item: Item): readonly Part[] {
  return item.kind === 'message' || item.kind === 'result' ? item.parts : []
}

/** The tier that `service_tier` names; `fast` is another word for priority. */
export function tierOf(value: unknown): Tier | undefined {
  if (value === 'flex') return 'flex'
  return value === 'priority' || value === 'fast' ? 'priority' : undefined
}
