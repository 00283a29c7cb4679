/** Makes events of an exchange that is over: shares and limits of budgets, hits of guardrails. */
import type { Witness } from '../pipeline/dependencies.ts'
import { findingsOf } from '../pipeline/guard/guardrail-findings.ts'
import type { BudgetWatch, EventSources } from '../services/events/index.ts'

export interface EventRecorders {
  readonly budgets: Pick<BudgetWatch, 'charged' | 'refused'>
  readonly sources: Pick<EventSources, 'guardrailHits'>
}

/** @param witness is called first. */
export function withEvents(witness: Witness, { budgets, sources }: EventRecorders): Witness {
  return (exchange, end) => {
    witness(exchange, end)
    const key = exchange.auth?.key
    if (!key) return
    if (end.fault?.code === 'no_credit') budgets.refused(key)
    // Nothing was charged before a hold was taken.
    if (key.limit !== null || key.issuer !== undefined) budgets.charged(key)
    if (exchange.trail.stages.length > 0)
      sources.guardrailHits(findingsOf(exchange.trail.stages), { key: key.identity, generation: exchange.head.id })
  }
}
