/** Which requests carry an output cap to their provider: one rule for all wires. */
import type { JsonObject } from '../../core/json.ts'
import type { Quirks } from '../quirks.ts'

/** Canonical names of the cap in `supported_parameters`. */
const NAMES = ['max_tokens', 'max_completion_tokens'] as const

/** What an endpoint's data say of the cap. */
export interface CapRules {
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
