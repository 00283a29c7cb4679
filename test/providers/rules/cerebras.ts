/** Requests that api.cerebras.ai accepts at /v1/chat/completions (types of @cerebras/cerebras_cloud_sdk 1.91.0, ChatCompletionCreateParams). */
import { Type } from 'typebox'
import { list } from '../../support/fold.ts'
import { closed, departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import {
  anyObject,
  bearer,
  contentSchema,
  imagePart,
  may,
  notStrict,
  optionalWord,
  responseFormat,
  stop,
  streamOptions,
  strictSchemas,
  textPart,
  texts,
  toolCalls,
  toolChoice,
  tools,
  unpaired,
} from './chat-parts.ts'

const name = may(Type.String())
const content = contentSchema(textPart, imagePart, closed({ type: words('image'), image: Type.String() }))

const message = Type.Union([
  closed({ role: words('system', 'developer', 'user'), content, name }),
  closed({
    role: words('assistant'),
    content: may(texts),
    name,
    reasoning: may(texts),
    tool_calls: may(toolCalls({ index: may(Type.Integer()) })),
  }),
  closed({ role: words('tool'), content: texts, tool_call_id: Type.String(), name }),
])

const departure = departures(
  closed({
    model: Type.String(),
    messages: Type.Array(message, { minItems: 1 }),
    clear_thinking: may(Type.Boolean()),
    disable_reasoning: may(Type.Boolean()),
    frequency_penalty: may(Type.Number({ minimum: -2, maximum: 2 })),
    logit_bias: may(anyObject),
    logprobs: may(Type.Boolean()),
    max_completion_tokens: may(Type.Integer({ minimum: 1 })),
    max_tokens: may(Type.Integer({ minimum: 1 })),
    min_completion_tokens: may(Type.Integer()),
    min_tokens: may(Type.Integer()),
    model_parameters: may(anyObject),
    n: may(Type.Integer()),
    parallel_tool_calls: may(Type.Boolean()),
    prediction: may(anyObject),
    presence_penalty: may(Type.Number({ minimum: -2, maximum: 2 })),
    prompt_cache_key: may(Type.String()),
    reasoning_effort: optionalWord('none', 'low', 'medium', 'high'),
    reasoning_format: optionalWord('none', 'parsed', 'text_parsed', 'raw', 'hidden'),
    response_format: may(responseFormat),
    seed: may(Type.Integer()),
    service_tier: optionalWord('auto', 'default', 'flex', 'priority'),
    stop: may(stop),
    stream: may(Type.Boolean()),
    stream_options: may(streamOptions),
    temperature: may(Type.Number({ minimum: 0, maximum: 1.5 })),
    tool_choice: may(toolChoice),
    tools: may(tools),
    top_logprobs: may(Type.Integer({ minimum: 0, maximum: 20 })),
    top_p: may(Type.Number({ minimum: 0, maximum: 1 })),
    user: may(Type.String()),
  }),
)

/** In the form of github.com/egoist/chatwise-releases/issues/1442: no `error` around it. */
const bad = (message: string): Refusal => ({
  status: 400,
  body: { message, type: 'invalid_request_error', param: 'validation_error', code: 'wrong_api_format' },
})

function check({ body, model }: Call): Refusal | undefined {
  const wrong = departure(body)
  if (wrong) {
    const path = wrong.path.replace(/\[(\d+)\]/g, '.$1')
    return bad(wrong.message === 'unknown field' ? `${path}: property '${path}' is unsupported` : `${path}: ${wrong.message}`)
  }
  // github.com/dcdpr/jp/pull/531: gpt-oss-120b takes low, medium and high; none is for zai-glm-4.7 (recorded: test_cerebras_disable_reasoning_setting).
  if (body.reasoning_effort === 'none' && String(body.model).includes('gpt-oss'))
    return bad("reasoning_effort: 'none' is not supported by this model")
  if (body.reasoning_effort !== undefined && !model.reasons) return bad('reasoning_effort: not supported by this model')
  for (const { name, schema } of strictSchemas(body)) {
    // github.com/dcdpr/jp/pull/531: no other properties, all of them required.
    const loose = notStrict(schema)
    if (loose) return bad(`Invalid fields for schema '${name}': ${loose}`)
  }
  const open = unpaired(list(body.messages))
  return open ? bad(open) : undefined
}

const entry = (model: string, more = ''): string =>
  `endpoints: [{ provider: cerebras, model: ${model}, price: { prompt: "1", completion: "1" }${more} }]`

export const cerebras: Rules = {
  preset: 'cerebras',
  wire: 'openai-chat',
  sources: [
    'npm @cerebras/cerebras_cloud_sdk 1.91.0, resources/chat/completions',
    'recorded traffic: test_cerebras',
    'github.com/egoist/chatwise-releases/issues/1442',
    'github.com/dcdpr/jp/pull/531',
  ],
  models: [
    {
      slug: 'cerebras/gpt-oss-120b',
      name: 'gpt-oss-120b',
      entry: entry('gpt-oss-120b', ', quirks: { efforts: [low, medium, high] }'),
      reasons: true,
    },
    { slug: 'cerebras/zai-glm-4.7', name: 'zai-glm-4.7', entry: entry('zai-glm-4.7'), reasons: true },
  ],
  path: () => '/chat/completions',
  denied: bearer({
    status: 401,
    body: { message: 'Wrong API Key', type: 'invalid_request_error', param: 'api_key', code: 'wrong_api_key' },
  }),
  check,
  // As recorded (test_cerebras).
  rewrite: (written) => ({ ...written, time_info: { queue_time: 0.01, prompt_time: 0.003, completion_time: 0.02, total_time: 0.03 } }),
}
