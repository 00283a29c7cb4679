/** The store of record on PostgreSQL. */
import type { Clock } from '../../core/clock.ts'
import type { Balance, LeaseAnswer, LeaseAsk, Pulse, PulseReply, SettledRows, StoreOfRecord } from '../record.ts'
import { Connection, type ConnectionNews, type Prepared, TIME_LIMITS, type TimeLimits } from './connection.ts'
import { PostgresGuardrails } from './guardrails.ts'
import { PostgresKeys } from './keys.ts'
import { PostgresLedger } from './ledger.ts'
import { migrate } from './migrate.ts'
import { storable } from './tables.ts'

export type PostgresNews = ConnectionNews

export interface PostgresOptions {
  clock: Clock
  /** Told when a connection that nobody was using is lost. */
  report?: (news: PostgresNews) => void
  /** Default: 2 s for a connection, 5 s for a statement. */
  limits?: TimeLimits
}

/** Generations of one statement; a larger batch is several. */
const MOST_ROWS = 500
/** Milliseconds for which a process that said what lies idle is not asked again. */
const QUIET = 1000
const NO_CHANGE = Number.MAX_SAFE_INTEGER

const CAP = Number.MAX_SAFE_INTEGER
const TAKE = prepared('take', `SELECT headgate_take(${numbered(19)})`)
const LEASE = prepared('lease', `SELECT granted, remaining, waiting FROM headgate_lease(${numbered(9)})`)
const GIVE_BACK = prepared('give_back', `SELECT headgate_give_back(${numbered(5)})`)
/** Key by key, in the order in which every statement that touches several of them locks them. */
const END_LEASES = prepared(
  'end_leases',
  `SELECT headgate_give_back($1, mine.key, NULL, $2, ${CAP}) FROM (SELECT key FROM lease WHERE node = $1 ORDER BY key) AS mine`,
)
const FORGET_LOST = prepared('forget_lost', 'SELECT lost, freed FROM headgate_forget_lost($1)')
const SPENT = prepared('spent', `SELECT least(coalesce(sum(spent), 0), ${CAP})::bigint AS spent FROM balance`)
const BALANCES = prepared(
  'balances',
  `SELECT key, spent, leased,
    CASE WHEN day >= headgate_window('daily', $2) THEN daily ELSE 0 END AS daily,
    CASE WHEN week >= headgate_window('weekly', $2) THEN weekly ELSE 0 END AS weekly,
    CASE WHEN month >= headgate_window('monthly', $2) THEN monthly ELSE 0 END AS monthly
  FROM balance WHERE key = ANY ($1)`,
)
/** A pulse that a crash of the server takes back does no harm, so it waits for no disk. */
const PULSE = prepared(
  'pulse',
  `WITH fast AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true)
  ), alive AS (
    INSERT INTO node (node, label, expires_at) SELECT $1::text, $2::text, $3::bigint FROM fast
    ON CONFLICT (node) DO UPDATE SET label = excluded.label, expires_at = excluded.expires_at
  )
  SELECT
    (SELECT coalesce(max(number), 0) FROM key_change) AS last,
    (SELECT coalesce(min(number), 1) FROM key_change) AS first,
    (SELECT coalesce(array_agg(DISTINCT hash), '{}') FROM key_change WHERE number > $5) AS changed,
    (SELECT coalesce(array_agg(key), '{}') FROM lease WHERE node = $1 AND wanted) AS wanted,
    (SELECT count(*) + 1 FROM node WHERE node <> $1 AND expires_at > $4) AS nodes`,
)

interface PulseRow {
  last: number
  first: number
  changed: string[]
  wanted: string[]
  nodes: number
}

export class PostgresRecord implements StoreOfRecord {
  readonly keys: PostgresKeys
  readonly ledger: PostgresLedger
  readonly guardrails: PostgresGuardrails
  private readonly connection: Connection
  private readonly clock: Clock

  constructor(connection: Connection, clock: Clock) {
    this.connection = connection
    this.clock = clock
    this.keys = new PostgresKeys(connection, clock)
    this.ledger = new PostgresLedger(connection)
    this.guardrails = new PostgresGuardrails(connection)
  }

  async take(node: string, rows: readonly SettledRows[]): Promise<void> {
    for (let from = 0; from < rows.length; from += MOST_ROWS)
      await this.connection.call(TAKE, [node, ...columnsOf(rows.slice(from, from + MOST_ROWS)), this.now()])
  }

  async lease(node: string, { key, need, want, limit, limitReset, turn }: LeaseAsk): Promise<LeaseAnswer> {
    const values = [node, key, need, want, limit, limitReset, this.now(), QUIET, turn]
    const [row] = await this.connection.call<{ granted: number; remaining: number; waiting: number }>(LEASE, values)
    return { granted: row?.granted ?? 0, left: row?.remaining ?? 0, waitingFor: row?.waiting ?? 0 }
  }

  async giveBack(node: string, key: string, amount: number | 'all', turn: number): Promise<void> {
    await this.connection.call(GIVE_BACK, [node, key, amount === 'all' ? null : amount, this.now(), turn])
  }

  async endLeases(node: string): Promise<void> {
    await this.connection.call(END_LEASES, [node, this.now()])
  }

  async pulse({ node, label, expiry, cursor }: Pulse): Promise<PulseReply> {
    const now = this.now()
    const seen = cursor !== undefined && /^\d{1,15}$/.test(cursor) ? Number(cursor) : undefined
    const [row] = await this.connection.call<PulseRow>(PULSE, [node, label, now + Math.ceil(expiry), now, seen ?? NO_CHANGE])
    if (!row) throw new TypeError('expected one row of a pulse')
    const { last, first, changed, wanted, nodes } = row
    // Changes that were dropped since, or a database that was set back: nobody knows what was missed.
    const known = seen !== undefined && seen <= last && seen >= first - 1
    return { cursor: String(last), changed: known ? changed : undefined, wanted, nodes }
  }

  async balances(keys: readonly string[]): Promise<Balance[]> {
    const rows = await this.connection.call<Balance>(BALANCES, [keys, this.now()])
    const found = new Map(rows.map((row) => [row.key, row]))
    return keys.map((key) => found.get(key) ?? { key, spent: 0, daily: 0, weekly: 0, monthly: 0, leased: 0 })
  }

  async spentByAll(): Promise<number> {
    const [row] = await this.connection.call<{ spent: number }>(SPENT, [])
    return row?.spent ?? 0
  }

  async forgetLost(grace: number): Promise<ReadonlyMap<string, number>> {
    const freed = new Map<string, number>()
    for (const row of await this.connection.call<{ lost: string; freed: number }>(FORGET_LOST, [this.now() - Math.ceil(grace)]))
      freed.set(row.lost, (freed.get(row.lost) ?? 0) + row.freed)
    return freed
  }

  /** See `PostgresLedger.prune`. */
  prune(before: number, most: number): Promise<number> {
    return this.ledger.prune(before, most)
  }

  close(): Promise<void> {
    return this.connection.close()
  }

  private now(): number {
    return Math.floor(this.clock.now())
  }
}

/** In the order of the function's parameters. */
function columnsOf(rows: readonly SettledRows[]): unknown[][] {
  return [
    rows.map(({ hold }) => hold.seq),
    rows.map(({ hold }) => hold.tag),
    rows.map(({ hold }) => storable(hold.key)),
    rows.map(({ hold }) => storable(hold.model)),
    rows.map(({ hold }) => storable(hold.endpoint)),
    rows.map(({ hold }) => hold.hold),
    rows.map(({ hold }) => hold.floor),
    rows.map(({ settled }) => settled.status),
    rows.map(({ settled }) => settled.cost),
    rows.map(({ settled }) => settled.input),
    rows.map(({ settled }) => settled.output),
    rows.map(({ settled }) => settled.cached),
    rows.map(({ settled }) => settled.cacheWrite),
    rows.map(({ settled }) => settled.reasoning),
    rows.map(({ settled }) => settled.estimated),
    rows.map(({ settled }) => storable(settled.facts)),
    rows.map(({ settled }) => settled.at),
  ]
}

function prepared(name: string, text: string): Prepared {
  return { name: `headgate_${name}`, text }
}

function numbered(count: number): string {
  return Array.from({ length: count }, (_, index) => `$${index + 1}`).join(', ')
}

/**
 * Opens the store of record that a `postgres://` URL names, and brings its tables up to date.
 * Of the query string, `pool` is the number of connections (1 to 64, default 4); `sslmode` is `disable`, `no-verify`, or
 * any other for a checked certificate.
 * @throws Fault `bad_request` for a URL that is none, `unavailable` where the database does not answer or is newer.
 */
export async function openPostgres(url: string, { clock, report, limits = TIME_LIMITS }: PostgresOptions): Promise<PostgresRecord> {
  await migrate(url, limits)
  return new PostgresRecord(new Connection(url, report ?? (() => {}), limits), clock)
}
