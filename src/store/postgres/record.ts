/** The store of record on PostgreSQL. */

import { type AuditKeys, NO_AUDIT_KEYS } from '../../core/audit-keys.ts'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { MAX_AHEAD, TICKS } from '../../core/ids.ts'
import { readableJson } from '../../core/json.ts'
import { COUNTS } from '../../core/ledger-counts.ts'
import { cutNano } from '../../core/money.ts'
import type { Balance, LeaseAnswer, LeaseAsk, LeaseName, Pulse, PulseReply, SettledRows, StoreOfRecord } from '../record.ts'
import { needsNewer, SCHEMA_VERSION } from '../schema.ts'
import { PostgresAuditLog } from './audit-log.ts'
import { PostgresAuditReaders } from './audit-readers.ts'
import { PostgresByokKeys } from './byok-keys.ts'
import { PostgresCompactionKeys } from './compaction-keys.ts'
import { type ConnectionReport, type Prepared, TIME_LIMITS, type TimeLimits } from './connection.ts'
import { type Connections, closeConnections, openConnections } from './connections.ts'
import { PostgresEvents } from './events.ts'
import { PostgresGivenIds } from './given-ids.ts'
import { PostgresGuardrails } from './guardrails.ts'
import { PostgresKeys } from './keys.ts'
import { PostgresLedger } from './ledger.ts'
import { PostgresLevels } from './levels.ts'
import { type MigrationReport, migrate } from './migrate.ts'
import { PostgresReaders } from './readers.ts'
import { PostgresRefusals } from './refusals.ts'
import { storable, takeName } from './tables.ts'
import { WindowRebuild } from './window-rebuild.ts'

export type PostgresReport = ConnectionReport | MigrationReport

export interface PostgresOptions {
  clock: Clock
  /** Sign the audit log; absent: nothing does. */
  auditKeys?: AuditKeys | undefined
  /** Called when an idle connection is lost. */
  report?: (report: PostgresReport) => void
  /** Default: 2 s for a connection, 5 s for a statement. */
  limits?: TimeLimits | undefined
  /** Milliseconds for which a start waits for older programs to end, where the schema no longer has what they use. Default: 20 s. */
  waitMs?: number
}

/** Generations of one statement; a larger batch is several. */
const MAX_ROWS = 500
/** Leases that are ended in one step: their balances are locked together. */
const MAX_ENDED = 200
/** Milliseconds for which a process that has reported what lies idle is not called on again. */
const QUIET = 1000
/** Milliseconds: younger generations mostly still run, and each that is settled after the watermark has passed it costs a statement of its own. */
const ROLL_AGE = 60_000
/** Rows of each table of sums. */
const MAX_FORGOTTEN = 2_000
const NO_CHANGE = Number.MAX_SAFE_INTEGER

const TAKE = prepared(takeName(), `SELECT headgate_${takeName()}(${numbered(14 + COUNTS.length)})`)
const LEASE = prepared('grant_levels', `CALL headgate_grant_levels(${numbered(13)}, NULL, NULL, NULL, NULL)`)
const GIVE_BACK = prepared('return', `CALL headgate_return(${numbered(5)})`)
const END_LEASES = prepared('end_leases', 'SELECT lost FROM headgate_end_leases($1, $2, $3)')
const NOW = prepared('now', 'SELECT headgate_now() AS moment')
const FORGET_LOST = prepared('forget_lost', 'SELECT lost, freed FROM headgate_forget_lost($1, $2)')
const ROLL = prepared('roll', 'SELECT headgate_roll((headgate_now() - $1) * 4096, $2) AS count')
const ROLL_SESSIONS = prepared('roll_sessions', 'SELECT headgate_roll_sessions((headgate_now() - $1) * 4096, $2) AS count')
const CLOSE_DAYS = prepared('close_days', 'SELECT headgate_close_days($1) AS count')
const FORGET_USE = prepared('forget_use', 'SELECT headgate_forget_use($1, $2) AS count')
const FOLD_CARRIED = prepared('fold_carried', 'SELECT headgate_fold_carried($1) AS count')
/** The time is a subselect: a volatile function is no bound of an index. */
const AHEAD = prepared('ahead', `SELECT max(seq) AS seq FROM generation WHERE seq > (SELECT (headgate_now() + $1) * ${TICKS})`)
const BALANCES = prepared(
  'balances',
  `SELECT key, sum(spent) AS spent, sum(leased) AS leased,
    coalesce(sum(daily) FILTER (WHERE day >= headgate_window('daily', moment)), 0) AS daily,
    coalesce(sum(weekly) FILTER (WHERE week >= headgate_window('weekly', moment)), 0) AS weekly,
    coalesce(sum(monthly) FILTER (WHERE month >= headgate_window('monthly', moment)), 0) AS monthly
  FROM balance_shard, (SELECT headgate_now() AS moment OFFSET 0) AS present WHERE key = ANY ($1) GROUP BY key`,
)
/**
 * A pulse that a crash of the server takes back does no harm, so it waits for no disk. It writes only once a third of the time is over: each
 * write leaves a dead version of the row, which stays as long as a snapshot such as that of `pg_dump`.
 */
const PULSE = prepared(
  'pulse',
  `WITH fast AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true), headgate_now() AS moment
  ), known AS MATERIALIZED (
    SELECT life FROM node, fast WHERE node = $1 AND label = $2 AND schema_version = $5::bigint AND 3 * (expires_at - moment) > 2 * $3::bigint AND expires_at <= moment + $3
  ), alive AS (
    INSERT INTO node (node, label, expires_at, schema_version) SELECT $1::text, $2::text, moment + $3::bigint, $5::bigint FROM fast
      WHERE NOT EXISTS (SELECT 1 FROM known)
    ON CONFLICT (node) DO UPDATE SET label = excluded.label, expires_at = excluded.expires_at, schema_version = excluded.schema_version
      RETURNING life
  )
  SELECT
    (SELECT coalesce(max(number), 0) FROM key_change) AS last,
    (SELECT coalesce(min(number), 1) FROM key_change) AS first,
    (SELECT coalesce(array_agg(DISTINCT hash), '{}') FROM key_change WHERE number > $4) AS changed,
    (SELECT coalesce(array_agg(key ORDER BY key, payer), '{}') FROM lease WHERE node = $1 AND wanted) AS wanted,
    (SELECT coalesce(array_agg(payer ORDER BY key, payer), '{}') FROM lease WHERE node = $1 AND wanted) AS payers,
    (SELECT count(*) + 1 FROM node, fast WHERE node <> $1 AND expires_at > moment) AS nodes,
    (SELECT max(least) FROM headgate_schema) AS least,
    (SELECT life FROM alive UNION ALL SELECT life FROM known) AS life`,
)

interface LeaseRow {
  granted: number
  hold: number | null
  /** The driver leaves arrays of 64-bit integers as texts. */
  lefts: string[]
  waiting: number
}

interface PulseRow {
  last: number
  first: number
  changed: string[]
  wanted: string[]
  payers: string[]
  nodes: number
  least: number
  life: number
}

export class PostgresRecord implements StoreOfRecord {
  readonly keys: PostgresKeys
  readonly ledger: PostgresLedger
  readonly guardrails: PostgresGuardrails
  readonly compactionKeys: PostgresCompactionKeys
  readonly byokKeys: PostgresByokKeys
  readonly levels: PostgresLevels
  readonly readers: PostgresReaders
  readonly events: PostgresEvents
  readonly auditLog: PostgresAuditLog
  readonly auditReaders: PostgresAuditReaders
  readonly refusals: PostgresRefusals
  readonly givenIds: PostgresGivenIds
  private readonly windows: WindowRebuild
  private readonly connections: Connections
  /** The oldest program that works with the database, as the last pulse said. */
  private least = 0

  constructor(connections: Connections, clock: Clock, keys: AuditKeys = NO_AUDIT_KEYS) {
    const pen = { clock, keys }
    this.connections = connections
    this.keys = new PostgresKeys(connections, pen)
    this.readers = new PostgresReaders(connections.readings)
    this.ledger = new PostgresLedger(connections.readings, this.readers, keys)
    this.guardrails = new PostgresGuardrails(connections, pen)
    this.compactionKeys = new PostgresCompactionKeys(connections, pen)
    this.byokKeys = new PostgresByokKeys(connections, pen)
    this.levels = new PostgresLevels(connections, pen)
    this.events = new PostgresEvents(connections, pen)
    this.auditLog = new PostgresAuditLog(connections, pen)
    this.auditReaders = new PostgresAuditReaders(connections, this.auditLog)
    this.refusals = new PostgresRefusals(connections)
    this.givenIds = new PostgresGivenIds(connections)
    this.windows = new WindowRebuild({ connection: connections.readings, readers: this.readers, sums: this.ledger.sums })
  }

  /** For leases and rows: with a database that has been migrated beyond it this program does nothing more. @throws Fault `unavailable`. */
  private get money(): Connections['money'] {
    this.checkLeast()
    return this.connections.money
  }

  private checkLeast(): void {
    if (this.least > SCHEMA_VERSION) throw new Fault('unavailable', { message: `The database of store.url ${needsNewer(this.least)}` })
  }

  async take(node: string, rows: readonly SettledRows[]): Promise<void> {
    for (let from = 0; from < rows.length; from += MAX_ROWS)
      await this.money.call(TAKE, [node, ...rowColumns(rows.slice(from, from + MAX_ROWS))])
  }

  async lease(node: string, { key, payer = '', ask, allowances, idle, more, recallsFirst, turn }: LeaseAsk): Promise<LeaseAnswer> {
    const limits = allowances.map(({ limit }) => limit)
    const resets = allowances.map(({ limitReset }) => limitReset ?? null)
    const levels = allowances.map(({ level = 0 }) => level)
    const values = [node, key, payer, ask.full, ask.floor, idle, more, limits, resets, levels, recallsFirst, QUIET, turn]
    const [row] = await this.money.call<LeaseRow>(LEASE, values)
    if (!row) throw new TypeError('expected one row of a lease')
    return { granted: row.granted, hold: row.hold, lefts: row.lefts.map(Number), waitingFor: row.waiting }
  }

  async giveBack(node: string, { key, payer = '' }: LeaseName, amount: number | 'all', turn: number): Promise<void> {
    await this.money.call(GIVE_BACK, [node, key, payer, amount === 'all' ? null : amount, turn])
  }

  async endLeases(node: string): Promise<void> {
    const [present] = await this.money.call<{ moment: number }>(NOW, [])
    const until = present?.moment ?? 0
    while ((await this.money.call(END_LEASES, [node, until, MAX_ENDED])).length > 0);
  }

  async pulse({ node, label, expiry, cursor }: Pulse): Promise<PulseReply> {
    const seen = cursor !== undefined && /^\d{1,15}$/.test(cursor) ? Number(cursor) : undefined
    const values = [node, label, Math.ceil(expiry), seen ?? NO_CHANGE, SCHEMA_VERSION]
    const [row] = await this.connections.money.call<PulseRow>(PULSE, values)
    if (!row) throw new TypeError('expected one row of a pulse')
    this.least = row.least
    this.checkLeast()
    const { last, first, changed, nodes, life } = row
    const wanted = row.wanted.map((key, index) => ({ key, payer: row.payers[index] || undefined }))
    // Changes were dropped since, or the database was set back: it is unknown what was missed.
    const known = seen !== undefined && seen <= last && seen >= first - 1
    return { cursor: String(last), changed: known ? changed : undefined, wanted, nodes, life }
  }

  async balances(keys: readonly string[]): Promise<Balance[]> {
    const rows = await this.connections.lookUps.call<Omit<Balance, 'leased'> & { leased: bigint }>(BALANCES, [keys])
    const found = new Map(rows.map((row) => [row.key, { ...row, leased: cutNano(row.leased) }]))
    return keys.map((key) => found.get(key) ?? { key, spent: 0n, daily: 0n, weekly: 0n, monthly: 0n, leased: 0 })
  }

  spentByAll(): Promise<bigint> {
    return this.ledger.sums.spentByAll()
  }

  /** Computes windows anew that a clock which was ahead has opened. @returns the keys for which it was done. @throws Fault `unavailable`. */
  rebuildWindows(): Promise<number> {
    return this.windows.run()
  }

  /** Milliseconds since the epoch: admission of the last generation that is dated more than a minute ahead of the database's clock. */
  async latestAhead(): Promise<number | undefined> {
    const [row] = await this.connections.readings.call<{ seq: number | null }>(AHEAD, [MAX_AHEAD])
    return row?.seq == null ? undefined : Math.floor(row.seq / TICKS)
  }

  async forgetLost(grace: number): Promise<ReadonlyMap<string, number>> {
    const freed = new Map<string, number>()
    for (;;) {
      const rows = await this.money.call<{ lost: string; freed: bigint }>(FORGET_LOST, [Math.ceil(grace), MAX_ENDED])
      if (rows.length === 0) return freed
      for (const row of rows) freed.set(row.lost, (freed.get(row.lost) ?? 0) + cutNano(row.freed))
    }
  }

  /** See `PostgresLedger.prune`. */
  async prune(before: number, most: number, age = 0): Promise<number> {
    // What goes has to be in the sums of use.
    await this.addUse(age, most)
    return this.ledger.prune(before, most, age)
  }

  /** Adds the next generations to the sums of use, and closes days, see `rollup-functions.ts`. The database's clock says which are old enough. */
  async roll(_now: number, most: number): Promise<number> {
    const rolled = await this.addUse(ROLL_AGE, most)
    if (rolled >= most) return rolled
    const [row] = await this.connections.readings.call<{ count: number }>(ROLL_SESSIONS, [ROLL_AGE, most])
    const sessions = row?.count ?? 0
    if (sessions >= most) return sessions
    const [closed] = await this.connections.readings.call<{ count: number }>(CLOSE_DAYS, [most])
    if (closed && closed.count >= most) return closed.count
    const [folded] = await this.connections.readings.call<{ count: number }>(FOLD_CARRIED, [most])
    return folded?.count ?? 0
  }

  /** Removes the oldest sums of use. @returns whether there were some before the moment. */
  async forgetUse(before: number): Promise<boolean> {
    const [row] = await this.connections.readings.call<{ count: number }>(FORGET_USE, [Math.floor(before), MAX_FORGOTTEN])
    return (row?.count ?? 0) > 0
  }

  private async addUse(age: number, most: number): Promise<number> {
    const [row] = await this.connections.readings.call<{ count: number }>(ROLL, [Math.ceil(age), most])
    return row?.count ?? 0
  }

  async close(): Promise<void> {
    await closeConnections(this.connections)
  }
}

/** In the order of the function's parameters. */
function rowColumns(rows: readonly SettledRows[]): unknown[][] {
  return [
    rows.map(({ hold }) => hold.seq),
    rows.map(({ hold }) => hold.tag),
    rows.map(({ hold }) => storable(hold.key)),
    rows.map(({ hold }) => storable(hold.payer ?? '')),
    rows.map(({ hold }) => storable(hold.model)),
    rows.map(({ hold }) => storable(hold.endpoint)),
    rows.map(({ hold }) => hold.hold),
    rows.map(({ hold }) => hold.floor),
    rows.map(({ settled }) => settled.status),
    rows.map(({ settled }) => settled.cost),
    ...COUNTS.map(({ count }) => rows.map(({ settled }) => settled[count] ?? 0)),
    rows.map(({ settled }) => settled.estimated),
    rows.map(({ settled }) => readableJson(storable(settled.facts))),
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
 * Of the query string, `pool` is the number of connections for money (1 to 64, default 4); `sslmode` is `disable`, `no-verify`, or
 * any other for a checked certificate.
 * @throws Fault `bad_request` for a URL that is none, `unavailable` where the database does not answer or is newer.
 */
export async function openPostgres(
  url: string,
  { clock, report = () => {}, limits = TIME_LIMITS, waitMs, auditKeys = NO_AUDIT_KEYS }: PostgresOptions,
): Promise<PostgresRecord> {
  await migrate(url, { limits, report, waitMs })
  return new PostgresRecord(openConnections(url, report, limits), clock, auditKeys)
}
