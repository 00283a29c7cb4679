/** Arguments of a call, which all wires but Messages write as the text of a JSON object. */
import { isObject, type Json } from '../../core/json.ts'

/** The arguments as text: some servers send them as the object itself. */
export function argumentsText(value: Json | undefined): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

/** Form of no arguments on every wire. */
export const NO_ARGUMENTS = '{}'

/** True for text that is no JSON: a call with it may have been cut, and must not be run. None at all is the empty object. */
export function isBroken(args: string): boolean {
  const text = args.trim()
  if (text === '') return false
  try {
    JSON.parse(text)
    return false
  } catch {
    return true
  }
}

/** True for the whole text of an object: nothing that follows can belong to it. */
export function isWholeObject(args: string): boolean {
  if (!args.trimEnd().endsWith('}')) return false
  try {
    return isObject(JSON.parse(args))
  } catch {
    return false
  }
}
