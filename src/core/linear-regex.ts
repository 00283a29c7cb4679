/** RE2 in JavaScript, loaded with the first pattern: 260 KB of source that most configurations never use. */
import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'

let loaded: typeof RE2JS | undefined

/** The class that compiles patterns which are matched in linear time. */
export function linearRegex(): typeof RE2JS {
  loaded ??= (createRequire(import.meta.url)('re2js') as { RE2JS: typeof RE2JS }).RE2JS
  return loaded
}
