/** Presets: settings that a request names by one word instead of sending them (contract section 2.4). */
import type { JsonObject } from '../core/json.ts'

export interface Preset {
  /** Put in front of the conversation as a system message. */
  readonly systemPrompt?: string
  /** Request fields such as `model`, `models`, `temperature` or `provider`; what the request itself sends wins. */
  readonly fields: JsonObject
}

/** By name. */
export type Presets = ReadonlyMap<string, Preset>
