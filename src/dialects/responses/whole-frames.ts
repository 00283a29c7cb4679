/** Events of output items that come whole: native tools, tools of the gateway, images. */
import type { JsonObject } from '../../core/json.ts'
import type { ReplyContext } from '../types.ts'
import { itemSnapshot, type OutputItem } from './output-items.ts'
import { eventFrame } from './wire.ts'

/** Progress events between `added` and `done`, by item type (contract 1.6). */
const PROGRESS: Readonly<Record<string, readonly string[]>> = {
  web_search_call: ['in_progress', 'searching', 'completed'],
  image_generation_call: ['in_progress', 'generating', 'completed'],
}

/** Members that grow by deltas: empty in `added`. */
const GROWING: Readonly<Record<string, string>> = { custom_tool_call: 'input', function_call: 'arguments' }

function growth(ctx: ReplyContext, data: JsonObject, place: string): string {
  const field = GROWING[String(data.type)]
  const text = field === undefined ? undefined : data[field]
  if (typeof text !== 'string') return ''
  const base = field === 'input' ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
  const name = field === 'arguments' ? `,"name":${JSON.stringify(data.name ?? '')}` : ''
  const json = JSON.stringify(text)
  return (
    eventFrame(ctx, `${base}.delta`, `${place},"delta":${json}`) + eventFrame(ctx, `${base}.done`, `${place},"${field}":${json}${name}`)
  )
}

/**
 * @param at `start` writes the item as added, in progress; `end` its progress, growth and final state.
 */
export function wholeFrames(ctx: ReplyContext, item: OutputItem, at: 'start' | 'end'): string {
  const data = item.whole ?? {}
  const type = String(data.type)
  if (at === 'start') {
    const added = itemSnapshot(item, 'in_progress')
    if (GROWING[type] !== undefined) added[GROWING[type]] = ''
    return eventFrame(ctx, 'response.output_item.added', `,"output_index":${item.index},"item":${JSON.stringify(added)}`)
  }
  const place = `,"item_id":${JSON.stringify(item.id)},"output_index":${item.index}`
  let out = growth(ctx, data, place)
  for (const step of PROGRESS[type] ?? [])
    if (step !== 'completed' || data.status === 'completed') out += eventFrame(ctx, `response.${type}.${step}`, place)
  return out + eventFrame(ctx, 'response.output_item.done', `,"output_index":${item.index},"item":${item.json}`)
}
