/** `Said` as a server of Anthropic's /v1/messages writes it (types of @anthropic-ai/sdk 1.12.0). */
import type { Json, JsonObject } from '../../src/core/json.ts'
import { endOf, type Said, usageOf } from './wire.ts'

const ID = 'msg_upstream'
const MODEL = 'upstream-model'

/** A block as a whole reply holds it, and the deltas that a stream brings it in. */
interface Block {
  whole: JsonObject
  opened: JsonObject
  deltas: JsonObject[]
}

function stopReason(said: Said): string {
  if (said.refusal) return 'refusal'
  if (said.sequence !== undefined) return 'stop_sequence'
  return { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use', content_filter: 'refusal' }[endOf(said)]
}

/** How the reply ended; a refusal tells its reason beside the content. */
function ending(said: Said): JsonObject {
  const reason = stopReason(said)
  const explanation = said.refusal?.join('') ?? null
  return {
    stop_reason: reason,
    stop_sequence: said.sequence ?? null,
    stop_details: reason === 'refusal' ? { type: 'refusal', category: null, explanation } : null,
    container: null,
  }
}

/** `input_tokens` counts neither what was read from the cache nor what was written to it. */
function usage(said: Said, opening = false): JsonObject {
  const { input, output, cached, written, writtenLong, reasoning } = usageOf(said)
  return {
    input_tokens: input - cached - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    cache_creation: { ephemeral_5m_input_tokens: written - writtenLong, ephemeral_1h_input_tokens: writtenLong },
    output_tokens: opening ? 1 : output,
    output_tokens_details: opening ? null : { thinking_tokens: reasoning },
    server_tool_use: said.searches && !opening ? { web_search_requests: said.searches.length, web_fetch_requests: 0 } : null,
    service_tier: 'standard',
    inference_geo: null,
    speed: null,
  }
}

/** The fields of `usage` that a message_delta carries; the counts are cumulative. */
function deltaUsage(said: Said): JsonObject {
  const { cache_creation: _, service_tier: _tier, inference_geo: _geo, speed: _speed, ...rest } = usage(said)
  return rest
}

function citations(said: Said): JsonObject[] {
  return (said.citations ?? []).map(({ url, title }) => ({
    type: 'web_search_result_location',
    url,
    title,
    encrypted_index: `index of ${url}`,
    cited_text: said.text?.join('') ?? '',
  }))
}

function thinking(said: Said): Block[] {
  if (!said.reasoning && said.signature === undefined) return []
  const pieces = said.reasoning ?? []
  const signature = said.signature ?? ''
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
function searched(said: Said): Block[] {
  return (said.searches ?? []).flatMap((query, i) => {
    const head = { type: 'server_tool_use', id: `srvtoolu_${i}`, name: 'web_search', caller: { type: 'direct' } }
    const content = (said.citations ?? []).map(({ url, title }) => ({
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

function text(said: Said): Block[] {
  if (!said.text) return []
  const cited = citations(said)
  return [
    {
      whole: { type: 'text', text: said.text.join(''), citations: cited.length > 0 ? cited : null },
      opened: { type: 'text', text: '', citations: cited.length > 0 ? [] : null },
      deltas: [
        ...said.text.map((piece) => ({ type: 'text_delta', text: piece })),
        ...cited.map((citation) => ({ type: 'citations_delta', citation })),
      ],
    },
  ]
}

function calls(said: Said): Block[] {
  return (said.calls ?? []).map((call) => {
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

const blocks = (said: Said): Block[] => [...thinking(said), ...searched(said), ...text(said), ...calls(said)]

function message(said: Said, fields: JsonObject): JsonObject {
  const head = { id: ID, type: 'message', role: 'assistant', model: said.model ?? MODEL }
  return { ...head, diagnostics: null, ...fields }
}

export function anthropicReply(said: Said): JsonObject {
  return message(said, { content: blocks(said).map((block) => block.whole), ...ending(said), usage: usage(said) })
}

function frame(event: JsonObject): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

/** Blocks one after the other, then how it ended with the usage; there is no end mark but message_stop. */
export function anthropicFrames(said: Said): string[] {
  const open = { stop_reason: null, stop_sequence: null, stop_details: null, container: null }
  const events: JsonObject[] = [{ type: 'message_start', message: message(said, { content: [], ...open, usage: usage(said, true) }) }]
  for (const [index, block] of blocks(said).entries()) {
    events.push({ type: 'content_block_start', index, content_block: block.opened })
    if (index === 0) events.push({ type: 'ping' })
    for (const delta of block.deltas) events.push({ type: 'content_block_delta', index, delta })
    events.push({ type: 'content_block_stop', index })
  }
  events.push({ type: 'message_delta', delta: ending(said), usage: deltaUsage(said) }, { type: 'message_stop' })
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
