/** A charge line by line: what was counted, at which price, and amounts that sum up to the charge exactly. */
import { Bill, type Rate } from '../core/money.ts'
import { rateFromUsd, rateText } from '../core/money-text.ts'
import type { PriceSnapshot } from '../core/price.ts'
import { type RowCounts, toRowCounts } from '../core/row-counts.ts'
import { noUsage, type Usage } from '../dialects/canon/usage.ts'
import { addParts, type Extras, type Tariff } from './pricing.ts'
import { readRates } from './row-rates.ts'

/** One priced quantity. */
export interface BillPart {
  /** `prompt`, `completion`, `cached` and so on, as in the prices of the model lists. */
  readonly what: string
  readonly units: number
  /** Attodollars for each. */
  readonly rate: Rate
}

/** Parts of a bill that are rounded to nano-dollars as one sum: a turn, or rounds that another model ran within it. */
export interface BillGroup {
  /** The provider's own name of another model that its tools called. */
  readonly model?: string | undefined
  readonly parts: readonly BillPart[]
}

class NotedBill extends Bill {
  readonly parts: BillPart[] = []

  override add(count: number, rate: Rate, what = ''): void {
    super.add(count, rate)
    if (count >= 1) this.parts.push({ what, units: Math.floor(count), rate })
  }
}

/** Returns the parts that `charge()` adds up for the same arguments. */
export function usageBill(usage: Usage, tariff: Tariff, extras?: Extras): BillGroup[] {
  if (tariff === 'free' || tariff === 'unpriced') return []
  const groups: BillGroup[] = [{ parts: usageParts(usage, tariff, extras) }]
  for (const { model, usage: round } of usage.others ?? []) {
    const own = (model === undefined ? undefined : extras?.modelTariff?.(model)) ?? tariff
    for (const group of usageBill(round, own, extras)) groups.push({ ...group, model: group.model ?? model })
  }
  return groups
}

function usageParts(usage: Usage, price: PriceSnapshot, extras?: Extras): BillPart[] {
  const bill = new NotedBill()
  const completion = new NotedBill()
  addParts(usage, { price, extras }, bill, completion)
  return [...bill.parts, ...completion.parts]
}

/** Nano-dollars of each part: each rounded so that the sums up to it are right, and the last one is the charge. */
export function partAmounts(parts: readonly BillPart[]): number[] {
  const bill = new Bill()
  let before = 0
  return parts.map(({ units, rate }) => {
    bill.add(units, rate)
    const sum = bill.nano()
    const amount = sum - before
    before = sum
    return amount
  })
}

/** The parts of a row. @param rates as `plainRates` has written them. */
export function plainParts(rates: string, counts: RowCounts): BillPart[] {
  return usageParts({ ...noUsage(), ...toRowCounts(counts) }, readRates(rates))
}

/** A part as the facts of a settlement keep it: USD for each unit. */
export type WrittenPart = [what: string, units: number, rate: string]

export function writtenPart({ what, units, rate }: BillPart): WrittenPart {
  return [what, units, rateText(rate)]
}

/** @returns undefined for what is none. */
export function readPart(part: unknown): BillPart | undefined {
  if (!Array.isArray(part)) return undefined
  const [what, units, text] = part as unknown[]
  const rate = typeof text === 'string' ? rateFromUsd(text) : undefined
  return typeof what === 'string' && typeof units === 'number' && rate !== undefined ? { what, units, rate } : undefined
}
