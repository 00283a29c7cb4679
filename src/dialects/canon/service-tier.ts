/** Which service tier goes to a provider: only the one that the endpoint's prices are for (issue 15 section 2). */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

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
