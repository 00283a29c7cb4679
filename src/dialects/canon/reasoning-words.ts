/** Reasoning as plain words, for providers that take it without a signature. */
import type { Item } from './request.ts'

/** @returns undefined where nothing of it can be read. */
export function reasoningWords({ text, summary }: Extract<Item, { kind: 'reasoning' }>): string | undefined {
  const words = text ?? summary?.join('\n\n')
  return words === undefined || words.trim() === '' ? undefined : words
}
