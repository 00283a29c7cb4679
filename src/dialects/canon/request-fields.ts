/**
 * Fields of a request by one rule for all formats. Those that only the gateway reads are checked, read and taken out, so that they are never
 * sent to a provider. Those that go to every provider are the output cap, the service tier, which is only the one that the endpoint's prices
 * are for, and the names of the user, within the lengths that the provider takes.
 */
import { createHash } from 'node:crypto'
import type { Checker } from '../../core/check.ts'
import { badField } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject, pathOfLarger } from '../../core/json.ts'
import { requestedTier, type ServiceTier } from '../../core/service-tiers.ts'
import type { SortKey } from '../../core/sort-keys.ts'
import type { CriterionPreferences } from '../../routing/criteria/index.ts'
import type { Quirks } from '../quirks.ts'

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
const MAX_ALLOWED = 256

function checkAllowedTools(choice: JsonObject): void {
  const nested = isObject(choice.allowed_tools)
  const tools = isObject(choice.allowed_tools) ? choice.allowed_tools.tools : choice.tools
  if (Array.isArray(tools) && tools.length > MAX_ALLOWED)
    throw badField(nested ? 'tool_choice.allowed_tools.tools' : 'tool_choice.tools', `must have at most ${MAX_ALLOWED} items`)
}

/** Objects of caps and sampling in fields that formats do not name; none holds a JSON schema, whose bounds may be larger. */
const NUMBERED: ReadonlySet<string> = new Set(['thinking', 'reasoning', 'chat_template_kwargs', 'context_management', 'options'])
const SAFE = 'expected a number within the safe range, below 2^53'

const isSafe = (value: number): boolean => Math.abs(value) <= Number.MAX_SAFE_INTEGER

/**
 * Fields that the format does not name reach providers of its wire, which read numbers such as `max_new_tokens`, or the
 * `max_uses` of a tool, as caps (RFC 8259 section 6).
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
 * Checks a body by the schema of its format, then by what a schema says badly of any format.
 * @throws Fault 400 naming the field (docs/contract.md#responses-request, docs/contract.md#model-names).
 */
export function checkFields(shape: Checker, body: JsonObject): void {
  if (!shape.fits(body)) shape(body)
  checkSlug(body.model, 'model')
  if (Array.isArray(body.models)) for (const [index, slug] of body.models.entries()) checkSlug(slug, `models[${index}]`)
  checkNumbers(body)
  if (body.metadata && isObject(body.metadata)) checkMetadata(body.metadata)
  if (body.tool_choice && isObject(body.tool_choice)) checkAllowedTools(body.tool_choice)
  const { api_base, base_url, api_key } = body
  const named = api_base !== undefined ? 'api_base' : base_url !== undefined ? 'base_url' : api_key !== undefined ? 'api_key' : undefined
  // Some upstreams are gateways themselves and would call, with their own key, whatever address a body names.
  if (named !== undefined) throw badField(named, 'only the configuration names addresses and keys')
}

export type Percentiles = { p50?: number | undefined; p75?: number; p90?: number; p99?: number }

/** The fields of the routing criteria, and those of the order. The schema has checked the shapes before anything reads them. */
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

/** Canonical names of the cap in `supported_parameters`. */
const NAMES = ['max_tokens', 'max_completion_tokens'] as const

/** Facts of an endpoint about the cap. */
interface CapRules {
  readonly quirks: Quirks
  /** Undefined where it takes whatever its wire knows. */
  readonly supported?: ReadonlySet<string> | undefined
}

/**
 * A cap that a hold was computed for is sent even where the endpoint lists no such parameter (hidden
 * reasoning is counted only at the end), but never against `quirks.body.drop`: that provider would refuse the request.
 * @param field name of the cap in `quirks.body.drop`.
 */
export function sendsCap({ quirks, supported }: CapRules, field: string, held: boolean): boolean {
  if (quirks.body?.drop?.includes(field)) return false
  return held || supported === undefined || NAMES.some((name) => supported.has(name))
}

/** The output cap in requests of a provider's wire: none but a cap that is sent may bound what is held or charged. */
export interface CapWire {
  /** @param held a hold is computed for the cap. @returns false where the endpoint is sent none. */
  sends(rules: CapRules, held: boolean): boolean
  /** @returns tokens that a body which is ready to be sent allows; undefined where it sets no cap. */
  written(body: JsonObject): number | undefined
}

interface CapTarget extends CapRules {
  /** The cap that a hold was computed for. */
  readonly outputCap?: number | undefined
}

/** Lower of what the caller wants and what the hold was computed for; recorded where the endpoint is sent no cap. */
export function capToSend(wire: CapWire, requested: number | undefined, target: CapTarget, dropped: Set<string>): number | undefined {
  const { outputCap: held } = target
  if (wire.sends(target, held !== undefined)) return held === undefined ? requested : Math.min(requested ?? held, held)
  if (requested !== undefined) dropped.add('max_tokens')
  return undefined
}

/** Takes a field out and records it, unless it says nothing. */
export function leaveOut(body: JsonObject, field: string, dropped: string[], name = field): void {
  if (body[field] === undefined) return
  if (body[field] !== null) dropped.push(name)
  delete body[field]
}

/**
 * The tier to send. An endpoint of a tier gets that tier, whatever opened it for the request; any other gets `default`
 * where the caller requested just that, else none.
 * @param requested the caller's word in any client format.
 */
export function tierToSend(requested: Json | undefined, endpoint: ServiceTier | undefined): ServiceTier | 'default' | undefined {
  return endpoint ?? (requested !== undefined && requestedTier(requested) === 'default' ? 'default' : undefined)
}

/** The provider's word for a tier; undefined where its list has none. */
function tierWord(tier: ServiceTier | 'default' | undefined, quirks: Quirks): string | undefined {
  const words = quirks.service_tiers
  return tier === undefined || words === undefined ? tier : words[tier]
}

/** True where the caller requested a tier that this endpoint does not serve, so that `dropped` names it. */
export function losesTier(requested: Json | undefined, endpoint: ServiceTier | undefined): boolean {
  if (typeof requested !== 'string' || requested === 'auto') return false
  const tier = requestedTier(requested)
  return tier === undefined || (tier !== 'default' && tier !== endpoint)
}

/**
 * Takes out of a body what else requests a tier of a provider, beside `service_tier`: `speed: fast` (Anthropic: Create a
 * Message), which an endpoint of the priority tier keeps, the camel-case name that protobuf JSON reads too, and the same
 * words in `extra_body`, whose other members stay, since Google's chat endpoint reads them (Gemini API: OpenAI compatibility).
 * @param dropped receives the names of what was taken out.
 */
export function takeTierWords(body: JsonObject, endpoint: ServiceTier | undefined, dropped: string[]): void {
  if (body.speed === 'fast' && endpoint !== 'priority') {
    delete body.speed
    dropped.push('speed')
  }
  if (body.serviceTier !== undefined) {
    delete body.serviceTier
    dropped.push('serviceTier')
  }
  if (body.extra_body === undefined || !isObject(body.extra_body)) return
  const rest = withoutTiers(body.extra_body)
  if (rest === body.extra_body) return
  body.extra_body = rest
  dropped.push('extra_body.service_tier')
}

/** @returns the same object where it holds no word for a tier. */
function withoutTiers(members: JsonObject): JsonObject {
  let rest = members
  for (const [key, value] of Object.entries(members)) {
    const inner = isObject(value) ? withoutTiers(value) : value
    const goes = key === 'service_tier' || key === 'serviceTier' || (key === 'speed' && value === 'fast')
    if (!goes && inner === value) continue
    if (rest === members) rest = { ...members }
    if (goes) delete rest[key]
    else rest[key] = inner
  }
  return rest
}

interface TierTarget {
  readonly tier?: ServiceTier | undefined
  readonly quirks: Quirks
}

/** Fits `service_tier` of a chat or Responses body, and takes out other words for a tier. */
export function fitTier(body: JsonObject, { tier, quirks }: TierTarget, dropped: string[]): void {
  const { service_tier: requested } = body
  if (requested !== undefined || tier !== undefined) {
    if (losesTier(requested, tier)) dropped.push('service_tier')
    const sent = tierWord(tierToSend(requested, tier), quirks)
    if (sent !== undefined) body.service_tier = sent
    else if (requested !== undefined) delete body.service_tier
  }
  takeTierWords(body, tier, dropped)
}

/** Treatment of a user's name, by the provider's configuration. */
export type UserRule = 'pass' | 'hash' | 'drop'

/** SHA-256 in hex, 64 characters: the same user is the same to the provider, and stays unknown to it. */
export function hashedUser(name: string): string {
  return createHash('sha256').update(name).digest('hex')
}

/** The name as the provider takes it. */
export function fittingUser(name: string, quirks: Quirks): string {
  return name.length > (quirks.user_length ?? name.length) ? hashedUser(name) : name
}

/**
 * Passes, hashes or drops the fields of a chat or Responses body that name the user. A name that is longer than the provider takes is
 * hashed: Claude Code's has some 150 characters or more.
 * @param dropped receives the names of the fields that were left out.
 */
export function fitUser(body: JsonObject, target: { readonly user: UserRule; readonly quirks: Quirks }, dropped: string[]): void {
  const { quirks } = target
  fitName(body, 'user', { rule: target.user, most: quirks.user_length }, dropped)
  fitName(body, 'safety_identifier', { rule: target.user, most: quirks.safety_identifier_length }, dropped)
}

interface NameRule {
  rule: UserRule
  most: number | undefined
}

function fitName(body: JsonObject, field: string, { rule, most }: NameRule, dropped: string[]): void {
  const name = body[field]
  if (typeof name !== 'string') return
  if (rule === 'drop') {
    delete body[field]
    dropped.push(field)
  } else if (rule === 'hash' || (most !== undefined && name.length > most)) body[field] = hashedUser(name)
}
