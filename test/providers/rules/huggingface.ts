/**
 * Requests that router.huggingface.co accepts at /v1/chat/completions (npm @huggingface/tasks 0.21.54, ChatCompletionInput, whose types take
 * further members). The provider behind the router is Cerebras here, as in the preset's example model.
 */
import { Type } from 'typebox'
import { isObject } from '../../../src/core/json.ts'
import { departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import { cerebras } from './cerebras.ts'
import { anyObject, bearer, may } from './chat-parts.ts'

const departure = departures(
  Type.Object({
    messages: Type.Array(
      Type.Object({
        role: Type.String(),
        content: may(Type.Union([Type.String(), Type.Array(Type.Object({ type: words('text', 'image_url') }))])),
        name: Type.Optional(Type.String()),
        tool_calls: Type.Optional(Type.Array(Type.Object({ id: Type.String(), type: Type.String(), function: anyObject }))),
      }),
    ),
    model: Type.Optional(Type.String()),
    max_tokens: Type.Optional(Type.Integer()),
    reasoning_effort: Type.Optional(Type.String()),
    response_format: Type.Optional(Type.Object({ type: words('text', 'json_schema', 'json_object') })),
    stop: Type.Optional(Type.Array(Type.String())),
    stream: Type.Optional(Type.Boolean()),
    tool_choice: Type.Optional(
      Type.Union([words('auto', 'none', 'required'), Type.Object({ function: Type.Object({ name: Type.String() }) })]),
    ),
    tools: Type.Optional(Type.Array(Type.Object({ type: Type.String(), function: Type.Object({ name: Type.String() }) }))),
  }),
)

function check(call: Call): Refusal | undefined {
  const wrong = departure(call.body)
  if (wrong) return { status: 422, body: { error: `${wrong.path}: ${wrong.message}`, error_type: 'validation' } }
  // A choice needs no type here (recorded: test_tool_choice_matrix[list_single-huggingface]).
  const { tool_choice: choice } = call.body
  const body = isObject(choice) ? { ...call.body, tool_choice: { type: 'function', ...choice } } : call.body
  return cerebras.check({ ...call, body })
}

export const huggingface: Rules = {
  preset: 'huggingface',
  wire: 'openai-chat',
  sources: [
    'npm @huggingface/tasks 0.21.54, ChatCompletionInput',
    'recorded traffic: test_tool_choice_matrix (5 requests)',
    ...cerebras.sources,
  ],
  models: [
    {
      slug: 'huggingface/gpt-oss-120b',
      name: 'openai/gpt-oss-120b:cerebras',
      entry: 'endpoints: [{ provider: huggingface, model: "openai/gpt-oss-120b:cerebras", price: { prompt: "1", completion: "1" } }]',
      reasons: true,
    },
  ],
  path: () => '/chat/completions',
  denied: bearer({ status: 401, body: { error: 'Invalid username or password.' } }),
  check,
}
