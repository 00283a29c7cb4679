/**
 * Requests that an SGLang server accepts at /v1/chat/completions (PyPI sglang 0.5.23, srt/entrypoints/openai/protocol.py, ChatCompletionRequest).
 * Unknown fields are ignored: its models have pydantic's default.
 */
import { Type } from 'typebox'
import { list } from '../../support/fold.ts'
import { departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import { anyObject, asReasoningContent, may, optionalWord } from './chat-parts.ts'

const part = Type.Object({ type: words('text', 'image_url', 'video_url', 'audio_url', 'thinking') })

const departure = departures(
  Type.Object({
    messages: Type.Array(
      Type.Object({
        role: words('system', 'assistant', 'tool', 'function', 'developer', 'latest_reminder', 'user'),
        content: may(Type.Union([Type.String(), Type.Array(part)])),
        tool_call_id: may(Type.String()),
        name: may(Type.String()),
        reasoning_content: may(Type.String()),
        tool_calls: may(Type.Array(Type.Object({ function: anyObject }))),
      }),
    ),
    model: Type.Optional(Type.String()),
    // No null where the model has a plain type.
    frequency_penalty: Type.Optional(Type.Number()),
    presence_penalty: Type.Optional(Type.Number()),
    logprobs: Type.Optional(Type.Boolean()),
    n: Type.Optional(Type.Integer()),
    stream: Type.Optional(Type.Boolean()),
    parallel_tool_calls: Type.Optional(Type.Boolean()),
    top_logprobs: may(Type.Integer()),
    max_tokens: may(Type.Integer()),
    max_completion_tokens: may(Type.Integer()),
    response_format: may(Type.Object({ type: words('text', 'json_object', 'json_schema', 'structural_tag') })),
    seed: may(Type.Integer()),
    stop: may(Type.Union([Type.String(), Type.Array(Type.String())])),
    stream_options: may(Type.Object({ include_usage: may(Type.Boolean()) })),
    temperature: may(Type.Number()),
    top_p: may(Type.Number()),
    user: may(Type.String()),
    tools: may(Type.Array(Type.Object({ function: Type.Object({ name: Type.String() }) }))),
    tool_choice: may(Type.Union([words('auto', 'required', 'none'), Type.Object({ function: anyObject })])),
    chat_template_kwargs: may(anyObject),
    reasoning_effort: optionalWord('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'ultra', 'max'),
  }),
)

const bad = (message: string): Refusal => ({
  status: 400,
  body: { object: 'error', message, type: 'BadRequestError', param: null, code: 400 },
})

function check({ body }: Call): Refusal | undefined {
  const wrong = departure(body)
  if (wrong) return bad(`${wrong.path}: ${wrong.message}`)
  // github.com/sgl-project/sglang/issues/40082: most templates drop the message without an error, so the rule is stricter than the server.
  if (list(body.messages).some(({ role }) => role === 'developer')) return bad('the template has no role developer')
  return undefined
}

export const sglang: Rules = {
  preset: 'sglang',
  wire: 'openai-chat',
  sources: ['PyPI sglang 0.5.23, srt/entrypoints/openai/protocol.py'],
  models: [
    {
      slug: 'sglang/gpt-oss-120b',
      name: 'openai/gpt-oss-120b',
      entry: 'input: [text, image]\nendpoints: [{ provider: sglang, model: openai/gpt-oss-120b, price: { prompt: "0", completion: "0" } }]',
      reasons: true,
      images: true,
    },
  ],
  path: () => '/chat/completions',
  denied: () => undefined,
  check,
  rewrite: asReasoningContent,
}
