/** Requests that api.sambanova.ai accepts at /v1/chat/completions (PyPI sambanova 1.13.0, types/chat/completion_create_params.py). */
import { Type } from 'typebox'
import { list } from '../../support/fold.ts'
import { closed, departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import { anyObject, bearer, contentSchema, may, nullable, optionalWord, refusal, unpaired } from './chat-parts.ts'

// Messages, tools and formats take further members (`extra_items`); the body does not.
const text = Type.Object({ type: words('text'), text: Type.String() })
const message = Type.Union([
  Type.Object({ role: words('system'), content: nullable(contentSchema(text)) }),
  Type.Object({
    role: words('user'),
    content: nullable(
      contentSchema(
        text,
        // Images are data (docs.sambanova.ai, vision): an address is not supported.
        Type.Object({ type: words('image_url'), image_url: Type.Object({ url: Type.String({ pattern: '^data:image/' }) }) }),
        Type.Object({ type: words('audio_content'), audio_content: anyObject }),
        Type.Object({ type: words('video_url'), video_url: anyObject }),
      ),
    ),
  }),
  Type.Object({
    role: words('assistant'),
    content: nullable(contentSchema(text)),
    reasoning: may(Type.String()),
    tool_calls: may(Type.Array(Type.Object({ id: may(Type.String()), function: anyObject }))),
  }),
  Type.Object({ role: words('tool'), content: contentSchema(text) }),
])

const departure = departures(
  closed({
    messages: Type.Array(message),
    model: Type.String(),
    chat_template_kwargs: may(anyObject),
    do_sample: may(Type.Boolean()),
    frequency_penalty: Type.Optional(Type.Number()),
    logit_bias: may(Type.Unknown()),
    logprobs: may(Type.Boolean()),
    max_completion_tokens: may(Type.Integer()),
    max_tokens: may(Type.Integer()),
    n: may(Type.Integer()),
    parallel_tool_calls: may(Type.Boolean()),
    presence_penalty: may(Type.Number()),
    reasoning_effort: optionalWord('low', 'medium', 'high'),
    repetition_penalty: may(Type.Number()),
    response_format: may(Type.Object({ type: words('json_schema', 'json_object', 'text') })),
    seed: may(Type.Integer()),
    stop: may(Type.Union([Type.String(), Type.Array(Type.String())])),
    stream: may(Type.Boolean()),
    stream_options: may(Type.Object({ include_usage: may(Type.Boolean()) })),
    temperature: may(Type.Number()),
    tool_choice: may(
      Type.Union([
        words('none', 'auto', 'required'),
        Type.Object({ type: words('function'), function: Type.Object({ name: Type.String() }) }),
      ]),
    ),
    tools: may(Type.Array(Type.Object({ type: Type.String(), function: Type.Object({ name: Type.String() }) }))),
    top_k: may(Type.Integer()),
    top_logprobs: may(Type.Integer()),
    top_p: may(Type.Number()),
  }),
)

function check({ body }: Call): Refusal | undefined {
  const wrong = departure(body)
  if (wrong) return refusal(400, `${wrong.path}: ${wrong.message}`, { param: wrong.path })
  const open = unpaired(list(body.messages))
  return open ? refusal(400, open) : undefined
}

const entry = (model: string, input: string): string =>
  `input: [${input}]\nendpoints: [{ provider: sambanova, model: ${model}, price: { prompt: "1", completion: "1" } }]`

export const sambanova: Rules = {
  preset: 'sambanova',
  wire: 'openai-chat',
  sources: ['PyPI sambanova 1.13.0, types/chat/completion_create_params.py'],
  models: [
    { slug: 'sambanova/gpt-oss-120b', name: 'gpt-oss-120b', entry: entry('gpt-oss-120b', 'text'), reasons: true },
    { slug: 'sambanova/gemma-3-12b-it', name: 'gemma-3-12b-it', entry: entry('gemma-3-12b-it', 'text, image'), images: true },
  ],
  path: () => '/chat/completions',
  denied: bearer(refusal(401, 'Invalid API key', { code: 'invalid_api_key' })),
  check,
}
