/** Use per session: the figures behind `/v1/sessions` and `headgate sessions`. */
import { Fault } from '../core/faults.ts'
import { addRowCounts } from '../core/row-counts.ts'
import { Ordered } from './ordered.ts'
import type { LedgerReader } from './reader.ts'
import type { SessionName, SessionNamePage, SessionPage, SessionQuery, SessionSlice, SessionUse } from './types.ts'
import { eachPage } from './use.ts'

/** Sessions of one scan: callers choose their names, so that their number is bounded. About 20 MB. */
const MAX_SESSIONS = 50_000

/** The sessions of a query, the one that was used last first. */
export interface SessionScan {
  readonly total: number
  /** @throws Fault `unavailable` where the ledger cannot be read. */
  rows(slice: SessionSlice): Promise<readonly SessionUse[]>
}

/** Sessions of all pages of a store. @param read the page behind `after`; '' begins. @throws Fault 400 where there are too many. */
export async function sessionNamePages(read: (after: string) => SessionNamePage | Promise<SessionNamePage>): Promise<SessionName[]> {
  const found = new Sessions<SessionName>(laterName)
  await eachPage(read, (name) => found.add(name))
  return found.all
}

/** Sums of all pages of a store. @param read the page behind `after`; '' begins. */
export async function sessionSumPages(read: (after: string) => SessionPage | Promise<SessionPage>): Promise<SessionUse[]> {
  const sums = new Sessions<SessionUse>(addSession)
  await eachPage(read, (row) => sums.add(row))
  return sums.all
}

/**
 * Finds the sessions of the query; of those that are shown the sums are read.
 * @throws Fault 400 where there are too many sessions; `unavailable` where the ledger cannot be read.
 */
export async function scanSessions(ledger: LedgerReader, query: SessionQuery): Promise<SessionScan> {
  const found = await ledger.sessionNames(query)
  const names = new Ordered(found, nameLast, inOrder)
  const rows = async (slice: SessionSlice): Promise<SessionUse[]> => {
    const of = names.slice(slice)
    const sums = of.length > 0 ? [...(await ledger.sessionSums(query, of))] : []
    await addMoves(ledger, query, of, sums)
    // Of some a generation may have been settled since they were put in order.
    return sums.sort(inOrder)
  }
  return { total: found.length, rows }
}

/** Adds moves of entries to the cost of the session of their generation. They count as no request. */
async function addMoves(ledger: LedgerReader, query: SessionQuery, of: readonly SessionName[], sums: SessionUse[]): Promise<void> {
  // Of a few sessions no more than the entries of their keys are read.
  const keys = [...new Set(of.map(({ key }) => key))]
  const moves = of.length > 0 ? await ledger.sessionMoves({ ...query, keys }) : []
  if (moves.length === 0) return
  const sessionKey = ({ key, session }: Pick<SessionName, 'key' | 'session'>): string => `${key.length} ${key}${session}`
  const moved = new Map<string, bigint>()
  for (const move of moves) moved.set(sessionKey(move), (moved.get(sessionKey(move)) ?? 0n) + BigInt(move.nano))
  for (const [at, sum] of sums.entries()) {
    const nano = moved.get(sessionKey(sum))
    if (nano !== undefined) sums[at] = { ...sum, cost: sum.cost + nano }
  }
}

type Name = Pick<SessionName, 'key' | 'session' | 'last'>

/** One row for each session of each key. */
export class Sessions<Row extends Name> {
  readonly all: Row[] = []
  /** By key and session: where it stands in `all`. */
  private readonly places = new Map<string, Map<string, number>>()
  private readonly join: (a: Row, b: Row) => Row
  /** Rows of one key mostly come one after the other. */
  private ofKey: { readonly key: string; readonly places: Map<string, number> } | undefined

  constructor(join: (a: Row, b: Row) => Row) {
    this.join = join
  }

  add(row: Row): void {
    const places = this.keyPlaces(row.key)
    const place = places.get(row.session)
    const before = place === undefined ? undefined : this.all[place]
    if (place !== undefined && before) {
      this.all[place] = this.join(before, row)
      return
    }
    if (this.all.length === MAX_SESSIONS)
      throw new Fault('bad_request', { message: `since: the period has more than ${MAX_SESSIONS} sessions: name a shorter one, or a key` })
    places.set(row.session, this.all.push(row) - 1)
  }

  private keyPlaces(key: string): Map<string, number> {
    if (this.ofKey?.key === key) return this.ofKey.places
    let places = this.places.get(key)
    if (!places) {
      places = new Map()
      this.places.set(key, places)
    }
    this.ofKey = { key, places }
    return places
  }
}

const nameLast = ({ last }: Name): number => last
const inOrder = (a: Name, b: Name): number => b.last - a.last || byText(a.session, b.session) || byText(a.key, b.key)

function laterName(a: SessionName, b: SessionName): SessionName {
  if (a.first <= b.first && a.last >= b.last) return a
  return { key: a.key, session: a.session, first: Math.min(a.first, b.first), last: Math.max(a.last, b.last) }
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Both of the same session. */
export function addSession(a: SessionUse, b: SessionUse): SessionUse {
  const added = b.models.filter((model) => !a.models.includes(model))
  return {
    key: a.key,
    session: a.session,
    models: added.length === 0 ? a.models : [...a.models, ...added],
    requests: a.requests + b.requests,
    failed: a.failed + b.failed,
    cost: a.cost + b.cost,
    ...addRowCounts(a, b),
    cacheSaved: a.cacheSaved + b.cacheSaved,
    first: Math.min(a.first, b.first),
    last: Math.max(a.last, b.last),
  }
}
