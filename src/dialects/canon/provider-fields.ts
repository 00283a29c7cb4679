/**
 * Fields of a request that go to a provider by one rule for all wires: the output cap, the service tier, which is only the one that the
 * endpoint's prices are for (issue 15 section 2), and the names of the user, within the lengths that the provider takes.
 */
import { createHash } from 'node:crypto'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { Quirks } from '../quirks.ts'

/** Canonical names of the cap in `supported_parameters`. */
const NAMES = ['max_tokens', 'max_completion_tokens'] as const

/** What an endpoint's data say of the cap. */
interface CapRules {
  readonly quirks: Quirks
  /** Undefined where it takes whatever its wire knows. */
  readonly supported?: ReadonlySet<string> | undefined
}

/**
 * A cap that a hold was computed for is sent even where the endpoint lists no such parameter (issue 15 section 2: hidden
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

/** Tiers that endpoints of their own are declared for; an endpoint without one serves the provider's usual tier. */
export type ServiceTier = 'flex' | 'priority'

/** The usual tier, by the words of all client formats. */
const USUAL: ReadonlySet<Json | undefined> = new Set(['default', 'standard', 'standard_only'])

/**
 * The tier to send. An endpoint of a tier gets that tier, whatever opened it for the request; any other gets `default`
 * where the caller requested just that, else none.
 * @param requested the caller's word in any client format.
 */
export function tierToSend(requested: Json | undefined, endpoint: ServiceTier | undefined): ServiceTier | 'default' | undefined {
  if (endpoint !== undefined) return endpoint
  return USUAL.has(requested) ? 'default' : undefined
}

/** True where the caller requested a tier that this endpoint does not serve, so that `dropped` names it. */
export function losesTier(requested: Json | undefined, endpoint: ServiceTier | undefined): boolean {
  if (typeof requested !== 'string' || requested === 'auto' || USUAL.has(requested)) return false
  return (requested === 'fast' ? 'priority' : requested) !== endpoint
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
  if (!isObject(body.extra_body)) return
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

/** What becomes of a user's name, as the provider's configuration says. */
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
