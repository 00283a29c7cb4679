/** What an operator should hear of the dealings with the store of record; no row's content is in it. */
export type ClusterNews =
  /** Told once per outage: rows wait here, or changes of keys and guardrails are not heard. */
  | { kind: 'record-lost'; during: Dealing; reason: string }
  | { kind: 'record-back'; during: Dealing }
  /** Generations that the record has taken could not be deleted here: tried again. */
  | { kind: 'forget-failed'; reason: string }

/** What the store of record was asked for. */
export type Dealing = 'hand-in' | 'pulse' | 'guardrails' | 'audit'

/** What lies at the bottom of it: of a fault that wraps another error, that one says more. */
export function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown'
  return thrown.cause instanceof Error ? reasonOf(thrown.cause) : thrown.message
}

/** Tells of the beginning and the end of an outage, once each. */
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
