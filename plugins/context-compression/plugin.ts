import { estimatedNeed, fixedTokens, type Host, type Item, type Plugin, type Resolved } from '../../src/plugin-api/index.ts'
import { type CompressionConfig, parseConfig } from './config.ts'
import { mostMessages, withinCount } from './message-limit.ts'
import { middleOut } from './middle-out.ts'
import { targetContext } from './target-context.ts'

const ID = 'context-compression'
/** Models up to this context, in tokens, are compressed also where the request does not name the plugin. */
const SMALL_CONTEXT = 8192

export const contextCompression: Plugin<CompressionConfig> = {
  id: ID,
  onError: 'skip',
  parse: parseConfig,
  impliedBy: { context: SMALL_CONTEXT },
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
  const before = exchange.request().items
  const most = mostMessages(exchange.endpoints)
  const counted = most === undefined ? before : withinCount(before, most)
  const { items, context } = withinContext(exchange, counted, host)
  if (items === before || (items.length === before.length && context === undefined)) return
  const counts = { original_count: before.length, compressed_count: items.length }
  exchange.edit(ID, (draft) => {
    draft.items = items
  })
  const room = context === undefined ? `${most} messages` : `${context} tokens`
  exchange.stages.push({
    type: 'context_compression',
    name: ID,
    summary: `Fitted the conversation into ${room}: ${counts.compressed_count} of ${counts.original_count} items stay`,
    data: { engine: config.engine, input_type: 'messages', ...counts },
  })
}

/** The items that fit the context that was chosen; all of them, and no context, where nothing need or can be done. */
function withinContext(exchange: Resolved, items: Item[], host: Host): { items: Item[]; context?: number } {
  const estimate = (text: string): number => host.estimateTokens(text)
  const request = { ...exchange.request(), items }
  const context = targetContext(exchange, estimatedNeed(request, estimate).total)
  if (context === undefined) return { items }
  const reserve = request.sampling.maxOutput ?? completionReserve(exchange, context)
  const fitted = middleOut(items, context - reserve - fixedTokens(request, estimate), estimate)
  return fitted ? { items: fitted, context } : { items }
}

/** Output tokens for which room is kept where neither the caller nor the operator sets a cap. */
const USUAL_OUTPUT = 4096

/** Room for the answer where the caller named no cap: the model's usual output, but at most a quarter of the context. */
function completionReserve(exchange: Resolved, context: number): number {
  const usual = Math.max(
    ...exchange.models.map(({ defaultMaxOutput, maxOutput }) => defaultMaxOutput ?? Math.min(USUAL_OUTPUT, maxOutput ?? USUAL_OUTPUT)),
  )
  return Math.min(usual, Math.floor(context / 4))
}
