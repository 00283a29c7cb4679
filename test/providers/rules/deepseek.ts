/**
 * Requests that api.deepseek.com accepts at /chat/completions: the API reference at api-docs.deepseek.com/api/create-chat-completion, recorded
 * traffic, and refusals that users report. Bodies are deserialised into types; fields outside them are ignored (a request with
 * `prompt_cache_key` is refused for another reason: github.com/SaladDay/cc-switch-cli/issues/170).
 */
import { Type } from 'typebox'
import type { JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import { departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import {
  anyObject,
  asReasoningContent,
  bearer,
  contentSchema,
  eachMessage,
  may,
  mentionsJson,
  nullable,
  refusal,
  unpaired,
} from './chat-parts.ts'

const part = Type.Union([
  Type.Object({ type: words('text'), text: Type.String() }),
  Type.Object({ type: words('image_url'), image_url: Type.Object({ url: Type.String() }) }),
])

const message = Type.Union([
  Type.Object({ role: words('system'), content: contentSchema(part) }),
  Type.Object({ role: words('user'), content: contentSchema(part) }),
  Type.Object({
    role: words('assistant'),
    content: Type.Optional(nullable(contentSchema(part))),
    reasoning_content: may(Type.String()),
    tool_calls: may(Type.Array(Type.Object({ id: Type.String(), type: words('function'), function: anyObject }))),
  }),
  // A list is refused: "messages[5]: invalid type: sequence, expected a string" (github.com/QwenLM/qwen-code/issues/2695).
  Type.Object({ role: words('tool'), content: Type.String(), tool_call_id: Type.String() }),
])

const departure = departures(
  Type.Object({
    model: Type.String(),
    messages: Type.Array(message, { minItems: 1 }),
    thinking: may(Type.Object({ type: words('enabled', 'disabled') })),
    // api-docs.deepseek.com/guides/thinking_mode: low, high and max; for compatibility medium and xhigh count as high.
    reasoning_effort: may(words('low', 'medium', 'high', 'xhigh', 'max')),
    max_tokens: may(Type.Integer({ minimum: 1 })),
    response_format: may(Type.Object({ type: words('text', 'json_object', 'json_schema') })),
    stop: may(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 16 })])),
    stream: may(Type.Boolean()),
    stream_options: may(Type.Object({ include_usage: may(Type.Boolean()) })),
    temperature: may(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: may(Type.Number({ maximum: 1 })),
    frequency_penalty: may(Type.Number({ minimum: -2, maximum: 2 })),
    presence_penalty: may(Type.Number({ minimum: -2, maximum: 2 })),
    tools: may(
      Type.Array(
        Type.Object({ type: words('function'), function: Type.Object({ name: Type.String({ pattern: '^[a-zA-Z0-9_-]{1,64}$' }) }) }),
        {
          maxItems: 128,
        },
      ),
    ),
    tool_choice: may(Type.Union([words('none', 'auto', 'required'), Type.Object({ type: words('function'), function: anyObject })])),
    logprobs: may(Type.Boolean()),
    top_logprobs: may(Type.Integer({ minimum: 0, maximum: 20 })),
  }),
)

const bad = (message: string): Refusal => refusal(400, message, { code: 'invalid_request_error' })

/** Demands of thinking mode, which is on unless the request switches it off, asks beyond the schema. */
function thinkingRules(body: JsonObject): Refusal | undefined {
  const { tool_choice: choice } = body
  // github.com/deepseek-ai/DeepSeek-V3/issues/1376
  if (choice === 'required' || typeof choice === 'object') return bad('Thinking mode does not support this tool_choice')
  const silent = list(body.messages).some(
    ({ role, tool_calls: calls, reasoning_content: thought }) =>
      role === 'assistant' && list(calls).length > 0 && typeof thought !== 'string',
  )
  // github.com/JohnnyZ93/oai-compatible-copilot/issues/215; an empty text is accepted (test_deepseek_deferred_capability_with_thinking).
  return silent ? bad('The `reasoning_content` in the thinking mode must be passed back to the API.') : undefined
}

function check({ body, model }: Call): Refusal | undefined {
  const wrong = departure(body)
  // github.com/theopenco/llmgateway/pull/3462 (unknown variant `developer`)
  if (wrong) return bad(`Failed to deserialize the JSON body into the target type: ${wrong.path}: ${wrong.message}`)
  const messages = list(body.messages)
  if (!model.images && JSON.stringify(messages).includes('"image_url"'))
    return bad('Failed to deserialize the JSON body into the target type: unknown variant `image_url`, expected `text`')
  // github.com/UKGovernmentBEIS/inspect_ai/issues/4916
  const { type } = object(body.response_format)
  if (type === 'json_schema') return bad('This response_format type is unavailable now')
  if (type === 'json_object' && !mentionsJson(body))
    return bad("Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.")
  const loose = unpaired(messages)
  if (loose) return bad(loose)
  return object(body.thinking).type === 'disabled' ? undefined : thinkingRules(body)
}

/** As recorded: calls of a whole reply have their index, and the cached tokens are counted twice (test_deepseek). */
function rewrite(written: JsonObject): JsonObject {
  const named = asReasoningContent(written)
  const { usage } = named
  if (usage === null || usage === undefined) return named
  const { prompt_tokens: prompt, prompt_tokens_details: details } = object(usage)
  const hit = Number(object(details).cached_tokens)
  const counted = { ...named, usage: { ...object(usage), prompt_cache_hit_tokens: hit, prompt_cache_miss_tokens: Number(prompt) - hit } }
  return eachMessage(counted, (message) =>
    message.tool_calls === undefined
      ? message
      : { ...message, tool_calls: list(message.tool_calls).map((call, index) => ({ index, ...call })) },
  )
}

export const deepseek: Rules = {
  preset: 'deepseek',
  wire: 'openai-chat',
  sources: [
    'https://api-docs.deepseek.com/api/create-chat-completion',
    'https://api-docs.deepseek.com/guides/thinking_mode',
    'recorded traffic: test_deepseek',
    'github.com/deepseek-ai/DeepSeek-V3/issues/1376',
    'github.com/UKGovernmentBEIS/inspect_ai/issues/4916',
  ],
  models: [
    { slug: 'deepseek/deepseek-flash', name: 'deepseek-flash', reasons: true, images: true },
    { slug: 'deepseek/deepseek-v4-pro', name: 'deepseek-v4-pro', reasons: true },
  ],
  path: () => '/chat/completions',
  denied: bearer(refusal(401, 'Authentication Fails (governor)', { type: 'authentication_error', code: 'invalid_request_error' })),
  check,
  rewrite,
}
