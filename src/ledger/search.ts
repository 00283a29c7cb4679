/** The search for generations: newest first, in slices, and never for long: what one call has not looked at the next one does. */
import { Fault } from '../core/faults.ts'
import { factsOf } from './facts.ts'
import { Pace } from './pace.ts'
import type { FoundPage, GenerationRecord, GenerationSearch, LedgerReader } from './types.ts'
import { textOr } from './use.ts'

/** Milliseconds after which a call returns what it has found. */
const LONGEST_MS = 60
/** Searches that run at once in a process. */
const MOST_AT_ONCE = 4

/** Whether a generation is one of those wanted, but for the time. */
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
function safeFacts(settled: GenerationRecord['settled']): ReturnType<typeof factsOf> {
  try {
    return factsOf(settled)
  } catch {
    return {}
  }
}

export class Searches {
  private running = 0

  /** @throws Fault `unavailable` where too many searches run, or the ledger cannot be read. */
  async run(ledger: LedgerReader, query: GenerationSearch, before: string): Promise<FoundPage> {
    if (this.running >= MOST_AT_ONCE) throw new Fault('unavailable', { message: 'Too many searches of the ledger run', retryAfter: 1 })
    this.running++
    try {
      return await search(ledger, query, before)
    } finally {
      this.running--
    }
  }
}

async function search(ledger: LedgerReader, query: GenerationSearch, before: string): Promise<FoundPage> {
  if (!ledger.searchPage) return inMemory(ledger, query, before)
  const ends = performance.now() + LONGEST_MS
  const pace = new Pace()
  const rows: GenerationRecord[] = []
  let next: string | undefined = before
  do {
    const reading: FoundPage | Promise<FoundPage> = ledger.searchPage({ ...query, limit: query.limit - rows.length }, next)
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

/** Of a store in memory, which has as many generations as fit there. */
async function inMemory(ledger: LedgerReader, query: GenerationSearch, before: string): Promise<FoundPage> {
  const end = before === '' ? Number.POSITIVE_INFINITY : Number(before.split(' ')[0])
  const pace = new Pace()
  const rows: GenerationRecord[] = []
  for await (const record of ledger.export(query.from)) {
    if (record.at >= query.until || record.hold.seq >= end) break
    if (isWanted(record, query)) rows.push(record)
    // Only the newest are shown: of the others as many are kept as tell whether there are more.
    if (rows.length > 2 * query.limit + 1) rows.splice(0, rows.length - query.limit - 1)
    if (pace.over) await pace.rest()
  }
  const more = rows.length > query.limit
  const page = rows.slice(-query.limit).reverse()
  const last = page.at(-1)
  return { rows: page, ...(more && last ? { next: positionOf(last) } : {}) }
}

export function positionOf({ hold: { seq, tag } }: GenerationRecord): string {
  return `${seq} ${tag}`
}
