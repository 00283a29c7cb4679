/** Guardrails and their findings in memory. */
import { randomBytes } from 'node:crypto'
import {
  type Assignment,
  type AssignmentKind,
  type AuditQuery,
  type AuditRow,
  type GuardrailSnapshot,
  type GuardrailStore,
  NEWEST,
  type StoredGuardrail,
} from '../../../src/store/guardrails.ts'

/** Findings that are remembered; the oldest go first. */
const MAX_FINDINGS = 10_000

export class MemoryGuardrails implements GuardrailStore {
  private readonly guardrails = new Map<string, StoredGuardrail>()
  /** By `<kind> <subject>`. */
  private readonly assignments = new Map<string, Assignment>()
  /** By `<at> <id>`. */
  private readonly rows = new Map<string, AuditRow>()
  private readonly key = randomBytes(32).toString('hex')

  all(): GuardrailSnapshot {
    return { guardrails: inOrder(this.guardrails.values()), assignments: inOrder(this.assignments.values()) }
  }

  put(guardrail: StoredGuardrail, seen: number): boolean {
    const found = this.guardrails.get(guardrail.id)
    if ((found?.version ?? 0) !== seen) return false
    this.guardrails.set(guardrail.id, structuredClone({ ...guardrail, createdAt: found?.createdAt ?? guardrail.createdAt }))
    return true
  }

  remove(id: string): boolean {
    for (const [name, { guardrail }] of this.assignments) if (guardrail === id) this.assignments.delete(name)
    return this.guardrails.delete(id)
  }

  assign(assignments: readonly Assignment[]): number {
    const taken = assignments.filter(({ guardrail }) => this.guardrails.has(guardrail))
    for (const each of taken) this.assignments.set(`${each.kind} ${each.subject}`, { ...each })
    return taken.length
  }

  unassign(kind: AssignmentKind, guardrail: string, subjects: readonly string[]): number {
    const names = [...new Set(subjects)].map((subject) => `${kind} ${subject}`)
    return names.filter((name) => this.assignments.get(name)?.guardrail === guardrail && this.assignments.delete(name)).length
  }

  note(rows: readonly AuditRow[]): void {
    for (const row of rows) if (!this.rows.has(`${row.at} ${row.id}`)) this.rows.set(`${row.at} ${row.id}`, structuredClone(row))
    for (const oldest of this.rows.keys()) {
      if (this.rows.size <= MAX_FINDINGS) break
      this.rows.delete(oldest)
    }
  }

  findings({ since = 0, key, guardrail, generation, after, limit }: AuditQuery): AuditRow[] {
    const from = after ?? NEWEST
    return [...this.rows.values()]
      .filter((row) => row.at >= since && (row.at < from.at || (row.at === from.at && row.id < from.id)))
      .filter((row) => key === undefined || row.key === key)
      .filter((row) => generation === undefined || row.generation === generation)
      .filter((row) => guardrail === undefined || row.guardrail === guardrail || row.name === guardrail)
      .sort((a, b) => byTime(b, a))
      .slice(0, limit)
  }

  prune(before: number, most: number): number {
    const old = [...this.rows].filter(([, { at }]) => at < before).sort(([, a], [, b]) => byTime(a, b))
    for (const [name] of old.slice(0, most)) this.rows.delete(name)
    return Math.min(old.length, most)
  }

  secret(): string {
    return this.key
  }
}

function byTime(a: Pick<AuditRow, 'at' | 'id'>, b: Pick<AuditRow, 'at' | 'id'>): number {
  return a.at - b.at || (a.id < b.id ? -1 : 1)
}

function inOrder<T extends { readonly createdAt: number; readonly id: string }>(all: Iterable<T>): T[] {
  return [...all].sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
}
