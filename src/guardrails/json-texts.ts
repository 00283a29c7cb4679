/** Texts inside JSON values, read and rewritten without recursion: depth is the caller's to choose. */
import { isObject, type Json, type JsonObject } from '../core/json.ts'

/** Every key and text value. */
export function* jsonTexts(root: Json): Generator<string> {
  const rest: Json[] = [root]
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    if (typeof value === 'string') yield value
    else if (Array.isArray(value)) for (const child of value) rest.push(child)
    else if (value !== null && typeof value === 'object') {
      for (const [key, child] of Object.entries(value)) {
        yield key
        if (child !== undefined) rest.push(child)
      }
    }
  }
}

/**
 * A copy with other text values; keys stay, since they are field names.
 * @param replace undefined where a text stays.
 * @returns the very value where none changed.
 */
export function withTexts<Value extends Json>(root: Value, replace: (text: string) => string | undefined): Value {
  let changed = false
  for (const text of jsonTexts(root)) {
    if (replace(text) === undefined) continue
    changed = true
    break
  }
  if (!changed) return root
  const holder: JsonObject = { root }
  const rest: (JsonObject | Json[])[] = [holder]
  const visit = (child: Json | undefined, set: (value: Json) => void): void => {
    if (typeof child === 'string') {
      const other = replace(child)
      if (other !== undefined) set(other)
      return
    }
    const copy = Array.isArray(child) ? [...child] : isObject(child) ? { ...child } : undefined
    if (!copy) return
    set(copy)
    rest.push(copy)
  }
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    const within = value
    if (Array.isArray(within)) {
      for (const [i, child] of within.entries()) {
        visit(child, (other) => {
          within[i] = other
        })
      }
    } else {
      for (const key of Object.keys(within)) {
        visit(within[key], (other) => {
          within[key] = other
        })
      }
    }
  }
  return holder.root as Value
}
