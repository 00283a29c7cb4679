/** JSON texts without the escapes that a database may refuse. */

/** `JSON.stringify` escapes only surrogates that stand alone; an escaped backslash is taken whole, so what follows it is no escape. */
const UNREADABLE = /\\(?:\\|u0000|ud[89a-f][0-9a-f]{2})/gi

/**
 * A JSON text as every store can read it: PostgreSQL refuses to take apart a JSON text with an escaped NUL or a lone surrogate
 * (PostgreSQL 15, 8.14 "JSON Types"). @param text written by `JSON.stringify` or alike.
 */
export function readableJson(text: string): string {
  return text.includes('\\u') ? text.replace(UNREADABLE, (found) => (found === '\\\\' ? found : '\\ufffd')) : text
}
