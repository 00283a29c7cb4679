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

/**
 * Deepest nesting of a JSON text in bytes, stopping early once `cap` is passed.
 * V8 parses any depth but cannot stringify it again, so the depth is checked before parsing.
 */
export function depthExceeds(bytes: Uint8Array, cap: number): boolean {
  let depth = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) {
      for (i++; i < bytes.length && bytes[i] !== QUOTE; i++) if (bytes[i] === BACKSLASH) i++
    } else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > cap) return true
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  return false
}
