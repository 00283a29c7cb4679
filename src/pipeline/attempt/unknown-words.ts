/** Words of a provider that nothing knows: each may be a change of its format, and some may be money. */
import type { StreamWord } from '../../dialects/canon/events.ts'
import type { Turn } from './turn.ts'

export interface UnknownWord {
  /**
   * `usage`: a member of its report of usage. `end`: why its answer ended. `tier`: the service tier that it served. The others are types
   * within its answer.
   */
  readonly kind: 'usage' | 'end' | 'tier' | StreamWord['kind']
  readonly word: string
}

/** A name and nothing else: what an answer says may hold its caller's words. */
const NAME = /^[A-Za-z][\w.-]{0,79}$/

/** Placeholder for a word of another form. */
export const OTHER_FORM = '(not a name)'

/** @returns undefined where all is known. */
export function turnUnknownWords({ usage, end }: Turn): UnknownWord[] | undefined {
  const members = usage?.unknownMembers
  const tier = end?.unknownTier
  const isUnknownEnd = end?.reason === 'unknown' && end.raw !== undefined
  const within = end?.unknownWords
  if (members === undefined && tier === undefined && within === undefined && !isUnknownEnd) return undefined
  const named = (kind: UnknownWord['kind'], word = ''): UnknownWord => ({ kind, word: NAME.test(word) ? word : OTHER_FORM })
  return [
    ...(members ?? []).map((member) => named('usage', member)),
    ...(isUnknownEnd ? [named('end', end.raw)] : []),
    ...(tier === undefined ? [] : [named('tier', tier)]),
    ...(within ?? []).map(({ kind, word }) => named(kind, word)),
  ]
}
