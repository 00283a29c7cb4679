/** Requests that api.openai.com accepts at /v1/chat/completions (types of openai 6.49.0, resources/chat/completions). */
import { Type } from 'typebox'
import { list, object } from '../../support/fold.ts'
import { closed, departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import {
  anyObject,
  bearer,
  contentSchema,
  eachMessage,
  may,
  mentionsJson,
  notStrict,
  optionalWord,
  refusal,
  responseFormat,
  stop,
  streamOptions,
  strictSchemas,
  toolCalls,
  toolChoice,
  tools,
  unpaired,
} from './chat-parts.ts'

const name = Type.Optional(Type.String())

/** Marks the end of a prefix for the cache. */
const mark = { prompt_cache_breakpoint: Type.Optional(closed({ mode: words('explicit') })) }
const textPart = closed({ type: words('text'), text: Type.String(), ...mark })
const texts = contentSchema(textPart)
const image = closed({ url: Type.String(), detail: Type.Optional(words('auto', 'low', 'high', 'original')) })

const message = Type.Union([
  closed({ role: words('system', 'developer'), content: texts, name }),
  closed({
    role: words('user'),
    content: contentSchema(
      textPart,
      closed({ type: words('image_url'), image_url: image, ...mark }),
      closed({ type: words('input_audio'), input_audio: closed({ data: Type.String(), format: words('wav', 'mp3') }), ...mark }),
      closed({ type: words('file'), file: anyObject, ...mark }),
    ),
    name,
  }),
  closed({
    role: words('assistant'),
    audio: may(closed({ id: Type.String() })),
    content: may(contentSchema(textPart, closed({ type: words('refusal'), refusal: Type.String() }))),
    name,
    refusal: may(Type.String()),
    // Members of the replies (ChatCompletionMessage), which clients send back as they came.
    annotations: may(Type.Array(Type.Unknown())),
    function_call: Type.Optional(Type.Null()),
    tool_calls: Type.Optional(toolCalls()),
  }),
  // Not in the types; instructor sends it in every second attempt (pip instructor 1.17.0, v2/providers/openai/handlers.py).
  closed({ role: words('tool'), content: texts, tool_call_id: Type.String(), name }),
])

const departure = departures(
  closed({
    model: Type.String(),
    messages: Type.Array(message, { minItems: 1 }),
    audio: may(anyObject),
    frequency_penalty: may(Type.Number({ minimum: -2, maximum: 2 })),
    logit_bias: may(anyObject),
    logprobs: may(Type.Boolean()),
    max_completion_tokens: may(Type.Integer({ minimum: 1 })),
    max_tokens: may(Type.Integer({ minimum: 1 })),
    metadata: may(Type.Record(Type.String(), Type.String())),
    modalities: may(Type.Array(words('text', 'audio'))),
    moderation: may(anyObject),
    n: may(Type.Integer({ minimum: 1 })),
    parallel_tool_calls: Type.Optional(Type.Boolean()),
    prediction: may(anyObject),
    presence_penalty: may(Type.Number({ minimum: -2, maximum: 2 })),
    prompt_cache_key: may(Type.String()),
    prompt_cache_options: Type.Optional(anyObject),
    prompt_cache_retention: optionalWord('in_memory', '24h'),
    reasoning_effort: optionalWord('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
    response_format: Type.Optional(responseFormat),
    // npm openai 7.57.0, ChatCompletionCreateParamsBase.
    safety_identifier: may(Type.String({ maxLength: 128 })),
    seed: may(Type.Integer()),
    service_tier: optionalWord('auto', 'default', 'flex', 'scale', 'priority'),
    stop: may(stop),
    store: may(Type.Boolean()),
    stream: may(Type.Boolean()),
    stream_options: may(streamOptions),
    temperature: may(Type.Number({ minimum: 0, maximum: 2 })),
    tool_choice: Type.Optional(toolChoice),
    tools: Type.Optional(tools),
    top_logprobs: may(Type.Integer({ minimum: 0, maximum: 20 })),
    top_p: may(Type.Number({ minimum: 0, maximum: 1 })),
    // github.com/maximhq/bifrost/pull/1000.
    user: Type.Optional(Type.String({ maxLength: 64 })),
    verbosity: optionalWord('low', 'medium', 'high'),
    web_search_options: Type.Optional(anyObject),
  }),
)

const unsupported = (param: string): Refusal =>
  refusal(400, `Unsupported parameter: '${param}' is not supported with this model.`, { param, code: 'unsupported_parameter' })

/** Rules of single models. */
function modelRules({ body }: Call): Refusal | undefined {
  const model = String(body.model)
  const messages = list(body.messages)
  const at = messages.findIndex(({ role }) => role === 'system' || role === 'developer')
  // Recorded: test_openai_o1_mini_system_role.
  if (model.startsWith('o1-mini') && at !== -1) {
    const message = `Unsupported value: 'messages[${at}].role' does not support '${String(messages[at].role)}' with this model.`
    return refusal(400, message, { param: `messages[${at}].role`, code: 'unsupported_value' })
  }
  // Recorded: test_openai_web_search_tool_model_not_supported.
  if (body.web_search_options !== undefined && !model.includes('-search-'))
    return refusal(400, 'Web search options not supported with this model.', { param: 'web_search_options' })
  // npm openai 6.49.0, ChatCompletionCreateParamsBase.prompt_cache_options: "Supported for gpt-5.6 and later models".
  const isMarked = body.prompt_cache_options !== undefined || JSON.stringify(messages).includes('"prompt_cache_breakpoint"')
  return isMarked && !/^gpt-(?:5\.[6-9]|[6-9])/.test(model) ? unsupported('prompt_cache_options') : undefined
}

/** Rules of models that reason. */
function reasoningRules({ body }: Call): Refusal | undefined {
  // npm openai 6.49.0, ChatCompletionCreateParamsBase.max_tokens: not compatible with o-series models.
  if (body.max_tokens !== undefined) return unsupported('max_tokens')
  // npm openai 6.49.0, ChatCompletionCreateParamsBase.stop: not supported with the latest reasoning models.
  if (body.stop !== undefined) return unsupported('stop')
  // github.com/johny-b/llmcomp/issues/69
  if (body.temperature !== undefined && body.temperature !== 1)
    return refusal(
      400,
      `Unsupported value: 'temperature' does not support ${body.temperature} with this model. Only the default (1) value is supported.`,
      {
        param: 'temperature',
        code: 'unsupported_value',
      },
    )
  // github.com/pipecat-ai/pipecat/issues/4043; github.com/openai/openai-openapi/issues/541: gpt-5.4 and later.
  if (/^gpt-(?:5\.[4-9]|[6-9])/.test(String(body.model)) && body.reasoning_effort !== undefined && list(body.tools).length > 0)
    return refusal(
      400,
      `Function tools with reasoning_effort are not supported for ${body.model} in /v1/chat/completions. Please use /v1/responses instead.`,
      {
        param: 'reasoning_effort',
      },
    )
  return undefined
}

function check(call: Call): Refusal | undefined {
  const { body, model } = call
  const wrong = departure(body)
  if (wrong?.message === 'unknown field')
    return refusal(400, `Unknown parameter: '${wrong.path}'.`, { param: wrong.path, code: 'unknown_parameter' })
  if (wrong) return refusal(400, `Invalid value for '${wrong.path}': ${wrong.message}.`, { param: wrong.path })
  const refused = modelRules(call) ?? (model.reasons ? reasoningRules(call) : undefined)
  if (refused) return refused
  if (!model.reasons && body.reasoning_effort !== undefined) return refusal(400, 'Unrecognized request argument supplied: reasoning_effort')
  if (body.parallel_tool_calls !== undefined && body.tools === undefined)
    return refusal(400, "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.")
  for (const { name, schema } of strictSchemas(body)) {
    const loose = notStrict(schema)
    // developers.openai.com/api/docs/guides/structured-outputs, "Supported schemas"
    if (loose) return refusal(400, `Invalid schema for response_format '${name}': ${loose}`, { param: 'response_format' })
  }
  if (object(body.response_format).type === 'json_object' && !mentionsJson(body))
    return refusal(400, "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
  const open = unpaired(list(body.messages))
  return open ? refusal(400, open, { param: 'messages' }) : undefined
}

/** Chat completions show no reasoning (npm openai 6.49.0, ChatCompletionMessage). */
const rewrite: Rules['rewrite'] = (written) => eachMessage(written, ({ reasoning: _hidden, ...message }) => message)

const entry = (model: string, parameters = ''): string =>
  `input: [text, image]\nendpoints: [{ provider: openai-chat, model: ${model}, price: { prompt: "1", completion: "1" }${parameters} }]`

/** As models of the shipped catalogue state what reasoning models take. */
const REASONING =
  ', supported_parameters: [max_tokens, seed, response_format, structured_outputs, tools, tool_choice, parallel_tool_calls, reasoning, verbosity]'

export const openaiChat: Rules = {
  preset: 'openai-chat',
  wire: 'openai-chat',
  sources: [
    'npm openai 6.49.0, resources/chat/completions',
    'github.com/pipecat-ai/pipecat/issues/4043',
    'github.com/johny-b/llmcomp/issues/69',
    'recorded refusals: test_openai_o1_mini_system_role, test_openai_web_search_tool_model_not_supported',
  ],
  models: [
    { slug: 'openai-chat/gpt-5.4', name: 'gpt-5.4', entry: entry('gpt-5.4', REASONING), reasons: true, images: true },
    { slug: 'openai-chat/gpt-4.1-mini', name: 'gpt-4.1-mini', entry: entry('gpt-4.1-mini'), images: true },
  ],
  path: () => '/chat/completions',
  denied: bearer(refusal(401, 'Incorrect API key provided.', { code: 'invalid_api_key' })),
  check,
  rewrite,
}
