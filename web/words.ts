/** Words of the API in the words of a page. */
import type { Listed } from './api-types.ts'

/** Texts of a page for every word of a set that this version lists. */
export type Meanings<W extends string, T> = Readonly<Record<Listed<W>, T>>

/** @returns undefined for a word that the page does not know: it is shown as it is, and never taken for a good one. */
export function wordMeaning<T>(meanings: Readonly<Record<string, T>>, word: string): T | undefined {
  // The own ones alone: `constructor` is a word as any other.
  return Object.hasOwn(meanings, word) ? meanings[word] : undefined
}

/** A word that the page does not know, as text. */
export const plainWord = (word: string): string => word.replaceAll('_', ' ')
