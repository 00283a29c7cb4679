/**
 * Requests that the server of llama.cpp accepts at /v1/chat/completions (github.com/ggml-org/llama.cpp, tools/server/server-common.cpp,
 * oaicompat_chat_params_parse, and common/chat.cpp, common_chat_msgs_parse_oaicompat). Fields that it does not read are ignored.
 */
import { Type } from 'typebox'
import { list, object } from '../../support/fold.ts'
import { departures } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import { anyObject, asReasoningContent, hasBooleanSchema, may } from './chat-parts.ts'

const departure = departures(
  Type.Object({
    messages: Type.Array(
      Type.Object({
        role: Type.String(),
        content: may(Type.Union([Type.String(), Type.Array(Type.Object({ type: Type.String() }))])),
        reasoning_content: may(Type.String()),
        tool_calls: may(
          Type.Array(Type.Object({ type: Type.String(), function: Type.Object({ name: Type.String(), arguments: Type.String() }) })),
        ),
      }),
    ),
    tools: may(Type.Array(Type.Object({ type: Type.String(), function: Type.Object({ name: Type.String() }) }))),
    response_format: may(Type.Object({ type: Type.String(), json_schema: may(Type.Object({ schema: may(anyObject) })) })),
  }),
)

const bad = (message: string): Refusal => ({ status: 400, body: { error: { code: 400, message, type: 'invalid_request_error' } } })

function check({ body, model }: Call): Refusal | undefined {
  const wrong = departure(body)
  if (wrong) return bad(`${wrong.path}: ${wrong.message}`)
  if (body.top_logprobs !== undefined && body.logprobs !== true) return bad('top_logprobs requires logprobs to be set to true')
  if (body.logprobs === true && body.stream === true && list(body.tools ?? []).length > 0)
    return bad('logprobs is not supported with tools + stream')
  if (hasBooleanSchema(body.tools)) return bad('Unable to generate parser for this template.')
  const { type } = object(body.response_format)
  if (type !== undefined && !['text', 'json_object', 'json_schema'].includes(String(type)))
    return bad(`response_format type must be one of "text" or "json_object", but got: ${String(type)}`)
  const messages = list(body.messages)
  if (!model.images && JSON.stringify(messages).includes('"image_url"'))
    return bad('image input is not supported - hint: if this is unexpected, you may need to provide the mmproj')
  for (const { role, content, tool_calls: calls } of messages)
    if (role !== 'assistant' && (content === undefined || content === null) && calls === undefined)
      return bad("Expected 'content' or 'tool_calls' (ref: https://github.com/ggml-org/llama.cpp/issues/8367)")
  if (messages.at(-1)?.role === 'assistant' && model.reasons) return bad('Assistant response prefill is incompatible with enable_thinking.')
  return undefined
}

export const llamaCpp: Rules = {
  preset: 'llama-cpp',
  wire: 'openai-chat',
  sources: ['github.com/ggml-org/llama.cpp, tools/server/server-common.cpp, commit 006639c3, and common/chat.cpp'],
  models: [
    {
      slug: 'llama-cpp/gpt-oss-20b',
      name: 'ggml-org/gpt-oss-20b-GGUF',
      entry: 'endpoints: [{ provider: llama-cpp, model: ggml-org/gpt-oss-20b-GGUF, price: { prompt: "0", completion: "0" } }]',
      reasons: true,
    },
  ],
  path: () => '/chat/completions',
  denied: () => undefined,
  check,
  rewrite: asReasoningContent,
}
