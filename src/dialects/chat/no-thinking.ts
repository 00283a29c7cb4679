/**
 * How a provider of this format is kept from thinking, where an effort `none` is not its word for that: the values of a quirk; and the
 * same words as callers write them, for the provider that they have in mind.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

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

/** The switches of templates, as `chat_template_kwargs` has them. */
const TEMPLATE = ['enable_thinking', 'thinking'] as const
const OFF_WORDS: Readonly<Record<string, boolean>> = { enabled: false, adaptive: false, disabled: true }

/** A switch in a body: true for off, false for on, undefined where the value is none. */
const SWITCH_FIELDS: Readonly<Record<string, (value: Json | undefined) => boolean | undefined>> = {
  enable_thinking: isOff,
  thinking: (value) => (isObject(value) && typeof value.type === 'string' ? OFF_WORDS[value.type] : undefined),
  chat_template_kwargs: (value) => {
    if (!isObject(value)) return undefined
    const found = TEMPLATE.map((name) => isOff(value[name])).filter((each) => each !== undefined)
    return found.length === 0 ? undefined : found.every((each) => each)
  },
}

function isOff(value: Json | undefined): boolean | undefined {
  return typeof value === 'boolean' ? !value : undefined
}

/**
 * True where the caller wants no thinking in the words of a server: Qwen Code 0.24.4 writes `chat_template_kwargs` for each model whose
 * name begins with `qwen` (its package, `pipeline.ts`), whichever provider serves it.
 */
export function switchesThinkingOff(body: JsonObject): boolean {
  for (const field in SWITCH_FIELDS) if (body[field] !== undefined && SWITCH_FIELDS[field]?.(body[field]) === true) return true
  return false
}

/** Of an endpoint's quirks, those that say how it is kept from thinking. */
interface ThinkingQuirks {
  readonly thinking_off?: string | undefined
  readonly efforts?: readonly string[] | undefined
  readonly reasoning?: string | undefined
}

/** Known way to keep the provider from thinking; undefined where nothing says so, and a caller's own words pass. */
const knownWay = ({ thinking_off: way, efforts, reasoning }: ThinkingQuirks): string | undefined =>
  way ?? (reasoning === 'object' ? 'reasoning' : efforts?.includes('none') ? 'effort' : undefined)

/**
 * Takes the words of other servers out, where the provider is known to have one of its own.
 * @param dropped receives those by which thinking is wanted.
 * @returns false where they stay, since the provider may be the one that knows them.
 */
export function fitSwitches(body: JsonObject, quirks: ThinkingQuirks, dropped: string[]): boolean {
  const way = knownWay(quirks)
  if (way === undefined) return false
  const own = SWITCHES[way]
  for (const field in SWITCH_FIELDS) {
    const { [field]: value } = body
    if (value === undefined || own?.[field] !== undefined) continue
    const off = SWITCH_FIELDS[field]?.(value)
    if (off === undefined) continue
    withoutSwitch(body, field)
    if (!off) dropped.push(field)
  }
  return true
}

/** Other fields of the caller for a template stay. */
function withoutSwitch(body: JsonObject, field: string): void {
  const { [field]: value } = body
  delete body[field]
  if (field !== 'chat_template_kwargs' || !isObject(value)) return
  const rest = { ...value }
  for (const name of TEMPLATE) delete rest[name]
  if (Object.keys(rest).length > 0) body[field] = rest
}
