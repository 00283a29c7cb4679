/** `Utterance` as an OpenAI-compatible /chat/completions server writes it. */
import type { Json, JsonObject } from '../../src/core/json.ts'
import { type Utterance, utteranceEnd, utteranceUsage } from './wire.ts'

const ID = 'chatcmpl-upstream'
const MODEL = 'upstream-model'
const CREATED = 1_767_600_000

function usage(utterance: Utterance): JsonObject {
  const { input, output, cached, written, reasoning } = utteranceUsage(utterance)
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, ...(written > 0 ? { cache_write_tokens: written } : {}) },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
}

/** Providers that encrypt reasoning on this wire: providers that are gateways themselves. */
export const CHAT_SEAL = 'acme-v1'

/** Signed reasoning, as gateways that speak this wire show it. */
function detail(fields: JsonObject): JsonObject {
  return { type: 'reasoning.text', ...fields, format: CHAT_SEAL, index: 0 }
}

function annotations(utterance: Utterance): JsonObject[] {
  return (utterance.citations ?? []).map(({ url, title }) => ({
    type: 'url_citation',
    url_citation: { url, title, start_index: 0, end_index: utterance.text?.join('').length ?? 0 },
  }))
}

export function chatReply(utterance: Utterance): JsonObject {
  const message: JsonObject = {
    role: 'assistant',
    content: utterance.text ? utterance.text.join('') : null,
    refusal: utterance.refusal?.join('') ?? null,
  }
  if (utterance.reasoning) message.reasoning = utterance.reasoning.join('')
  if (utterance.signature !== undefined)
    message.reasoning_details = [detail({ text: utterance.reasoning?.join('') ?? '', signature: utterance.signature })]
  if (utterance.citations) message.annotations = annotations(utterance)
  if (utterance.calls?.length)
    message.tool_calls = utterance.calls.map(
      (call): Json => ({ id: call.id, type: 'function', function: { name: call.name, arguments: call.args.join('') } }),
    )
  return {
    id: ID,
    object: 'chat.completion',
    created: CREATED,
    model: utterance.model ?? MODEL,
    choices: [{ index: 0, message, logprobs: null, finish_reason: utteranceEnd(utterance) }],
    usage: usage(utterance),
    service_tier: 'default',
    system_fingerprint: 'fp_test',
  }
}

/** One event per delta, then the finish, the usage and the end mark. */
export function chatFrames(utterance: Utterance): string[] {
  const frame = (choices: Json, more: JsonObject = {}): string =>
    `data: ${JSON.stringify({ id: ID, object: 'chat.completion.chunk', created: CREATED, model: utterance.model ?? MODEL, service_tier: 'default', system_fingerprint: 'fp_test', choices, usage: null, ...more })}\n\n`
  const delta = (fields: JsonObject, finish: string | null = null): string =>
    frame([{ index: 0, delta: fields, logprobs: null, finish_reason: finish }])
  const frames = [delta({ role: 'assistant', content: '', refusal: null })]
  for (const text of utterance.reasoning ?? [])
    frames.push(delta(utterance.signature === undefined ? { reasoning: text } : { reasoning: text, reasoning_details: [detail({ text })] }))
  if (utterance.signature !== undefined) frames.push(delta({ reasoning_details: [detail({ signature: utterance.signature })] }))
  for (const text of utterance.text ?? []) frames.push(delta({ content: text }))
  for (const text of utterance.refusal ?? []) frames.push(delta({ refusal: text }))
  if (utterance.citations) frames.push(delta({ annotations: annotations(utterance) }))
  for (const [index, call] of (utterance.calls ?? []).entries()) {
    frames.push(delta({ tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }] }))
    for (const args of call.args) frames.push(delta({ tool_calls: [{ index, function: { arguments: args } }] }))
  }
  frames.push(delta({}, utteranceEnd(utterance)), frame([], { usage: usage(utterance) }), 'data: [DONE]\n\n')
  return frames
}
