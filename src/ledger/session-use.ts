/** What was used per session: the figures behind `/v1/sessions` and `headgate sessions`. */
import { Fault } from '../core/faults.ts'
import { addRowCounts, rowCountsOf } from '../core/row-counts.ts'
import { factsOf } from './facts.ts'
import { Ordered } from './ordered.ts'
import type { GenerationRecord, LedgerPlace, LedgerReader, SessionName, SessionQuery, SessionSlice, SessionUse } from './types.ts'
import { eachPage, eachSettled, savedNano, textOr } from './use.ts'

/** Sessions of one scan: callers choose their names, so that their number is bounded. About 20 MB. */
const MOST_SESSIONS = 50_000

/** The sessions of a query, the one that was used last first. */
export interface SessionScan {
  readonly total: number
  /** @throws Fault `unavailable` where the ledger cannot be read. */
  rows(slice: SessionSlice): Promise<readonly SessionUse[]>
}

/**
 * Finds the sessions of the query, in slices. Where the store keeps their sums, only those that are shown are read.
 * @throws Fault 400 where there are too many sessions; `unavailable` where the ledger cannot be read.
 */
export async function scanSessions(ledger: LedgerReader, query: SessionQuery): Promise<SessionScan> {
  const { sessionNames, sessionPage } = ledger
  if (!sessionNames || !sessionPage) return scanOf(await readSums(ledger, query))
  const found = new Sessions<SessionName>(laterName)
  await eachPage(
    (after) => sessionNames.call(ledger, query, after),
    (name) => found.add(name),
  )
  const names = new Ordered(found.all, lastOf, inOrder)
  const rows = async (slice: SessionSlice): Promise<SessionUse[]> => {
    const of = names.slice(slice)
    const sums = new Sessions<SessionUse>(addSession)
    if (of.length > 0)
      await eachPage(
        (after) => sessionPage.call(ledger, query, after, of),
        (row) => sums.add(row),
      )
    await addMoves(ledger, query, of, sums.all)
    // Of some a generation may have been settled since they were put in order.
    return sums.all.sort(inOrder)
  }
  return { total: found.all.length, rows }
}

/** What entries have moved is money of the session of their generation, and no request. */
async function addMoves(ledger: LedgerReader, query: SessionQuery, of: readonly SessionName[], sums: SessionUse[]): Promise<void> {
  // Of a few sessions no more than the entries of their keys are read.
  const keys = [...new Set(of.map(({ key }) => key))]
  const moves = of.length > 0 ? ((await ledger.sessionMoves?.({ ...query, keys })) ?? []) : []
  if (moves.length === 0) return
  const nameOf = ({ key, session }: Pick<SessionName, 'key' | 'session'>): string => `${key.length} ${key}${session}`
  const moved = new Map<string, bigint>()
  for (const move of moves) moved.set(nameOf(move), (moved.get(nameOf(move)) ?? 0n) + BigInt(move.nano))
  for (const [at, sum] of sums.entries()) {
    const nano = moved.get(nameOf(sum))
    if (nano !== undefined) sums[at] = { ...sum, cost: sum.cost + nano }
  }
}

function scanOf(sums: readonly SessionUse[]): SessionScan {
  const ordered = new Ordered(sums, lastOf, inOrder)
  return { total: sums.length, rows: async (slice) => ordered.slice(slice) }
}

async function readSums(ledger: LedgerReader, query: SessionQuery): Promise<SessionUse[]> {
  const sums = new Sessions<SessionUse>(addSession)
  const moved = new Map<string, bigint>()
  for (const { generation, nano } of (await ledger.entries?.moves(0, Number.MAX_SAFE_INTEGER)) ?? [])
    if (generation) moved.set(placeOf(generation), (moved.get(placeOf(generation)) ?? 0n) + BigInt(nano))
  await eachSettled(ledger, query, (record, settled) => {
    const row = sessionRow(record, settled)
    if (!row || (query.session !== undefined && row.session !== query.session)) return
    sums.add({ ...row, cost: row.cost + (moved.get(placeOf(record.hold)) ?? 0n) })
  })
  return sums.all
}

const placeOf = ({ seq, tag }: LedgerPlace): string => `${seq} ${tag}`

type Name = Pick<SessionName, 'key' | 'session' | 'last'>

/** One row for each session of each key. */
class Sessions<Row extends Name> {
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
    const places = this.placesOf(row.key)
    const place = places.get(row.session)
    const before = place === undefined ? undefined : this.all[place]
    if (place !== undefined && before) {
      this.all[place] = this.join(before, row)
      return
    }
    if (this.all.length === MOST_SESSIONS)
      throw new Fault('bad_request', { message: `since: the period has more than ${MOST_SESSIONS} sessions: name a shorter one, or a key` })
    places.set(row.session, this.all.push(row) - 1)
  }

  private placesOf(key: string): Map<string, number> {
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

const lastOf = ({ last }: Name): number => last
const inOrder = (a: Name, b: Name): number => b.last - a.last || byText(a.session, b.session) || byText(a.key, b.key)

function laterName(a: SessionName, b: SessionName): SessionName {
  if (a.first <= b.first && a.last >= b.last) return a
  return { key: a.key, session: a.session, first: Math.min(a.first, b.first), last: Math.max(a.last, b.last) }
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function addSession(a: SessionUse, b: SessionUse): SessionUse {
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

/** Undefined where the generation belongs to no session. */
function sessionRow({ at, hold }: GenerationRecord, settled: NonNullable<GenerationRecord['settled']>): SessionUse | undefined {
  const { session_id: session, model, cache_discount: saved } = factsOf(settled)
  if (typeof session !== 'string' || session === '') return undefined
  const { cost, status } = settled
  return {
    key: hold.key,
    session,
    models: [textOr(model, hold.model)],
    requests: 1,
    failed: status === 'failed' || status === 'unknown' ? 1 : 0,
    cost: BigInt(cost),
    ...rowCountsOf(settled),
    cacheSaved: savedNano(saved),
    first: at,
    last: at,
  }
}
