/** The request of `POST /v1/messages` (docs/contract.md#messages). What it does not name is tolerated and kept. */
import { Type } from 'typebox'
import { checker } from '../../core/check.ts'
import { REQUESTED_TIERS, STANDARD_ONLY } from '../../core/service-tiers.ts'
import { MAX_ENTRIES, MAX_MESSAGES, MAX_PARTS, MAX_TOOLS, tokenCount } from '../canon/bounds.ts'
import { gatewayProperties } from '../canon/gateway-schema.ts'
import { numberFields } from '../canon/parameters.ts'
import { anthropicParameters } from './parameters.ts'

type Field = Parameters<typeof Type.Optional>[0]
const nullable = <T extends Field>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))

/** Least budget of thinking tokens that the wire takes. */
const MIN_BUDGET = 1024

/** Far above what clients send: Claude Code's has 150 characters or more. */
const MAX_USER_LENGTH = 4096

const MAX_FALLBACKS = 3
const MIN_TASK_BUDGET = 20_000

/** Deep rules of blocks depend on their type: `check-blocks.ts` walks them. */
const blocks = () => Type.Array(Type.Object({ type: Type.String() }), { maxItems: MAX_PARTS })
const SHORT = { maxItems: MAX_ENTRIES }

const message = Type.Object({
  role: Type.Enum(['user', 'assistant', 'system']),
  content: Type.Optional(Type.Union([Type.String(), blocks()])),
})

const tool = Type.Object({
  type: nullable(Type.String({ minLength: 1 })),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  description: nullable(Type.String()),
  input_schema: Type.Optional(Type.Object({})),
  strict: nullable(Type.Boolean()),
  parameters: nullable(Type.Object({})),
})

const toolChoice = Type.Object({
  type: Type.Enum(['auto', 'any', 'none', 'tool']),
  name: Type.Optional(Type.String({ minLength: 1 })),
  disable_parallel_tool_use: nullable(Type.Boolean()),
})

const thinking = Type.Object({
  type: Type.Enum(['enabled', 'adaptive', 'disabled', 'between_tools']),
  budget_tokens: nullable(tokenCount(MIN_BUDGET)),
  display: nullable(Type.String()),
})

const jsonFormat = () => nullable(Type.Object({ type: Type.Literal('json_schema'), schema: Type.Object({}) }))

const outputConfig = Type.Object({
  effort: nullable(Type.String({ minLength: 1, maxLength: 64 })),
  format: jsonFormat(),
  task_budget: nullable(
    Type.Object({
      type: Type.Literal('tokens'),
      total: tokenCount(MIN_TASK_BUDGET),
      remaining: nullable(tokenCount(0)),
    }),
  ),
})

/** Settings of an entry are refused (contract, `MessagesFallbackParam`): the next model would be tried with those of the request. */
const fallback = Type.Object({ model: Type.String({ minLength: 1, maxLength: 256 }) }, { additionalProperties: false })

export const messagesRequest = Type.Object({
  ...gatewayProperties,
  messages: Type.Array(message, { minItems: 1, maxItems: MAX_MESSAGES }),
  ...numberFields(anthropicParameters),
  max_tokens: tokenCount(0),
  system: nullable(
    Type.Union([Type.String(), Type.Array(Type.Object({ type: Type.Literal('text'), text: Type.String() }), { maxItems: MAX_PARTS })]),
  ),
  stream: nullable(Type.Boolean()),
  temperature: nullable(Type.Number({ minimum: 0, maximum: 1 })),
  top_k: nullable(tokenCount(0)),
  stop_sequences: nullable(Type.Array(Type.String({ minLength: 1 }), SHORT)),
  tools: nullable(Type.Array(tool, { maxItems: MAX_TOOLS })),
  tool_choice: nullable(toolChoice),
  thinking: nullable(thinking),
  output_config: nullable(outputConfig),
  output_format: jsonFormat(),
  context_management: nullable(Type.Object({ edits: Type.Optional(Type.Array(Type.Object({ type: Type.String() }), SHORT)) })),
  service_tier: nullable(Type.Enum([...REQUESTED_TIERS, STANDARD_ONLY])),
  speed: nullable(Type.Enum(['fast', 'standard'])),
  metadata: nullable(Type.Object({ user_id: nullable(Type.String({ maxLength: MAX_USER_LENGTH })) })),
  cache_control: nullable(Type.Object({ type: Type.Literal('ephemeral'), ttl: nullable(Type.Enum(['5m', '1h'])) })),
  fallbacks: nullable(Type.Union([Type.Literal('default'), Type.Array(fallback, { maxItems: MAX_FALLBACKS })])),
  container: nullable(Type.Union([Type.String(), Type.Object({})])),
  mcp_servers: nullable(Type.Array(Type.Object({ type: Type.String(), name: Type.String(), url: Type.String() }), SHORT)),
  inference_geo: nullable(Type.String()),
  betas: nullable(Type.Array(Type.String(), SHORT)),
})

/** @throws Fault 400 naming the first wrong field. */
export const messagesShape = checker(messagesRequest)
