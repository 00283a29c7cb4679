/** Guardrails at rest: those that were made over the API, whom they hold for, and the trail of what all guardrails found. */
import type { Origin } from '../core/audit-entries.ts'
import type { JsonObject } from '../core/json.ts'
import type { Attributed } from './audit-log.ts'

export interface StoredGuardrail {
  readonly id: string
  /** 1 when it is made, one more with every change. */
  readonly version: number
  readonly name: string
  /** Its other fields as the API takes them; fields that were never set are absent. */
  readonly fields: JsonObject
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /** Null before the first change. */
  readonly updatedAt: number | null
}

export type AssignmentKind = 'key' | 'member' | 'workspace'
export const ASSIGNMENT_KINDS: readonly AssignmentKind[] = ['key', 'member', 'workspace']

/** A key, a member or a workspace holds at most one. */
export interface Assignment {
  readonly kind: AssignmentKind
  /**
   * Identity of a key, which a new secret leaves as it is; name that an identity provider has for a member; of the kind `workspace` the id of
   * a workspace or of an organisation. Programs that know one workspace let such a guardrail hold for every request.
   */
  readonly subject: string
  /** Id of the guardrail. */
  readonly guardrail: string
  readonly id: string
  /** The user or key that made it; null where that is not known. */
  readonly by: string | null
  /** Milliseconds since the epoch. */
  readonly createdAt: number
}

export interface GuardrailSnapshot {
  /** In the order of their making. */
  readonly guardrails: readonly StoredGuardrail[]
  /** In the order of their making. */
  readonly assignments: readonly Assignment[]
}

/** One finding of a guardrail in one exchange. */
export interface AuditRow {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Of the row itself: the same row that comes twice is kept once. */
  readonly id: string
  /** Id of the generation. */
  readonly generation: string
  /** Identity of the key. */
  readonly key: string
  /** Id and name of the guardrail. */
  readonly guardrail: string
  readonly name: string
  readonly direction: string
  /** As in `router_metadata.pipeline`. */
  readonly stage: string
  /** `flagged`, `redacted`, `blocked` or `unchecked`. */
  readonly action: string
  readonly detail: AuditDetail
}

export interface AuditDetail {
  /** Kinds of what was found. */
  readonly entities: readonly string[]
  readonly engines: readonly string[]
  /** Distinct texts that matched. */
  readonly count: number
  /** HMAC-SHA-256 of the first of them, hex, keyed with the secret of the store. */
  readonly hashes: readonly string[]
  /** The texts themselves: only of a guardrail that says `audit: full`. */
  readonly texts?: readonly string[]
}

/** Beginning of a list of findings: behind no row. */
export const NEWEST: Pick<AuditRow, 'at' | 'id'> = { at: Number.MAX_SAFE_INTEGER, id: '' }

export interface AuditQuery {
  /** Milliseconds since the epoch. */
  readonly since?: number | undefined
  /** Identity. */
  readonly key?: string | undefined
  /** Id or name. */
  readonly guardrail?: string | undefined
  /** Id; `since` and `after` bound what is read for it. */
  readonly generation?: string | undefined
  /** Only what is older than this row: the newest come first. */
  readonly after?: Pick<AuditRow, 'at' | 'id'> | undefined
  readonly limit: number
}

type Maybe<T> = T | Promise<T>

/**
 * Every change is durable when it returns, and is one step with its entry in the audit log, which names who has made it: by default the
 * gateway itself. All of it may throw Fault `unavailable`.
 */
export interface GuardrailStore {
  /** All that is stored, as of one moment. */
  all(): Maybe<GuardrailSnapshot>
  /**
   * Writes a guardrail where the one of its id still has the version `seen`; 0: where there is none.
   * @returns false where another change came first.
   */
  put(guardrail: StoredGuardrail, seen: number, by?: Origin): Maybe<boolean>
  /** With its assignments. Its findings stay. @returns false where there is none. */
  remove(id: string, by?: Origin): Maybe<boolean>
  /** Each takes the place of the subject's earlier one. @returns how many; 0 where there is no such guardrail. */
  assign(assignments: readonly Assignment[], by?: Origin): Maybe<number>
  /** @returns how many there were. */
  unassign(kind: AssignmentKind, guardrail: string, subjects: readonly string[], by?: Origin): Maybe<number>
  /** Adds findings; one that is there already changes nothing. */
  note(rows: readonly AuditRow[]): Maybe<void>
  /** Findings, the oldest first. */
  findings(query: AuditQuery): Maybe<AuditRow[]>
  /**
   * Removes findings from before a moment, at most `most`, the oldest first.
   * @param age milliseconds: a store with a clock of its own also keeps everything that is younger by that clock. Default: 0.
   * @returns how many.
   */
  prune(before: number, most: number, age?: number): Maybe<number>
  /** The key of the hashes: random, made once, the same for every process. */
  secret(): Maybe<string>
}

/** The same for operations, which state who makes each change. */
export type AttributedGuardrails = Attributed<GuardrailStore, 'put' | 'remove' | 'assign' | 'unassign'>

/** Entry among the changed keys that processes receive: guardrails or assignments have changed. No hash of a key has this form. */
export const GUARDRAILS_CHANGED = 'guardrails'

/** A store of guardrails that reports its changes, failed ones too: a failed write may have changed something. */
export class WatchedGuardrails implements GuardrailStore {
  private readonly inner: GuardrailStore
  private readonly changed: () => void

  constructor(inner: GuardrailStore, changed: () => void) {
    this.inner = inner
    this.changed = changed
  }

  all(): Maybe<GuardrailSnapshot> {
    return this.inner.all()
  }

  put(guardrail: StoredGuardrail, seen: number, by?: Origin): Promise<boolean> {
    return this.writeAndReport(() => this.inner.put(guardrail, seen, by))
  }

  remove(id: string, by?: Origin): Promise<boolean> {
    return this.writeAndReport(() => this.inner.remove(id, by))
  }

  assign(assignments: readonly Assignment[], by?: Origin): Promise<number> {
    return this.writeAndReport(() => this.inner.assign(assignments, by))
  }

  unassign(kind: AssignmentKind, guardrail: string, subjects: readonly string[], by?: Origin): Promise<number> {
    return this.writeAndReport(() => this.inner.unassign(kind, guardrail, subjects, by))
  }

  note(rows: readonly AuditRow[]): Maybe<void> {
    return this.inner.note(rows)
  }

  findings(query: AuditQuery): Maybe<AuditRow[]> {
    return this.inner.findings(query)
  }

  prune(before: number, most: number, age?: number): Maybe<number> {
    return this.inner.prune(before, most, age)
  }

  secret(): Maybe<string> {
    return this.inner.secret()
  }

  private async writeAndReport<T>(write: () => Maybe<T>): Promise<T> {
    try {
      return await write()
    } finally {
      this.changed()
    }
  }
}
