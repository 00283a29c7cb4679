/**
 * Requests that api.fireworks.ai accepts at /inference/v1/chat/completions (pip fireworks-ai 1.2.30, types/chat/completion_create_params.py and
 * types/shared_params/chat_message.py). Fields outside them are refused, in messages too (github.com/FlowiseAI/Flowise/issues/2866).
 */
import { Type } from 'typebox'
import { list } from '../../support/fold.ts'
import { closed, departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import {
  anyObject,
  asReasoningContent,
  bearer,
  contentSchema,
  imagePart,
  may,
  nullable,
  optionalWord,
  refusal,
  textPart,
  toolCalls,
  unpaired,
} from './chat-parts.ts'

const message = closed({
  role: words('system', 'user', 'assistant', 'tool'),
  content: Type.Optional(nullable(contentSchema(textPart, imagePart))),
  reasoning_content: may(Type.String()),
  tool_call_id: may(Type.String()),
  tool_calls: may(toolCalls({ index: may(Type.Integer()) })),
})

const tools = Type.Array(
  closed({
    type: words('function'),
    function: closed({
      name: Type.String(),
      description: may(Type.String()),
      parameters: Type.Optional(anyObject),
      strict: may(Type.Boolean()),
    }),
  }),
)

const departure = departures(
  closed({
    messages: Type.Array(message),
    model: Type.String(),
    context_length_exceeded_behavior: Type.Optional(words('error', 'truncate')),
    echo: may(Type.Boolean()),
    frequency_penalty: may(Type.Number()),
    ignore_eos: Type.Optional(Type.Boolean()),
    logit_bias: may(anyObject),
    logprobs: may(Type.Union([Type.Integer(), Type.Boolean()])),
    max_completion_tokens: may(Type.Integer()),
    max_tokens: may(Type.Integer()),
    metadata: may(anyObject),
    min_p: may(Type.Number()),
    n: Type.Optional(Type.Integer()),
    parallel_tool_calls: may(Type.Boolean()),
    prediction: may(Type.Unknown()),
    presence_penalty: may(Type.Number()),
    prompt_cache_isolation_key: may(Type.String()),
    prompt_cache_key: may(Type.String()),
    reasoning_effort: may(Type.Union([words('low', 'medium', 'high', 'none'), Type.Integer(), Type.Boolean()])),
    reasoning_history: optionalWord('disabled', 'interleaved', 'preserved'),
    repetition_penalty: may(Type.Number()),
    response_format: may(
      closed({
        type: words('json_object', 'json_schema', 'grammar', 'text'),
        grammar: may(Type.String()),
        json_schema: may(Type.Unknown()),
        schema: may(Type.Unknown()),
      }),
    ),
    seed: may(Type.Integer()),
    service_tier: Type.Optional(words('auto', 'default', 'flex', 'priority')),
    stop: may(Type.Union([Type.String(), Type.Array(Type.String())])),
    stream: may(Type.Boolean()),
    temperature: may(Type.Number()),
    thinking: may(anyObject),
    tool_choice: Type.Optional(
      Type.Union([
        words('auto', 'none', 'any', 'required'),
        closed({ type: words('function'), function: may(closed({ name: Type.String() })) }),
      ]),
    ),
    tools: Type.Optional(tools),
    top_k: may(Type.Integer()),
    top_logprobs: may(Type.Integer()),
    top_p: may(Type.Number()),
    typical_p: may(Type.Number()),
    user: may(Type.String()),
  }),
)

function check({ body, model }: Call): Refusal | undefined {
  const wrong = departure(body)
  const text = wrong?.message === 'unknown field' ? 'Extra inputs are not permitted' : wrong?.message
  if (wrong) return refusal(400, `${text}, field: '${wrong.path}'`, { code: 'invalid_request_error' })
  if (body.max_tokens !== undefined && body.max_completion_tokens !== undefined)
    return refusal(400, "Only one of 'max_tokens' and 'max_completion_tokens' may be set")
  // github.com/lambda-symbolics/autolith/pull/25
  if (body.reasoning_effort !== undefined && !model.reasons) return refusal(400, 'reasoning_effort is not supported by this model')
  // The SDK's own words of gpt-oss (pip fireworks-ai 1.2.30, reasoning_effort).
  if (body.reasoning_effort === 'none' && model.name.includes('gpt-oss')) return refusal(400, 'Invalid reasoning effort: none')
  if (body.reasoning_effort !== undefined && body.thinking !== undefined)
    return refusal(400, "'thinking' cannot be specified together with 'reasoning_effort'")
  const open = unpaired(list(body.messages))
  return open ? refusal(400, open) : undefined
}

export const fireworks: Rules = {
  preset: 'fireworks',
  wire: 'openai-chat',
  sources: [
    'pip fireworks-ai 1.2.30, types/chat/completion_create_params.py',
    'github.com/FlowiseAI/Flowise/issues/2866',
    'github.com/QwenLM/qwen-code/pull/11662',
  ],
  models: [
    {
      slug: 'openai/gpt-oss-20b',
      name: 'accounts/fireworks/models/gpt-oss-20b',
      reasons: true,
      more: { provider: { only: ['fireworks'] } },
    },
    { slug: 'z-ai/glm-5.3', name: 'accounts/fireworks/models/glm-5p3', reasons: true, more: { provider: { only: ['fireworks'] } } },
  ],
  path: () => '/chat/completions',
  denied: bearer({
    status: 401,
    body: {
      error: {
        object: 'error',
        type: 'invalid_request_error',
        code: 'invalid_request_error',
        message: 'The API key you provided is invalid.',
      },
    },
  }),
  check,
  rewrite: asReasoningContent,
}
