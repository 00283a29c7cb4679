/**
 * A charge-back of the embedded store as of one moment, read beside requests: page by page as lists of use are, while each settlement that
 * is committed meanwhile is added where its page was read already. So the sums are those of the moment of the last page.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { Fault } from '../core/faults.ts'
import { BY_DAY } from '../core/ledger-counts.ts'
import { dayCountsFrom } from '../core/row-counts.ts'
import { type ChargeQuery, type ChargeStatement, ChargeSums, FACT_GROUPS } from '../ledger/charge-sums.ts'
import { Pace } from '../ledger/pace.ts'
import type { HoldOwner, SettleRow, UsePage, UseQuery, UseRow } from '../ledger/types.ts'
import { DAY_MS, TICKS } from './rows.ts'
import { integer, text } from './sqlite.ts'
import type { SqliteEntries } from './sqlite-entries.ts'
import type { SqliteRollups } from './sqlite-rollups.ts'
import { fact, MAX_TOKENS, parseUse } from './use-facts.ts'

export interface SqliteChargesParts {
  readonly db: DatabaseSync
  readonly rollups: Pick<SqliteRollups, 'watchers' | 'start' | 'below'>
  readonly entries: Pick<SqliteEntries, 'charged'>
  /** Writes what waits. */
  flush(): void
  /** A page of sums of use. */
  use(query: UseQuery, after: string): UsePage
}

/** Generations of one page. */
const PAGE = 500
const COUNTS = BY_DAY.map(({ column }) => `min(${column}, ${MAX_TOKENS}) AS ${column}`).join(', ')
/** Open generations as well, so that a page ends at a sequence. */
const ROWS = `SELECT hold.seq AS seq, key, ${fact('model', 'hold.model')} AS model, ${fact('provider', "''")} AS provider, status, cost, ${COUNTS},
  ${fact('app_title', "''")} AS app, ${fact('session_id', "''")} AS session, ${fact('user', "''")} AS user
  FROM hold LEFT JOIN settlement USING (seq) WHERE hold.seq > ? AND hold.seq < ? ORDER BY hold.seq LIMIT ${PAGE}`

/** Groups of a generation. */
interface Charge {
  readonly seq: number
  readonly day: number
  readonly key: string
}

/** True for what the pages up to now have: those before a place that a page names as the next one. */
type IsRead = (charge: Charge) => boolean

export class SqliteCharges {
  private readonly parts: SqliteChargesParts
  private readonly rows: StatementSync
  private readonly row: StatementSync
  private readonly owner: StatementSync

  constructor(parts: SqliteChargesParts) {
    this.parts = parts
    this.rows = parts.db.prepare(ROWS)
    this.row = parts.db.prepare(ROWS.replace('hold.seq > ? AND hold.seq < ? ORDER BY', 'hold.seq = ? ORDER BY'))
    this.owner = parts.db.prepare('SELECT key, model, endpoint FROM hold WHERE seq = ?')
  }

  /** @throws Fault 400 where there are too many sums or entries. */
  async read(query: ChargeQuery): Promise<ChargeStatement> {
    const { entries, rollups } = this.parts
    const sums = new ChargeSums(query.by, query.keys)
    let isRead: IsRead = () => false
    const [first, end] = [query.from * TICKS, query.until * TICKS]
    const watcher = (row: SettleRow, owner: HoldOwner | undefined): void => {
      if (row.seq < first || row.seq >= end) return
      const key = owner?.key ?? text(this.owner.get(row.seq)?.key)
      if (isRead({ seq: row.seq, day: dayAt(row.seq), key })) this.addLate(sums, query, row, key)
    }
    rollups.watchers.add(watcher)
    try {
      const pace = Pace.ofList()
      const pages = query.by.some((group) => FACT_GROUPS.some((each) => each === group))
        ? this.generations(query, sums)
        : this.kept(query, sums)
      // What a page has and what it counts as read change in one turn.
      for (const next of pages) {
        isRead = next
        if (pace.over) await pace.rest()
      }
      return { sums: sums.rows(), entries: entries.charged(query) }
    } finally {
      rollups.watchers.delete(watcher)
    }
  }

  /** From the sums that are kept. The last page is followed by nothing that waits. */
  private *kept(query: ChargeQuery, sums: ChargeSums): Iterable<IsRead> {
    const { use, rollups, flush } = this.parts
    const { from, until, by } = query
    const apart = (['day', 'model', 'provider'] as const).filter((group) => by.includes(group))
    const wanted: UseQuery = by.includes('key') || query.keys ? { from, until, byKey: true, apart } : { from, until }
    const mark = rollups.below
    for (let after = ''; ; ) {
      if (rollups.below < mark) throw new Fault('unavailable', { message: 'The sums of use were made anew meanwhile', retryAfter: 1 })
      flush()
      const { rows, next } = use(wanted, after)
      for (const row of rows) sums.add(chargeFrom(row))
      if (next === undefined) return
      after = next
      yield readUpTo(next, rollups.start)
    }
  }

  private *generations(query: ChargeQuery, sums: ChargeSums): Iterable<IsRead> {
    for (let last = query.from * TICKS - 1; ; ) {
      this.parts.flush()
      const rows = this.rows.all(last, query.until * TICKS)
      for (const row of rows) addRow(sums, row)
      if (rows.length < PAGE) return
      last = integer(rows.at(-1)?.seq)
      const read = last
      yield ({ seq }) => seq <= read
    }
  }

  private addLate(sums: ChargeSums, { by }: ChargeQuery, row: SettleRow, key: string): void {
    if (by.some((group) => FACT_GROUPS.some((each) => each === group))) {
      const found = this.row.get(row.seq)
      if (found) addRow(sums, found)
      return
    }
    const { model, provider } = row.use ?? parseUse(row.facts)
    const counts = dayCountsFrom({ input: row.input, output: row.output, reasoning: row.reasoning }, (count) =>
      Math.min(count ?? 0, MAX_TOKENS),
    )
    const named = { day: dayAt(row.seq), key, model: model || text(this.owner.get(row.seq)?.model), provider }
    sums.add({ ...named, ...counts, requests: 1, failed: hasFailed(row.status) ? 1 : 0, cost: BigInt(row.cost) })
  }
}

const dayAt = (seq: number): number => Math.floor(seq / TICKS / DAY_MS) * DAY_MS
const hasFailed = (status: unknown): boolean => status === 'failed' || status === 'unknown'

function addRow(sums: ChargeSums, row: NonNullable<ReturnType<StatementSync['get']>>): void {
  if (row.status === null) return
  const { key, model, provider, app, session, user } = row
  sums.add({
    ...{ key: text(key), model: text(model), provider: text(provider), app: text(app), session: text(session), user: text(user) },
    day: dayAt(integer(row.seq)),
    ...dayCountsFrom(row, integer),
    requests: 1,
    failed: hasFailed(row.status) ? 1 : 0,
    cost: BigInt(integer(row.cost)),
  })
}

function chargeFrom(row: UseRow): Parameters<ChargeSums['add']>[0] {
  const { key, day, model, provider, requests, cost, input, output, reasoning } = row
  const failed = row.failed ?? (row.answered ? 0 : requests)
  return { ...(key === undefined ? {} : { key }), day, model, provider, requests, failed, cost, input, output, reasoning }
}

/** `<watermark> <day>` and `<watermark> open|<=day|day <key>`: the places of pages in `sqlite-use.ts` and `sqlite-key-use.ts`. */
const PLACE = /^(\d+) (?:(open)|(<=)?(-?\d+))(?: (.*))?$/s

/** @param next the place of the page that comes next. @param start generations from this sequence on are in sums, those below it from the watermark on come last. */
function readUpTo(next: string, start: number): IsRead {
  const place = PLACE.exec(next)
  // The sequence of the last generation that no sum has: all sums were read before.
  if (!place) return ({ seq }) => seq >= start || seq <= Number(next)
  const [, below = '0', open, together, dayText, key = ''] = place
  const [mark, openDay] = [Number(below), Math.floor(Number(below) / TICKS / DAY_MS)]
  const isLeft = (seq: number): boolean => seq >= mark && seq < start
  if (open !== undefined) return (charge) => !isLeft(charge.seq) && charge.day / DAY_MS >= openDay && isUpTo(charge.key, key)
  const day = Number(dayText)
  return (charge) => {
    if (isLeft(charge.seq)) return false
    const at = charge.day / DAY_MS
    if (at > day) return true
    return (together !== undefined || at === day) && isUpTo(charge.key, key)
  }
}

/** As SQLite has texts, which is by their bytes; '' is before all keys. */
const isUpTo = (key: string, last: string): boolean => last !== '' && Buffer.compare(Buffer.from(key), Buffer.from(last)) <= 0
