/** `Utterance` as an OpenAI-style /responses server writes it. */
import type { Json, JsonObject } from '../../src/core/json.ts'
import { type Utterance, utteranceEnd, utteranceUsage } from './wire.ts'

const ID = 'resp_upstream'
const MODEL = 'upstream-model'
const CREATED = 1_767_600_000

type Item = JsonObject & { id: string; type: string }

function envelope(utterance: Utterance, status: string, output: readonly Json[]): JsonObject {
  const { input, output: out, cached, written, reasoning } = utteranceUsage(utterance)
  const open = status === 'in_progress'
  return {
    id: ID,
    object: 'response',
    created_at: CREATED,
    completed_at: open ? null : CREATED + 1,
    status,
    background: false,
    error: null,
    incomplete_details:
      status === 'incomplete' ? { reason: utteranceEnd(utterance) === 'content_filter' ? 'content_filter' : 'max_output_tokens' } : null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model: utterance.model ?? MODEL,
    output: [...output],
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: open ? 'auto' : 'default',
    store: false,
    temperature: 1,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    usage: open
      ? null
      : {
          input_tokens: input,
          input_tokens_details: { cached_tokens: cached, ...(written > 0 ? { cache_write_tokens: written } : {}) },
          output_tokens: out,
          output_tokens_details: { reasoning_tokens: reasoning },
          total_tokens: input + out,
        },
    user: null,
    metadata: {},
  }
}

function finalStatus(utterance: Utterance): 'completed' | 'incomplete' {
  const end = utteranceEnd(utterance)
  return end === 'length' || end === 'content_filter' ? 'incomplete' : 'completed'
}

function annotations(utterance: Utterance): JsonObject[] {
  const end = utterance.text?.join('').length ?? 0
  return (utterance.citations ?? []).map(({ url, title }) => ({ type: 'url_citation', url, title, start_index: 0, end_index: end }))
}

function items(utterance: Utterance): Item[] {
  const output: Item[] = []
  if (utterance.reasoning || utterance.signature !== undefined)
    output.push({
      id: utterance.reasoningId ?? 'rs_1',
      type: 'reasoning',
      summary: utterance.reasoning?.length ? [{ type: 'summary_text', text: utterance.reasoning.join('') }] : [],
      ...(utterance.signature === undefined ? {} : { encrypted_content: utterance.signature }),
    })
  for (const [index, query] of (utterance.searches ?? []).entries())
    output.push({ id: `ws_${index + 1}`, type: 'web_search_call', status: 'completed', action: { type: 'search', query } })
  const content: Json[] = []
  if (utterance.text)
    content.push({ type: 'output_text', text: utterance.text.join(''), annotations: annotations(utterance), logprobs: [] })
  if (utterance.refusal) content.push({ type: 'refusal', refusal: utterance.refusal.join('') })
  if (content.length) output.push({ id: 'msg_1', type: 'message', status: finalStatus(utterance), role: 'assistant', content })
  for (const [index, { id, name, namespace, custom, args }] of (utterance.calls ?? []).entries()) {
    const kind = custom ? { id: `ctc_${index + 1}`, type: 'custom_tool_call' } : { id: `fc_${index + 1}`, type: 'function_call' }
    const text = custom ? { input: args.join('') } : { arguments: args.join('') }
    output.push({ ...kind, status: 'completed', call_id: id, name, ...(namespace === undefined ? {} : { namespace }), ...text })
  }
  return output
}

export function responsesReply(utterance: Utterance): JsonObject {
  return envelope(utterance, finalStatus(utterance), items(utterance))
}

/** Writes the frames of one stream with their running number. */
class Frames {
  readonly frames: string[] = []

  add(type: string, fields: JsonObject): void {
    const data = { type, sequence_number: this.frames.length, ...fields }
    this.frames.push(`event: ${type}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  reasoning(item: Item, index: number, pieces: readonly string[]): void {
    const place = { item_id: item.id, output_index: index, summary_index: 0 }
    this.add('response.output_item.added', { output_index: index, item: { ...item, summary: [], encrypted_content: undefined } })
    if (pieces.length > 0) this.summary(place, pieces)
    this.add('response.output_item.done', { output_index: index, item })
  }

  private summary(place: JsonObject, pieces: readonly string[]): void {
    const text = pieces.join('')
    this.add('response.reasoning_summary_part.added', { ...place, part: { type: 'summary_text', text: '' } })
    for (const delta of pieces) this.add('response.reasoning_summary_text.delta', { ...place, delta })
    this.add('response.reasoning_summary_text.done', { ...place, text })
    this.add('response.reasoning_summary_part.done', { ...place, part: { type: 'summary_text', text } })
  }

  message(item: Item, index: number, utterance: Utterance): void {
    this.add('response.output_item.added', { output_index: index, item: { ...item, status: 'in_progress', content: [] } })
    let part = 0
    if (utterance.text) {
      const place = { item_id: item.id, output_index: index, content_index: part++ }
      const whole = { type: 'output_text', text: utterance.text.join(''), annotations: annotations(utterance), logprobs: [] }
      this.add('response.content_part.added', { ...place, part: { ...whole, text: '', annotations: [] } })
      for (const delta of utterance.text) this.add('response.output_text.delta', { ...place, delta, logprobs: [] })
      for (const [index, annotation] of whole.annotations.entries())
        this.add('response.output_text.annotation.added', { ...place, annotation_index: index, annotation })
      this.add('response.output_text.done', { ...place, text: whole.text, logprobs: [] })
      this.add('response.content_part.done', { ...place, part: whole })
    }
    if (utterance.refusal) {
      const place = { item_id: item.id, output_index: index, content_index: part }
      const refusal = utterance.refusal.join('')
      this.add('response.content_part.added', { ...place, part: { type: 'refusal', refusal: '' } })
      for (const delta of utterance.refusal) this.add('response.refusal.delta', { ...place, delta })
      this.add('response.refusal.done', { ...place, refusal })
      this.add('response.content_part.done', { ...place, part: { type: 'refusal', refusal } })
    }
    this.add('response.output_item.done', { output_index: index, item })
  }

  search(item: Item, index: number): void {
    const place = { item_id: item.id, output_index: index }
    this.add('response.output_item.added', { output_index: index, item: { id: item.id, type: item.type, status: 'in_progress' } })
    for (const state of ['in_progress', 'searching', 'completed']) this.add(`response.web_search_call.${state}`, place)
    this.add('response.output_item.done', { output_index: index, item })
  }

  call(item: Item, index: number, pieces: readonly string[]): void {
    const place = { item_id: item.id, output_index: index }
    const custom = item.type === 'custom_tool_call'
    const kind = custom ? 'custom_tool_call_input' : 'function_call_arguments'
    const member = custom ? 'input' : 'arguments'
    this.add('response.output_item.added', { output_index: index, item: { ...item, status: 'in_progress', [member]: '' } })
    for (const delta of pieces) this.add(`response.${kind}.delta`, { ...place, delta })
    this.add(`response.${kind}.done`, { ...place, ...(custom ? {} : { name: item.name }), [member]: pieces.join('') })
    this.add('response.output_item.done', { output_index: index, item })
  }
}

export function responsesFrames(utterance: Utterance): string[] {
  const out = new Frames()
  out.add('response.created', { response: envelope(utterance, 'in_progress', []) })
  out.add('response.in_progress', { response: envelope(utterance, 'in_progress', []) })
  const output = items(utterance)
  let calls = 0
  for (const [index, item] of output.entries()) {
    if (item.type === 'reasoning') out.reasoning(item, index, utterance.reasoning ?? [])
    else if (item.type === 'message') out.message(item, index, utterance)
    else if (item.type === 'web_search_call') out.search(item, index)
    else out.call(item, index, utterance.calls?.[calls++]?.args ?? [])
  }
  out.add(`response.${finalStatus(utterance)}`, { response: responsesReply(utterance) })
  return out.frames
}
