/** Model patterns: a slug, in which each `*` stands for any characters, also none. */

/** True where one of the patterns fits the whole slug. */
export function fitsAny(patterns: readonly string[], slug: string): boolean {
  return patterns.some((pattern) => fits(pattern, slug))
}

/** Each piece between two stars is taken where it first occurs: linear in the slug for a piece, whatever the pattern. */
function fits(pattern: string, slug: string): boolean {
  const [first = '', ...pieces] = pattern.split('*')
  const last = pieces.pop()
  if (last === undefined) return pattern === slug
  const end = slug.length - last.length
  if (end < first.length || !slug.startsWith(first) || !slug.endsWith(last)) return false
  let from = first.length
  for (const piece of pieces) {
    const found = slug.indexOf(piece, from)
    if (found < 0 || found + piece.length > end) return false
    from = found + piece.length
  }
  return true
}
