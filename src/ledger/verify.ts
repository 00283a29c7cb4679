/** Checks the ledger against itself: what the `ledger verify` command runs. */
import { Fault } from '../core/faults.ts'
import { Total } from '../core/money.ts'
import { type Entry, entriesOf } from './entries.ts'
import { Pace } from './pace.ts'
import type { GenerationRecord, LedgerReader, Sums } from './types.ts'
import { WindowCheck } from './verify-windows.ts'

export interface Verdict {
  ok: boolean
  generations: number
  /** Still without a settlement. */
  open: number
  /** Nano-dollars of all settlements: what left the keys. */
  charged: Nano
  /** Where it went: `providers + fees = charged`. */
  providers: Nano
  fees: Nano
  /** Nano-dollars of generations that retention has removed; not in `charged`. */
  carried: Nano
  /** One line each, at most `MOST_PROBLEMS` of them. */
  problems: string[]
}

/** Nano-dollars, exact: a number as far as these are, 2^53. */
export type Nano = number | bigint

const MOST_PROBLEMS = 100
/** Walks until one was not overtaken by retention. */
const MOST_WALKS = 5
const NONE: Sums = new Map()

/**
 * The order of the sequence kept, every generation once, at most one settlement per hold and of the same sequence,
 * entries that sum to zero, no negative or broken amount, and the entries of each key and of those that it issued, together
 * with what was carried over, summing to its balance.
 * @param spent the balances: nano-dollars per key. @param carried the part of them whose generations have been removed.
 */
export function verify(records: Iterable<GenerationRecord>, spent: Sums, carried: Sums = NONE): Verdict {
  const totals = new Totals()
  for (const record of records) totals.add(record)
  return totals.close(spent, spent, carried)
}

/**
 * The same for a ledger that is being written to, and where rows may be damaged: the sum of each key lies between its
 * balances before and after the walk; and so do its sums of the current day, week and month.
 * @throws Fault `unavailable` where the ledger cannot be read.
 */
export async function verifyLedger(ledger: LedgerReader): Promise<Verdict> {
  for (let walks = 1; ; walks++) {
    const carriedBefore = (await ledger.carried?.()) ?? NONE
    const before = await ledger.spent()
    const windows = await ledger.windows?.()
    const totals = new Totals(windows && new WindowCheck(windows))
    try {
      const records = ledger.export()
      const pace = new Pace(Symbol.asyncIterator in records)
      for await (const record of records) {
        totals.add(record)
        if (pace.over) await pace.rest()
      }
    } catch (error) {
      if (error instanceof Fault) throw error
      totals.breaksOff(error)
    }
    const after = await ledger.spent()
    const windowsAfter = await ledger.windows?.()
    const carried = (await ledger.carried?.()) ?? NONE
    if (windowsAfter) totals.checkWindows(windowsAfter)
    if (walks === MOST_WALKS || same(carriedBefore, carried)) return totals.close(before, after, carried)
  }
}

class Totals {
  private readonly verdict: Verdict = { ok: true, generations: 0, open: 0, charged: 0, providers: 0, fees: 0, carried: 0, problems: [] }
  private readonly charged = new Total()
  private readonly providers = new Total()
  private readonly fees = new Total()
  private readonly sums = new Map<string, Total>()
  /** Charges that keys which others issued made: these count at their payers as well. */
  private readonly issued = new Map<string, Total>()
  private readonly windows: WindowCheck | undefined
  private seq = -1
  /** Tags that the present sequence came with: processes without a common store may draw the same one. */
  private readonly tags = new Set<string>()

  constructor(windows?: WindowCheck) {
    this.windows = windows
  }

  add(record: GenerationRecord): void {
    const { id, hold, settled } = record
    this.verdict.generations++
    this.place(record)
    if (!amount(hold.hold) || !amount(hold.floor)) this.note(`${id}: hold of ${hold.hold} with floor ${hold.floor}`)
    if (!settled) {
      this.verdict.open++
      return
    }
    if (settled.seq !== hold.seq) this.note(`${id}: settlement of another sequence, ${settled.seq}`)
    if (!amount(settled.cost)) this.note(`${id}: cost of ${settled.cost}`)
    const counts = [settled.input, settled.output, settled.cached, settled.cacheWrite, settled.reasoning]
    if (!counts.every(amount)) this.note(`${id}: token counts ${counts.join(', ')}`)
    this.windows?.add(hold, settled)
    try {
      if (hold.payer !== undefined) addTo(this.issued, hold.payer, settled.cost)
      this.post(id, entriesOf(record))
    } catch {
      this.note(`${id}: the facts of its settlement are no JSON`)
    }
  }

  /** A row that cannot be read, and all after it. */
  breaksOff(error: unknown): void {
    this.note(`after ${this.verdict.generations} generations: a row cannot be read: ${error instanceof Error ? error.message : error}`)
  }

  /** @param after windows as they were after the walk. */
  checkWindows(after: Parameters<WindowCheck['problems']>[0]): void {
    for (const problem of this.windows?.problems(after) ?? []) this.note(problem)
  }

  close(before: Sums, after: Sums, carried: Sums): Verdict {
    const { sums, issued, verdict } = this
    const carriedSum = new Total()
    for (const sum of carried.values()) carriedSum.add(sum)
    for (const key of new Set([...sums.keys(), ...issued.keys(), ...after.keys(), ...carried.keys()])) {
      const here = (sums.get(key)?.exact ?? 0n) + (issued.get(key)?.exact ?? 0n) + (carried.get(key) ?? 0n)
      const least = before.get(key) ?? 0n
      const most = after.get(key) ?? 0n
      const balance = least === most ? `${most} are` : `${least} to ${most} were`
      if (here < least || here > most) this.note(`key ${key}: settlements sum to ${here}, ${balance} recorded as spent`)
      else if (least < 0n || most < 0n) this.note(`key ${key}: ${balance} recorded as spent`)
    }
    verdict.charged = nanoOf(this.charged)
    verdict.providers = nanoOf(this.providers)
    verdict.fees = nanoOf(this.fees)
    verdict.carried = nanoOf(carriedSum)
    return verdict
  }

  private place({ id, hold }: GenerationRecord): void {
    if (hold.seq > this.seq) this.tags.clear()
    else if (hold.seq < this.seq) this.note(`${id}: sequence ${hold.seq} comes after ${this.seq}: recorded out of order`)
    else if (this.tags.has(hold.tag)) this.note(`${id}: sequence ${hold.seq} recorded twice`)
    this.seq = hold.seq
    this.tags.add(hold.tag)
  }

  private post(id: string, entries: readonly Entry[]): void {
    let sum = 0
    for (const { account, of, nano } of entries) {
      sum += nano
      if (account === 'key') {
        addTo(this.sums, of, -nano)
        this.charged.add(-nano)
        continue
      }
      if (!amount(nano)) this.note(`${id}: an entry of ${nano} for ${account} ${of}`)
      if (!Number.isInteger(nano)) continue
      if (account === 'fee') this.fees.add(nano)
      else this.providers.add(nano)
    }
    if (sum !== 0) this.note(`${id}: entries that sum to ${sum}`)
  }

  private note(problem: string): void {
    this.verdict.ok = false
    if (this.verdict.problems.length < MOST_PROBLEMS) this.verdict.problems.push(problem)
  }
}

function amount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

function addTo(sums: Map<string, Total>, key: string, nano: number): void {
  const sum = sums.get(key)
  if (sum) sum.add(nano)
  else sums.set(key, new Total(nano))
}

function nanoOf({ exact, cut }: Total): Nano {
  return BigInt(cut) === exact ? cut : exact
}

function same(a: Sums, b: Sums): boolean {
  if (a.size !== b.size) return false
  for (const [key, value] of a) if (b.get(key) !== value) return false
  return true
}
