/** Switches of thinking in a body, as callers of servers write them and as a provider is sent them. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

/** The switches of templates, as `chat_template_kwargs` has them. */
const TEMPLATE = ['enable_thinking', 'thinking'] as const
const OFF_WORDS: Readonly<Record<string, boolean>> = { enabled: false, adaptive: false, disabled: true }

/** A switch in a body: true for off, false for on, undefined where the value is none. */
export const SWITCH_FIELDS: Readonly<Record<string, (value: Json | undefined) => boolean | undefined>> = {
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

/** Other fields of the caller for a template stay. */
export function withoutSwitch(body: JsonObject, field: string): void {
  const { [field]: value } = body
  delete body[field]
  if (field !== 'chat_template_kwargs' || !isObject(value)) return
  const rest = { ...value }
  for (const name of TEMPLATE) delete rest[name]
  if (Object.keys(rest).length > 0) body[field] = rest
}

const isDisabled = (value: Json | undefined): boolean => isObject(value) && value.enabled === false

/** True for a body of a provider that keeps it from thinking by a switch, not by an effort. */
export const isKeptFromThinking = (body: JsonObject): boolean =>
  switchesThinkingOff(body) || (body.reasoning !== undefined && isDisabled(body.reasoning))

/** Takes the switches out of the body of a provider, in place. */
export function withoutSwitches(body: JsonObject): void {
  for (const field in SWITCH_FIELDS) withoutSwitch(body, field)
  if (!isDisabled(body.reasoning) || !isObject(body.reasoning)) return
  const { enabled: _, ...rest } = body.reasoning
  body.reasoning = rest
  if (Object.keys(rest).length === 0) delete body.reasoning
}
