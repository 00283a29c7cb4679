/** Refused requests in the embedded store. */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { Fault } from '../core/faults.ts'
import { generationMark, NEWEST_REFUSAL, type RefusalDetail, type RefusalQuery, type RefusalRow, type RefusalStore } from './refusals.ts'
import { atOnce, integer, text } from './sqlite.ts'

const PUT = `INSERT INTO refusal (at, id, key, reason, detail) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET detail = excluded.detail`
const PRUNE = `DELETE FROM refusal WHERE (at, id) IN (SELECT at, id FROM refusal WHERE at < ? ORDER BY at, id LIMIT ?)`
const KEEP = `DELETE FROM refusal WHERE (at, id) IN (SELECT at, id FROM refusal ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?)`

export class SqliteRefusals implements RefusalStore {
  private readonly db: DatabaseSync
  private readonly most: number

  /** @param most rows that are kept; the oldest go first. Default: all. */
  constructor(db: DatabaseSync, most = Number.POSITIVE_INFINITY) {
    this.db = db
    this.most = most
  }

  put(rows: readonly RefusalRow[]): void {
    this.write(() => {
      const statement = this.db.prepare(PUT)
      for (const { at, id, key, reason, detail } of rows) statement.run(at, id, key, reason, JSON.stringify(detail))
      if (this.most !== Number.POSITIVE_INFINITY) this.db.prepare(KEEP).run(this.most)
    })
  }

  /** The conditions are written out, so that SQLite finds the index of each. */
  list({ since, key, keys, reason, generation, after = NEWEST_REFUSAL, limit }: RefusalQuery): RefusalRow[] {
    const wanted = ['at >= ?', '(at, id) < (?, ?)']
    const values: (string | number)[] = [since, after.at, after.id]
    const add = (condition: string, value: string | undefined): void => {
      if (value === undefined) return
      wanted.push(condition)
      values.push(value)
    }
    add('key = ?', key)
    add('key IN (SELECT value FROM json_each(?))', keys && JSON.stringify(keys))
    add('reason = ?', reason)
    add('instr(detail, ?) > 0', generation === undefined ? undefined : generationMark(generation))
    const statement = `SELECT * FROM refusal WHERE ${wanted.join(' AND ')} ORDER BY at DESC, id DESC LIMIT ?`
    return this.db
      .prepare(statement)
      .all(...values, limit)
      .map(rowFrom)
  }

  prune(before: number, most: number): number {
    return this.write(() => Number(this.db.prepare(PRUNE).run(before, most).changes))
  }

  /** All or nothing. @throws Fault `unavailable`. */
  private write<T>(work: () => T): T {
    try {
      return atOnce(this.db, work)
    } catch (cause) {
      throw new Fault('unavailable', { message: 'The store of refused requests cannot be written', cause })
    }
  }
}

function rowFrom(row: Record<string, SQLOutputValue>): RefusalRow {
  return {
    at: integer(row.at),
    id: text(row.id),
    key: text(row.key),
    reason: text(row.reason),
    detail: JSON.parse(text(row.detail)) as RefusalDetail,
  }
}
