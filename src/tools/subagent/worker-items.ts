/** What a worker has said and done, as input items that its next request can begin with. */
import { type Block, isObject, type Json, type JsonObject } from '../../plugin-api/index.ts'

export function workerItems(blocks: readonly Block[]): JsonObject[] {
  const items: JsonObject[] = []
  for (const [i, block] of blocks.entries()) {
    const { kind, text, call, of } = block
    if (kind === 'text' && text !== '') items.push({ type: 'message', role: 'assistant', content: text })
    else if (kind === 'call' && call) items.push(callItem(call.id, call.name, text))
    else if (kind === 'server' && of && isObject(of.data.call)) items.push(...serverCall(of.type, of.data.call))
    else if (kind === 'reasoning' || kind === 'summary') addReasoning(items, block, i)
  }
  return items
}

function callItem(callId: string, name: string, args: string): JsonObject {
  return { type: 'function_call', call_id: callId, name, arguments: args === '' ? '{}' : args }
}

/** A tool of the gateway was a function to the worker. @param type `<brand>:<name>`. */
function serverCall(type: string, { tool_call_id: id, arguments: args, result }: JsonObject): JsonObject[] {
  const callId = String(id)
  return [
    callItem(callId, type.replace(':', '_'), word(args) ?? '{}'),
    { type: 'function_call_output', call_id: callId, output: word(result) ?? '' },
  ]
}

/** Several summaries of one item stay one. */
function addReasoning(items: JsonObject[], { kind, text, item, notes }: Block, i: number): void {
  const state: JsonObject = {}
  for (const { note, data } of notes) {
    if (note === 'signature') state.signature = data.signature
    if (note === 'encrypted') state.encrypted_content = data.encrypted_content ?? data.data
    if (typeof data.format === 'string') state.format = data.format
    if (note === 'encrypted' && typeof data.id === 'string') state.id = data.id
  }
  const before = items.at(-1)
  if (kind === 'summary' && item !== undefined && before?.type === 'reasoning' && before.id === item && Array.isArray(before.summary)) {
    before.summary.push({ type: 'summary_text', text })
    Object.assign(before, state)
    return
  }
  const spoken: JsonObject =
    kind === 'summary'
      ? { summary: [{ type: 'summary_text', text }] }
      : { summary: [], ...(text === '' ? {} : { content: [{ type: 'reasoning_text', text }] }) }
  items.push({ type: 'reasoning', id: item ?? `rs_${i}`, ...spoken, ...state })
}

function word(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
