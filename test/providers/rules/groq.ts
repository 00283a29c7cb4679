/**
 * Requests that api.groq.com accepts at /openai/v1/chat/completions (types of groq-sdk 1.6.0, resources/chat/completions), with the fields that
 * console.groq.com/docs/openai names as refused.
 */
import { Type } from 'typebox'
import { list, object } from '../../support/fold.ts'
import { closed, departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import {
  anyObject,
  bearer,
  contentSchema,
  imagePart,
  jsonSchema,
  may,
  mentionsJson,
  notStrict,
  optionalWord,
  refusal,
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

const content = contentSchema(textPart, imagePart, closed({ type: words('document'), document: anyObject }))

// `name` stands in the types, and is refused (console.groq.com/docs/openai, "messages[].name").
const message = Type.Union([
  closed({ role: words('system', 'developer'), content: texts }),
  closed({ role: words('user'), content }),
  closed({ role: words('assistant'), content: may(texts), reasoning: may(Type.String()), tool_calls: Type.Optional(toolCalls()) }),
  closed({ role: words('tool'), content, tool_call_id: Type.String() }),
])

const departure = departures(
  closed({
    model: Type.String(),
    messages: Type.Array(message, { minItems: 1 }),
    citation_options: optionalWord('enabled', 'disabled'),
    compound_custom: may(anyObject),
    disable_tool_validation: may(Type.Boolean()),
    documents: may(Type.Array(anyObject)),
    frequency_penalty: may(Type.Number({ minimum: -2, maximum: 2 })),
    include_reasoning: may(Type.Boolean()),
    max_completion_tokens: may(Type.Integer({ minimum: 1 })),
    max_tokens: may(Type.Integer({ minimum: 1 })),
    metadata: may(Type.Record(Type.String(), Type.String())),
    n: may(Type.Integer({ minimum: 1, maximum: 1 })),
    parallel_tool_calls: may(Type.Boolean()),
    presence_penalty: may(Type.Number({ minimum: -2, maximum: 2 })),
    reasoning_effort: optionalWord('none', 'default', 'low', 'medium', 'high'),
    reasoning_format: optionalWord('hidden', 'raw', 'parsed'),
    response_format: may(
      Type.Union([closed({ type: words('text', 'json_object') }), closed({ type: words('json_schema'), json_schema: jsonSchema })]),
    ),
    search_settings: may(anyObject),
    seed: may(Type.Integer()),
    service_tier: optionalWord('auto', 'on_demand', 'flex', 'performance'),
    stop: may(stop),
    store: may(Type.Boolean()),
    stream: may(Type.Boolean()),
    // Not in the types; github.com/withceleste/celeste-python/pull/351 reports its usage chunk.
    stream_options: may(streamOptions),
    temperature: may(Type.Number({ minimum: 0, maximum: 2 })),
    tool_choice: may(toolChoice),
    tools: may(tools),
    top_p: may(Type.Number({ minimum: 0, maximum: 1 })),
    user: may(Type.String()),
  }),
)

/** Rules that the types cannot state: those of the model that is called. */
function modelRules({ body, model }: Call): Refusal | undefined {
  const messages = list(body.messages)
  const thought = messages.findIndex((each) => each.role === 'assistant' && each.reasoning !== undefined)
  // github.com/vercel/ai/pull/8057
  if (!model.reasons && thought !== -1) return refusal(400, `'messages.${thought}' : 'reasoning' is not supported with this model`)
  const { reasoning_effort: effort } = body
  // github.com/charmbracelet/crush/issues/2764; apache/maka/pull/978 (gpt-oss: low, medium, high, no none)
  if (effort !== undefined && !model.reasons) return refusal(400, 'reasoning_effort is not supported with this model')
  if (effort === 'none' || effort === 'default') return refusal(400, '`reasoning_effort` must be one of `low`, `medium`, or `high`')
  if (!model.images && JSON.stringify(messages).includes('"image_url"')) return refusal(400, `messages[0].content must be a string`)
  return undefined
}

function check(call: Call): Refusal | undefined {
  const { body, model } = call
  const wrong = departure(body)
  if (wrong?.message === 'unknown field') {
    // The words of github.com/janhq/jan/issues/8136.
    return refusal(400, `property '${wrong.path}' is unsupported`)
  }
  if (wrong) return refusal(400, `'${wrong.path}' : ${wrong.message}`)
  const { type } = object(body.response_format)
  // github.com/ItzCrazyKns/Vane/issues/980; console.groq.com/docs/structured-outputs lists the models that take a schema.
  if (type === 'json_schema' && !model.reasons)
    return refusal(
      400,
      'This model does not support response format `json_schema`. See supported models at https://console.groq.com/docs/structured-outputs#supported-models',
    )
  if (type === 'json_object' && !mentionsJson(body))
    return refusal(400, "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
  for (const { name, schema } of strictSchemas(body)) {
    // console.groq.com/docs/structured-outputs, "Strict Mode": all fields required, additionalProperties false.
    const loose = notStrict(schema)
    if (loose) return refusal(400, `invalid JSON schema for response_format: '${name}': ${loose}`)
  }
  const open = unpaired(list(body.messages))
  return open ? refusal(400, open) : modelRules(call)
}

const only = { provider: { only: ['groq'] } }

export const groq: Rules = {
  preset: 'groq',
  wire: 'openai-chat',
  sources: [
    'npm groq-sdk 1.6.0, resources/chat/completions',
    'https://console.groq.com/docs/openai',
    'https://console.groq.com/docs/structured-outputs',
    'github.com/janhq/jan/issues/8136',
  ],
  models: [
    { slug: 'openai/gpt-oss-120b', name: 'openai/gpt-oss-120b', reasons: true, more: only },
    { slug: 'meta-llama/llama-3.3-70b-instruct', name: 'llama-3.3-70b-versatile', more: only },
  ],
  path: () => '/chat/completions',
  denied: bearer(refusal(401, 'Invalid API Key', { code: 'invalid_api_key' })),
  check,
  // As recorded (test_groq): the id of the request at Groq, and in streams the usage with it (types of groq-sdk 1.6.0, XGroq.usage).
  rewrite: (written) => ({ ...written, x_groq: { id: 'req_01', ...(written.usage ? { usage: written.usage } : {}) } }),
}
