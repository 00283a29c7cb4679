/** Names of this wire for the gateway's fields. */

import { asObjects, asString, type JsonObject } from '../../core/json.ts'
import type { GatewayFields } from '../canon/request-fields.ts'

/** The service tier in the gateway's words; undefined where the caller names none. */
export function requestedTier(body: JsonObject): string | undefined {
  const tier = asString(body.service_tier)
  return tier === 'standard_only' ? 'default' : tier
}

/**
 * By `fallbacks: default` the provider goes on to models of its own choice, which have prices of their own (npm @anthropic-ai/sdk 1.14.0,
 * `BetaFallbacksParam`): it is left out, and recorded.
 */
export const wantsDefaultFallbacks = ({ fallbacks }: JsonObject): boolean => fallbacks === 'default'

/** `fallbacks` are models to try next; `speed: fast` is the tier that is quick. */
export function gatewayFields(body: JsonObject): Partial<GatewayFields> {
  const fields: Partial<GatewayFields> = {}
  const fallbacks = asObjects(body.fallbacks).map(({ model }) => String(model))
  if (fallbacks.length > 0) fields.models = fallbacks
  const tier = body.speed === 'fast' ? 'fast' : requestedTier(body)
  if (tier !== undefined) fields.serviceTier = tier
  return fields
}
