/**
 * The stored guardrails as this process holds them. What was read last stays in force until something newer has been
 * read: a store that does not answer never lifts a guardrail.
 */
import type { Origin } from '../core/audit-entries.ts'
import type { Clock, Timer } from '../core/clock.ts'
import type {
  Assignment,
  AssignmentKind,
  AuditQuery,
  AuditRow,
  GuardrailSnapshot,
  GuardrailStore,
  StoredGuardrail,
} from '../store/guardrails.ts'
import { type ClusterReport, OutageReport, unreachable, within } from './record-calls.ts'

export interface HeldGuardrailsOptions {
  readonly store: GuardrailStore
  readonly clock: Pick<Clock, 'after'>
  readonly report: (report: ClusterReport) => void
}

/** Milliseconds after which a reading counts as failed, and until it is tried again. */
const MAX_READ_MS = 2_000
const RETRY = 500

const ignore = (): void => {}

export class HeldGuardrails implements GuardrailStore {
  /** In force. Empty before `load`. */
  current: GuardrailSnapshot = { guardrails: [], assignments: [] }
  private readonly store: GuardrailStore
  private readonly clock: Pick<Clock, 'after'>
  private readonly outage: OutageReport
  private readonly hearers: (() => void)[] = []
  /** Reading that runs now, never rejected; and the reading that comes after it. */
  private reading: Promise<void> = Promise.resolve()
  private queued: Promise<void> | undefined
  private timer: Timer | undefined
  private closed = false

  constructor({ store, clock, report }: HeldGuardrailsOptions) {
    this.store = store
    this.clock = clock
    this.outage = new OutageReport('guardrails', report)
  }

  /** Reads them for the first time: nothing is to be served before. @throws Fault `unavailable`. */
  load(): Promise<void> {
    return this.refresh()
  }

  /** Calls `hear` whenever others are in force. */
  onChange(hear: () => void): void {
    this.hearers.push(hear)
  }

  /** They have changed, or may have: read until that has worked. */
  changed(): void {
    this.timer?.cancel()
    this.timer = undefined
    if (this.closed) return
    this.refresh().then(
      () => this.outage.went(),
      (thrown: unknown) => {
        if (this.closed) return
        this.outage.failed(thrown)
        this.timer?.cancel()
        this.timer = this.clock.after(RETRY, () => this.changed())
      },
    )
  }

  close(): void {
    this.closed = true
    this.timer?.cancel()
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

  /** Changes of this process are in force here when the change returns, or soon after where it cannot be read. */
  private async through<T>(write: () => T | Promise<T>): Promise<T> {
    try {
      return await write()
    } finally {
      await this.refresh().catch(() => this.changed())
    }
  }

  /** A reading that has not begun yet will see whatever has changed by now. @throws Fault `unavailable`. */
  private refresh(): Promise<void> {
    this.queued ??= this.reading.then(() => {
      this.queued = undefined
      const read = this.read()
      this.reading = read.catch(ignore)
      return read
    })
    return this.queued
  }

  private async read(): Promise<void> {
    const readAll = async (): Promise<GuardrailSnapshot> => this.store.all()
    const found = await within(this.clock, MAX_READ_MS, readAll()).catch((thrown: unknown) => {
      throw unreachable(thrown)
    })
    if (this.closed || JSON.stringify(found) === JSON.stringify(this.current)) return
    this.current = found
    for (const hear of this.hearers) hear()
  }
}
