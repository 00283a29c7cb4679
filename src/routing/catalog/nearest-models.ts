/** The models whose slugs are nearest to one that names none, for its message. */
import type { Model } from './types.ts'

const MAX_SHOWN = 3
/** Models that share a word with the slug and are compared at most: a message is worth no more time. */
const MAX_COMPARED = 300
const LONGEST = 128

/** Models by the words of their slugs, for each catalogue that was searched. */
const indexes = new WeakMap<readonly Model[], ReadonlyMap<string, readonly string[]>>()

/**
 * Slugs that share the most words with it, then the longest beginning: `gpt-4.1` is nearer to `openai/gpt-4.1-mini` than to `openai/gpt-5`.
 * @param allows which models may be named.
 */
export function nearestModels(slug: string, models: readonly Model[], allows: (slug: string) => boolean = () => true): string[] {
  if (slug.length > LONGEST) return []
  const index = indexes.get(models) ?? buildIndex(models)
  indexes.set(models, index)
  const shared = new Map<string, number>()
  for (const word of slugWords(slug))
    for (const found of index.get(word) ?? []) {
      if (shared.size >= MAX_COMPARED && !shared.has(found)) break
      shared.set(found, (shared.get(found) ?? 0) + 1)
    }
  const name = slugName(slug)
  return [...shared]
    .filter(([found]) => allows(found))
    .map(([found, words]) => ({ found, words, begins: commonBeginning(name, slugName(found)) }))
    .sort((a, b) => b.words - a.words || b.begins - a.begins || a.found.length - b.found.length)
    .slice(0, MAX_SHOWN)
    .map(({ found }) => found)
}

function buildIndex(models: readonly Model[]): Map<string, string[]> {
  const index = new Map<string, string[]>()
  for (const { slug } of models)
    for (const word of slugWords(slug)) {
      const found = index.get(word)
      if (found) found.push(slug)
      else index.set(word, [slug])
    }
  return index
}

/** Letters and figures are words of their own: `gpt4o` and `gpt-4o` have the same. */
function slugWords(slug: string): Set<string> {
  return new Set(slug.toLowerCase().match(/[a-z]+|\d+/g) ?? [])
}

const slugName = (slug: string): string => slug.slice(slug.indexOf('/') + 1).toLowerCase()

function commonBeginning(a: string, b: string): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}
