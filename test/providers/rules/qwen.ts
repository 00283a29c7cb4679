/**
 * Requests that dashscope-intl.aliyuncs.com accepts at /compatible-mode/v1/chat/completions: the reference (docs.qwencloud.com, api-reference/chat/openai-chat;
 * alibabacloud.com, model-studio/qwen-api-reference), its page of error messages, and pip dashscope 2.0.2 (v2/protocols/openai.py). Fields
 * outside it are not known to be refused.
 */
import { Type } from 'typebox'
import { isObject, type JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import { departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import { anyObject, asReasoningContent, bearer, contentSchema, may, mentionsJson, refusal, unpaired } from './chat-parts.ts'

const ROLES = ['system', 'assistant', 'user', 'tool', 'function']

const text = Type.Object({ type: words('text'), text: Type.String() })
const image = Type.Object({ type: words('image_url'), image_url: Type.Object({ url: Type.String({ pattern: '^(https?://|data:)' }) }) })
const call = Type.Object({
  id: Type.String(),
  type: words('function'),
  function: Type.Object({ name: Type.String(), arguments: Type.String() }),
})

const message = Type.Union([
  Type.Object({ role: words('system'), content: Type.String() }),
  Type.Object({ role: words('user'), content: contentSchema(text, image) }),
  Type.Object({
    role: words('assistant'),
    content: Type.Union([Type.String(), Type.Null()]),
    reasoning_content: Type.Optional(Type.String()),
    tool_calls: Type.Optional(Type.Array(call)),
  }),
  // "It must be a string."
  Type.Object({ role: words('tool'), content: Type.String(), tool_call_id: Type.String() }),
])

const tool = Type.Object({
  type: words('function'),
  function: Type.Object({
    name: Type.String({ pattern: '^[a-zA-Z0-9_-]{1,64}$' }),
    description: Type.Optional(Type.String()),
    parameters: Type.Optional(anyObject),
  }),
})

const departure = departures(
  Type.Object({
    model: Type.String(),
    messages: Type.Array(message, { minItems: 1 }),
    stream: may(Type.Boolean()),
    stream_options: may(Type.Object({ include_usage: may(Type.Boolean()) })),
    temperature: may(Type.Number({ minimum: 0, exclusiveMaximum: 2 })),
    top_p: may(Type.Number({ exclusiveMinimum: 0, maximum: 1 })),
    top_k: may(Type.Integer({ minimum: 0 })),
    presence_penalty: may(Type.Number({ minimum: -2, maximum: 2 })),
    max_tokens: may(Type.Integer({ minimum: 1 })),
    max_completion_tokens: may(Type.Integer({ minimum: 1 })),
    n: may(Type.Integer({ minimum: 1, maximum: 4 })),
    seed: may(Type.Integer({ minimum: 0 })),
    stop: may(Type.Union([Type.String(), Type.Array(Type.String())])),
    logprobs: may(Type.Boolean()),
    top_logprobs: may(Type.Integer({ minimum: 0, maximum: 5 })),
    response_format: may(
      Type.Union([
        Type.Object({ type: words('text', 'json_object') }),
        Type.Object({
          type: words('json_schema'),
          json_schema: Type.Object({
            name: Type.String({ pattern: '^[a-zA-Z0-9_-]{1,64}$' }),
            schema: Type.Optional(anyObject),
            strict: may(Type.Boolean()),
          }),
        }),
      ]),
    ),
    tools: may(Type.Array(tool)),
    parallel_tool_calls: may(Type.Boolean()),
    enable_thinking: may(Type.Boolean()),
    thinking_budget: may(Type.Integer()),
  }),
)

const bad = (message: string): Refusal =>
  refusal(400, `<400> InternalError.Algo.InvalidParameter: ${message}`, { code: 'invalid_parameter_error' })

/** Newer models think unless the request switches it off (help.aliyun.com, model-studio/deep-thinking). */
function thinkingRefusal(body: JsonObject): Refusal | undefined {
  const { tool_choice: choice } = body
  if (choice !== undefined && !isObject(choice) && choice !== 'auto' && choice !== 'none')
    return bad('tool_choice is one of the strings that should be ["none", "auto"]')
  if (body.enable_thinking === false) return undefined
  // github.com/cloudwego/eino/issues/994, github.com/agentscope-ai/agentscope/issues/1608
  if (isObject(choice)) return bad('The tool_choice parameter does not support being set to required or object in thinking mode')
  return object(body.response_format).type === 'json_object'
    ? bad('Json mode response is not supported when enable_thinking is true')
    : undefined
}

function check({ body }: Call): Refusal | undefined {
  const messages = list(body.messages)
  const strange = messages.findIndex(({ role }) => !ROLES.includes(String(role)))
  // github.com/proma-ai/Proma/issues/1496
  if (strange !== -1)
    return refusal(
      400,
      `${String(messages[strange].role)} is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.[${strange}].role'`,
    )
  const wrong = departure(body)
  if (wrong) return bad(`${wrong.path}: ${wrong.message}`)
  // help.aliyun.com, compatibility-of-openai-with-dashscope: only messages[0] may have the role system.
  if (messages.some(({ role }, index) => index > 0 && role === 'system')) return bad('System message must be at the beginning.')
  if (list(body.tools ?? []).some((tool) => object(tool.function).name === 'search'))
    return bad('Tool names are not allowed to be [search]')
  if (object(body.response_format).type === 'json_object' && !mentionsJson(body))
    return bad("'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
  const open = unpaired(messages)
  return open ? bad(open) : thinkingRefusal(body)
}

export const qwen: Rules = {
  preset: 'qwen',
  wire: 'openai-chat',
  sources: [
    'https://docs.qwencloud.com/api-reference/chat/openai-chat',
    'https://docs.qwencloud.com/api-reference/preparation/error-messages',
    'pip dashscope 2.0.2, v2/protocols/openai.py',
    'github.com/cloudwego/eino/issues/994',
    'github.com/proma-ai/Proma/issues/1496',
  ],
  models: [{ slug: 'qwen/qwen3.8-max-0902', name: 'qwen3.8-max-0902', reasons: true, images: false }],
  path: () => '/chat/completions',
  denied: bearer(refusal(401, 'Incorrect API key provided.', { code: 'invalid_api_key' })),
  check,
  rewrite: asReasoningContent,
}
