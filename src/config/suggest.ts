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
const MAX_NAMES = 24

/** Names with a word in common at most. */
const MAX_RELATED = 3

/** Names that share the most words with it, the shortest first: `azure-openai` for `azure`, `vertex-gemini` for `gemini-vertex`. */
function related(word: string, names: readonly string[]): string[] {
  const words = new Set(textWords(word))
  const scored = names.map((name) => ({ name, shared: textWords(name).filter((one) => words.has(one)).length }))
  const most = Math.max(0, ...scored.map(({ shared }) => shared))
  const best = most === 0 ? [] : scored.filter(({ shared }) => shared === most)
  return best
    .map(({ name }) => name)
    .sort((a, b) => a.length - b.length)
    .slice(0, MAX_RELATED)
}

const textWords = (text: string): string[] => text.toLowerCase().match(/[a-z]{3,}|\d+/g) ?? []

/** `, did you mean "x"?` or `, expected one of: …`. */
export function hint(word: string, names: readonly string[]): string {
  const near = nearest(word, names)
  if (near !== undefined) return `, did you mean "${near}"?`
  const akin = names.length > MAX_NAMES ? related(word, names) : []
  if (akin.length > 0) return akin.length === 1 ? `, did you mean "${akin[0]}"?` : `, did you mean one of: ${akin.join(', ')}?`
  return names.length === 0 || names.length > MAX_NAMES ? '' : `, expected one of: ${names.join(', ')}`
}
