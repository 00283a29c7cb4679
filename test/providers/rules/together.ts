/**
 * Requests that api.together.ai accepts at /v1/chat/completions (npm together-ai 0.52.0, resources/chat/completions). Fields outside the types are
 * let through: no report of a refusal was found.
 */
import { Type } from 'typebox'
import { list } from '../../support/fold.ts'
import { departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import { anyObject, bearer, contentSchema, may, refusal, unpaired } from './chat-parts.ts'

const call = Type.Object({
  id: Type.String(),
  type: words('function'),
  function: Type.Object({ name: Type.String(), arguments: Type.String() }),
})

// Content of system, assistant and tool messages is a string.
const message = Type.Union([
  Type.Object({ role: words('system'), content: Type.String() }),
  Type.Object({
    role: words('user'),
    content: contentSchema(
      Type.Object({ type: words('text'), text: Type.String() }),
      Type.Object({ type: words('image_url'), image_url: Type.Object({ url: Type.String() }) }),
      Type.Object({ type: words('video_url'), video_url: Type.Object({ url: Type.String() }) }),
      Type.Object({ type: words('input_audio'), input_audio: anyObject }),
    ),
  }),
  Type.Object({ role: words('assistant'), content: may(Type.String()), tool_calls: Type.Optional(Type.Array(call)) }),
  Type.Object({ role: words('tool'), content: Type.String(), tool_call_id: Type.String() }),
])

const departure = departures(
  Type.Object({
    messages: Type.Array(message),
    model: Type.String(),
    frequency_penalty: Type.Optional(Type.Number()),
    logit_bias: Type.Optional(anyObject),
    logprobs: Type.Optional(Type.Integer({ minimum: 0, maximum: 20 })),
    max_tokens: Type.Optional(Type.Integer()),
    min_p: Type.Optional(Type.Number()),
    n: Type.Optional(Type.Integer({ minimum: 1 })),
    presence_penalty: Type.Optional(Type.Number()),
    reasoning: Type.Optional(Type.Object({ enabled: Type.Optional(Type.Boolean()) })),
    reasoning_effort: Type.Optional(words('low', 'medium', 'high')),
    repetition_penalty: Type.Optional(Type.Number()),
    response_format: Type.Optional(Type.Object({ type: words('text', 'json_schema', 'json_object') })),
    seed: Type.Optional(Type.Integer()),
    stop: Type.Optional(Type.Array(Type.String())),
    stream: Type.Optional(Type.Boolean()),
    temperature: Type.Optional(Type.Number()),
    tool_choice: Type.Optional(Type.Union([Type.String(), Type.Object({ type: words('function'), function: anyObject })])),
    tools: Type.Optional(Type.Array(Type.Object({ type: words('function'), function: Type.Object({ name: Type.String() }) }))),
    top_k: Type.Optional(Type.Integer()),
    top_p: Type.Optional(Type.Number()),
  }),
)

function check({ body }: Call): Refusal | undefined {
  const wrong = departure(body)
  if (wrong) return refusal(422, `Input validation error: ${wrong.path}: ${wrong.message}`)
  const open = unpaired(list(body.messages))
  return open ? refusal(400, open) : undefined
}

const only = { provider: { only: ['together'] } }

export const together: Rules = {
  preset: 'together',
  wire: 'openai-chat',
  sources: ['npm together-ai 0.52.0, resources/chat/completions'],
  models: [
    { slug: 'openai/gpt-oss-120b', name: 'openai/gpt-oss-120b', reasons: true, more: only },
    { slug: 'z-ai/glm-5.3', name: 'zai-org/GLM-5.3', reasons: true, more: only },
    {
      slug: 'together/qwen3.5-397b-a17b',
      name: 'Qwen/Qwen3.5-397B-A17B',
      entry:
        'input: [text, image]\nendpoints: [{ provider: together, model: Qwen/Qwen3.5-397B-A17B, price: { prompt: "1", completion: "1" } }]',
      images: true,
    },
  ],
  path: () => '/chat/completions',
  denied: bearer(refusal(401, 'Invalid API key provided.', { code: 'invalid_api_key' })),
  check,
}
