/** Claims of tokens: by their paths, and against the values that the configuration states. */
import { isObject, type Json } from '../../core/json.ts'
import type { Claims, ClaimTests } from './types.ts'

/**
 * The claim of a path. The whole path is looked up as one name first, then each part before a dot: names of claims have dots themselves,
 * such as `kubernetes.io` and those that are URLs.
 */
export function claimAt(claims: Claims, path: string): Json | undefined {
  if (Object.hasOwn(claims, path)) return claims[path]
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) {
    const head = path.slice(0, dot)
    const inner = Object.hasOwn(claims, head) ? claims[head] : undefined
    const found = isObject(inner) ? claimAt(inner, path.slice(dot + 1)) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** True where every claim that is tested has a value that is wanted; of a claim that is a list one entry is enough. */
export function hasClaims(claims: Claims, tests: ClaimTests): boolean {
  return Object.entries(tests).every(([path, wanted]) => {
    const value = claimAt(claims, path)
    if (value === undefined || value === null) return false
    const values: readonly unknown[] = Array.isArray(value) ? value : [value]
    const accepted: readonly unknown[] = Array.isArray(wanted) ? wanted : [wanted]
    return values.some((each) => accepted.includes(each))
  })
}

const MAX_MEMBER_LENGTH = 256

/**
 * Name of the member as text; undefined where the claim is missing, empty, or neither text nor a whole number. Halves of characters have
 * no UTF-8, so that members who differ in them alone would have one digest.
 */
export function memberIn(claims: Claims, path: string): string | undefined {
  const value = claimAt(claims, path)
  const text = Number.isSafeInteger(value) ? String(value) : value
  return typeof text === 'string' && text !== '' && text.length <= MAX_MEMBER_LENGTH && text.isWellFormed() ? text : undefined
}
