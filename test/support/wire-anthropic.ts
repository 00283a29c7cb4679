/** `Utterance` as a server of Anthropic's /v1/messages writes it (types of @anthropic-ai/sdk 1.12.0). */
import type { Json, JsonObject } from '../../src/core/json.ts'
import { type Utterance, utteranceEnd, utteranceUsage } from './wire.ts'

const ID = 'msg_upstream'
const MODEL = 'upstream-model'

/** A block as a whole reply holds it, and the deltas that a stream brings it in. */
interface Block {
  whole: JsonObject
  opened: JsonObject
  deltas: JsonObject[]
}

function stopReason(utterance: Utterance): string {
  if (utterance.refusal) return 'refusal'
  if (utterance.sequence !== undefined) return 'stop_sequence'
  return { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use', content_filter: 'refusal' }[utteranceEnd(utterance)]
}

/** End of the reply; a refusal states its reason beside the content. */
function ending(utterance: Utterance): JsonObject {
  const reason = stopReason(utterance)
  const explanation = utterance.refusal?.join('') ?? null
  return {
    stop_reason: reason,
    stop_sequence: utterance.sequence ?? null,
    stop_details: reason === 'refusal' ? { type: 'refusal', category: null, explanation } : null,
    container: null,
  }
}

/** `input_tokens` counts neither what was read from the cache nor what was written to it. */
function usage(utterance: Utterance, opening = false): JsonObject {
  const { input, output, cached, written, writtenLong, reasoning } = utteranceUsage(utterance)
  return {
    input_tokens: input - cached - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    cache_creation: { ephemeral_5m_input_tokens: written - writtenLong, ephemeral_1h_input_tokens: writtenLong },
    output_tokens: opening ? 1 : output,
    output_tokens_details: opening ? null : { thinking_tokens: reasoning },
    server_tool_use: utterance.searches && !opening ? { web_search_requests: utterance.searches.length, web_fetch_requests: 0 } : null,
    service_tier: 'standard',
    inference_geo: null,
    speed: null,
  }
}

/** The fields of `usage` that a message_delta carries; the counts are cumulative. */
function deltaUsage(utterance: Utterance): JsonObject {
  const { cache_creation: _, service_tier: _tier, inference_geo: _geo, speed: _speed, ...rest } = usage(utterance)
  return rest
}

function citations(utterance: Utterance): JsonObject[] {
  return (utterance.citations ?? []).map(({ url, title }) => ({
    type: 'web_search_result_location',
    url,
    title,
    encrypted_index: `index of ${url}`,
    cited_text: utterance.text?.join('') ?? '',
  }))
}

function thinking(utterance: Utterance): Block[] {
  if (!utterance.reasoning && utterance.signature === undefined) return []
  const pieces = utterance.reasoning ?? []
  const signature = utterance.signature ?? ''
  return [
    {
      whole: { type: 'thinking', thinking: pieces.join(''), signature },
      opened: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        ...pieces.map((text) => ({ type: 'thinking_delta', thinking: text })),
        ...(signature === '' ? [] : [{ type: 'signature_delta', signature }]),
      ],
    },
  ]
}

/** A search that the provider ran: what it asked, which comes in pieces, and what it found, which comes whole. */
function searched(utterance: Utterance): Block[] {
  return (utterance.searches ?? []).flatMap((query, i) => {
    const head = { type: 'server_tool_use', id: `srvtoolu_${i}`, name: 'web_search', caller: { type: 'direct' } }
    const content = (utterance.citations ?? []).map(({ url, title }) => ({
      type: 'web_search_result',
      url,
      title,
      encrypted_content: `content of ${url}`,
      page_age: null,
    }))
    const found = { type: 'web_search_tool_result', tool_use_id: head.id, content, caller: { type: 'direct' } }
    return [
      {
        whole: { ...head, input: { query } },
        opened: { ...head, input: {} },
        deltas: ['', JSON.stringify({ query })].map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
      },
      { whole: found, opened: found, deltas: [] },
    ]
  })
}

function text(utterance: Utterance): Block[] {
  if (!utterance.text) return []
  const cited = citations(utterance)
  return [
    {
      whole: { type: 'text', text: utterance.text.join(''), citations: cited.length > 0 ? cited : null },
      opened: { type: 'text', text: '', citations: cited.length > 0 ? [] : null },
      deltas: [
        ...utterance.text.map((piece) => ({ type: 'text_delta', text: piece })),
        ...cited.map((citation) => ({ type: 'citations_delta', citation })),
      ],
    },
  ]
}

function calls(utterance: Utterance): Block[] {
  return (utterance.calls ?? []).map((call) => {
    const head = { type: 'tool_use', id: call.id, name: call.name, caller: { type: 'direct' } }
    return {
      // Streams may bring arguments that are no JSON.
      get whole() {
        return { ...head, input: JSON.parse(call.args.join('') || '{}') as Json }
      },
      opened: { ...head, input: {} },
      deltas: ['', ...call.args].map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
    }
  })
}

const blocks = (utterance: Utterance): Block[] => [...thinking(utterance), ...searched(utterance), ...text(utterance), ...calls(utterance)]

function message(utterance: Utterance, fields: JsonObject): JsonObject {
  const head = { id: ID, type: 'message', role: 'assistant', model: utterance.model ?? MODEL }
  return { ...head, diagnostics: null, ...fields }
}

export function anthropicReply(utterance: Utterance): JsonObject {
  return message(utterance, { content: blocks(utterance).map((block) => block.whole), ...ending(utterance), usage: usage(utterance) })
}

function frame(event: JsonObject): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

/** Blocks one after the other, then how it ended with the usage; there is no end mark but message_stop. */
export function anthropicFrames(utterance: Utterance): string[] {
  const open = { stop_reason: null, stop_sequence: null, stop_details: null, container: null }
  const events: JsonObject[] = [
    { type: 'message_start', message: message(utterance, { content: [], ...open, usage: usage(utterance, true) }) },
  ]
  for (const [index, block] of blocks(utterance).entries()) {
    events.push({ type: 'content_block_start', index, content_block: block.opened })
    if (index === 0) events.push({ type: 'ping' })
    for (const delta of block.deltas) events.push({ type: 'content_block_delta', index, delta })
    events.push({ type: 'content_block_stop', index })
  }
  events.push({ type: 'message_delta', delta: ending(utterance), usage: deltaUsage(utterance) }, { type: 'message_stop' })
  return events.map(frame)
}

/** An error as this API reports it, as a body or within a stream. */
export function anthropicError(type: string, text: string): JsonObject {
  return { type: 'error', error: { type, message: text }, request_id: 'req_upstream' }
}

/** The `error` event of a stream. */
export function anthropicErrorFrame(type: string, text: string): string {
  return frame(anthropicError(type, text))
}
