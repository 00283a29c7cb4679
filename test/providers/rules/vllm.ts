/**
 * Requests that a vLLM server accepts at /v1/chat/completions: its request model and validators (github.com/vllm-project/vllm,
 * vllm/entrypoints/openai/chat_completion/protocol.py, commit 002032ee). Unknown fields are kept and ignored (OpenAIBaseModel,
 * `extra="allow"`). Crusoe serves with the same engine, as the fields of its recorded replies show (test_crusoe).
 */
import { Type } from 'typebox'
import { list } from '../../support/fold.ts'
import { departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import { anyObject, bearer, eachMessage, may, optionalWord } from './chat-parts.ts'

const departure = departures(
  Type.Object({
    messages: Type.Array(
      Type.Object({
        role: Type.String(),
        content: may(Type.Union([Type.String(), Type.Array(Type.Object({ type: Type.String() }))])),
        reasoning: may(Type.String()),
        tool_calls: may(Type.Array(Type.Object({ id: Type.String(), function: anyObject }))),
      }),
    ),
    model: may(Type.String()),
    frequency_penalty: may(Type.Number()),
    logprobs: may(Type.Boolean()),
    max_tokens: may(Type.Integer()),
    max_completion_tokens: may(Type.Integer()),
    n: may(Type.Integer()),
    presence_penalty: may(Type.Number()),
    response_format: may(Type.Object({ type: words('text', 'json_object', 'json_schema', 'structural_tag') })),
    seed: may(Type.Integer()),
    stop: may(Type.Union([Type.String(), Type.Array(Type.String())])),
    stream: may(Type.Boolean()),
    stream_options: may(Type.Object({ include_usage: may(Type.Boolean()) })),
    temperature: may(Type.Number()),
    top_p: may(Type.Number()),
    tools: may(
      Type.Array(Type.Object({ type: Type.Optional(words('function')), function: Type.Object({ name: Type.String() }) }), { minItems: 1 }),
    ),
    tool_choice: may(Type.Union([words('none', 'auto', 'required'), Type.Object({ function: Type.Object({ name: Type.String() }) })])),
    chat_template_kwargs: may(anyObject),
    reasoning_effort: optionalWord('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
    parallel_tool_calls: may(Type.Boolean()),
    user: may(Type.String()),
  }),
)

const bad = (message: string): Refusal => ({ status: 400, body: { error: { message, type: 'BadRequestError', param: null, code: 400 } } })

const isJson = (text: unknown): boolean => {
  try {
    JSON.parse(String(text))
    return true
  } catch {
    return false
  }
}

function check({ body }: Call): Refusal | undefined {
  const wrong = departure(body)
  if (wrong) return bad(`${wrong.path}: ${wrong.message}`)
  // protocol.py, check_tool_usage
  if (body.tool_choice !== undefined && body.tool_choice !== 'none' && body.tools === undefined)
    return bad('When using `tool_choice`, `tools` must be set.')
  if (body.stream_options !== undefined && body.stream !== true) return bad('Stream options can only be defined when `stream=True`.')
  // Templates of Qwen 3.5 and later (github.com/vllm-project/vllm/issues/41114).
  if (list(body.messages).some(({ role }, index) => role === 'system' && index > 0)) return bad('System message must be at the beginning.')
  for (const { role, tool_calls: calls } of list(body.messages)) {
    // github.com/ogx-ai/ogx/issues/6069: chat templates without the role refuse it.
    if (!['system', 'user', 'assistant', 'tool'].includes(String(role))) return bad('Unexpected message role.')
    // chat_utils.py: arguments of calls are parsed for the chat template.
    if (list(calls ?? []).some((call) => !isJson((call.function as { arguments?: unknown }).arguments)))
      return bad('Invalid JSON in the arguments of a tool call')
  }
  return undefined
}

/** As recorded of Crusoe (test_crusoe): every member of the message is there, null where it says nothing. */
const rewrite: Rules['rewrite'] = (written) =>
  eachMessage(written, (message) => ({ annotations: null, audio: null, function_call: null, ...message }))

const SOURCE = 'github.com/vllm-project/vllm, vllm/entrypoints/openai/chat_completion/protocol.py, commit 002032ee'

const entry = (provider: string, model: string): string =>
  `input: [text, image]\nendpoints: [{ provider: ${provider}, model: ${model}, price: { prompt: "0", completion: "0" } }]`

export const vllm: Rules = {
  preset: 'vllm',
  wire: 'openai-chat',
  sources: [SOURCE],
  models: [
    { slug: 'vllm/gpt-oss-120b', name: 'openai/gpt-oss-120b', entry: entry('vllm', 'openai/gpt-oss-120b'), reasons: true, images: true },
  ],
  path: () => '/chat/completions',
  // The server checks keys only where it was started with --api-key.
  denied: () => undefined,
  check,
  rewrite,
}

export const crusoe: Rules = {
  ...vllm,
  preset: 'crusoe',
  sources: [SOURCE, 'recorded traffic: test_crusoe'],
  models: [{ slug: 'crusoe/glm-5.2', name: 'zai/GLM-5.2', entry: entry('crusoe', 'zai/GLM-5.2'), reasons: true }],
  denied: bearer({ status: 401, body: { error: { message: 'Unauthorized', type: 'AuthenticationError', param: null, code: 401 } } }),
}
