/** Keys that encrypt compaction items: made once in the store of record, numbered, the same for every process of a gateway. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { GATEWAY_ORIGIN, type Origin } from '../core/audit-entries.ts'
import { Fault } from '../core/faults.ts'
import { compactionKeyAudit } from './audited-changes.ts'
import { atOnce, integer, text } from './sqlite.ts'
import { SqliteAuditLog } from './sqlite-audit-log.ts'

export interface CompactionKey {
  /** Items name it. The highest one encrypts, all of them decrypt. */
  readonly number: number
  /** As its maker wrote it. */
  readonly value: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
}

type Maybe<T> = T | Promise<T>

/**
 * Every change is durable when it returns, and is one step with its entry in the audit log, which names who has made it: by default the
 * gateway itself. All of it may throw Fault `unavailable`.
 */
export interface CompactionKeyStore {
  /** All keys, the oldest first; the first one is made where there is none. @param now milliseconds since the epoch. @param first its value. */
  all(now: number, first: string): Maybe<readonly CompactionKey[]>
  /** Makes the next key. @param now milliseconds since the epoch. */
  add(now: number, value: string, by?: Origin): Maybe<CompactionKey>
  /** Writes the value of a key in another way. @returns false where it is not `from`. */
  rewrite(number: number, from: string, to: string): Maybe<boolean>
  /** @returns false where no key has this number, or the newest one has it. */
  remove(number: number, by?: Origin): Maybe<boolean>
}

const FIRST = 'INSERT INTO compaction_key SELECT 1, ?, ? WHERE NOT EXISTS (SELECT 1 FROM compaction_key)'
const NEXT = 'INSERT INTO compaction_key SELECT ifnull(max(number), 0) + 1, ?, ? FROM compaction_key RETURNING *'
const ALL = 'SELECT * FROM compaction_key ORDER BY number'
const REWRITE = 'UPDATE compaction_key SET value = ? WHERE number = ? AND value = ?'
const REMOVE = 'DELETE FROM compaction_key WHERE number = ? AND number < (SELECT max(number) FROM compaction_key)'

export class SqliteCompactionKeys implements CompactionKeyStore {
  private readonly db: DatabaseSync
  private readonly audit: SqliteAuditLog

  constructor(db: DatabaseSync, audit = new SqliteAuditLog(db)) {
    this.db = db
    this.audit = audit
  }

  all(now: number, first: string): CompactionKey[] {
    return this.run(() => {
      const found = this.db.prepare(ALL).all()
      if (found.length > 0) return found.map(keyFrom)
      this.changed(GATEWAY_ORIGIN, () => (this.db.prepare(FIRST).run(first, Math.floor(now)).changes === 1 ? ['created', 1] : undefined))
      return this.db.prepare(ALL).all().map(keyFrom)
    })
  }

  add(now: number, value: string, by: Origin = GATEWAY_ORIGIN): CompactionKey {
    return this.run(() =>
      atOnce(this.db, () => {
        const key = keyFrom(this.db.prepare(NEXT).get(value, Math.floor(now)))
        this.audit.append(compactionKeyAudit('created', key.number, by))
        return key
      }),
    )
  }

  rewrite(number: number, from: string, to: string): boolean {
    return this.run(() => {
      // The page of the file must not keep the former value in its free space (sqlite.org/pragma.html, "secure_delete").
      this.db.exec('PRAGMA secure_delete = ON')
      try {
        const rewrite = () => this.db.prepare(REWRITE).run(to, number, from).changes === 1
        return this.changed(GATEWAY_ORIGIN, () => (rewrite() ? ['rewritten', number] : undefined))
      } finally {
        this.db.exec('PRAGMA secure_delete = OFF')
      }
    })
  }

  remove(number: number, by: Origin = GATEWAY_ORIGIN): boolean {
    const remove = () => this.db.prepare(REMOVE).run(number).changes === 1
    return this.run(() => this.changed(by, () => (remove() ? ['deleted', number] : undefined)))
  }

  /** Runs a change in one transaction with its entry. @returns false where it has changed nothing. */
  private changed(by: Origin, work: () => readonly [verb: 'created' | 'rewritten' | 'deleted', number: number] | undefined): boolean {
    return atOnce(this.db, () => {
      const change = work()
      if (change) this.audit.append(compactionKeyAudit(...change, by))
      return change !== undefined
    })
  }

  /** @throws Fault `unavailable`. */
  private run<T>(work: () => T): T {
    try {
      return work()
    } catch (cause) {
      throw new Fault('unavailable', { message: 'The store of compaction keys cannot be used', cause })
    }
  }
}

function keyFrom(row: ReturnType<StatementSync['get']>): CompactionKey {
  return { number: integer(row?.number), value: text(row?.value), createdAt: integer(row?.created_at) }
}
