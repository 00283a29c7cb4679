/** `Said` as an OpenAI-compatible /chat/completions server writes it. */
import type { Json, JsonObject } from '../../src/core/json.ts'
import { endOf, type Said, usageOf } from './wire.ts'

const ID = 'chatcmpl-upstream'
const MODEL = 'upstream-model'
const CREATED = 1_767_600_000

function usage(said: Said): JsonObject {
  const { input, output, cached, written, reasoning } = usageOf(said)
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, ...(written > 0 ? { cache_write_tokens: written } : {}) },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
}

/** Who encrypts reasoning on this wire: providers that are gateways themselves. */
export const CHAT_SEAL = 'acme-v1'

/** Signed reasoning, as gateways that speak this wire show it. */
function detail(fields: JsonObject): JsonObject {
  return { type: 'reasoning.text', ...fields, format: CHAT_SEAL, index: 0 }
}

function annotations(said: Said): JsonObject[] {
  return (said.citations ?? []).map(({ url, title }) => ({
    type: 'url_citation',
    url_citation: { url, title, start_index: 0, end_index: said.text?.join('').length ?? 0 },
  }))
}

export function chatReply(said: Said): JsonObject {
  const message: JsonObject = { role: 'assistant', content: said.text ? said.text.join('') : null, refusal: said.refusal?.join('') ?? null }
  if (said.reasoning) message.reasoning = said.reasoning.join('')
  if (said.signature !== undefined)
    message.reasoning_details = [detail({ text: said.reasoning?.join('') ?? '', signature: said.signature })]
  if (said.citations) message.annotations = annotations(said)
  if (said.calls?.length)
    message.tool_calls = said.calls.map(
      (call): Json => ({ id: call.id, type: 'function', function: { name: call.name, arguments: call.args.join('') } }),
    )
  return {
    id: ID,
    object: 'chat.completion',
    created: CREATED,
    model: said.model ?? MODEL,
    choices: [{ index: 0, message, logprobs: null, finish_reason: endOf(said) }],
    usage: usage(said),
    service_tier: 'default',
    system_fingerprint: 'fp_test',
  }
}

/** One event per delta, then the finish, the usage and the end mark. */
export function chatFrames(said: Said): string[] {
  const frame = (choices: Json, more: JsonObject = {}): string =>
    `data: ${JSON.stringify({ id: ID, object: 'chat.completion.chunk', created: CREATED, model: said.model ?? MODEL, service_tier: 'default', system_fingerprint: 'fp_test', choices, usage: null, ...more })}\n\n`
  const delta = (fields: JsonObject, finish: string | null = null): string =>
    frame([{ index: 0, delta: fields, logprobs: null, finish_reason: finish }])
  const frames = [delta({ role: 'assistant', content: '', refusal: null })]
  for (const text of said.reasoning ?? [])
    frames.push(delta(said.signature === undefined ? { reasoning: text } : { reasoning: text, reasoning_details: [detail({ text })] }))
  if (said.signature !== undefined) frames.push(delta({ reasoning_details: [detail({ signature: said.signature })] }))
  for (const text of said.text ?? []) frames.push(delta({ content: text }))
  for (const text of said.refusal ?? []) frames.push(delta({ refusal: text }))
  if (said.citations) frames.push(delta({ annotations: annotations(said) }))
  for (const [index, call] of (said.calls ?? []).entries()) {
    frames.push(delta({ tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }] }))
    for (const args of call.args) frames.push(delta({ tool_calls: [{ index, function: { arguments: args } }] }))
  }
  frames.push(delta({}, endOf(said)), frame([], { usage: usage(said) }), 'data: [DONE]\n\n')
  return frames
}
