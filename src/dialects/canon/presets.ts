/**
 * Presets: settings that a request names by one word instead of sending them (docs/contract.md#model-names); and prompts that the operator keeps in
 * the configuration, for requests to name instead of repeat.
 */
import type { JsonObject } from '../../core/json.ts'
import type { ProviderPreferences } from './request-fields.ts'

export interface Preset {
  readonly description?: string
  /** Model of a request that names the preset alone. */
  readonly model?: string
  /** Models to fall back on. */
  readonly models?: readonly string[]
  /** Combined with those of the request, the key and the account. */
  readonly provider?: ProviderPreferences
  /** Put in front of the conversation. */
  readonly systemPrompt?: string
  /** Sampling and other fields under their names in chat requests; each client dialect has words of its own for them. */
  readonly parameters: JsonObject
}

/** By name. */
export type Presets = ReadonlyMap<string, Preset>

/** True where the caller has sent the field; forms send null for what was left blank. */
export function sends(body: JsonObject, field: string): boolean {
  return (body[field] ?? null) !== null
}

/** The body with those of the fields that it does not send itself. */
export function filled(body: JsonObject, fields: JsonObject): JsonObject {
  const whole: JsonObject = { ...body }
  for (const [field, value] of Object.entries(fields)) if (value !== undefined && !sends(body, field)) whole[field] = value
  return whole
}

/** Those of the fields that are named. */
export function picked(fields: JsonObject, names: readonly string[]): JsonObject {
  const some: JsonObject = {}
  for (const name of names) if (fields[name] !== undefined) some[name] = fields[name]
  return some
}

interface StoredPrompt {
  /** Put in front of the request's own input; `{{name}}` in a text stands for a variable. */
  readonly messages: readonly { readonly role: 'system' | 'developer' | 'user' | 'assistant'; readonly text: string }[]
}

export type StoredPrompts = ReadonlyMap<string, StoredPrompt>
