/**
 * Requests that inference.baseten.co accepts at /v1/chat/completions: the OpenAPI document Baseten LLM Inference API 1.0.0, in the copy of
 * github.com/api-evangelist/baseten, openapi/baseten-llm-openapi.json, commit 9bd014fe.
 */
import { Type } from 'typebox'
import { list } from '../../support/fold.ts'
import { closed, departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import { anyObject, bearer, contentSchema, imagePart, may, refusal, textPart, tools, unpaired } from './chat-parts.ts'

const call = closed({
  id: Type.String(),
  index: Type.Optional(Type.Integer()),
  type: words('function'),
  function: closed({ name: Type.String(), arguments: Type.Union([Type.String(), anyObject]) }),
})
const audio = closed({ type: words('input_audio'), input_audio: closed({ data: Type.String(), format: words('wav', 'mp3') }) })

// The schema of messages has no additionalProperties: it takes more.
const message = Type.Object({
  role: words('system', 'user', 'assistant', 'tool'),
  content: may(contentSchema(textPart, imagePart, audio)),
  tool_calls: may(Type.Array(call)),
})

const number = Type.Optional(Type.Number())
const text = Type.Optional(Type.String())

const departure = departures(
  closed({
    messages: Type.Array(message),
    model: Type.String(),
    frequency_penalty: number,
    presence_penalty: number,
    logit_bias: Type.Optional(anyObject),
    logprobs: Type.Optional(Type.Boolean()),
    top_logprobs: Type.Optional(Type.Integer({ minimum: 0, maximum: 20 })),
    max_tokens: Type.Optional(Type.Integer({ minimum: 1, maximum: 262_144 })),
    n: Type.Optional(Type.Integer({ minimum: 1, maximum: 1 })),
    response_format: Type.Optional(
      Type.Union([
        closed({ type: words('text', 'json_object') }),
        closed({
          type: words('json_schema'),
          json_schema: closed({ name: Type.String(), description: text, schema: anyObject, strict: Type.Optional(Type.Literal(true)) }),
        }),
        closed({ type: words('grammar'), grammar: Type.String() }),
      ]),
    ),
    seed: Type.Optional(Type.Integer()),
    stop: Type.Optional(Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String({ minLength: 1 }), { maxItems: 32 })])),
    stream: Type.Optional(Type.Boolean()),
    stream_options: Type.Optional(
      closed({ include_usage: Type.Optional(Type.Boolean()), continuous_usage_stats: Type.Optional(Type.Boolean()) }),
    ),
    temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 4 })),
    top_p: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1 })),
    tools: Type.Optional(tools),
    tool_choice: Type.Optional(
      Type.Union([
        words('none', 'required', 'auto'),
        closed({ type: Type.Optional(words('function')), function: closed({ name: Type.String() }) }),
      ]),
    ),
    parallel_tool_calls: Type.Optional(Type.Boolean()),
    user: text,
    top_k: Type.Optional(Type.Integer()),
    min_p: number,
    repetition_penalty: number,
    min_tokens: Type.Optional(Type.Integer()),
    chat_template_args: Type.Optional(anyObject),
    // Not in the document; docs.baseten.co/inference/model-apis/reasoning has it for gpt-oss-120b.
    reasoning_effort: Type.Optional(words('low', 'medium', 'high')),
  }),
)

function check({ body, model }: Call): Refusal | undefined {
  const wrong = departure(body)
  if (wrong) return refusal(400, `${wrong.path}: ${wrong.message === 'unknown field' ? 'Extra inputs are not permitted' : wrong.message}`)
  if (body.reasoning_effort !== undefined && !model.reasons) return refusal(400, 'reasoning_effort: Extra inputs are not permitted')
  const open = unpaired(list(body.messages))
  return open ? refusal(400, open) : undefined
}

const entry = (model: string, more = ''): string =>
  `endpoints: [{ provider: baseten, model: ${model}, price: { prompt: "1", completion: "1" }${more} }]`

export const baseten: Rules = {
  preset: 'baseten',
  wire: 'openai-chat',
  sources: ['OpenAPI document Baseten LLM Inference API 1.0.0', 'https://docs.baseten.co/inference/model-apis/reasoning'],
  models: [
    {
      slug: 'baseten/gpt-oss-120b',
      name: 'openai/gpt-oss-120b',
      entry: entry('openai/gpt-oss-120b', ', quirks: { efforts: [low, medium, high] }'),
      reasons: true,
    },
  ],
  path: () => '/chat/completions',
  denied: bearer(refusal(401, 'Unauthorized')),
  check,
}
