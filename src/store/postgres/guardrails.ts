/** Guardrails and their findings in PostgreSQL; each change is numbered among those of keys, so that every process receives it. */
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { GATEWAY_ORIGIN, type Origin } from '../../core/audit-entries.ts'
import type { JsonObject } from '../../core/json.ts'
import type { UntimedEntry } from '../audit-log.ts'
import { assignmentAudit, guardrailAudit, guardrailRemoval } from '../audited-changes.ts'
import {
  type Assignment,
  type AssignmentKind,
  type AuditDetail,
  type AuditQuery,
  type AuditRow,
  GUARDRAILS_CHANGED,
  type GuardrailSnapshot,
  type GuardrailStore,
  NEWEST,
  type StoredGuardrail,
} from '../guardrails.ts'
import { AUDIT_SECRET, kindFrom, SECRET_BYTES } from '../sqlite-guardrails.ts'
import { type AuditPen, appendAudit } from './audit-log.ts'
import type { Session } from './connection.ts'
import type { Connections } from './connections.ts'
import { changing, noteChanges } from './keys.ts'
import { LOCKS } from './locks.ts'
import { type AssignmentTable, type AuditTable, type GuardrailTable, query, storable } from './tables.ts'

/** Rows of one statement: a statement takes 65,535 values. */
const MAX_ROWS = 500

export class PostgresGuardrails implements GuardrailStore {
  private readonly connections: Pick<Connections, 'readings' | 'changes'>
  private readonly pen: AuditPen

  constructor(connections: Pick<Connections, 'readings' | 'changes'>, pen: AuditPen) {
    this.connections = connections
    this.pen = pen
  }

  /**
   * In one transaction that changes wait for: no assignment without its guardrail. It waits for changes itself, so it
   * has their connection: guardrails that come into force must not wait behind what callers read.
   */
  all(): Promise<GuardrailSnapshot> {
    return this.connections.changes.transaction(async (session) => {
      await session.run(sql`select pg_advisory_xact_lock_shared(${LOCKS.program}::int, ${LOCKS.keys}::int)`.compile(query))
      const guardrails = await session.run(query.selectFrom('guardrail').selectAll().orderBy('created_at').orderBy('id').compile())
      const assignments = await session.run(
        query.selectFrom('guardrail_assignment').selectAll().orderBy('created_at').orderBy('id').compile(),
      )
      return { guardrails: guardrails.map(guardrailFrom), assignments: assignments.map(assignmentFrom) }
    })
  }

  async put(guardrail: StoredGuardrail, seen: number, by: Origin = GATEWAY_ORIGIN): Promise<boolean> {
    const { id, version, createdAt, updatedAt } = guardrail
    const row = { version, name: storable(guardrail.name), fields: JSON.stringify(guardrail.fields), updated_at: updatedAt }
    const insert = query
      .insertInto('guardrail')
      .values({ ...row, id, created_at: createdAt })
      .onConflict((conflict) => conflict.doNothing())
    const update = query.updateTable('guardrail').set(row).where('id', '=', id).where('version', '=', seen)
    const secret = await this.secret()
    return this.changing(async (session) => {
      const [before] = await session.run(query.selectFrom('guardrail').selectAll().where('id', '=', id).compile())
      const written = await session.run(seen === 0 ? insert.returning('id').compile() : update.returning('id').compile())
      const isWritten = written.length === 1
      return { result: isWritten, entries: isWritten ? guardrailAudit(before && guardrailFrom(before), guardrail, { by, secret }) : [] }
    })
  }

  async remove(id: string, by: Origin = GATEWAY_ORIGIN): Promise<boolean> {
    const secret = await this.secret()
    return this.changing(async (session) => {
      const unassigned = await session.run(
        query.deleteFrom('guardrail_assignment').where('guardrail', '=', id).returning(['kind', 'subject']).compile(),
      )
      const [gone] = await session.run(query.deleteFrom('guardrail').where('id', '=', id).returningAll().compile())
      const subjects = unassigned.map(({ kind, subject }) => ({ kind: kindFrom(kind), subject }))
      return { result: gone !== undefined, entries: gone ? guardrailRemoval(guardrailFrom(gone), subjects, { by, secret }) : [] }
    })
  }

  assign(assignments: readonly Assignment[], by: Origin = GATEWAY_ORIGIN): Promise<number> {
    return this.changing(async (session) => {
      const entries: UntimedEntry[] = []
      let result = 0
      for (const each of assignments) {
        const { kind, guardrail } = each
        const subject = storable(each.subject)
        const those = query.selectFrom('guardrail_assignment').select('guardrail').where('kind', '=', kind).where('subject', '=', subject)
        const [before] = await session.run(those.compile())
        if ((await session.run<{ subject: string }>(assigned(each).compile(query))).length === 0) continue
        result++
        entries.push(...assignmentAudit({ kind, subject }, { before: before?.guardrail, after: guardrail }, by))
      }
      return { result, entries }
    })
  }

  unassign(kind: AssignmentKind, guardrail: string, subjects: readonly string[], by: Origin = GATEWAY_ORIGIN): Promise<number> {
    return this.changing(async (session) => {
      const those = query.deleteFrom('guardrail_assignment').where('kind', '=', kind).where('guardrail', '=', guardrail)
      const gone = await session.run(
        those
          .where('subject', '=', sql<string>`any(${subjects.map(storable)})`)
          .returning('subject')
          .compile(),
      )
      const states = { before: guardrail, after: undefined }
      return { result: gone.length, entries: gone.flatMap(({ subject }) => assignmentAudit({ kind, subject }, states, by)) }
    })
  }

  async note(rows: readonly AuditRow[]): Promise<void> {
    for (let from = 0; from < rows.length; from += MAX_ROWS) {
      const values = rows.slice(from, from + MAX_ROWS).map(auditTable)
      await this.connections.readings.run(
        query
          .insertInto('guardrail_audit')
          .values(values)
          .onConflict((conflict) => conflict.doNothing())
          .compile(),
      )
    }
  }

  async findings({ since = 0, key, guardrail, generation, after, limit }: AuditQuery): Promise<AuditRow[]> {
    const from = after ?? NEWEST
    const newer = sql<boolean>`(at, id) < (${from.at}, ${from.id})`
    let found = query.selectFrom('guardrail_audit').selectAll().where('at', '>=', since).where(newer)
    if (key !== undefined) found = found.where('key', '=', storable(key))
    if (generation !== undefined) found = found.where('generation', '=', storable(generation))
    if (guardrail !== undefined) {
      const named = storable(guardrail)
      found = found.where((either) => either.or([either('guardrail', '=', named), either('name', '=', named)]))
    }
    return (await this.connections.readings.run(found.orderBy('at', 'desc').orderBy('id', 'desc').limit(limit).compile())).map(findingFrom)
  }

  async prune(before: number, most: number, age = 0): Promise<number> {
    const statement = sql<{ count: number }>`
      with present as materialized (
        select least(${Math.floor(before)}::bigint, headgate_now() - ${Math.ceil(age)}::bigint) as bound
      ), old as (
        select at, id from guardrail_audit where at < (select bound from present) order by at, id limit ${most} for update skip locked
      ), gone as (
        delete from guardrail_audit a using old where a.at = old.at and a.id = old.id returning 1
      )
      select count(*) as count from gone`
    const [row] = await this.connections.readings.run(statement.compile(query))
    return row?.count ?? 0
  }

  async secret(): Promise<string> {
    const value = randomBytes(SECRET_BYTES).toString('hex')
    const insert = query.insertInto('secret').values({ name: AUDIT_SECRET, value })
    await this.connections.readings.run(insert.onConflict((conflict) => conflict.doNothing()).compile())
    const [row] = await this.connections.readings.run(query.selectFrom('secret').select('value').where('name', '=', AUDIT_SECRET).compile())
    if (!row) throw new TypeError('expected the secret that was just made')
    return row.value
  }

  /** @param work returns the entries of the audit log that come with its changes. */
  private changing<T>(work: (session: Session) => Promise<{ result: T; entries: readonly UntimedEntry[] }>): Promise<T> {
    return changing(this.connections.changes, async (session) => {
      const { result, entries } = await work(session)
      await noteChanges(session, [GUARDRAILS_CHANGED])
      await appendAudit(session, entries, this.pen)
      return result
    })
  }
}

/** In place of the subject's earlier one; nothing where there is no such guardrail. */
function assigned({ kind, subject, guardrail, id, by, createdAt }: Assignment) {
  return sql<{ subject: string }>`
    insert into guardrail_assignment (kind, subject, guardrail, id, assigned_by, created_at)
    select ${kind}, ${storable(subject)}, g.id, ${id}, ${by === null ? null : storable(by)}, ${createdAt}::bigint
      from guardrail g where g.id = ${guardrail}
    on conflict (kind, subject) do update set guardrail = excluded.guardrail, id = excluded.id,
      assigned_by = excluded.assigned_by, created_at = excluded.created_at
    returning subject`
}

function guardrailFrom({ fields, created_at: createdAt, updated_at: updatedAt, ...row }: GuardrailTable): StoredGuardrail {
  return { ...row, fields: JSON.parse(fields) as JsonObject, createdAt, updatedAt }
}

function assignmentFrom({ kind, assigned_by: by, created_at: createdAt, ...row }: AssignmentTable): Assignment {
  return { ...row, kind: kindFrom(kind), by, createdAt }
}

function auditTable(row: AuditRow): AuditTable {
  const { key, name } = row
  return { ...row, key: storable(key), name: storable(name), detail: JSON.stringify(row.detail) }
}

function findingFrom(row: AuditTable): AuditRow {
  return { ...row, detail: JSON.parse(row.detail) as AuditDetail }
}
