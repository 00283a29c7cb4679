/** Token counts between this wire and the canon. */

import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { usd } from '../../core/money.ts'
import { PAID_TOOLS, type PaidTool } from '../../core/price.ts'
import { count, statedCount } from '../canon/counts.ts'
import { IMAGE_TOKENS } from '../canon/events.ts'
import { toolUseIn } from '../canon/provider-fees.ts'
import { addCalls, NO_REPORT, noUsage, type Usage, withEarlierSides, withSearches } from '../canon/usage.ts'
import { unknownMembers } from '../canon/usage-members.ts'
import type { Final } from '../types.ts'

/** Searches that the provider ran: they stand in its output, not in its usage. Opening a page is none. */
function searchesIn(items: readonly JsonObject[]): number {
  return items.filter(({ type, action, status }) => {
    if (type !== 'web_search_call' || status === 'failed') return false
    return !isObject(action) || action.type === 'search'
  }).length
}

/** Calls of its other tools that the provider takes a fee for. */
function paidCallsIn(items: readonly JsonObject[]): Usage['toolCalls'] {
  let calls: Partial<Record<PaidTool, number>> | undefined
  for (const { type, status } of items) {
    const tool = PAID_TOOLS.find((one) => type === `${one}_call`)
    if (tool === undefined || status === 'failed') continue
    calls ??= {}
    calls[tool] = (calls[tool] ?? 0) + 1
  }
  return calls
}

/** Counts by the finished items of a reply, before a report has them: calls of the provider's own tools, and images. */
export class ShownItems {
  searches = 0
  paid: Usage['toolCalls']
  images = 0
  /** An image has come in part: it counts already. */
  private drawing = false

  /** Takes a partial image. @returns true for one that counts: the first of its item. */
  partialImage(): boolean {
    if (this.drawing) return false
    this.drawing = true
    this.images++
    return true
  }

  /** Takes a finished item. @returns true where it holds an image that has not been counted. */
  done(item: JsonObject): boolean {
    if (typeof item.type !== 'string' || !item.type.endsWith('_call')) return false
    this.searches += searchesIn([item])
    this.paid = addCalls(this.paid, paidCallsIn([item]))
    if (item.type !== 'image_generation_call') return false
    const fresh = !this.drawing && typeof item.result === 'string' && item.result !== ''
    this.drawing = false
    if (fresh) this.images++
    return fresh
  }
}

/**
 * Reads what an upstream reports: cached counts lie within the input, reasoning within the output. Tokens of images stand in
 * `tool_usage` alone, and so do the searches that are billed (`Response.ToolUsage`, OpenAI SDK 7.55.0); an upstream without it is
 * taken by what its output shows.
 * @param shown what its stream has shown.
 * @returns undefined where it holds no count, and no tool was run.
 */
export function decodeUsage({ usage, output, tool_usage: ofTools }: JsonObject, shown?: ShownItems): Usage | undefined {
  const { image_gen: drawn, web_search: searched } = ofTools && isObject(ofTools) ? ofTools : {}
  const billed = searched && isObject(searched) ? statedCount(searched.num_requests) : undefined
  const report = isObject(usage) ? usage : {}
  const items = asObjects(output)
  const stated = report.server_side_tool_usage_details === undefined ? undefined : toolUseIn(report)
  const searches = billed ?? Math.max(searchesIn(items), shown?.searches ?? 0, stated?.webSearches ?? 0)
  const toolCalls = mostCalls(mostCalls(paidCallsIn(items), shown?.paid), stated?.toolCalls)
  const images = drawn === undefined ? undefined : drawnUsage(drawn)
  const counts = decodeCounts(report)
  const others = images ?? (counts ? shownImages(Math.max(imagesIn(items), shown?.images ?? 0)) : undefined)
  if (!counts && searches === 0 && !toolCalls && !others) return undefined
  const known = counts ?? NO_REPORT
  return {
    ...(searches > 0 ? withSearches(known, searches) : known),
    ...(toolCalls ? { toolCalls } : {}),
    ...(others && others !== NOTHING_DRAWN ? { others: [{ model: IMAGE_TOOL, usage: others }] } : {}),
  }
}

/** Images have a price of their own at the endpoint that serves, whichever model of the provider draws them. */
const IMAGE_TOOL = 'image_generation'

function drawnUsage(drawn: Json | undefined): Usage | undefined {
  if (!isObject(drawn)) return undefined
  const [input, output] = [count(drawn.input_tokens), count(drawn.output_tokens)]
  if (input + output === 0) return NOTHING_DRAWN
  const inputs = isObject(drawn.input_tokens_details) ? drawn.input_tokens_details : {}
  const outputs = isObject(drawn.output_tokens_details) ? drawn.output_tokens_details : {}
  const image = count(inputs.image_tokens)
  const written = statedCount(outputs.image_tokens) ?? output
  return { ...noUsage(), input, output, imageOutput: written, ...(image > 0 ? { inputSplit: { image } } : {}) }
}

const NOTHING_DRAWN = noUsage()

function imagesIn(items: readonly JsonObject[]): number {
  return items.filter(({ type, result }) => type === 'image_generation_call' && typeof result === 'string' && result !== '').length
}

/** An estimate of each. */
function shownImages(images: number): Usage | undefined {
  const tokens = images * IMAGE_TOKENS
  return images > 0 ? { ...noUsage(), output: tokens, imageOutput: tokens, estimated: true } : undefined
}

/** Of two counts of the same calls the larger one. */
function mostCalls(a: Usage['toolCalls'], b: Usage['toolCalls']): Usage['toolCalls'] {
  if (!a || !b) return a ?? b
  const most = { ...a }
  for (const tool of PAID_TOOLS) {
    const calls = Math.max(a[tool] ?? 0, b[tool] ?? 0)
    if (calls > 0) most[tool] = calls
  }
  return most
}

function decodeCounts(usage: JsonObject): Usage | undefined {
  const inputs = isObject(usage.input_tokens_details) ? usage.input_tokens_details : {}
  const outputs = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {}
  const counted = { input: statedCount(usage.input_tokens) !== undefined, output: statedCount(usage.output_tokens) !== undefined }
  if (!counted.input && !counted.output) return undefined
  const input = count(usage.input_tokens)
  const output = count(usage.output_tokens)
  const cached = Math.min(count(inputs.cached_tokens), input)
  const kept = lifetimes(inputs.cache_write_tokens_details)
  const own: Usage = {
    input,
    output,
    cached,
    cacheWrite: Math.min(count(inputs.cache_write_tokens) || kept.short + kept.long, input - cached),
    reasoning: Math.min(count(outputs.reasoning_tokens), output),
    imageOutput: Math.min(count(outputs.image_tokens), output),
    audioOutput: Math.min(count(outputs.audio_tokens), output),
    audioInput: Math.min(count(inputs.audio_tokens), input),
  }
  if (kept.long > 0) own.cacheWriteLong = Math.min(kept.long, own.cacheWrite)
  const unknown = unknownMembers('openai-responses', usage)
  if (unknown) own.unknownMembers = unknown
  return counted.input && counted.output ? own : withEarlierSides(own, undefined, counted)
}

/** Cache writes by how long they are kept: `InputTokensDetails.CacheWriteTokensDetails`, npm openai 7.59.0. */
function lifetimes(details: Json | undefined): { short: number; long: number } {
  if (!details || !isObject(details)) return { short: 0, long: 0 }
  return { short: count(details.ttl_30m_tokens), long: count(details.ttl_12h_tokens) }
}

/** `usage` of a reply (docs/contract.md#responses-reply), with what it cost in USD. */
export function encodeUsage(final: Final): JsonObject {
  const { usage, serverTools } = final
  const result: JsonObject = {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.input + usage.output,
    cost: usd(final.cost),
    cost_details: {
      upstream_inference_cost: usd(final.inputCost + final.outputCost),
      upstream_inference_input_cost: usd(final.inputCost),
      upstream_inference_output_cost: usd(final.outputCost),
    },
    is_byok: final.isByok === true,
  }
  const ran: JsonObject = {}
  if (serverTools) {
    ran.tool_calls_requested = serverTools.requested
    ran.tool_calls_executed = serverTools.executed
  }
  const searches = (usage.webSearches ?? 0) + (serverTools?.searches ?? 0)
  if (searches > 0) ran.web_search_requests = searches
  if (Object.keys(ran).length > 0) result.server_tool_use_details = ran
  return result
}
