/** JSON as parsed: the shapes every other folder speaks of. */
export type Json = string | number | boolean | null | Json[] | JsonObject
export interface JsonObject {
  [key: string]: Json | undefined
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Strings that end within so many characters are cheaper to walk than to search. */
const NEAR = 24

/**
 * Whether a JSON text nests deeper than `cap`; stops there. A text that is no JSON may get any answer.
 * V8 parses any depth but cannot stringify it again, so the depth is checked before parsing.
 */
export function depthExceeds(text: string, cap: number): boolean {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === QUOTE) {
      i = closingQuote(text, i + 1)
      if (i === -1) return false
    } else if (unit === 0x7b || unit === 0x5b) {
      if (++depth > cap) return true
    } else if (unit === 0x7d || unit === 0x5d) depth--
  }
  return false
}

/** Index of the quote that ends the string whose inside begins at `from`; -1 where there is none. */
function closingQuote(text: string, from: number): number {
  let i = from
  for (const near = Math.min(from + NEAR, text.length); i < near; i++) {
    const unit = text.charCodeAt(i)
    if (unit === QUOTE) return i
    if (unit === BACKSLASH) i++
  }
  for (;;) {
    const at = text.indexOf('"', i)
    if (at === -1) return -1
    let escapes = 0
    while (at - escapes > i && text.charCodeAt(at - escapes - 1) === BACKSLASH) escapes++
    if (escapes % 2 === 0) return at
    i = at + 1
  }
}
