/**
 * Calls and results of the provider's own tools, as parts that a conversation needs again (`toolCall`, `toolResponse`: types of
 * @google/genai 3.3.0, "Tool context circulation"). No client format has a place for them: they travel as encrypted reasoning, whole, where
 * a signature stands else. A signature is base64 and never begins as JSON does.
 */
import { isObject, type JsonObject, objectWithin } from '../../core/json.ts'

const KINDS = ['toolCall', 'toolResponse'] as const

/** The part as text; undefined for one of another kind. */
export function partAsText(part: JsonObject): string | undefined {
  return KINDS.some((kind) => isObject(part[kind])) ? JSON.stringify(part) : undefined
}

export function holdsPart(text: string): boolean {
  return text.startsWith('{')
}

/** The part as it came; undefined for what `partAsText` has not written. */
export function partOfText(text: string): JsonObject | undefined {
  const part = objectWithin(text)
  const kind = KINDS.find((each) => isObject(part?.[each]))
  if (part === undefined || kind === undefined) return undefined
  const { thoughtSignature } = part
  return typeof thoughtSignature === 'string' ? { [kind]: part[kind] ?? {}, thoughtSignature } : { [kind]: part[kind] ?? {} }
}
