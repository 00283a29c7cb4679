/** Guardrails and their findings in the embedded store. */
import { randomBytes } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { GATEWAY_ORIGIN, type Origin } from '../core/audit-entries.ts'
import { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { assignmentAudit, guardrailAudit, guardrailRemoval } from './audited-changes.ts'
import {
  ASSIGNMENT_KINDS,
  type Assignment,
  type AssignmentKind,
  type AuditDetail,
  type AuditQuery,
  type AuditRow,
  type GuardrailSnapshot,
  type GuardrailStore,
  NEWEST,
  type StoredGuardrail,
} from './guardrails.ts'
import { atOnce, integer, text } from './sqlite.ts'
import { SqliteAuditLog } from './sqlite-audit-log.ts'

const INSERT = `INSERT INTO guardrail (id, version, name, fields, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
const UPDATE = 'UPDATE guardrail SET version = ?, name = ?, fields = ?, updated_at = ? WHERE id = ? AND version = ?'
const ASSIGN = `INSERT INTO guardrail_assignment (kind, subject, guardrail, id, assigned_by, created_at)
  SELECT ?, ?, id, ?, ?, ? FROM guardrail WHERE id = ?
  ON CONFLICT (kind, subject) DO UPDATE SET guardrail = excluded.guardrail, id = excluded.id, assigned_by = excluded.assigned_by,
    created_at = excluded.created_at`
const ASSIGNED = 'SELECT guardrail FROM guardrail_assignment WHERE kind = ? AND subject = ?'
const UNASSIGN = `DELETE FROM guardrail_assignment WHERE kind = ? AND guardrail = ? AND subject IN (SELECT value FROM json_each(?))
  RETURNING subject`
const UNASSIGN_ALL = 'DELETE FROM guardrail_assignment WHERE guardrail = ? RETURNING kind, subject'
const NOTE = `INSERT INTO guardrail_audit (at, id, generation, key, guardrail, name, direction, stage, action, detail)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
const FINDINGS = `SELECT * FROM guardrail_audit
  WHERE at >= ?1 AND (at, id) < (?2, ?3) AND (?4 IS NULL OR key = ?4) AND (?5 IS NULL OR guardrail = ?5 OR name = ?5)
    AND (?6 IS NULL OR generation = ?6)
  ORDER BY at DESC, id DESC LIMIT ?7`
const KEEP = `DELETE FROM guardrail_audit WHERE (at, id) IN (SELECT at, id FROM guardrail_audit ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?)`
/** Removing the oldest goes through all that is kept. */
const KEEP_EVERY = 1_000
const PRUNE = `DELETE FROM guardrail_audit WHERE (at, id) IN (SELECT at, id FROM guardrail_audit WHERE at < ? ORDER BY at, id LIMIT ?)`

type Row = NonNullable<ReturnType<StatementSync['get']>>

/** Bytes of the key of the hashes. */
export const SECRET_BYTES = 32
export const AUDIT_SECRET = 'guardrail audit'

export class SqliteGuardrails implements GuardrailStore {
  private readonly db: DatabaseSync

  private readonly most: number
  private readonly audit: SqliteAuditLog
  /** Findings since the oldest were last removed. */
  private noted = 0

  /** @param most findings that are kept; the oldest go first. Default: all. */
  constructor(db: DatabaseSync, most = Number.POSITIVE_INFINITY, audit = new SqliteAuditLog(db)) {
    this.db = db
    this.most = most
    this.audit = audit
  }

  all(): GuardrailSnapshot {
    const guardrails = this.db.prepare('SELECT * FROM guardrail ORDER BY created_at, id').all()
    const assignments = this.db.prepare('SELECT * FROM guardrail_assignment ORDER BY created_at, id').all()
    return { guardrails: guardrails.map(guardrailFrom), assignments: assignments.map(assignmentFrom) }
  }

  put(guardrail: StoredGuardrail, seen: number, by: Origin = GATEWAY_ORIGIN): boolean {
    const { id, version, name, fields, createdAt, updatedAt } = guardrail
    const written = JSON.stringify(fields)
    const secret = this.secret()
    return this.write(() => {
      const before = this.find(id)
      const { changes } =
        seen === 0
          ? this.db.prepare(INSERT).run(id, version, name, written, createdAt, updatedAt)
          : this.db.prepare(UPDATE).run(version, name, written, updatedAt, id, seen)
      if (changes !== 1) return false
      this.audit.append(guardrailAudit(before, guardrail, { by, secret }))
      return true
    })
  }

  remove(id: string, by: Origin = GATEWAY_ORIGIN): boolean {
    const secret = this.secret()
    return this.write(() => {
      const before = this.find(id)
      const unassigned = this.db.prepare(UNASSIGN_ALL).all(id)
      this.db.prepare('DELETE FROM guardrail WHERE id = ?').run(id)
      const subjects = unassigned.map(({ kind, subject }) => ({ kind: kindFrom(text(kind)), subject: text(subject) }))
      if (before) this.audit.append(guardrailRemoval(before, subjects, { by, secret }))
      return before !== undefined
    })
  }

  assign(assignments: readonly Assignment[], by: Origin = GATEWAY_ORIGIN): number {
    return this.write(() => {
      const statement = this.db.prepare(ASSIGN)
      const assigned = this.db.prepare(ASSIGNED)
      let count = 0
      for (const { kind, subject, guardrail, id, by: maker, createdAt } of assignments) {
        const before = assigned.get(kind, subject)
        if (statement.run(kind, subject, id, maker, createdAt, guardrail).changes === 0) continue
        count++
        const states = { before: before ? text(before.guardrail) : undefined, after: guardrail }
        this.audit.append(assignmentAudit({ kind, subject }, states, by))
      }
      return count
    })
  }

  unassign(kind: AssignmentKind, guardrail: string, subjects: readonly string[], by: Origin = GATEWAY_ORIGIN): number {
    return this.write(() => {
      const gone = this.db.prepare(UNASSIGN).all(kind, guardrail, JSON.stringify(subjects))
      const states = { before: guardrail, after: undefined }
      this.audit.append(gone.flatMap(({ subject }) => assignmentAudit({ kind, subject: text(subject) }, states, by)))
      return gone.length
    })
  }

  note(rows: readonly AuditRow[]): void {
    this.write(() => {
      const statement = this.db.prepare(NOTE)
      for (const { at, id, generation, key, guardrail, name, direction, stage, action, detail } of rows)
        statement.run(at, id, generation, key, guardrail, name, direction, stage, action, JSON.stringify(detail))
      this.noted += rows.length
      if (this.noted < KEEP_EVERY || this.most === Number.POSITIVE_INFINITY) return
      this.db.prepare(KEEP).run(this.most)
      this.noted = 0
    })
  }

  findings({ since = 0, key, guardrail, generation, after, limit }: AuditQuery): AuditRow[] {
    const from = after ?? NEWEST
    return this.db
      .prepare(FINDINGS)
      .all(since, from.at, from.id, key ?? null, guardrail ?? null, generation ?? null, limit)
      .map(findingFrom)
  }

  prune(before: number, most: number): number {
    return this.write(() => Number(this.db.prepare(PRUNE).run(before, most).changes))
  }

  secret(): string {
    const made = randomBytes(SECRET_BYTES).toString('hex')
    return this.write(() => {
      this.db.prepare('INSERT INTO secret (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING').run(AUDIT_SECRET, made)
      return text(this.db.prepare('SELECT value FROM secret WHERE name = ?').get(AUDIT_SECRET)?.value)
    })
  }

  private find(id: string): StoredGuardrail | undefined {
    const row = this.db.prepare('SELECT * FROM guardrail WHERE id = ?').get(id)
    return row && guardrailFrom(row)
  }

  /** All or nothing. @throws Fault `unavailable`. */
  private write<T>(work: () => T): T {
    try {
      return atOnce(this.db, work)
    } catch (cause) {
      throw new Fault('unavailable', { message: 'The store of guardrails cannot be written', cause })
    }
  }
}

function guardrailFrom(row: Row): StoredGuardrail {
  return {
    id: text(row.id),
    version: integer(row.version),
    name: text(row.name),
    fields: JSON.parse(text(row.fields)) as JsonObject,
    createdAt: integer(row.created_at),
    updatedAt: row.updated_at === null ? null : integer(row.updated_at),
  }
}

function assignmentFrom(row: Row): Assignment {
  return {
    kind: kindFrom(text(row.kind)),
    subject: text(row.subject),
    guardrail: text(row.guardrail),
    id: text(row.id),
    by: row.assigned_by === null ? null : text(row.assigned_by),
    createdAt: integer(row.created_at),
  }
}

/** @throws TypeError for a word that this program does not write. */
export function kindFrom(word: string): AssignmentKind {
  const kind = ASSIGNMENT_KINDS.find((each) => each === word)
  if (!kind) throw new TypeError('expected a kind of assignment')
  return kind
}

function findingFrom(row: Row): AuditRow {
  return {
    at: integer(row.at),
    id: text(row.id),
    generation: text(row.generation),
    key: text(row.key),
    guardrail: text(row.guardrail),
    name: text(row.name),
    direction: text(row.direction),
    stage: text(row.stage),
    action: text(row.action),
    detail: JSON.parse(text(row.detail)) as AuditDetail,
  }
}
