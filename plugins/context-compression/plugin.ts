import { estimatedNeed, fixedTokens, type Host, type Plugin, type Resolved } from '../../src/plugin-api/index.ts'
import { type CompressionConfig, parseConfig } from './config.ts'
import { largestContext } from './largest-context.ts'
import { middleOut } from './middle-out.ts'

const ID = 'context-compression'
/** Models up to this context, in tokens, are compressed without being asked. */
const SMALL_CONTEXT = 8192

export const contextCompression: Plugin<CompressionConfig> = {
  id: ID,
  parse: parseConfig,
  implied,
  shape,
}

function implied(exchange: Resolved): boolean {
  if (exchange.gateway.plugins.some((entry) => entry.id === ID)) return false
  const context = exchange.models[0]?.context
  return context !== undefined && context <= SMALL_CONTEXT
}

function shape(exchange: Resolved, config: CompressionConfig, host: Host): void {
  if (!config.enabled || !exchange.models.some((model) => model.output.includes('text'))) return
  const context = largestContext(exchange.endpoints)
  if (context === undefined) return
  const estimate = (text: string): number => host.estimateTokens(text)
  const request = exchange.request()
  const need = estimatedNeed(request, estimate)
  if (need.total <= context) return
  const reserve = request.sampling.maxOutput ?? completionReserve(exchange, context)
  const items = middleOut(request.items, context - reserve - fixedTokens(request, estimate), estimate)
  if (!items) return
  const counts = { original_count: request.items.length, compressed_count: items.length }
  exchange.edit(ID, (draft) => {
    draft.items = items
  })
  exchange.stages.push({
    type: 'context_compression',
    name: ID,
    summary: `Fitted the conversation into ${context} tokens: ${counts.compressed_count} of ${counts.original_count} items stay`,
    data: { engine: config.engine, input_type: 'messages', ...counts },
  })
}

/** Room for the answer where the caller named no cap: the model's usual output, but at most a quarter of the context. */
function completionReserve(exchange: Resolved, context: number): number {
  const usual = Math.max(...exchange.models.map((model) => model.defaultMaxOutput))
  return Math.min(usual, Math.floor(context / 4))
}
