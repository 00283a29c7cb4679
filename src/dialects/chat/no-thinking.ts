/** How a provider of this format is kept from thinking, where an effort `none` is not its word for that: the values of a quirk. */
import { isObject, type JsonObject } from '../../core/json.ts'

/** What is written into the body, by the value of the quirk `thinking_off`. */
const SWITCHES: Readonly<Record<string, JsonObject>> = {
  thinking: { thinking: { type: 'disabled' } },
  enable_thinking: { enable_thinking: false },
  // Templates of Qwen and GLM know the first name, those of DeepSeek and Kimi the second; a template ignores what it does not know.
  chat_template_kwargs: { chat_template_kwargs: { enable_thinking: false, thinking: false } },
  reasoning: { reasoning: { enabled: false } },
}

/** Its values; with `effort` the provider knows the effort `none`. */
export const THINKING_OFF = ['effort', ...Object.keys(SWITCHES)]

/** Writes the switch in place of an effort. @param way the quirk. @returns false where the provider has none. */
export function switchThinkingOff(body: JsonObject, way = 'effort'): boolean {
  const written = SWITCHES[way]
  if (written === undefined) return false
  for (const [field, value] of Object.entries(written)) {
    const { [field]: own } = body
    // What the caller has written for the template of its model stays.
    body[field] = field === 'chat_template_kwargs' && isObject(own) && isObject(value) ? { ...value, ...own } : value
  }
  return true
}
