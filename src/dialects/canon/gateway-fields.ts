/**
 * The fields that only the gateway reads: their schema and rules are the same in every client dialect, and one shared function takes them
 * out, so that they are never sent to a provider.
 */
import { type TSchema, Type } from 'typebox'
import { badField } from '../../core/faults.ts'
import { isObject, type JsonObject, pathOfLarger } from '../../core/json.ts'
import { CRITERION_FIELDS, type CriterionPreferences, type Field } from '../../routing/criteria/index.ts'
import { amountFrom0, MOST_ENTRIES, tokenCount } from './bounds.ts'

const nullable = <T extends TSchema>(schema: T, description?: string) =>
  Type.Optional(Type.Union([schema, Type.Null()], description === undefined ? {} : { description }))
const SHORT = { maxItems: MOST_ENTRIES }
const amount = () =>
  Type.Optional(
    Type.Union([amountFrom0(), Type.String({ pattern: '^\\d{1,12}(\\.\\d{1,24})?$', description: 'a decimal number such as "0.25"' })]),
  )

const SORTS = ['price', 'throughput', 'latency', 'exacto']

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

/** Contract section 5.1: a closed object. */
export const providerPreferences = Type.Object(
  {
    ...Object.fromEntries(Object.entries<Field>(CRITERION_FIELDS).map(([name, field]) => [name, fieldSchema(field)])),
    sort: nullable(
      Type.Union([
        Type.Enum(SORTS),
        Type.Object({ by: nullable(Type.Enum(SORTS)), partition: nullable(Type.Enum(['model', 'none'])) }, { additionalProperties: false }),
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
  // Providers have tiers of their own; which one is sent is the endpoint's matter (`provider-fields.ts`).
  service_tier: nullable(Type.String({ minLength: 1, maxLength: 64 })),
  cache_control: nullable(Type.Object({ type: Type.Literal('ephemeral'), ttl: Type.Optional(Type.Enum(['5m', '1h'])) })),
  prompt_cache_key: nullable(Type.String()),
  prompt_cache_options: nullable(Type.Object({ mode: nullable(Type.String()), ttl: nullable(Type.String()) })),
  safety_identifier: nullable(Type.String()),
  image_config: Type.Optional(Type.Object({})),
  modalities: Type.Optional(Type.Array(Type.Enum(['text', 'image', 'audio']), SHORT)),
}

const MAX_PAIRS = 16
const MAX_KEY = 64

function checkMetadata(metadata: JsonObject): void {
  const keys = Object.keys(metadata)
  if (keys.length > MAX_PAIRS) throw badField('metadata', `must have at most ${MAX_PAIRS} pairs`)
  for (const key of keys) {
    if (key.length > MAX_KEY) throw badField('metadata', `a key must be at most ${MAX_KEY} characters`)
    if (/[[\]]/.test(key)) throw badField('metadata', 'a key must not hold [ or ]')
  }
}

/**
 * A bare `name`, which the catalogue may know as an alias or as a provider's own name of a model;
 * `author/name`, `~author/family-latest`, `@preset/x`; variants after colons; `@preset/x` behind a slug.
 */
const SLUG = /^(?:@preset\/[\w.-]+(?::[\w.+-]+)*|~?\w[\w.-]*(?:\/[\w.+-]+)*(?::[\w.+-]+)*(?:@preset\/[\w.-]+(?::[\w.+-]+)*)?)$/

function checkSlug(value: unknown, path: string): void {
  if (typeof value === 'string' && !SLUG.test(value)) throw badField(path, 'expected a model slug of the form author/name')
}

/** Tools that a choice allows: each is held against each tool of the request. */
const MOST_ALLOWED = 256

function checkAllowedTools(choice: JsonObject): void {
  const nested = isObject(choice.allowed_tools)
  const tools = isObject(choice.allowed_tools) ? choice.allowed_tools.tools : choice.tools
  if (Array.isArray(tools) && tools.length > MOST_ALLOWED)
    throw badField(nested ? 'tool_choice.allowed_tools.tools' : 'tool_choice.tools', `must have at most ${MOST_ALLOWED} items`)
}

/** Objects of caps and sampling in fields that formats do not name; none holds a JSON schema, whose bounds may be larger. */
const NUMBERED: ReadonlySet<string> = new Set(['thinking', 'reasoning', 'chat_template_kwargs', 'context_management', 'options'])
const SAFE = 'expected a number within the safe range, below 2^53'

const isSafe = (value: number): boolean => Math.abs(value) <= Number.MAX_SAFE_INTEGER

/**
 * Fields that the format does not name reach providers of its wire, which read numbers such as `max_new_tokens`, or the
 * `max_uses` of a tool, as caps (RFC 8259 section 6, issue 15 section 4).
 */
function checkNumbers(body: JsonObject): void {
  for (const key in body) {
    const value = body[key]
    if (typeof value === 'number') {
      if (!isSafe(value)) throw badField(key, SAFE)
    } else if (typeof value === 'object' && NUMBERED.has(key)) {
      const path = pathOfLarger(value, Number.MAX_SAFE_INTEGER)
      if (path !== undefined) throw badField(`${key}${path}`, SAFE)
    }
  }
  if (!Array.isArray(body.tools)) return
  for (const [index, tool] of body.tools.entries()) {
    if (!isObject(tool)) continue
    for (const key in tool) {
      const value = tool[key]
      if (typeof value === 'number' && !isSafe(value)) throw badField(`tools[${index}].${key}`, SAFE)
    }
  }
}

/**
 * What a schema says badly; runs after the schema, on any client dialect's body.
 * @throws Fault 400 naming the field (contract 1.1, 2.4).
 */
export function checkGatewayRules(body: JsonObject): void {
  checkSlug(body.model, 'model')
  if (Array.isArray(body.models)) for (const [index, slug] of body.models.entries()) checkSlug(slug, `models[${index}]`)
  checkNumbers(body)
  if (isObject(body.metadata)) checkMetadata(body.metadata)
  if (isObject(body.tool_choice)) checkAllowedTools(body.tool_choice)
  const { api_base, base_url, api_key } = body
  const named = api_base !== undefined ? 'api_base' : base_url !== undefined ? 'base_url' : api_key !== undefined ? 'api_key' : undefined
  // Some upstreams are gateways themselves and would call, with their own key, whatever address a body names.
  if (named !== undefined) throw badField(named, 'only the configuration names addresses and keys')
}

export type Percentiles = { p50?: number | undefined; p75?: number; p90?: number; p99?: number }
export type SortKey = 'price' | 'throughput' | 'latency' | 'exacto'

/** Contract section 5.1: the fields of the routing criteria, and those of the order. The schema has checked the shapes before anything reads them. */
export interface ProviderPreferences extends CriterionPreferences {
  sort?: SortKey | { by?: SortKey | null; partition?: 'model' | 'none' | null } | null | undefined
  preferred_max_latency?: number | Percentiles | null | undefined
  preferred_min_throughput?: number | Percentiles | null | undefined
}

export interface PluginEntry extends JsonObject {
  id: string
  enabled?: boolean
}

export type StopCondition =
  | { type: 'step_count_is'; step_count: number }
  | { type: 'has_tool_call'; tool_name: string }
  | { type: 'max_tokens_used'; max_tokens: number }
  | { type: 'max_cost'; max_cost_in_dollars: number }
  | { type: 'finish_reason_is'; reason: string }

export interface GatewayFields {
  model?: string | undefined
  /** The slug as the caller sent it, where `model` is what a preset made of it. */
  requested?: string | undefined
  /** Routing preferences of the preset that the request names. */
  presetProvider?: ProviderPreferences | undefined
  models: string[]
  provider?: ProviderPreferences | undefined
  route?: 'fallback' | 'sort' | null | undefined
  plugins: PluginEntry[]
  sessionId?: string | undefined
  trace?: JsonObject | undefined
  echoUpstreamBody: boolean
  stopWhen?: StopCondition[] | undefined
  maxToolCalls?: number | undefined
  /** As the caller wrote it: `auto`, `default`, `flex`, `priority`, `fast` and others. */
  serviceTier?: string | undefined
}

/** Body keys that never reach a provider. */
export const GATEWAY_KEYS: ReadonlySet<string> = new Set([
  'models',
  'provider',
  'route',
  'plugins',
  'session_id',
  'trace',
  'debug',
  'stop_server_tools_when',
  'max_tool_calls',
  'preset',
  'transforms',
])

/**
 * Reads the gateway's fields from a body that its dialect's schema has accepted.
 * @param session the header `x-session-id`, or an agent's own name of the conversation; the body's `session_id` wins.
 */
export function gatewayFields(body: JsonObject, session: string | undefined): GatewayFields {
  const debug = body.debug as { echo_upstream_body?: boolean } | undefined
  return {
    model: body.model as string | undefined,
    models: (body.models as string[] | null | undefined) ?? [],
    provider: (body.provider as ProviderPreferences | null | undefined) ?? undefined,
    route: body.route as GatewayFields['route'],
    plugins: (body.plugins as PluginEntry[] | null | undefined) ?? [],
    sessionId: (body.session_id as string | null | undefined) ?? session,
    trace: (body.trace as JsonObject | null | undefined) ?? undefined,
    echoUpstreamBody: debug?.echo_upstream_body === true && body.stream === true,
    stopWhen: (body.stop_server_tools_when as StopCondition[] | null | undefined) ?? undefined,
    maxToolCalls: (body.max_tool_calls as number | null | undefined) ?? undefined,
    serviceTier: typeof body.service_tier === 'string' ? body.service_tier : undefined,
  }
}
