/** The guardrail store in a worker, and the owner's answers to its calls. */
import type {
  Assignment,
  AssignmentKind,
  AuditQuery,
  AuditRow,
  GuardrailSnapshot,
  GuardrailStore,
  StoredGuardrail,
} from '../store/guardrails.ts'
import type { Answers, Line } from './ipc-line.ts'
import type { OwnerOffer, WorkerOffer } from './messages.ts'

export class RemoteGuardrails implements GuardrailStore {
  private readonly line: Line<OwnerOffer, WorkerOffer>

  constructor(line: Line<OwnerOffer, WorkerOffer>) {
    this.line = line
  }

  all(): Promise<GuardrailSnapshot> {
    return this.line.ask('guardrailAll')
  }

  put(guardrail: StoredGuardrail, seen: number): Promise<boolean> {
    return this.line.ask('guardrailPut', guardrail, seen)
  }

  remove(id: string): Promise<boolean> {
    return this.line.ask('guardrailRemove', id)
  }

  assign(assignments: readonly Assignment[]): Promise<number> {
    return this.line.ask('guardrailAssign', assignments)
  }

  unassign(kind: AssignmentKind, guardrail: string, subjects: readonly string[]): Promise<number> {
    return this.line.ask('guardrailUnassign', kind, guardrail, subjects)
  }

  async note(rows: readonly AuditRow[]): Promise<void> {
    await this.line.ask('guardrailNote', rows)
  }

  findings(query: AuditQuery): Promise<AuditRow[]> {
    return this.line.ask('guardrailFindings', query)
  }

  prune(before: number, most: number, age = 0): Promise<number> {
    return this.line.ask('guardrailPrune', before, most, age)
  }

  secret(): Promise<string> {
    return this.line.ask('guardrailSecret')
  }
}

/** @param store of the record; called for each request of a worker. */
export function guardrailAnswers(store: () => GuardrailStore) {
  return {
    guardrailAll: async () => store().all(),
    guardrailPut: async (guardrail, seen) => store().put(guardrail, seen),
    guardrailRemove: async (id) => store().remove(id),
    guardrailAssign: async (assignments) => store().assign(assignments),
    guardrailUnassign: async (kind, guardrail, subjects) => store().unassign(kind, guardrail, subjects),
    guardrailNote: async (rows) => {
      await store().note(rows)
      return null
    },
    guardrailFindings: async (query) => store().findings(query),
    guardrailPrune: async (before, most, age) => store().prune(before, most, age),
    guardrailSecret: async () => store().secret(),
  } satisfies Partial<Answers<OwnerOffer>>
}
