/**
 * Fields that switch thinking off at providers of this format that do not know an effort `none`: written for the values of a quirk, and
 * recognised in the bodies of callers.
 */
import { isObject, type JsonObject } from '../../core/json.ts'
import { SWITCH_FIELDS, withoutSwitch } from '../canon/thinking-switches.ts'

/** Fields for the body, by the value of the quirk `thinking_off`. */
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

/** Of an endpoint's quirks, those that say how it is kept from thinking. */
interface ThinkingQuirks {
  readonly thinking_off?: string | undefined
  readonly efforts?: readonly string[] | undefined
  readonly reasoning?: string | undefined
}

/** Known way to keep the provider from thinking; undefined where nothing says so, and a caller's own words pass. */
export const knownWay = ({ thinking_off: way, efforts, reasoning }: ThinkingQuirks): string | undefined =>
  way ?? (reasoning === 'object' ? 'reasoning' : efforts?.includes('none') ? 'effort' : undefined)

/**
 * Takes the words of other servers out, where the provider is known to have one of its own.
 * @param way from `knownWay`. @param dropped receives those by which thinking is wanted.
 */
export function fitSwitches(body: JsonObject, way: string, dropped: string[]): void {
  const own = SWITCHES[way]
  for (const field in SWITCH_FIELDS) {
    const { [field]: value } = body
    if (value === undefined || own?.[field] !== undefined) continue
    const off = SWITCH_FIELDS[field]?.(value)
    if (off === undefined) continue
    withoutSwitch(body, field)
    if (!off) dropped.push(field)
  }
}
