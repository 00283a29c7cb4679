/** The schema of the fields that only the gateway reads: the same in every client dialect. */
import { type TSchema, Type } from 'typebox'
import { REQUESTED_TIERS } from '../../core/service-tiers.ts'
import { SORT_KEYS } from '../../core/sort-keys.ts'
import { CRITERION_FIELDS, type Field } from '../../routing/criteria/index.ts'
import { amountFrom0, MAX_ENTRIES, tokenCount } from './bounds.ts'

const nullable = <T extends TSchema>(schema: T, description?: string) =>
  Type.Optional(Type.Union([schema, Type.Null()], description === undefined ? {} : { description }))
const SHORT = { maxItems: MAX_ENTRIES }
const amount = () =>
  Type.Optional(
    Type.Union([amountFrom0(), Type.String({ pattern: '^\\d{1,12}(\\.\\d{1,24})?$', description: 'a decimal number such as "0.25"' })]),
  )

const percentile = () => nullable(amountFrom0())
const cutoff = () =>
  nullable(
    Type.Union([
      amountFrom0(),
      Type.Object({ p50: percentile(), p75: percentile(), p90: percentile(), p99: percentile() }, { additionalProperties: false }),
    ]),
  )

/** A field of a routing criterion; null is as good as leaving it out. */
function fieldSchema(field: Field): TSchema {
  const { kind, text } = field
  switch (kind) {
    case 'flag':
      return nullable(Type.Boolean(), text)
    case 'choice':
      return nullable(Type.Enum([...field.values]), text)
    case 'choices':
      return nullable(Type.Array(Type.Enum([...field.values]), SHORT), text)
    case 'endpoints':
      return nullable(Type.Array(Type.String({ minLength: 1, maxLength: 256 }), SHORT), text)
    case 'prices': {
      const kinds = Object.keys({ ...field.perMillion, ...field.perUnit })
      const amounts = Object.fromEntries(kinds.map((name) => [name, amount()]))
      return Type.Optional(Type.Object(amounts, { additionalProperties: false, description: text }))
    }
  }
}

/** A closed object: an unknown preference is 400 (docs/contract.md#every-request). */
export const providerPreferences = Type.Object(
  {
    ...Object.fromEntries(Object.entries<Field>(CRITERION_FIELDS).map(([name, field]) => [name, fieldSchema(field)])),
    sort: nullable(
      Type.Union([
        Type.Enum([...SORT_KEYS]),
        Type.Object(
          { by: nullable(Type.Enum([...SORT_KEYS])), partition: nullable(Type.Enum(['model', 'none'])) },
          { additionalProperties: false },
        ),
      ]),
    ),
    preferred_max_latency: cutoff(),
    preferred_min_throughput: cutoff(),
  },
  { additionalProperties: false },
)

const stopCondition = Type.Union([
  Type.Object({ type: Type.Literal('step_count_is'), step_count: tokenCount(1) }),
  Type.Object({ type: Type.Literal('has_tool_call'), tool_name: Type.String({ minLength: 1 }) }),
  Type.Object({ type: Type.Literal('max_tokens_used'), max_tokens: tokenCount(1) }),
  Type.Object({ type: Type.Literal('max_cost'), max_cost_in_dollars: amountFrom0() }),
  Type.Object({ type: Type.Literal('finish_reason_is'), reason: Type.String({ minLength: 1 }) }),
])

/** Sampling fields have their own names in each dialect; these have not. To be spread into a dialect's `Type.Object`. */
export const gatewayProperties = {
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  models: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 256 }), SHORT)),
  preset: nullable(Type.String({ minLength: 1 })),
  provider: nullable(providerPreferences),
  route: nullable(Type.Enum(['fallback', 'sort'])),
  plugins: Type.Optional(Type.Array(Type.Object({ id: Type.String({ minLength: 1 }), enabled: Type.Optional(Type.Boolean()) }), SHORT)),
  session_id: Type.Optional(Type.String({ maxLength: 256 })),
  user: Type.Optional(Type.String({ maxLength: 256 })),
  metadata: nullable(Type.Object({}, { additionalProperties: Type.String({ maxLength: 512 }) })),
  trace: Type.Optional(Type.Object({})),
  debug: Type.Optional(Type.Object({ echo_upstream_body: Type.Optional(Type.Boolean()) })),
  stop_server_tools_when: Type.Optional(Type.Array(stopCondition, { minItems: 1, ...SHORT })),
  max_tool_calls: nullable(tokenCount(0)),
  // Which one is sent is the endpoint's matter (`request-fields.ts`).
  service_tier: nullable(Type.Enum(REQUESTED_TIERS)),
  cache_control: nullable(Type.Object({ type: Type.Literal('ephemeral'), ttl: Type.Optional(Type.Enum(['5m', '1h'])) })),
  prompt_cache_key: nullable(Type.String()),
  prompt_cache_options: nullable(Type.Object({ mode: nullable(Type.String()), ttl: nullable(Type.String()) })),
  safety_identifier: nullable(Type.String()),
  image_config: Type.Optional(Type.Object({})),
  modalities: Type.Optional(Type.Array(Type.Enum(['text', 'image', 'audio']), SHORT)),
}
