/** The nearest of some names to a mistyped one. */
import { entryAt } from '../core/entry-at.ts'

/** Edit distance with transpositions, given up above `cap`. */
function distance(a: string, b: string, cap: number): number {
  if (Math.abs(a.length - b.length) > cap) return cap + 1
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(entryAt(previous, j) + 1, entryAt(row, j - 1) + 1, entryAt(previous, j - 1) + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, entryAt(before, j - 2) + 1)
      row.push(cost)
    }
    before = previous
    previous = row
  }
  return entryAt(previous, b.length)
}

/** @returns the nearest name that differs in at most a third of its characters; undefined if there is none. */
export function nearest(word: string, names: Iterable<string>): string | undefined {
  if (word.length > 64) return undefined
  let best: string | undefined
  let bestDistance = Number.POSITIVE_INFINITY
  for (const name of names) {
    const cap = Math.max(1, Math.floor(name.length / 3))
    const edits = distance(word.toLowerCase(), name.toLowerCase(), cap)
    if (edits <= cap && edits < bestDistance) {
      best = name
      bestDistance = edits
    }
  }
  return best
}

/** Names listed at most: a longer list does not help. */
const MOST_NAMES = 20

/** `, did you mean "x"?` or `, expected one of: …`. */
export function hint(word: string, names: readonly string[]): string {
  const near = nearest(word, names)
  if (near !== undefined) return `, did you mean "${near}"?`
  return names.length === 0 || names.length > MOST_NAMES ? '' : `, expected one of: ${names.join(', ')}`
}
