/** The audit log in the embedded store, whose one owner writes every entry. */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { type AuditHead, type AuditRow, chain, GATEWAY_ORIGIN } from '../core/audit-entries.ts'
import { type AuditKeys, NO_AUDIT_KEYS } from '../core/audit-keys.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import {
  type AuditLogStore,
  type AuditPart,
  type AuditQuery,
  onlyHead,
  placeMarks,
  prunedEntry,
  SIGN_IN_ACTIONS,
  type UntimedEntry,
} from './audit-log.ts'
import { atOnce, integer, Statements, text } from './sqlite.ts'

const HEAD = 'SELECT sequence, hash FROM audit_head'
const ADD = 'INSERT INTO audit_entry (sequence, at, actor, action, subject, entry, hash) VALUES (?, ?, ?, ?, ?, ?, ?)'
const ADVANCE = 'UPDATE audit_head SET sequence = ?, hash = ?'
const OLDEST = 'SELECT sequence, at, hash FROM audit_entry WHERE sequence < ? ORDER BY sequence LIMIT ?'
const REMOVE = 'DELETE FROM audit_entry WHERE sequence <= ?'

/** See `AuditPart`. */
const IN_PART = `(subject IN (SELECT value FROM json_each(?))
  OR (action IN (${SIGN_IN_ACTIONS.map((action) => `'${action}'`).join(', ')}) AND actor IN (SELECT value FROM json_each(?)))
  OR EXISTS (SELECT 1 FROM json_each(?) AS mark WHERE instr(entry, mark.value) > 0))`
const partValues = ({ subjects, actors, levels }: AuditPart): string[] =>
  [subjects, actors, levels.flatMap(placeMarks)].map((each) => JSON.stringify(each))

export interface SqliteAuditLogOptions {
  readonly clock?: Pick<Clock, 'now'>
  readonly keys?: AuditKeys | undefined
  /** Entries that are kept; the oldest go first. Default: all. */
  readonly most?: number | undefined
}

/** Entries beyond those that are kept, until all of these go at once. */
const SURPLUS = 1_000

export class SqliteAuditLog implements AuditLogStore {
  private readonly db: DatabaseSync
  private readonly clock: Pick<Clock, 'now'>
  private readonly statements: Statements
  private readonly keys: AuditKeys
  private readonly most: number
  /** Sequence of the last entry that was removed for want of room. */
  private removed = 0

  constructor(
    db: DatabaseSync,
    { clock = systemClock, keys = NO_AUDIT_KEYS, most = Number.POSITIVE_INFINITY }: SqliteAuditLogOptions = {},
  ) {
    this.db = db
    this.clock = clock
    this.keys = keys
    this.statements = new Statements(db)
    this.most = most
  }

  /**
   * Adds entries within the caller's transaction: what they describe is committed with them, or not at all.
   * @param moment milliseconds since the epoch; absent: now. @throws what SQLite throws.
   */
  append(entries: readonly UntimedEntry[], moment = this.clock.now()): void {
    if (entries.length === 0) return
    const at = Math.floor(moment)
    const rows = chain(
      this.last(),
      entries.map((entry) => ({ ...entry, at })),
      this.keys.current,
    )
    const add = this.statements.of(ADD)
    for (const { sequence, at, actor, action, subject, entry, hash } of rows) add.run(sequence, at, actor, action, subject, entry, hash)
    const end = rows.at(-1)
    if (!end) return
    this.statements.of(ADVANCE).run(end.sequence, end.hash)
    if (end.sequence - this.removed <= this.most + SURPLUS) return
    this.removed = end.sequence - this.most
    this.removeBehind(this.removed)
  }

  add(entries: readonly UntimedEntry[]): void {
    this.write(() => this.append(entries))
  }

  page({ after, newestFirst = false, limit, actor, action, subject, since, until, within }: AuditQuery): AuditRow[] {
    const filters: [string, string | number | undefined][] = [
      [newestFirst ? 'sequence <' : 'sequence >', after === 0 ? undefined : after],
      ['actor =', actor],
      ['action =', action],
      ['subject =', subject],
      ['at >=', since],
      ['at <', until],
    ]
    // Only what is sought is named, so that an index is used where there is one.
    const given = filters.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]))
    const conditions = [...given.map(({ name }) => `${name} ?`), ...(within ? [IN_PART] : [])]
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
    const values = [...given.map(({ value }) => value), ...(within ? partValues(within) : [])]
    const statement = `SELECT * FROM audit_entry ${where} ORDER BY sequence ${newestFirst ? 'DESC' : 'ASC'} LIMIT ?`
    return this.read(() => this.statements.of(statement).all(...values, limit)).map(rowFrom)
  }

  head(): AuditHead {
    return this.read(() => this.last())
  }

  prune(before: number, most: number): number {
    return this.write(() => {
      const oldest = this.statements.of(OLDEST).all(this.last().sequence, most)
      const younger = oldest.findIndex(({ at }) => integer(at) >= before)
      const last = oldest.at(younger === -1 ? -1 : younger - 1)
      if (younger === 0 || !last) return 0
      return this.removeBehind(integer(last.sequence))
    })
  }

  /** Within a transaction. @returns how many were removed. */
  private removeBehind(sequence: number): number {
    const last = this.statements.of('SELECT sequence, hash FROM audit_entry WHERE sequence = ?').get(sequence)
    if (!last) return 0
    const count = Number(this.statements.of(REMOVE).run(sequence).changes)
    this.append([{ ...GATEWAY_ORIGIN, ...prunedEntry(headFrom(last), count) }])
    return count
  }

  /** @throws Fault where the end of the chain is not stated, or twice: then nothing may be added. */
  private last(): AuditHead {
    return onlyHead(this.statements.of(HEAD).all().map(headFrom))
  }

  private write<T>(work: () => T): T {
    try {
      return atOnce(this.db, work)
    } catch (cause) {
      if (cause instanceof Fault) throw cause
      throw new Fault('unavailable', { message: 'The audit log cannot be written', cause })
    }
  }

  private read<T>(work: () => T): T {
    try {
      return work()
    } catch (cause) {
      if (cause instanceof Fault) throw cause
      throw new Fault('unavailable', { message: 'The audit log cannot be read', cause })
    }
  }
}

type Row = Record<string, SQLOutputValue>

const headFrom = (row: Row): AuditHead => ({ sequence: integer(row.sequence), hash: text(row.hash) })

function rowFrom(row: Row): AuditRow {
  return {
    ...headFrom(row),
    at: integer(row.at),
    actor: text(row.actor),
    action: text(row.action),
    subject: text(row.subject),
    entry: text(row.entry),
  }
}
