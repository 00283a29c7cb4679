/** Periodic work on the store: removes old generations, and frees leases of processes that never came back. */
import type { Clock, Timer } from '../core/clock.ts'
import type { GuardrailStore } from '../store/guardrails.ts'
import type { StoreOfRecord } from '../store/record.ts'
import { type Prunable, Retention, type RetentionNews } from '../store/retention.ts'

export type UpkeepNews =
  | RetentionNews
  /** A process is lost for good: what it had leased, in nano-dollars, may be spent by others. */
  | { kind: 'lease-freed'; node: string; nano: number }

export interface UpkeepParts {
  /** Where generations are kept. */
  store: Prunable
  /** What guardrails found is kept as long as generations. */
  guardrails: Pick<GuardrailStore, 'prune'>
  /** Absent where no process leases. */
  record?: Pick<StoreOfRecord, 'forgetLost'>
  /** Milliseconds; absent: generations are kept. */
  retention?: number
  /** Milliseconds for which the lease of a lost process counts as spent. */
  lostGrace: number
  clock: Clock
  report: (news: UpkeepNews) => void
}

/** Milliseconds between two looks for processes that are lost. */
const LOOK = 60_000

/** Begins the upkeep. @returns a function that ends it. Several processes may keep up one store. */
export function keepUp({ store, guardrails, record, retention, lostGrace, clock, report }: UpkeepParts): () => void {
  const removing = retention === undefined ? undefined : new Retention({ store, keep: retention, clock, report })
  const findings =
    retention === undefined
      ? undefined
      : new Retention({ store: guardrails, keep: retention, clock, report: (news) => news.kind !== 'pruned' && report(news) })
  let timer: Timer | undefined
  let ended = false
  const look = async (): Promise<void> => {
    try {
      for (const [node, nano] of (await record?.forgetLost(lostGrace)) ?? []) if (nano > 0) report({ kind: 'lease-freed', node, nano })
    } catch {
      // A store that does not answer is reported elsewhere; the next look comes.
    }
    if (!ended) timer = clock.after(LOOK, () => void look())
  }
  if (record) timer = clock.after(LOOK, () => void look())
  return () => {
    ended = true
    timer?.cancel()
    removing?.close()
    findings?.close()
  }
}
