/** Texts that the facts of a row must contain to match a search: rows without them are left out before any facts are parsed. */
import type { GenerationSearch } from '../ledger/types.ts'

/** Facts are written without spaces, and texts such as these are written as they are. */
const PLAIN = /^[ !#-[\]-~]*$/

/** @returns a part of the text that a member with this value has; undefined where it may be written in several ways. */
export function memberText(name: string, value: string): string | undefined {
  return PLAIN.test(value) ? `"${name}":"${value}"` : undefined
}

/** Parts that the facts of every wanted generation have. A model and an endpoint may stand in the hold instead. */
export function neededTexts({ provider, session, error, streamed }: GenerationSearch): string[] {
  const texts = [
    provider === undefined ? undefined : memberText('provider', provider),
    session === undefined ? undefined : memberText('session_id', session),
    error === undefined ? undefined : memberText('fault', error),
    streamed === true ? '"streamed":true' : undefined,
  ]
  return texts.filter((text) => text !== undefined)
}

/** Statuses that the index of endings has, where a search wants no others. */
export function wantedEndings({ statuses, error }: GenerationSearch): string[] | undefined {
  const wanted: readonly string[] | undefined =
    statuses ?? (error === undefined ? undefined : ['incomplete', 'failed', 'aborted', 'unknown'])
  return wanted && !wanted.includes('completed') && !wanted.includes('open') ? [...wanted] : undefined
}
