/** What an operator should hear of the dealings with the store of record; no row's content is in it. */
export type ClusterNews =
  /** Told once per outage: rows wait here, or changes of keys are not heard. */
  | { kind: 'record-lost'; during: 'hand-in' | 'pulse'; reason: string }
  | { kind: 'record-back'; during: 'hand-in' | 'pulse' }
  /** Generations that the record has taken could not be deleted here: tried again. */
  | { kind: 'forget-failed'; reason: string }

/** What lies at the bottom of it: of a fault that wraps another error, that one says more. */
export function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown'
  return thrown.cause instanceof Error ? reasonOf(thrown.cause) : thrown.message
}

/** Tells of the beginning and the end of an outage, once each. */
export class OutageReport {
  private lost = false
  private readonly during: 'hand-in' | 'pulse'
  private readonly report: (news: ClusterNews) => void

  constructor(during: 'hand-in' | 'pulse', report: (news: ClusterNews) => void) {
    this.during = during
    this.report = report
  }

  failed(cause: unknown): void {
    if (!this.lost) this.report({ kind: 'record-lost', during: this.during, reason: reasonOf(cause) })
    this.lost = true
  }

  went(): void {
    if (this.lost) this.report({ kind: 'record-back', during: this.during })
    this.lost = false
  }
}
