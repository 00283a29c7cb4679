/** Keys of providers that teams have brought, in the embedded store. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { GATEWAY_ORIGIN, type Origin } from '../core/audit-entries.ts'
import { Fault } from '../core/faults.ts'
import { byokKeyAudit } from './audited-changes.ts'
import type { ByokKeyStore, ByokTerms, StoredByokKey } from './byok-keys.ts'
import { atOnce, integer, text } from './sqlite.ts'
import { SqliteAuditLog } from './sqlite-audit-log.ts'

const ALL = 'SELECT * FROM byok_key ORDER BY created_at, id'
const ONE = 'SELECT * FROM byok_key WHERE id = ?'
const INSERT = `INSERT INTO byok_key (id, version, provider, encrypted, terms, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO NOTHING`
const UPDATE = 'UPDATE byok_key SET version = ?, encrypted = ?, terms = ?, updated_at = ? WHERE id = ? AND version = ?'
const REWRAP = 'UPDATE byok_key SET encrypted = ? WHERE id = ? AND encrypted = ?'
const REMOVE = 'DELETE FROM byok_key WHERE id = ? RETURNING *'

export class SqliteByokKeys implements ByokKeyStore {
  private readonly db: DatabaseSync
  private readonly audit: SqliteAuditLog

  constructor(db: DatabaseSync, audit = new SqliteAuditLog(db)) {
    this.db = db
    this.audit = audit
  }

  all(): StoredByokKey[] {
    return this.run(() => this.db.prepare(ALL).all().map(keyFrom))
  }

  put(key: StoredByokKey, seen: number, by: Origin = GATEWAY_ORIGIN): boolean {
    const { id, version, provider, encrypted, createdAt, updatedAt } = key
    const terms = JSON.stringify(key.terms)
    return this.erasing(() => {
      const found = this.db.prepare(ONE).get(id)
      const { changes } =
        seen === 0
          ? this.db.prepare(INSERT).run(id, version, provider, encrypted, terms, createdAt, updatedAt)
          : this.db.prepare(UPDATE).run(version, encrypted, terms, updatedAt, id, seen)
      if (changes !== 1) return false
      this.audit.append(byokKeyAudit(found && keyFrom(found), key, by))
      return true
    })
  }

  rewrap(id: string, from: string, to: string, by: Origin = GATEWAY_ORIGIN): boolean {
    return this.erasing(() => {
      const isWritten = this.db.prepare(REWRAP).run(to, id, from).changes === 1
      if (isWritten) this.audit.append([{ ...by, action: 'byok_key.rewrapped', subject: id, before: null, after: null }])
      return isWritten
    })
  }

  remove(id: string, by: Origin = GATEWAY_ORIGIN): boolean {
    return this.erasing(() => {
      const gone = this.db.prepare(REMOVE).get(id)
      if (gone) this.audit.append(byokKeyAudit(keyFrom(gone), undefined, by))
      return gone !== undefined
    })
  }

  /** Pages of the file must not keep a former value in their free space (sqlite.org/pragma.html, "secure_delete"). */
  private erasing<T>(work: () => T): T {
    return this.run(() => {
      this.db.exec('PRAGMA secure_delete = ON')
      try {
        return atOnce(this.db, work)
      } finally {
        this.db.exec('PRAGMA secure_delete = OFF')
      }
    })
  }

  /** @throws Fault `unavailable`. */
  private run<T>(work: () => T): T {
    try {
      return work()
    } catch (cause) {
      throw new Fault('unavailable', { message: 'The store of keys of providers cannot be used', cause })
    }
  }
}

function keyFrom(row: NonNullable<ReturnType<StatementSync['get']>>): StoredByokKey {
  return {
    id: text(row.id),
    version: integer(row.version),
    provider: text(row.provider),
    encrypted: text(row.encrypted),
    terms: JSON.parse(text(row.terms)) as ByokTerms,
    createdAt: integer(row.created_at),
    updatedAt: row.updated_at === null ? null : integer(row.updated_at),
  }
}
