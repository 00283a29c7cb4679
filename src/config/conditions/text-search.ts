/** Searches of one text in another in linear time (Knuth, Morris and Pratt, 1977): V8's own takes the product of both in the worst case. */

/** Characters of what is sought up to which V8's own search is as fast in the worst case. */
export const SHORT = 8
/** Comparisons of V8's own search up to which it is as well. */
const FEW = 4_096

/** @param from the first place that is looked at. @returns -1 where it is not found. */
export function firstIndex(text: string, sought: string, from: number): number {
  if (isSmall(text, sought)) return text.indexOf(sought, from)
  const found = search(text, sought, { base: from, way: 1, length: text.length - from })
  return found < 0 ? -1 : from + found
}

/** @param from the last place that is looked at. @returns -1 where it is not found. */
export function lastIndex(text: string, sought: string, from: number): number {
  if (isSmall(text, sought)) return text.lastIndexOf(sought, from)
  const end = Math.min(text.length, from + sought.length)
  const found = search(text, sought, { base: end - 1, way: -1, length: end })
  return found < 0 ? -1 : end - found - sought.length
}

/** Its parts between separators; `most` of them at the most, of which the last one has the rest; fewer than none: all. */
export function splitText(text: string, by: string, most = -1): string[] {
  if (most === 0) return []
  const parts = isSmall(text, by) ? text.split(by) : splitLong(text, by)
  return most < 0 || parts.length <= most ? parts : [...parts.slice(0, most - 1), parts.slice(most - 1).join(by)]
}

function splitLong(text: string, by: string): string[] {
  const parts: string[] = []
  let from = 0
  for (let at = firstIndex(text, by, 0); at >= 0; at = firstIndex(text, by, from)) {
    parts.push(text.slice(from, at))
    from = at + by.length
  }
  return [...parts, text.slice(from)]
}

const isSmall = (text: string, sought: string): boolean =>
  sought.length <= SHORT || sought.length > text.length || sought.length * text.length <= FEW

/**
 * Reads both texts in one direction: without a function for it, which would be called twice for each sign.
 * @param base place of the first sign that is read. @param way 1 towards the end, -1 towards the beginning. @param length signs that are read.
 * @returns signs that are read before the match; -1 without one.
 */
function search(text: string, sought: string, { base, way, length }: { base: number; way: 1 | -1; length: number }): number {
  const wanted = sought.length
  const first = way === 1 ? 0 : wanted - 1
  const borders = bordersIn(sought, first, way)
  let matched = 0
  for (let at = 0; at < length; at++) {
    const next = text.charCodeAt(base + way * at)
    while (matched > 0 && sought.charCodeAt(first + way * matched) !== next) matched = borders[matched - 1] ?? 0
    if (sought.charCodeAt(first + way * matched) === next) matched++
    if (matched === wanted) return at - wanted + 1
  }
  return -1
}

/** Length of the longest beginning of each beginning that is its end as well. */
function bordersIn(sought: string, first: number, way: 1 | -1): Int32Array {
  const borders = new Int32Array(sought.length)
  let matched = 0
  for (let at = 1; at < sought.length; at++) {
    const next = sought.charCodeAt(first + way * at)
    while (matched > 0 && sought.charCodeAt(first + way * matched) !== next) matched = borders[matched - 1] ?? 0
    if (sought.charCodeAt(first + way * matched) === next) matched++
    borders[at] = matched
  }
  return borders
}
