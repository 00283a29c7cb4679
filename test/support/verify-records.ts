/** Checks generations that are all at hand, as the `ledger verify` command does a ledger that is read page by page. */
import type { GenerationRecord, Sums } from '../../src/ledger/types.ts'
import { NONE, type Steps, Totals, type Verdict } from '../../src/ledger/verify-totals.ts'

/** @param spent the balances: nano-dollars per key. @param carried the part of them whose generations have been removed. */
export function verify(records: Iterable<GenerationRecord>, spent: Sums, carried: Sums = NONE): Verdict {
  const totals = new Totals()
  for (const record of records) totals.add(record)
  return atOnce(totals.close(spent, spent, carried))
}

/** All steps at once. */
function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
