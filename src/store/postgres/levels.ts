/** Levels of organisations in PostgreSQL; each change is numbered among those of keys, so that every process receives it. */
import { sql } from 'kysely'
import { GATEWAY_ORIGIN, type Origin } from '../../core/audit-entries.ts'
import { type Level, levelHandle } from '../../core/levels.ts'
import { levelAudit } from '../audited-changes.ts'
import { isDefaultLevel, readLevel } from '../level-rows.ts'
import { LEVELS_CHANGED, type LevelChanges, type LevelRemoved, type LevelStore, type LevelWritten } from '../levels.ts'
import { type AuditPen, appendAudit } from './audit-log.ts'
import type { Prepared, Session } from './connection.ts'
import type { Connections } from './connections.ts'
import { changing, noteChanges } from './keys.ts'
import { LEVEL_COLUMNS, type LevelTable, query, storable } from './tables.ts'

/** All numbers are given under one lock, so that a process that has read one has read all below it. */
const SINCE: Prepared = {
  name: 'headgate_levels_since',
  text: `SELECT ${LEVEL_COLUMNS.join(', ')} FROM level WHERE change > $1 ORDER BY change LIMIT $2`,
}
const LAST = sql<{ last: number }>`select coalesce(max(change), 0) as last from level`
const NEXT = sql<number>`(select coalesce(max(change), 0) + 1 from level)`

export class PostgresLevels implements LevelStore {
  private readonly connections: Pick<Connections, 'changes'>
  private readonly pen: AuditPen

  constructor(connections: Pick<Connections, 'changes'>, pen: AuditPen) {
    this.connections = connections
    this.pen = pen
  }

  /** On the connection of changes: what comes into force must not wait behind what callers read. */
  async since(change: number, most: number): Promise<LevelChanges> {
    const [found] = await this.connections.changes.run(LAST.compile(query))
    const rows = await this.connections.changes.call<LevelTable>(SINCE, [change, most])
    return { last: Number(found?.last ?? 0), rows: rows.map(readLevel) }
  }

  put(level: Level, seen: number, by: Origin = GATEWAY_ORIGIN): Promise<LevelWritten> {
    const { id, version, kind, parent, createdAt, updatedAt } = level
    const handle = storable(levelHandle(level))
    const row = { version, handle, fields: storable(JSON.stringify(level.fields)), updated_at: updatedAt }
    return changing(this.connections.changes, async (session) => {
      const before = await find(session, id)
      if ((before?.version ?? 0) !== seen) return 'changed'
      if (parent !== null && !isDefaultLevel(parent) && !(await find(session, parent))) return 'orphan'
      const taken = await session.run(query.selectFrom('level').select('id').where('handle', '=', handle).where('id', '!=', id).compile())
      if (taken.length > 0) return 'taken'
      const insert = query
        .insertInto('level')
        .values({ ...row, id, kind, parent, created_at: createdAt, removed_at: null, change: NEXT })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ ...row, created_at: createdAt, removed_at: null, change: NEXT }))
      await session.run(insert.compile())
      await this.note(session, [{ before, after: level }], by)
      return 'written'
    })
  }

  remove(id: string, at: number, by: Origin = GATEWAY_ORIGIN): Promise<LevelRemoved> {
    return changing(this.connections.changes, async (session) => {
      const level = await find(session, id)
      if (!level) return 'missing'
      const children = query.selectFrom('level').selectAll().where('parent', '=', id).where('removed_at', 'is', null)
      const below = (await session.run(children.orderBy('created_at').orderBy('id').compile())).map(readLevel)
      if (below.some(({ kind }) => kind !== 'member')) return 'occupied'
      const gone = [...below, level]
      for (const each of gone) {
        const row = { handle: null, fields: '', removed_at: at, change: NEXT }
        await session.run(query.updateTable('level').set(row).where('id', '=', each.id).compile())
      }
      await this.note(
        session,
        gone.map((before) => ({ before, after: undefined })),
        by,
      )
      return 'removed'
    })
  }

  private async note(session: Session, changes: readonly LevelChange[], by: Origin): Promise<void> {
    await noteChanges(session, [LEVELS_CHANGED])
    await appendAudit(
      session,
      changes.flatMap(({ before, after }) => levelAudit(before, after, by)),
      this.pen,
    )
  }
}

interface LevelChange {
  readonly before: Level | undefined
  readonly after: Level | undefined
}

async function find(session: Session, id: string): Promise<Level | undefined> {
  const [row] = await session.run(query.selectFrom('level').selectAll().where('id', '=', id).where('removed_at', 'is', null).compile())
  return row && readLevel(row)
}
