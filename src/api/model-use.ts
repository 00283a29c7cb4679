/** Use of each model in the last week, from this gateway's own ledger: the figures behind the orders by use. */
import type { Clock } from '../core/clock.ts'
import type { LedgerScans } from '../ledger/scans.ts'
import { DAY_MS } from '../ledger/use.ts'

export interface Use {
  /** Requests with an answer. */
  requests: number
  /** Sum of input and output. */
  tokens: number
}

/** By slug. */
export type ModelUse = ReadonlyMap<string, Readonly<Use>>

const WEEK_DAYS = 7

/** Reads the use of the current day and the six days before it (UTC). @throws Fault `unavailable` where the ledger cannot be read. */
export async function weekOfUse(scans: Pick<LedgerScans, 'use'>, clock: Pick<Clock, 'now'>): Promise<ModelUse> {
  const today = Math.floor(clock.now() / DAY_MS) * DAY_MS
  const rows = await scans.use({ from: today - (WEEK_DAYS - 1) * DAY_MS, until: today + DAY_MS, withoutMoves: true })
  const sums = new Map<string, Use>()
  for (const { model, answered, requests, input, output } of rows) {
    if (!answered) continue
    const sum = sums.get(model) ?? { requests: 0, tokens: 0 }
    sums.set(model, { requests: sum.requests + requests, tokens: sum.tokens + input + output })
  }
  return sums
}
