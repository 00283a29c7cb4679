/** Events of the calls of the store of record that are reported to the operator, without the content of rows. */
export type ClusterNews =
  /** Reported once per outage: rows wait here, or changes of keys and guardrails are not received. */
  | { kind: 'record-lost'; during: Dealing; reason: string }
  | { kind: 'record-back'; during: Dealing }
  /** Generations that the record has taken could not be deleted here: tried again. */
  | { kind: 'forget-failed'; reason: string }

/** The call of the store of record that failed. */
export type Dealing = 'hand-in' | 'pulse' | 'guardrails' | 'audit'

/** The root cause: where a fault wraps another error, that error's text is more specific. */
export function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown'
  return thrown.cause instanceof Error ? reasonOf(thrown.cause) : thrown.message
}

/** Reports the beginning and the end of an outage, once each. */
export class OutageReport {
  private lost = false
  private readonly during: Dealing
  private readonly report: (news: ClusterNews) => void

  constructor(during: Dealing, report: (news: ClusterNews) => void) {
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
