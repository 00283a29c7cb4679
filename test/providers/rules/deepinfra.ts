/**
 * Requests that api.deepinfra.com accepts at /v1/openai/chat/completions: its own OpenAPI document, DeepApi 0.1.0 (copy: github.com/tryAGI/DeepInfra
 * at b682651, src/libs/DeepInfra/openapi.json), OpenAIChatCompletionsIn. Fields outside it are not refused: no schema is closed.
 */
import { Type } from 'typebox'
import { list } from '../../support/fold.ts'
import { departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import { anyObject, asReasoningContent, bearer, contentSchema, may, optionalWord, refusal, unpaired } from './chat-parts.ts'

const text = Type.Object({ type: words('text'), text: Type.String() })
const image = Type.Object({
  type: words('image_url'),
  image_url: Type.Object({ url: Type.String(), detail: Type.Optional(words('auto', 'low', 'high')) }),
})
const audio = Type.Object({
  type: words('input_audio'),
  input_audio: Type.Object({ data: Type.String(), format: Type.Optional(words('wav', 'mp3')) }),
})
const call = Type.Object({
  id: Type.String(),
  type: Type.String(),
  function: Type.Object({ name: Type.String(), arguments: Type.String() }),
})
const name = may(Type.String())

const message = Type.Union([
  Type.Object({ role: words('system'), content: contentSchema(text), name }),
  Type.Object({ role: words('user'), content: contentSchema(text, image, audio), name }),
  Type.Object({
    role: words('assistant'),
    content: may(contentSchema(text)),
    reasoning_content: may(Type.String()),
    name,
    tool_calls: may(Type.Array(call)),
  }),
  Type.Object({ role: words('tool'), content: contentSchema(text), tool_call_id: Type.String() }),
])

const tool = Type.Object({
  type: Type.Optional(Type.String()),
  function: Type.Object({ name: Type.String(), description: may(Type.String()), parameters: may(anyObject) }),
})

const departure = departures(
  Type.Object({
    model: Type.String(),
    messages: Type.Array(message),
    stream: Type.Optional(Type.Boolean()),
    temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1 })),
    min_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_k: Type.Optional(Type.Integer({ minimum: 0, exclusiveMaximum: 1000 })),
    max_tokens: may(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
    stop: may(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 16 })])),
    n: Type.Optional(Type.Integer({ minimum: 1, maximum: 4 })),
    presence_penalty: Type.Optional(Type.Number({ minimum: -2, maximum: 2 })),
    frequency_penalty: Type.Optional(Type.Number({ minimum: -2, maximum: 2 })),
    repetition_penalty: Type.Optional(Type.Number({ minimum: 0.01, maximum: 5 })),
    tools: may(Type.Array(tool)),
    tool_choice: may(Type.Union([Type.String(), tool])),
    response_format: may(
      Type.Union([
        Type.Object({ type: words('text', 'json_object') }),
        Type.Object({ type: words('json_schema'), json_schema: Type.Object({ name: Type.String(), schema: anyObject }) }),
        Type.Object({ type: words('regex'), regex: Type.String() }),
      ]),
    ),
    user: may(Type.String()),
    seed: may(Type.Integer()),
    logprobs: may(Type.Boolean()),
    stream_options: may(Type.Object({ include_usage: Type.Optional(Type.Boolean()) })),
    reasoning_effort: optionalWord('low', 'medium', 'high', 'none'),
    prompt_cache_key: may(Type.String()),
    chat_template_kwargs: may(anyObject),
  }),
)

function check({ body }: Call): Refusal | undefined {
  const wrong = departure(body)
  // HTTPValidationError of the document.
  if (wrong) return { status: 422, body: { detail: [{ loc: ['body', wrong.path], msg: wrong.message, type: 'value_error' }] } }
  const open = unpaired(list(body.messages))
  return open ? refusal(400, open) : undefined
}

export const deepinfra: Rules = {
  preset: 'deepinfra',
  wire: 'openai-chat',
  sources: ['OpenAPI document of api.deepinfra.com, DeepApi 0.1.0 (copy: github.com/tryAGI/DeepInfra at b682651)'],
  models: [
    {
      slug: 'deepinfra/gpt-oss-120b',
      name: 'openai/gpt-oss-120b',
      entry: 'endpoints: [{ provider: deepinfra, model: openai/gpt-oss-120b, price: { prompt: "1", completion: "1" } }]',
      reasons: true,
    },
  ],
  path: () => '/chat/completions',
  denied: bearer({ status: 401, body: { detail: { error: 'Wrong API key' } } }),
  check,
  rewrite: asReasoningContent,
}
