/** A whole reply of each wire as a stream that tells the same, in as few events as the wire allows. */
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../fold.ts'
import type { WireName } from '../wire.ts'

const data = (event: JsonObject): string => `data: ${JSON.stringify(event)}\n\n`
const named = (event: JsonObject): string => `event: ${event.type}\n${data(event)}`

function chat(reply: JsonObject): string[] {
  const [choice = {}] = list(reply.choices)
  const { message, finish_reason, native_finish_reason, ...rest } = choice
  const chunk = (fields: JsonObject, more: JsonObject = {}): string => {
    const { usage: _usage, choices: _choices, ...head } = reply
    return data({ ...head, object: 'chat.completion.chunk', choices: [fields], ...more })
  }
  const { tool_calls: calls, ...utterance } = object(message)
  const delta: JsonObject = utterance
  if (calls !== undefined) delta.tool_calls = list(calls).map((call, index): Json => ({ index, ...call }))
  return [
    chunk({ ...rest, delta, finish_reason: null }),
    chunk({ index: 0, delta: {}, finish_reason, ...(native_finish_reason === undefined ? {} : { native_finish_reason }) }),
    data({ ...reply, object: 'chat.completion.chunk', choices: [] }),
    'data: [DONE]\n\n',
  ]
}

function responses(reply: JsonObject): string[] {
  const frames: string[] = []
  const add = (type: string, fields: JsonObject): void => {
    frames.push(named({ type, sequence_number: frames.length, ...fields }))
  }
  const opening = { ...reply, status: 'in_progress', completed_at: null, output: [], usage: null, incomplete_details: null }
  add('response.created', { response: opening })
  for (const [index, item] of list(reply.output).entries()) item.type === 'message' ? message(add, item, index) : other(add, item, index)
  add(`response.${reply.status}`, { response: reply })
  return frames
}

type Add = (type: string, fields: JsonObject) => void

function message(add: Add, item: JsonObject, output_index: number): void {
  add('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', content: [] } })
  for (const [content_index, part] of list(item.content).entries()) {
    const place = { item_id: item.id, output_index, content_index }
    const refused = part.type === 'refusal'
    const text = refused ? part.refusal : part.text
    add('response.content_part.added', {
      ...place,
      part: refused ? { type: 'refusal', refusal: '' } : { ...part, text: '', annotations: [], logprobs: [] },
    })
    if (refused) {
      add('response.refusal.delta', { ...place, delta: text })
      add('response.refusal.done', { ...place, refusal: text })
    } else {
      add('response.output_text.delta', { ...place, delta: text, logprobs: part.logprobs })
      for (const [annotation_index, annotation] of list(part.annotations).entries())
        add('response.output_text.annotation.added', { ...place, annotation_index, annotation })
      add('response.output_text.done', { ...place, text, logprobs: part.logprobs })
    }
    add('response.content_part.done', { ...place, part })
  }
  add('response.output_item.done', { output_index, item })
}

function other(add: Add, item: JsonObject, output_index: number): void {
  const place = { item_id: item.id, output_index }
  const bare: JsonObject = { ...item, status: 'in_progress' }
  if (item.type === 'function_call') bare.arguments = ''
  if (item.type === 'reasoning') Object.assign(bare, { summary: [], content: [], encrypted_content: undefined })
  add('response.output_item.added', { output_index, item: bare })
  if (item.type === 'function_call') {
    add('response.function_call_arguments.delta', { ...place, delta: item.arguments })
    add('response.function_call_arguments.done', { ...place, name: item.name, arguments: item.arguments })
  } else if (item.type === 'reasoning') {
    for (const [summary_index, part] of list(item.summary).entries()) {
      add('response.reasoning_summary_part.added', { ...place, summary_index, part: { ...part, text: '' } })
      add('response.reasoning_summary_text.delta', { ...place, summary_index, delta: part.text })
      add('response.reasoning_summary_text.done', { ...place, summary_index, text: part.text })
      add('response.reasoning_summary_part.done', { ...place, summary_index, part })
    }
    for (const [content_index, part] of list(item.content).entries()) {
      add('response.content_part.added', { ...place, content_index, part: { ...part, text: '' } })
      add('response.reasoning_text.delta', { ...place, content_index, delta: part.text })
      add('response.reasoning_text.done', { ...place, content_index, text: part.text })
      add('response.content_part.done', { ...place, content_index, part })
    }
  }
  add('response.output_item.done', { output_index, item })
}

/** A block as it opens, and the deltas that fill it. */
function anthropicBlock(block: JsonObject): [opened: JsonObject, deltas: JsonObject[]] {
  if (block.type === 'text') {
    const citations = list(block.citations).map((citation) => ({ type: 'citations_delta', citation }))
    return [{ ...block, text: '', citations: citations.length > 0 ? [] : null }, [{ type: 'text_delta', text: block.text }, ...citations]]
  }
  if (block.type === 'thinking')
    return [
      { ...block, thinking: '', signature: '' },
      [
        { type: 'thinking_delta', thinking: block.thinking },
        { type: 'signature_delta', signature: block.signature },
      ],
    ]
  if (block.type === 'tool_use' || block.type === 'server_tool_use')
    return [{ ...block, input: {} }, [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }]]
  return [block, []]
}

function anthropic(reply: JsonObject): string[] {
  const { content, stop_reason, stop_sequence, stop_details, container, context_management, usage, ...head } = reply
  const counts = object(usage)
  const opening = { ...counts, output_tokens: 1, output_tokens_details: null, server_tool_use: null }
  const frames = [
    named({
      type: 'message_start',
      message: { ...head, content: [], stop_reason: null, stop_sequence: null, stop_details: null, container: null, usage: opening },
    }),
  ]
  for (const [index, block] of list(content).entries()) {
    const [content_block, deltas] = anthropicBlock(block)
    frames.push(named({ type: 'content_block_start', index, content_block }))
    for (const delta of deltas) frames.push(named({ type: 'content_block_delta', index, delta }))
    frames.push(named({ type: 'content_block_stop', index }))
  }
  const { cache_creation: _creation, service_tier: _tier, inference_geo: _geo, speed: _speed, ...told } = counts
  const delta = { stop_reason, stop_sequence, stop_details, container }
  frames.push(named({ type: 'message_delta', delta, usage: told, ...(context_management === undefined ? {} : { context_management }) }))
  frames.push(named({ type: 'message_stop' }))
  return frames
}

/** A whole reply is a stream of one event. */
const gemini = (reply: JsonObject): string[] => [data(reply)]

export const STREAMED: Readonly<Record<WireName, (reply: JsonObject) => string[]>> = {
  'openai-chat': chat,
  'openai-responses': responses,
  anthropic,
  gemini,
}
