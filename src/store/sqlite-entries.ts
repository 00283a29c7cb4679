/** Entries of the ledger in the embedded store. */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { GATEWAY_ORIGIN, type Origin } from '../core/audit-entries.ts'
import {
  ENTRY_KINDS,
  type EntryKind,
  type EntryRefusal,
  entryLosses,
  entryMove,
  type LedgerEntry,
  type Move,
  movedBy,
  type NewEntry,
  refuseEntry,
} from '../core/ledger-entries.ts'
import { chargedAccounts, HAS_PAYER } from '../core/payers.ts'
import { type ChargeQuery, MAX_CHARGE_ENTRIES, refuseTooMany } from '../ledger/charge-sums.ts'
import type { EntryQuery, EntrySum, LocalEntries } from '../ledger/entries.ts'
import type { HoldRow, LedgerPart, SessionMove, SessionQuery, SettleRow } from '../ledger/types.ts'
import { entryAudit } from './audited-changes.ts'
import { DAY_MS, NANO, TICKS } from './rows.ts'
import { atOnce, bigInteger, integer, Statements, text } from './sqlite.ts'
import { SqliteAuditLog } from './sqlite-audit-log.ts'
import { fact } from './use-facts.ts'

const ADD = `INSERT INTO ledger_entry (number, id, at, key, payer, seq, tag, model, provider, kind, amount, counted_at, settles, actor, reason, once)
  SELECT ifnull(max(number), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM ledger_entry WHERE true ON CONFLICT DO NOTHING`
const ONCE = 'SELECT * FROM ledger_entry WHERE once = ?'
const BY_ID = 'SELECT * FROM ledger_entry WHERE id = ?'
const SETTLED = 'SELECT ifnull(sum(amount), 0) AS amount FROM ledger_entry WHERE settles = ?'
/** Sums of 64 bits would end at 9 billion dollars, so dollars and the rest are summed apart. */
const summed = (column: string): string => `sum(${column} / ${NANO}) AS dollars, sum(${column} % ${NANO}) AS nano`
const OF_KEYS = '(?1 = 0 OR e.key IN (SELECT value FROM json_each(?2)))'
const SUMS = `SELECT e.key, e.kind, ${summed('e.amount')} FROM ledger_entry e WHERE ${OF_KEYS} GROUP BY e.key, e.kind`
const SETTLED_SUMS = `SELECT e.key, e.kind, ${summed('s.amount')} FROM ledger_entry s JOIN ledger_entry e ON e.id = s.settles
  WHERE s.settles IS NOT NULL AND ${OF_KEYS} GROUP BY e.key, e.kind`
const MOVES = 'SELECT * FROM ledger_entry WHERE counted_at > 0 AND counted_at >= ? AND counted_at < ?'
/** As `isCharged` has it. A write-off moves nothing, so that it counts when it was made. */
const CHARGED = `SELECT * FROM ledger_entry WHERE (counted_at > 0 AND counted_at >= ?1 AND counted_at < ?2 AND kind IN ('correction', 'refund'))
  OR (kind = 'write_off' AND at >= ?1 AND at < ?2) ORDER BY number LIMIT ${MAX_CHARGE_ENTRIES + 1}`
/**
 * A move counts no earlier than the charge that it is about, and a charge no earlier than the admission of its generation: the index of what
 * counts finds those of a period. A day is left for clocks that were set back in between.
 */
const MOVES_OF_SESSIONS = `SELECT e.key, ${fact('session_id', "''")} AS session, e.kind, e.amount
  FROM ledger_entry e JOIN settlement s ON s.seq = e.seq
  WHERE e.counted_at > 0 AND e.counted_at >= ?1 AND e.seq >= ?2 AND e.seq < ?3 AND (?4 IS NULL OR e.key IN (SELECT value FROM json_each(?4)))`
/** Keeps the moves of entries in the sums carried over, where each process reads them when it starts and for its windows. */
const CARRY = `INSERT INTO carried (key, payer, day, count, dollars, nano) VALUES (?, ?, ?, 0, ?, ?)
  ON CONFLICT (key, payer, day) DO UPDATE SET dollars = dollars + excluded.dollars + (nano + excluded.nano) / ${NANO},
    nano = (nano + excluded.nano) % ${NANO}`

/** Rows of a part of the ledger; its values are those of `partValues`. */
export const inPart = (key: string, payer: string): string => `(${key} IN (SELECT value FROM json_each(?)) OR ${HAS_PAYER.sqlite(payer)})`
export const partValues = ({ keys, account }: LedgerPart): [string, string] => [JSON.stringify(keys), account]

type Row = Record<string, SQLOutputValue>

export class SqliteEntries implements LocalEntries {
  moved: LocalEntries['moved']
  spent: LocalEntries['spent']
  private readonly db: DatabaseSync
  private readonly statements: Statements
  private readonly written: () => void
  private readonly audit: SqliteAuditLog

  /** @param written is called after a transaction of its own. */
  constructor(db: DatabaseSync, written: () => void, audit = new SqliteAuditLog(db)) {
    this.db = db
    this.audit = audit
    this.statements = new Statements(db)
    this.written = written
  }

  /** Makes the entries of a settlement, within the caller's transaction. */
  settled(row: SettleRow, find: () => HoldRow | undefined): void {
    for (const entry of entryLosses(row, find)) this.insert(entry)
  }

  /** One that is there already stays. */
  private insert(entry: NewEntry): void {
    const { id, at, key, payer, generation, model, provider, kind, amount, countedAt, settles, actor, reason, once } = entry
    const { seq, tag } = generation ?? { seq: 0, tag: '' }
    const names = [id, Math.floor(at), key, payer ?? '', seq, tag, model, provider, kind, amount, countedAt, settles ?? null, actor, reason]
    this.statements.of(ADD).run(...names, once ?? null)
  }

  add(entry: NewEntry, by: Origin = GATEWAY_ORIGIN): LedgerEntry | EntryRefusal {
    const known = entry.once === undefined ? undefined : this.statements.of(ONCE).get(entry.once)
    if (known) return entryFrom(known)
    const of = entry.settles === undefined ? undefined : this.statements.of(BY_ID).get(entry.settles)
    const settled = of && { amount: integer(of.amount), already: integer(this.statements.of(SETTLED).get(text(of.id))?.amount) }
    const spent = chargedAccounts(entry).map((account) => this.spent?.(account) ?? 0n)
    const refusal = refuseEntry(entry, { settled, spent })
    if (refusal) return refusal
    const nano = movedBy(entry)
    atOnce(this.db, () => {
      this.insert(entry)
      this.audit.append(entryAudit(entry, by), entry.at)
      if (nano === 0) return
      const dollars = Math.floor(nano / NANO)
      const day = Math.floor(entry.countedAt / DAY_MS)
      this.statements.of(CARRY).run(entry.key, entry.payer ?? '', day, dollars, nano - dollars * NANO)
    })
    this.written()
    const added = entryFrom(this.statements.of(BY_ID).get(entry.id) ?? {})
    const move = entryMove(added)
    if (move) this.moved?.(move)
    return added
  }

  page({ after, newestFirst = false, limit, key, kind, id, generation, within }: EntryQuery): LedgerEntry[] {
    const filters: [string, string | number | undefined][] = [
      [newestFirst ? 'number <' : 'number >', after === 0 ? undefined : after],
      ['key =', key],
      ['kind =', kind],
      ['id =', id],
      ['seq =', generation?.seq],
      ['tag =', generation?.tag],
    ]
    // Only what is sought is named, so that an index is used where there is one.
    const given = filters.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]))
    const conditions = [...given.map(({ name }) => `${name} ?`), ...(within ? [inPart('key', 'payer')] : [])]
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
    const page = `SELECT * FROM ledger_entry ${where} ORDER BY number ${newestFirst ? 'DESC' : 'ASC'} LIMIT ?`
    return this.statements
      .of(page)
      .all(...given.map(({ value }) => value), ...(within ? partValues(within) : []), limit)
      .map(entryFrom)
  }

  sums(keys?: readonly string[]): EntrySum[] {
    const given = [keys ? 1 : 0, JSON.stringify(keys ?? [])] as const
    const settled = new Map(this.read(SETTLED_SUMS, given).map((sum) => [`${sum.kind} ${sum.key}`, sum.amount]))
    return this.read(SUMS, given).map((sum) => ({ ...sum, settled: settled.get(`${sum.kind} ${sum.key}`) ?? 0n }))
  }

  moves(from: number, until: number): Move[] {
    return this.statements
      .of(MOVES)
      .all(from, Math.min(until, Number.MAX_SAFE_INTEGER))
      .flatMap((row) => entryMove(entryFrom(row)) ?? [])
  }

  /** See `ChargeStatement.entries`. @throws Fault 400 where there are too many. */
  charged(query: Pick<ChargeQuery, 'from' | 'until'>): LedgerEntry[] {
    const { from, until } = query
    const found = this.statements.of(CHARGED).all(from, until).map(entryFrom)
    if (found.length > MAX_CHARGE_ENTRIES) refuseTooMany('entries', MAX_CHARGE_ENTRIES)
    return found
  }

  /** See `LedgerReader.sessionMoves`. */
  sessionMoves({ from, until, keys, session }: SessionQuery): SessionMove[] {
    const [first, end] = [Math.max(0, Math.ceil(from * TICKS)), until * TICKS]
    return this.statements
      .of(MOVES_OF_SESSIONS)
      .all(from - DAY_MS, first, end, keys ? JSON.stringify(keys) : null)
      .map((row) => ({
        key: text(row.key),
        session: text(row.session),
        nano: movedBy({ kind: parseKind(row.kind), amount: integer(row.amount) }),
      }))
      .filter((move) => move.session !== '' && (session === undefined || move.session === session))
  }

  /** Of a journal whose rows are forwarded: the record makes the entries of its own. */
  forget(): void {
    this.statements.of('DELETE FROM ledger_entry').run()
  }

  private read(sql: string, given: readonly [number, string]): { key: string; kind: EntryKind; amount: bigint }[] {
    const statement = this.db.prepare(sql)
    statement.setReadBigInts(true)
    return statement.all(...given).map((row) => ({
      key: text(row.key),
      kind: parseKind(row.kind),
      amount: bigInteger(row.dollars) * BigInt(NANO) + bigInteger(row.nano),
    }))
  }
}

function parseKind(value: unknown): EntryKind {
  const kind = ENTRY_KINDS.find((each) => each === value)
  if (!kind) throw new TypeError('expected a kind of entry')
  return kind
}

function entryFrom(row: Row): LedgerEntry {
  const seq = integer(row.seq)
  return {
    id: text(row.id),
    number: integer(row.number),
    at: integer(row.at),
    key: text(row.key),
    payer: text(row.payer) || undefined,
    generation: seq > 0 ? { seq, tag: text(row.tag) } : undefined,
    model: text(row.model),
    provider: text(row.provider),
    kind: parseKind(row.kind),
    amount: integer(row.amount),
    countedAt: integer(row.counted_at),
    settles: row.settles === null ? undefined : text(row.settles),
    actor: text(row.actor),
    reason: text(row.reason),
    once: row.once === null ? undefined : text(row.once),
  }
}
