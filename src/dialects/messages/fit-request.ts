/** Rules of an endpoint for a body of this wire; the same for a translated body and a passed one. */
import { asObjects, isObject, type JsonObject } from '../../core/json.ts'
import { PARAMETER_NAMES, PARAMETERS, type ParameterName } from '../../core/parameters.ts'
import type { ServiceTier } from '../../core/service-tiers.ts'
import { type CapWire, hashedUser, losesTier, sendsCap, takeTierWords, tierToSend } from '../canon/request-fields.ts'
import type { Target } from '../types.ts'
import { VERTEX_VERSION } from './api-version.ts'
import { fitBetaBlocks } from './beta-blocks.ts'
import { capTools } from './outside-input.ts'
import { messagesFields } from './parameters.ts'

/** Behind a base URL without `/v1`, as the provider's own SDKs take it. */
export const PATH = '/v1/messages'

/**
 * The path for a body, which loses the model where the path names it.
 * @param operation behind `PATH`; on Vertex AI it stands in the place of a model.
 */
export function placed(body: JsonObject, { model, stream, quirks }: Target, operation?: 'count_tokens'): string {
  if (quirks.raw_predict !== true) return operation === undefined ? PATH : `${PATH}/${operation}`
  body.anthropic_version = VERTEX_VERSION
  // npm @anthropic-ai/vertex-sdk 1.1.3, client.js: this call alone has its model in the body.
  if (operation === 'count_tokens') return '/models/count-tokens:rawPredict'
  delete body.model
  // Names have a version behind an @, which needs no encoding in a path.
  return `/models/${encodeURIComponent(model).replaceAll('%40', '@')}:${stream ? 'streamRawPredict' : 'rawPredict'}`
}

/** Parameters that code of their own leaves out, or that go with another. */
const OWN: ReadonlySet<ParameterName> = new Set(['max_tokens', 'parallel_tool_calls', 'structured_outputs'])

/** Paths of the parameters that an endpoint may lack; the first of the names is the one that is recorded. */
const FIELDS = PARAMETER_NAMES.flatMap((name) => {
  const { listed, alias } = PARAMETERS[name]
  const paths = messagesFields.get(name)
  if (listed === undefined || paths === undefined || OWN.has(name)) return []
  return [{ names: name === 'response_format' && alias !== undefined ? [name, alias] : [name], paths }]
})

/** Names that a `quirks.body.drop` may use beside those of the wire itself. */
const PLACES: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ...FIELDS.flatMap(({ names, paths }) => names.map((name) => [name, paths] as const)),
  ['user', ['metadata']],
  ['parallel_tool_calls', ['tool_choice.disable_parallel_tool_use']],
])

/** Takes out a member of the body or of an object in it. The caller's own objects stay as they are. @returns true if it was there. */
function take(body: JsonObject, path: string): boolean {
  const [field = '', member] = path.split('.')
  const value = body[field]
  if (value === undefined) return false
  if (member === undefined) {
    delete body[field]
    return value !== null
  }
  if (!isObject(value) || value[member] === undefined) return false
  const { [member]: taken, ...rest } = value
  if (Object.keys(rest).length > 0) body[field] = rest
  else delete body[field]
  return taken !== null
}

function takeAll(body: JsonObject, paths: readonly string[], name: string, dropped: string[]): void {
  let taken = false
  for (const path of paths) taken = take(body, path) || taken
  if (taken && !dropped.includes(name)) dropped.push(name)
}

function fitParameters(body: JsonObject, { supported, quirks }: Target, dropped: string[]): void {
  if (supported)
    for (const { names, paths } of FIELDS) if (!names.some((name) => supported.has(name))) takeAll(body, paths, names[0] ?? '', dropped)
  for (const name of quirks.body?.drop ?? []) takeAll(body, PLACES.get(name) ?? [name], name, dropped)
  // The API refuses a choice where there is nothing to choose.
  if ((!Array.isArray(body.tools) || body.tools.length === 0) && body.mcp_servers === undefined) {
    delete body.tools
    delete body.tool_choice
  }
}

/** Fewest tokens that the API takes as a budget of thinking. */
export const MIN_BUDGET = 1024
/** The share of the output that may go into thinking where the caller's own budget leaves no room for an answer. */
export const MAX_SHARE = 0.95

/** The API wants room for an answer behind the thinking. */
export function fitBudget(body: JsonObject, dropped: string[]): void {
  const { thinking, max_tokens: most } = body
  if (!isObject(thinking) || typeof thinking.budget_tokens !== 'number' || typeof most !== 'number') return
  if (thinking.budget_tokens < most) return
  const budget = Math.floor(most * MAX_SHARE)
  if (budget >= MIN_BUDGET) body.thinking = { ...thinking, budget_tokens: budget }
  else delete body.thinking
  dropped.push(budget >= MIN_BUDGET ? 'reasoning.max_tokens' : 'reasoning')
}

/** The format demands a cap, whatever an endpoint lists (API reference: Create a Message, `max_tokens`). */
export const messagesCap: CapWire = {
  sends: (rules) => sendsCap(rules, 'max_tokens', true),
  written: ({ max_tokens: cap }) => (typeof cap === 'number' ? cap : undefined),
}

/** The hold was computed for `outputCap`, so it replaces a missing or higher cap of the caller; thinking has to fit into it. */
function fitCap(body: JsonObject, { outputCap }: Target, dropped: string[]): void {
  const requested = body.max_tokens
  if (outputCap === undefined || (typeof requested === 'number' && requested <= outputCap)) return
  body.max_tokens = outputCap
  fitBudget(body, dropped)
}

/**
 * This wire has a word for the usual tier, `standard_only`, and one for priority where the account has it, `auto`, which
 * is also what the API does without a word (API reference: Create a Message, `service_tier`). `speed: fast` is dearer too.
 */
const TIERS: Readonly<Record<ServiceTier | 'default', string | undefined>> = {
  default: 'standard_only',
  priority: 'auto',
  flex: undefined,
  ultrafast: undefined,
}

function fitTier(body: JsonObject, { tier, quirks }: Target, dropped: string[]): void {
  const { service_tier: requested } = body
  const sent = tierToSend(requested, tier)
  const word = sent && (quirks.service_tiers ?? TIERS)[sent]
  if (losesTier(requested, tier) || (requested !== undefined && sent !== undefined && word === undefined)) dropped.push('service_tier')
  if (word !== undefined) body.service_tier = word
  else delete body.service_tier
  takeTierWords(body, tier, dropped)
}

/** Most characters of `metadata.user_id` that the API takes (platform.claude.com, Messages, `metadata`: maxLength 256). */
const MAX_USER_CHARACTERS = 256

function fitUserId(body: JsonObject, target: Target, dropped: string[]): void {
  const { metadata } = body
  const id = isObject(metadata) ? metadata.user_id : undefined
  if (typeof id !== 'string' || (target.user === 'pass' && id.length <= MAX_USER_CHARACTERS)) return
  if (target.user === 'drop') takeAll(body, ['metadata.user_id'], 'user', dropped)
  else body.metadata = { ...(metadata as JsonObject), user_id: hashedUser(id) }
}

/**
 * Fits a body to its endpoint, in place: model, stream, output cap, parameters, identity, quirks.
 * The quirk `body.drop` takes names of fields or parameters, `prefill` and `cache_control` among them.
 * @param dropped receives the canonical names of what was taken out.
 */
export function fitToTarget(body: JsonObject, target: Target, dropped: string[]): void {
  body.model = target.model
  if (target.stream) body.stream = true
  else delete body.stream
  fitCap(body, target, dropped)
  if (target.limited) capTools(body)
  fitTier(body, target, dropped)
  fitParameters(body, target, dropped)
  fitUserId(body, target, dropped)
  fitBetaBlocks(body, target, dropped)
  // Other wires go up to 2.
  if (typeof body.temperature === 'number' && body.temperature > 1) {
    body.temperature = 1
    dropped.push('temperature')
  }
}

/**
 * True for a last message that the model is to continue. A turn that the provider has paused is none: it is sent back as it is
 * (platform.claude.com, Server tools, "The server-side loop and pause_turn").
 */
export function isPrefill(last: JsonObject | undefined): boolean {
  return last?.role === 'assistant' && !asObjects(last.content).some(({ type }) => type === 'server_tool_use' || type === 'mcp_tool_use')
}

/** True where the provider's data say that a field is never sent. */
export function neverSends({ quirks }: Target, name: string): boolean {
  return quirks.body?.drop?.includes(name) === true
}

/** Members of a body that list betas: the one of the SDK of the format, and the one that Bedrock takes. */
const BETA_MEMBERS = ['betas', 'anthropic_beta'] as const

/**
 * `anthropic-beta`: what the caller requests, by header or in the body, and what the written body needs, each once, as far as the
 * provider takes it (quirk `betas`).
 * @param body loses its lists of betas, which the provider knows by header alone.
 * @returns name and value; undefined where there is none.
 */
export function betaHeaders(body: JsonObject, target: Target, needed: ReadonlySet<string>, dropped: string[]): string[] | undefined {
  const listed: string[] = []
  for (const member of BETA_MEMBERS) {
    const names = body[member]
    if (names === undefined) continue
    if (Array.isArray(names)) listed.push(...names.map(String))
    delete body[member]
  }
  const requested = (target.betas ?? '').split(',').map((name) => name.trim())
  const all = new Set([...requested, ...listed, ...needed].filter((name) => /^[\x21-\x2b\x2d-\x7e]+$/.test(name)))
  const taken = target.quirks.betas
  const sent = taken ? [...all].filter((name) => taken.includes(name)) : [...all]
  if (sent.length < all.size) dropped.push('betas')
  return sent.length === 0 ? undefined : ['anthropic-beta', sent.join(',')]
}
