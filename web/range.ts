/** The range of time that pages look at: it stands in the address, and goes along from page to page. */
import { useState } from 'preact/hooks'
import { useQuery } from './router.ts'
import { fieldMoment, startOfDay } from './zone.ts'

type Query = Readonly<Record<string, string | undefined>>

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

interface Span {
  readonly label: string
  /** Milliseconds since the epoch, and the end where it is not now. */
  range(now: number): readonly [since: number, until?: number]
}

/** Ranges by their word in the address. */
export const SPANS: Readonly<Record<string, Span>> = {
  today: { label: 'Today', range: (now) => [startOfDay(now)] },
  '1h': { label: 'The last hour', range: (now) => [now - HOUR] },
  ago: { label: 'An hour ago', range: (now) => [now - 90 * MINUTE, now - 30 * MINUTE] },
  '24h': { label: '24 hours', range: (now) => [now - DAY] },
  '7d': { label: '7 days', range: (now) => [now - 7 * DAY] },
  '30d': { label: '30 days', range: (now) => [now - 30 * DAY] },
}

export const isSpan = (word: string | undefined): word is string => word !== undefined && Object.hasOwn(SPANS, word)

/** The times of a range as the API has them; none for all that there is. Times of fields have no zone: theirs is that of the page. */
export function rangeQuery({ span, since, until }: Query, now: number): { since?: string; until?: string } {
  const times: { since?: string; until?: string } = {}
  const put = (name: 'since' | 'until', at: number | undefined): void => {
    if (at !== undefined && !Number.isNaN(at)) times[name] = new Date(at).toISOString()
  }
  const named = isSpan(span) ? SPANS[span]?.range(now) : undefined
  put('since', named ? named[0] : since ? fieldMoment(since) : undefined)
  put('until', named ? named[1] : until ? fieldMoment(until) : undefined)
  return times
}

/** Names in the address. */
const NAMES = ['span', 'since', 'until'] as const

/** The range that was looked at last, for the links to other pages. */
let last: Record<string, string> = {}

/** Part of the address that links to other pages take along. */
export const lastRange = (): Readonly<Record<string, string>> => last

const namedRange = (query: Query): Record<string, string> =>
  Object.fromEntries(NAMES.flatMap((name) => (query[name] ? [[name, query[name]]] : [])))

/** Keeps the range of an address for the links to other pages. @param query of the address. */
export function keepRange(query: URLSearchParams): void {
  const named = namedRange(Object.fromEntries(query))
  if (Object.keys(named).length > 0) last = named
}

export interface Range {
  readonly query: Query
  /** As the API has them, since the page was opened or `refresh` was called. */
  readonly times: { readonly since?: string; readonly until?: string }
  readonly set: (changes: Query) => void
  readonly refresh: () => void
}

/** @param usual word of the range where the address has none; '' for all that there is. */
export function useRange(usual: string): Range {
  const [query, setQuery] = useQuery()
  // The start of "the last hour" stays where it is while the page is read on.
  const [now, setNow] = useState(() => Date.now())
  const named = namedRange(query)
  const wanted: Query = Object.keys(named).length > 0 ? named : { span: usual }
  return {
    query: wanted,
    times: rangeQuery(wanted, now),
    set: (changes) => {
      setNow(Date.now())
      setQuery({ span: undefined, since: undefined, until: undefined, ...changes })
    },
    refresh: () => setNow(Date.now()),
  }
}
