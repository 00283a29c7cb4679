/** Sums of what was charged in a period, by all that a charge-back divides it by, and the entries beside the generations, of one moment. */
import { Fault } from '../core/faults.ts'
import type { LedgerEntry } from '../core/ledger-entries.ts'
import { addDayCounts, type DayCounts, noDayCounts } from '../core/row-counts.ts'

/** Those of which sums are kept, and those that only the generations have. */
export const KEPT_GROUPS = ['day', 'key', 'model', 'provider'] as const
export const FACT_GROUPS = ['app', 'session', 'user'] as const
export type ChargeGroup = (typeof KEPT_GROUPS)[number] | (typeof FACT_GROUPS)[number]

export interface ChargeQuery {
  /** Milliseconds since the epoch of the admission: whole UTC days, from here on and before there. */
  readonly from: number
  readonly until: number
  /** Groups that stand apart. */
  readonly by: readonly ChargeGroup[]
  /** Identities; absent: all keys. Entries are those of all keys either way. */
  readonly keys?: readonly string[]
}

/** A sum of settled generations; '' and 0 stand for what does not stand apart. */
export interface ChargeSum extends DayCounts {
  /** Start of the day, milliseconds since the epoch. */
  readonly day: number
  /** Identity. */
  readonly key: string
  readonly model: string
  readonly provider: string
  /** Name that the caller's application gave itself. */
  readonly app: string
  readonly session: string
  /** As requests name their user. */
  readonly user: string
  requests: number
  /** Of the requests: those that failed, or whose outcome is unknown. */
  failed: number
  /** Nano-dollars. */
  cost: bigint
}

/** All that is in it was settled at one moment, and all that was settled then is in it. */
export interface ChargeStatement {
  readonly sums: readonly ChargeSum[]
  /** Corrections and refunds that count in the period, and write-offs that were made in it, the oldest first. */
  readonly entries: readonly LedgerEntry[]
}

/** Sums of one statement, some 300 bytes each. */
export const MAX_CHARGE_SUMS = 100_000
/** Entries of one statement. */
export const MAX_CHARGE_ENTRIES = 20_000

/** @throws Fault 400. */
export function refuseTooMany(what: string, most: number): never {
  throw new Fault('bad_request', { message: `since: the period has more than ${most} ${what}: name a shorter one, or fewer groups` })
}

const NO_CHARGE: Omit<ChargeSum, keyof DayCounts | 'requests' | 'failed' | 'cost'> = {
  day: 0,
  key: '',
  model: '',
  provider: '',
  app: '',
  session: '',
  user: '',
}

/** Adds sums up by their groups. */
export class ChargeSums {
  private readonly sums = new Map<string, ChargeSum>()
  private readonly by: readonly ChargeGroup[]
  private readonly keys: ReadonlySet<string> | undefined

  /** @param keys of the rows that count; absent: all. */
  constructor(by: readonly ChargeGroup[], keys?: readonly string[]) {
    this.by = by
    this.keys = keys && new Set(keys)
  }

  /** @param row what does not stand apart is left out. @throws Fault 400 where there are too many. */
  add(row: Partial<ChargeSum> & Pick<ChargeSum, 'requests' | 'failed' | 'cost' | keyof DayCounts>): void {
    if (this.keys && !this.keys.has(row.key ?? '')) return
    const name = this.by.map((group) => row[group] ?? '').join('\n')
    let sum = this.sums.get(name)
    if (!sum) {
      if (this.sums.size >= MAX_CHARGE_SUMS) refuseTooMany('sums', MAX_CHARGE_SUMS)
      const groups = Object.fromEntries(this.by.map((group) => [group, row[group] ?? NO_CHARGE[group]]))
      sum = { ...NO_CHARGE, ...groups, ...noDayCounts(), requests: 0, failed: 0, cost: 0n }
      this.sums.set(name, sum)
    }
    sum.requests += row.requests
    sum.failed += row.failed
    sum.cost += row.cost
    Object.assign(sum, addDayCounts(sum, row))
  }

  rows(): ChargeSum[] {
    return [...this.sums.values()]
  }
}
