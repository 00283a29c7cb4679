/** The request of `POST /v1/chat/completions` (docs/contract.md#chat-request). What it does not name is tolerated and kept. */
import { Type } from 'typebox'
import { checker } from '../../core/check.ts'
import { MAX_BIASES, MAX_ENTRIES, MAX_MESSAGES, MAX_PARTS, MAX_TOOLS, tokenCount } from '../canon/bounds.ts'
import { gatewayProperties } from '../canon/gateway-schema.ts'
import { numberFields } from '../canon/parameters.ts'
import { chatParameters } from './parameters.ts'

type Field = Parameters<typeof Type.Optional>[0]
const nullable = <T extends Field>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))

/** A provider's own word passes to it; others get the nearest effort that they know. */
const effort = () => nullable(Type.String({ minLength: 1, maxLength: 64 }))
const tokens = () => nullable(tokenCount(1))
const parts = <T extends Field>(schema: T) => Type.Array(schema, { maxItems: MAX_PARTS })

/** Deep rules of messages depend on the role: `check-messages.ts` walks them. */
const message = Type.Object({
  // `function` is the result of a call of the form before tools (PyPI openai 3.57.0, ChatCompletionFunctionMessageParam).
  role: Type.Enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: nullable(Type.Union([Type.String(), parts(Type.Object({ type: Type.String() }))])),
  name: nullable(Type.String()),
  tool_call_id: nullable(Type.String()),
  tool_calls: nullable(parts(Type.Object({ id: Type.String(), type: Type.Optional(Type.String()) }))),
  function_call: nullable(Type.Object({ name: Type.Optional(Type.String()), arguments: Type.Optional(Type.String()) })),
  refusal: nullable(Type.String()),
  reasoning: nullable(Type.String()),
  reasoning_content: nullable(Type.String()),
  reasoning_details: nullable(parts(Type.Object({ type: Type.String() }))),
  annotations: nullable(parts(Type.Object({}))),
  images: nullable(parts(Type.Object({}))),
  audio: nullable(Type.Object({})),
})

/** Without a type it is a function: `FunctionTool` and `ToolChoice` of Mistral's API have that default, others accept it. */
const tool = Type.Object({
  type: Type.Optional(Type.String({ minLength: 1 })),
  function: Type.Optional(
    Type.Object({
      name: Type.String({ minLength: 1, maxLength: 64 }),
      description: nullable(Type.String()),
      parameters: nullable(Type.Object({})),
      strict: nullable(Type.Boolean()),
    }),
  ),
  parameters: nullable(Type.Object({})),
})

const toolChoice = Type.Union([
  // `any` is what Mistral's `ToolChoiceEnum` also calls `required`.
  Type.Enum(['none', 'auto', 'required', 'any']),
  Type.Object({
    type: Type.Optional(Type.String({ minLength: 1 })),
    function: Type.Optional(Type.Object({ name: Type.String({ minLength: 1 }) })),
  }),
])

const responseFormat = Type.Union([
  Type.Object({ type: Type.Enum(['text', 'json_object', 'python']) }),
  Type.Object({
    type: Type.Literal('json_schema'),
    json_schema: Type.Object({
      name: Type.String({ minLength: 1, maxLength: 64 }),
      description: nullable(Type.String()),
      schema: nullable(Type.Object({})),
      strict: nullable(Type.Boolean()),
    }),
  }),
  Type.Object({ type: Type.Literal('grammar'), grammar: Type.String() }),
  // DeepInfra has a text in `regex`, Perplexity an object (PyPI perplexityai 0.46.1, ResponseFormatResponseFormatRegex).
  Type.Object({ type: Type.Literal('regex') }),
  // vLLM and SGLang (vllm/entrypoints/openai/chat_completion/protocol.py, StructuralTagResponseFormat; PyPI sglang 0.5.23, protocol.py).
  Type.Object({ type: Type.Literal('structural_tag') }),
])

export const chatRequest = Type.Object({
  ...gatewayProperties,
  messages: Type.Optional(Type.Array(message, { minItems: 1, maxItems: MAX_MESSAGES })),
  prompt: Type.Optional(Type.String({ minLength: 1 })),
  stream: nullable(Type.Boolean()),
  stream_options: nullable(Type.Object({})),
  usage: nullable(Type.Object({})),
  ...numberFields(chatParameters),
  n: nullable(tokenCount(1)),
  stop: nullable(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: MAX_ENTRIES })])),
  logit_bias: nullable(Type.Record(Type.String(), Type.Number({ minimum: -100, maximum: 100 }), { maxProperties: MAX_BIASES })),
  // A number is the count of alternatives (PyPI together 3.1.1, fireworks-ai 1.2.30: CompletionCreateParams.logprobs).
  logprobs: nullable(Type.Union([Type.Boolean(), Type.Integer({ minimum: 0, maximum: 20 })])),
  max_tokens: tokens(),
  max_completion_tokens: tokens(),
  tools: nullable(Type.Array(tool, { maxItems: MAX_TOOLS })),
  tool_choice: nullable(toolChoice),
  parallel_tool_calls: nullable(Type.Boolean()),
  response_format: nullable(responseFormat),
  reasoning: nullable(
    Type.Object({
      effort: effort(),
      max_tokens: tokens(),
      exclude: nullable(Type.Boolean()),
      enabled: nullable(Type.Boolean()),
      summary: nullable(Type.Enum(['auto', 'concise', 'detailed'])),
    }),
  ),
  reasoning_effort: effort(),
  include_reasoning: nullable(Type.Boolean()),
  verbosity: nullable(Type.Enum(['low', 'medium', 'high', 'xhigh', 'max'])),
})

export const chatShape = checker(chatRequest)
