/** Levels of organisations in the embedded store. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { GATEWAY_ORIGIN, type Origin } from '../core/audit-entries.ts'
import { Fault } from '../core/faults.ts'
import { type Level, levelHandle } from '../core/levels.ts'
import { levelAudit } from './audited-changes.ts'
import { isDefaultLevel, readLevel } from './level-rows.ts'
import type { LevelChanges, LevelRemoved, LevelStore, LevelWritten } from './levels.ts'
import { atOnce, integer, text } from './sqlite.ts'
import { SqliteAuditLog } from './sqlite-audit-log.ts'

const LAST = 'SELECT coalesce(max(change), 0) AS last FROM level'
const SINCE = 'SELECT * FROM level WHERE change > ? ORDER BY change LIMIT ?'
const ONE = 'SELECT * FROM level WHERE id = ? AND removed_at IS NULL'
const TAKEN = 'SELECT 1 FROM level WHERE handle = ? AND id <> ?'
const CHILDREN = 'SELECT * FROM level WHERE parent = ? AND removed_at IS NULL ORDER BY created_at, id'
const PUT = `INSERT INTO level (id, version, kind, parent, handle, fields, created_at, updated_at, change, removed_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(change), 0) + 1 FROM level), NULL)
  ON CONFLICT (id) DO UPDATE SET version = excluded.version, handle = excluded.handle, fields = excluded.fields,
    created_at = excluded.created_at, updated_at = excluded.updated_at, change = excluded.change, removed_at = NULL`
const REMOVE = `UPDATE level SET handle = NULL, fields = '', removed_at = ?, change = (SELECT max(change) + 1 FROM level) WHERE id = ?`

type Row = NonNullable<ReturnType<StatementSync['get']>>

export class SqliteLevels implements LevelStore {
  private readonly db: DatabaseSync
  private readonly audit: SqliteAuditLog

  constructor(db: DatabaseSync, audit = new SqliteAuditLog(db)) {
    this.db = db
    this.audit = audit
  }

  since(change: number, most: number): LevelChanges {
    return this.run(() => {
      const { last } = this.db.prepare(LAST).get() ?? {}
      return { last: integer(last ?? 0), rows: this.db.prepare(SINCE).all(change, most).map(rowFrom).map(readLevel) }
    })
  }

  put(level: Level, seen: number, by: Origin = GATEWAY_ORIGIN): LevelWritten {
    const { id, version, kind, parent, createdAt, updatedAt } = level
    const handle = levelHandle(level)
    return this.run(() =>
      atOnce(this.db, () => {
        const before = this.find(id)
        if ((before?.version ?? 0) !== seen) return 'changed'
        if (parent !== null && !isDefaultLevel(parent) && !this.find(parent)) return 'orphan'
        if (this.db.prepare(TAKEN).get(handle, id)) return 'taken'
        this.db.prepare(PUT).run(id, version, kind, parent, handle, JSON.stringify(level.fields), createdAt, updatedAt)
        this.audit.append(levelAudit(before, level, by))
        return 'written'
      }),
    )
  }

  remove(id: string, at: number, by: Origin = GATEWAY_ORIGIN): LevelRemoved {
    return this.run(() =>
      atOnce(this.db, () => {
        const level = this.find(id)
        if (!level) return 'missing'
        const below = this.db.prepare(CHILDREN).all(id).map(rowFrom).map(readLevel)
        if (below.some(({ kind }) => kind !== 'member')) return 'occupied'
        const remove = this.db.prepare(REMOVE)
        for (const each of [...below, level]) {
          remove.run(at, each.id)
          this.audit.append(levelAudit(each, undefined, by))
        }
        return 'removed'
      }),
    )
  }

  private find(id: string): Level | undefined {
    const row = this.db.prepare(ONE).get(id)
    return row ? readLevel(rowFrom(row)) : undefined
  }

  /** @throws Fault `unavailable`. */
  private run<T>(work: () => T): T {
    try {
      return work()
    } catch (cause) {
      throw new Fault('unavailable', { message: 'The store of organizations and workspaces cannot be used', cause })
    }
  }
}

function rowFrom(row: Row) {
  const moment = (value: Row[string] = null): number | null => (value === null ? null : integer(value))
  return {
    id: text(row.id),
    version: integer(row.version),
    kind: text(row.kind),
    parent: row.parent === null ? null : text(row.parent),
    fields: text(row.fields),
    created_at: integer(row.created_at),
    updated_at: moment(row.updated_at),
    change: integer(row.change),
    removed_at: moment(row.removed_at),
  }
}
