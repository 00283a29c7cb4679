/** Events of output items that come whole: native tools, tools of the gateway, images. */
import { entryAt } from '../../core/entry-at.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { ReplyContext } from '../types.ts'
import { itemSnapshot, type OutputItem } from './output-items.ts'
import { eventFrame } from './wire.ts'

/** A text of an item that its events send in deltas: empty when the item is added. */
interface Growth {
  /** Name of the events, without `.delta` and `.done`. */
  events: string
  /** Member of `.done` that holds the whole text; the last one of `path`. */
  field: string
  path: readonly string[]
}

const growth = (events: string, ...path: string[]): Growth => ({
  events: `response.${events}`,
  field: entryAt(path, path.length - 1),
  path,
})

/** Events between `added` and `done`, by item type (docs/contract.md#responses-stream): steps of its progress, and the text that grows. */
const SCRIPTS: Readonly<Record<string, readonly (string | Growth)[]>> = {
  web_search_call: ['in_progress', 'searching', 'completed'],
  file_search_call: ['in_progress', 'searching', 'completed'],
  image_generation_call: ['in_progress', 'generating', 'completed'],
  code_interpreter_call: ['in_progress', growth('code_interpreter_call_code', 'code'), 'interpreting', 'completed'],
  custom_tool_call: [growth('custom_tool_call_input', 'input')],
  function_call: [growth('function_call_arguments', 'arguments')],
  apply_patch_call: [growth('apply_patch_call_operation_diff', 'operation', 'diff')],
  mcp_call: ['in_progress', growth('mcp_call_arguments', 'arguments'), 'completed', 'failed'],
  // `ResponseCompactionCompactingEvent` (types of openai 7.57.0). The item comes whole, so it is one event.
  compaction: ['compacting'],
  mcp_list_tools: ['in_progress', 'completed', 'failed'],
}

/** Members that an item has only when it is done. */
const RESULTS: Readonly<Record<string, string>> = { image_generation_call: 'result', code_interpreter_call: 'outputs', mcp_call: 'output' }

function grownText(item: JsonObject, path: readonly string[]): string | undefined {
  let value: unknown = item
  for (const key of path) value = isObject(value) ? value[key] : undefined
  return typeof value === 'string' ? value : undefined
}

function emptied(item: JsonObject, [key, ...rest]: readonly string[]): JsonObject {
  if (key === undefined) return item
  const inner = item[key]
  return { ...item, [key]: rest.length === 0 || !isObject(inner) ? '' : emptied(inner, rest) }
}

function addedItem(item: OutputItem, type: string): JsonObject {
  let added = itemSnapshot(item, 'in_progress')
  for (const step of SCRIPTS[type] ?? [])
    if (typeof step !== 'string' && grownText(added, step.path) !== undefined) added = emptied(added, step.path)
  // What a subagent has done so far comes with the finished call alone.
  if (added.subagent_items !== undefined) delete added.subagent_items
  const result = RESULTS[type]
  return result === undefined || (added[result] ?? null) === null ? added : { ...added, [result]: null }
}

function growthFrames(ctx: ReplyContext, item: JsonObject, step: Growth, place: string): string {
  const text = grownText(item, step.path)
  if (text === undefined) return ''
  const json = JSON.stringify(text)
  const name = item.type === 'function_call' ? `,"name":${JSON.stringify(item.name ?? '')}` : ''
  return (
    eventFrame(ctx, `${step.events}.delta`, `${place},"delta":${json}`) +
    eventFrame(ctx, `${step.events}.done`, `${place},"${step.field}":${json}${name}`)
  )
}

/** An item without a status has ended well unless it has an error. */
function endedAs(item: JsonObject): string {
  return typeof item.status === 'string' ? item.status : (item.error ?? null) === null ? 'completed' : 'failed'
}

/** Progress of a tool of the gateway: an event of its own, with the place of the tool's item. */
export function progressFrame(ctx: ReplyContext, { id, index }: OutputItem, { type, ...data }: JsonObject): string {
  const fields = Object.entries(data).map(([key, value]) => `,${JSON.stringify(key)}:${JSON.stringify(value)}`)
  return eventFrame(ctx, String(type), `,"item_id":${JSON.stringify(id)},"output_index":${index}${fields.join('')}`)
}

/**
 * @param at `start` writes the item as added, in progress; `end` its progress, growth and final state.
 */
export function wholeFrames(ctx: ReplyContext, item: OutputItem, at: 'start' | 'end'): string {
  const data = item.whole ?? {}
  const type = String(data.type)
  if (at === 'start')
    return eventFrame(ctx, 'response.output_item.added', `,"output_index":${item.index},"item":${JSON.stringify(addedItem(item, type))}`)
  const place = `,"item_id":${JSON.stringify(item.id)},"output_index":${item.index}`
  const ended = endedAs(data)
  // A subagent that waits for the caller is announced, and ends in a later reply.
  if (ended === 'in_progress' && type.endsWith(':subagent')) return ''
  let out = ''
  for (const step of SCRIPTS[type] ?? []) {
    if (typeof step !== 'string') out += growthFrames(ctx, data, step, place)
    else if ((step !== 'completed' && step !== 'failed') || step === ended) out += eventFrame(ctx, `response.${type}.${step}`, place)
  }
  return out + eventFrame(ctx, 'response.output_item.done', `,"output_index":${item.index},"item":${item.json}`)
}
