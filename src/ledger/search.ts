/** The search for generations: newest first, in slices, and never for long: what one call has not looked at the next one does. */
import { parseFacts } from './facts.ts'
import { Pace } from './pace.ts'
import type { FoundPage, GenerationRecord, GenerationSearch } from './types.ts'
import { textOr } from './use.ts'

/** Milliseconds after which a call returns what it has found. */
const MAX_MS = 60

/** True if the generation matches every filter of the search but its period. */
export function isWanted({ hold, settled }: GenerationRecord, query: GenerationSearch): boolean {
  const { key, model, provider, endpoint, session, statuses, error, minCost, maxCost, streamed } = query
  if (key !== undefined && hold.key !== key) return false
  if (statuses && !statuses.includes(settled?.status ?? 'open')) return false
  const cost = settled?.cost ?? 0
  if ((minCost !== undefined && cost < minCost) || (maxCost !== undefined && cost > maxCost)) return false
  const readsFacts = model ?? provider ?? endpoint ?? session ?? error ?? streamed
  if (readsFacts === undefined) return true
  const facts = safeFacts(settled)
  if (model !== undefined && textOr(facts.model, hold.model) !== model) return false
  if (endpoint !== undefined && textOr(facts.endpoint, hold.endpoint) !== endpoint) return false
  if (provider !== undefined && facts.provider !== provider) return false
  if (session !== undefined && facts.session_id !== session) return false
  if (error !== undefined && facts.fault !== error) return false
  return streamed === undefined || (facts.streamed === true) === streamed
}

/** Of earlier programs some are no JSON. */
function safeFacts(settled: GenerationRecord['settled']): ReturnType<typeof parseFacts> {
  try {
    return parseFacts(settled)
  } catch {
    return {}
  }
}

/**
 * Generations of some pages of a store: as many as are wanted, or as are found in a short time.
 * @param read the page before a position, of generations that may be wanted: not all filters are applied. It takes a few milliseconds,
 * whatever is sought, and may be empty and not be the last.
 */
export async function searchPages(
  query: GenerationSearch,
  before: string,
  read: (query: GenerationSearch, before: string) => FoundPage | Promise<FoundPage>,
): Promise<FoundPage> {
  const ends = performance.now() + MAX_MS
  const pace = new Pace()
  const rows: GenerationRecord[] = []
  let next: string | undefined = before
  do {
    const reading: FoundPage | Promise<FoundPage> = read({ ...query, limit: query.limit - rows.length }, next)
    // To wait for another process is rest enough.
    const elsewhere = reading instanceof Promise
    const page: FoundPage = elsewhere ? await reading : reading
    for (const row of page.rows) if (isWanted(row, query)) rows.push(row)
    next = page.next
    if (next === undefined || rows.length >= query.limit) break
    if (pace.over) await pace.rest(elsewhere)
  } while (performance.now() < ends)
  return { rows, ...(next === undefined ? {} : { next }) }
}
