/** The audit log at rest: entries are added at its end, and leave from its beginning by retention alone. */
import type { AuditAction, AuditHead, AuditRow, NewAuditEntry } from '../core/audit-entries.ts'
import { Fault } from '../core/faults.ts'

export interface AuditQuery {
  /** Only entries behind this sequence; where the newest come first, only those before it, and all for 0. */
  readonly after: number
  readonly newestFirst?: boolean
  readonly limit: number
  /** Id of the actor, or its kind where it has none. */
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly subject?: string | undefined
  /** Only entries about a part of the organisation. */
  readonly within?: AuditPart | undefined
  /** Milliseconds since the epoch. */
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/** Entries about one of the subjects, sign-ins of one of the actors, and changes of what lies, or lay, in one of the levels. */
export interface AuditPart {
  readonly subjects: readonly string[]
  readonly actors: readonly string[]
  /** Ids of organizations and workspaces. */
  readonly levels: readonly string[]
}

/** Actions whose subject is no record. */
export const SIGN_IN_ACTIONS: readonly AuditAction[] = ['session.opened', 'session.ended']

/** Parts of an entry that only a key of this level, or a level right below it, has: within texts quotes are escaped. */
export const placeMarks = (id: string): readonly string[] => ['organization', 'workspace', 'parent'].map((name) => `"${name}":"${id}"`)

type Maybe<T> = T | Promise<T>

/** An entry whose time is the store's to add. */
export type UntimedEntry = Omit<NewAuditEntry, 'at'>

/** Every change is durable when it returns. All of it may throw Fault `unavailable`. */
export interface AuditLogStore {
  /** Adds entries that describe no change of this store; a change of it brings its entry itself, in the same transaction. */
  add(entries: readonly UntimedEntry[]): Maybe<void>
  page(query: AuditQuery): Maybe<AuditRow[]>
  /** The end of the chain as it was last written, whatever the entries are. */
  head(): Maybe<AuditHead>
  /**
   * Removes entries from before a moment, at most `most`, from the old end up to the first one that is younger; an entry says what went.
   * @param age milliseconds: a store with a clock of its own also keeps everything that is younger by that clock. Default: 0.
   * @returns how many.
   */
  prune(before: number, most: number, age?: number): Maybe<number>
}

/** The end of the chain. @param stated all rows that state one. @throws Fault where there is none, or more than one. */
export function onlyHead(stated: readonly AuditHead[]): AuditHead {
  const [head, other] = stated
  if (!head) throw new Fault('unavailable', { message: 'The end of the audit log is not known: the table audit_head has no row' })
  if (other) throw new Fault('unavailable', { message: 'The end of the audit log is not known: the table audit_head has several rows' })
  return head
}

/** The entry of a removal: the chain goes on from the last one that is gone. */
export function prunedEntry({ sequence, hash }: AuditHead, count: number): Omit<UntimedEntry, 'actor' | 'address'> {
  return { action: 'audit_log.pruned', subject: String(sequence), before: null, after: { sequence, hash, count } }
}

/** A store whose changes have to state who makes them: without, the gateway itself would be the one. */
export type Attributed<Store, Names extends keyof Store> = Omit<Store, Names> & {
  readonly [Name in Names]: Store[Name] extends (...args: infer Given) => infer Result ? (...args: Required<Given>) => Result : never
}
