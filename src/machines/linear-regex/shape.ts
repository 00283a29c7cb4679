/** From the pattern of a recogniser to the shape of its matches: a pattern of RE2 that lets through at least as much. */

/** One more character decides whether a match goes on. */
export const NEXT = '(?s:.)?'

/**
 * Without what looks ahead or behind, which RE2 has not.
 * @param behind how many characters it may look at that stand behind a match.
 */
export function loosenPattern(source: string, behind = 1): string {
  let shape = ''
  for (let at = 0; at < source.length; ) {
    if (/^\(\?<?[=!]/.test(source.slice(at, at + 4))) at = groupEnd(source, at)
    else if (source[at] === '\\') {
      shape += source.slice(at, at + 2)
      at += 2
    } else shape += source[at++]
  }
  // Loops over one word, or of very many turns, are taken for endless ones, which keeps the automaton small.
  const loose = shape.replace(/\{(\d+),(\d+)\}/g, (counted: string, least: string, most: string) => {
    if (Number(most) < 12 || (Number(most) > 31 && Number(most) < 100)) return counted
    return least === '0' ? '*' : '+'
  })
  return `(?:${loose})(?s:.){0,${behind}}`
}

/** @returns the offset behind the group that opens at `start`. */
function groupEnd(source: string, start: number): number {
  let depth = 0
  let inClass = false
  for (let at = start; at < source.length; at++) {
    const char = source[at]
    if (char === '\\') at++
    else if (inClass) inClass = char !== ']'
    else if (char === '[') inClass = true
    else if (char === '(') depth++
    else if (char === ')' && --depth === 0) return at + 1
  }
  return source.length
}
