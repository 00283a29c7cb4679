/** The stored guardrails as this process holds them: a store that does not answer never lifts a guardrail. */
import type { Origin } from '../core/audit-entries.ts'
import type {
  Assignment,
  AssignmentKind,
  AuditQuery,
  AuditRow,
  GuardrailSnapshot,
  GuardrailStore,
  StoredGuardrail,
} from '../store/guardrails.ts'
import { HeldSnapshot, type HeldSnapshotOptions } from './held-snapshot.ts'

export interface HeldGuardrailsOptions extends HeldSnapshotOptions {
  readonly store: GuardrailStore
}

export class HeldGuardrails extends HeldSnapshot<GuardrailSnapshot> implements GuardrailStore {
  private readonly store: GuardrailStore

  constructor({ store, ...options }: HeldGuardrailsOptions) {
    super({ guardrails: [], assignments: [] }, 'guardrails', options)
    this.store = store
  }

  all(): GuardrailSnapshot | Promise<GuardrailSnapshot> {
    return this.store.all()
  }

  put(guardrail: StoredGuardrail, seen: number, by?: Origin): Promise<boolean> {
    return this.through(() => this.store.put(guardrail, seen, by))
  }

  remove(id: string, by?: Origin): Promise<boolean> {
    return this.through(() => this.store.remove(id, by))
  }

  assign(assignments: readonly Assignment[], by?: Origin): Promise<number> {
    return this.through(() => this.store.assign(assignments, by))
  }

  unassign(kind: AssignmentKind, guardrail: string, subjects: readonly string[], by?: Origin): Promise<number> {
    return this.through(() => this.store.unassign(kind, guardrail, subjects, by))
  }

  note(rows: readonly AuditRow[]): void | Promise<void> {
    return this.store.note(rows)
  }

  findings(query: AuditQuery): AuditRow[] | Promise<AuditRow[]> {
    return this.store.findings(query)
  }

  prune(before: number, most: number, age?: number): number | Promise<number> {
    return this.store.prune(before, most, age)
  }

  secret(): string | Promise<string> {
    return this.store.secret()
  }
}
