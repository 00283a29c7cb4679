/**
 * Sums and problems of a check of the ledger: it compares the sums by key, and those of the current day, week and month, with the rows from
 * which they can be rebuilt. Rows that an earlier check has read count with its sums.
 */

import { TICKS } from '../core/ids.ts'
import { ENTRY_KINDS, type EntryKind, LOSSES } from '../core/ledger-entries.ts'
import { Total } from '../core/money.ts'
import { chargedAccounts, splitPayers } from '../core/payers.ts'
import { countValues } from '../core/row-counts.ts'
import { WINDOWS, windowStarts } from '../core/windows.ts'
import type { LimitReset } from '../plugin-api/key.ts'
import type { EntrySum } from './entries.ts'
import { type Entry, exportEntries } from './export.ts'
import type { Pace } from './pace.ts'
import type { GenerationRecord, HoldRow, RecordedWindows, SettleRow, Sums } from './types.ts'

export interface Verdict {
  ok: boolean
  generations: number
  /** Still without a settlement. */
  open: number
  /** Nano-dollars of all settlements: what left the keys. */
  charged: Nano
  /** The two parts of it: `providers + fees = charged`. */
  providers: Nano
  fees: Nano
  /** Nano-dollars of generations that retention has removed; not in `charged`. */
  carried: Nano
  /** Entries beside the generations; absent where the ledger keeps none. */
  entries?: EntryFigures
  /** One line each, at most `MAX_PROBLEMS` of them. */
  problems: string[]
  /** The part that an earlier check covered: the other figures then count the rest. Absent where this check read everything. */
  before?: Earlier
}

/** Nano-dollars. */
export interface EntryFigures extends Readonly<Record<EntryKind, Nano>> {
  /** Of `unrecovered` and `disputed`: what no other entry has settled. */
  readonly open: Nano
}

/** The verdict with the figures of entries, whose moves are no longer in what was carried over. */
export function withEntries(verdict: Verdict, sums: readonly EntrySum[], moved: Sums): Verdict {
  const of = (kind: EntryKind): bigint => sums.reduce((sum, each) => sum + (each.kind === kind ? each.amount : 0n), 0n)
  const open = sums.reduce((sum, { kind, amount, settled }) => sum + (LOSSES.some((loss) => loss === kind) ? amount - settled : 0n), 0n)
  let carried = BigInt(verdict.carried)
  for (const nano of moved.values()) carried -= nano
  const figures = Object.fromEntries(ENTRY_KINDS.map((kind) => [kind, totalNano(new Total(of(kind)))])) as Record<EntryKind, Nano>
  return { ...verdict, carried: totalNano(new Total(carried)), entries: { ...figures, open: totalNano(new Total(open)) } }
}

/** The part of the ledger that was found right before, with what retention has removed of it since. */
export interface Earlier {
  readonly generations: number
  readonly charged: Nano | string
  readonly providers: Nano | string
  readonly fees: Nano | string
  /** ISO 8601: when that check began, and the admission of the generations that were not in it. */
  readonly checked_at: string
  readonly until: string
}

/** Nano-dollars, exact: a number as far as these are, 2^53. */
type Nano = number | bigint

const MAX_PROBLEMS = 100
export const NONE: Sums = new Map()

export interface SoFar {
  readonly generations: number
  readonly charged: bigint
  readonly providers: bigint
  readonly fees: bigint
  readonly sums: Sums
}

/** Work in short steps: what is done with all accounts is not done at once. */
export type Steps<T> = Generator<void, T, void>
/** Accounts of one step: less than a millisecond. */
const STEP = 200

/** With rests, in which requests go on. */
export async function paced<T>(steps: Steps<T>, pace: Pace): Promise<T> {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    if (pace.over) await pace.rest()
  }
}

export class Totals {
  private readonly verdict: Verdict = { ok: true, generations: 0, open: 0, charged: 0, providers: 0, fees: 0, carried: 0, problems: [] }
  private readonly charged = new Total()
  private readonly providers = new Total()
  private readonly fees = new Total()
  private readonly sums = new Map<string, Total>()
  /** Charges of keys with payers: these count at each of them as well. */
  private readonly issued = new Map<string, Total>()
  private readonly windows: WindowCheck | undefined
  private seq = -1
  /** Tags that the present sequence came with: processes without a common store may draw the same one. */
  private readonly tags = new Set<string>()

  constructor(windows?: WindowCheck) {
    this.windows = windows
  }

  get generations(): number {
    return this.verdict.generations
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
    const counts = countValues(settled)
    if (!counts.every(amount)) this.note(`${id}: token counts ${counts.join(', ')}`)
    this.windows?.add(hold, settled)
    try {
      for (const payer of splitPayers(hold.payer)) addTo(this.issued, payer, settled.cost)
      this.post(id, exportEntries(record))
    } catch {
      this.note(`${id}: the facts of its settlement are no JSON`)
    }
  }

  /** A row that cannot be read, and all after it. */
  breaksOff(error: unknown): void {
    this.note(`after ${this.verdict.generations} generations: a row cannot be read: ${error instanceof Error ? error.message : error}`)
  }

  /** @param after windows as they were after the walk. */
  *checkWindows(after: RecordedWindows): Steps<void> {
    if (!this.windows) return
    for (const problem of yield* this.windows.problems(after)) this.note(problem)
  }

  /** Returns what has been added until now, with which the next check begins. */
  *soFar(): Steps<SoFar> {
    const sums = new Map<string, bigint>()
    for (const part of [this.sums, this.issued])
      for (const [account, sum] of part) {
        sums.set(account, (sums.get(account) ?? 0n) + sum.exact)
        if (sums.size % STEP === 0) yield
      }
    const [charged, providers, fees] = [this.charged.exact, this.providers.exact, this.fees.exact]
    return { generations: this.verdict.generations, charged, providers, fees, sums }
  }

  *carriedOver(carried: Sums): Steps<Pick<Verdict, 'carried'>> {
    const sum = new Total()
    let added = 0
    for (const each of carried.values()) {
      sum.add(each)
      if (++added % STEP === 0) yield
    }
    return { carried: totalNano(sum) }
  }

  /** @param carried sums of generations that were not added here. */
  *close(before: Sums, after: Sums, carried: Sums): Steps<Verdict> {
    const { sums, issued, verdict } = this
    let checked = 0
    for (const key of distinctKeys(sums, issued, after, carried)) {
      if (++checked % STEP === 0) yield
      const here = (sums.get(key)?.exact ?? 0n) + (issued.get(key)?.exact ?? 0n) + (carried.get(key) ?? 0n)
      const least = before.get(key) ?? 0n
      const most = after.get(key) ?? 0n
      const balance = least === most ? `${most} are` : `${least} to ${most} were`
      if (here < least || here > most) this.note(`key ${key}: settlements sum to ${here}, ${balance} recorded as spent`)
      else if (least < 0n || most < 0n) this.note(`key ${key}: ${balance} recorded as spent`)
    }
    verdict.charged = totalNano(this.charged)
    verdict.providers = totalNano(this.providers)
    verdict.fees = totalNano(this.fees)
    return Object.assign(verdict, yield* this.carriedOver(carried))
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
    if (this.verdict.problems.length < MAX_PROBLEMS) this.verdict.problems.push(problem)
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

function totalNano({ exact, cut }: Total): Nano {
  return BigInt(cut) === exact ? cut : exact
}

export function* same(a: Sums, b: Sums): Steps<boolean> {
  if (a.size !== b.size) return false
  let compared = 0
  for (const [key, value] of a) {
    if (b.get(key) !== value) return false
    if (++compared % STEP === 0) yield
  }
  return true
}

/** @returns the sums of both, or of the first less the second. */
export function* added(a: Sums, b: Sums, sign: 1n | -1n = 1n): Steps<Sums> {
  if (b.size === 0) return a
  const sums = new Map<string, bigint>()
  for (const key of distinctKeys(a, b)) {
    sums.set(key, (a.get(key) ?? 0n) + sign * (b.get(key) ?? 0n))
    if (sums.size % STEP === 0) yield
  }
  return sums
}

/** Keys of all of them, each once, without a list of them. */
export function* distinctKeys(...maps: readonly ReadonlyMap<string, unknown>[]): Generator<string, void, void> {
  for (const [place, map] of maps.entries())
    for (const key of map.keys()) if (!maps.some((other, at) => at < place && other.has(key))) yield key
}

/** Sums of the windows that an earlier check has read. */
export interface EarlierWindows {
  /** When that check ended, by the clock that decides on the windows: one that began later has nothing of what it read. */
  readonly at: number
  readonly of: Readonly<Partial<Record<LimitReset, WindowSums>>>
}

interface WindowSums {
  readonly start: number
  /** By account, nano-dollars. */
  readonly sums: Map<string, bigint>
}

/** Checks the sums of the current day, week and month, with the rows that a check has read before. */
export class WindowCheck {
  private readonly before: RecordedWindows
  private readonly starts: Readonly<Record<LimitReset, number>>
  /** Without the windows of which an earlier check has read an unknown part: by account, what that check has read, and what this one adds. */
  private readonly sums = new Map<LimitReset, { readonly read: Sums; readonly added: Map<string, Total> }>()

  /** @param before as they were before the first row is read. @param earlier absent: all rows are read. */
  constructor(before: RecordedWindows, earlier?: EarlierWindows) {
    this.before = before
    this.starts = windowStarts(before.at)
    for (const window of WINDOWS) {
      const read = earlier?.of[window]
      if (read?.start === this.starts[window]) this.sums.set(window, { read: read.sums, added: new Map() })
      else if (!earlier || earlier.at < this.starts[window]) this.sums.set(window, { read: NONE, added: new Map() })
    }
  }

  /** Returns what has been added until now, for a later check. */
  *soFar(): Steps<EarlierWindows['of']> {
    const of: Partial<Record<LimitReset, WindowSums>> = {}
    for (const [window, sums] of this.sums) {
      const exact = new Map<string, bigint>()
      for (const key of distinctKeys(sums.read, sums.added)) {
        exact.set(key, exactSum(sums, key))
        if (exact.size % STEP === 0) yield
      }
      of[window] = { start: this.starts[window], sums: exact }
    }
    return of
  }

  add(hold: HoldRow, { at, cost }: SettleRow): void {
    const moment = at > 0 ? at : Math.floor(hold.seq / TICKS)
    const accounts = chargedAccounts(hold)
    for (const [window, { added: sums }] of this.sums) {
      if (moment < this.starts[window]) continue
      for (const account of accounts) addTo(sums, account, cost)
    }
  }

  /**
   * One line each. A window that ended during the walk is not checked.
   * @param after as they were after the last row was read.
   */
  *problems(after: RecordedWindows): Steps<string[]> {
    const starts = windowStarts(after.at)
    const found: string[] = []
    let checked = 0
    for (const [window, sums] of this.sums) {
      if (starts[window] !== this.starts[window]) continue
      for (const key of distinctKeys(sums.read, sums.added, after.of)) {
        if (++checked % STEP === 0) yield
        const begins = after.of.get(key)?.starts[window] ?? 0
        const least = this.recorded(this.before, key, window)
        const most = this.recorded(after, key, window)
        const here = exactSum(sums, key)
        if (begins > starts[window])
          found.push(`key ${key}: its ${window} window begins at ${new Date(begins).toISOString()}, ahead of now`)
        else if (here < least || here > most)
          found.push(`key ${key}: settlements of its ${window} window sum to ${here}, ${most} are recorded`)
      }
    }
    return found
  }

  /** 0 where another window is recorded: one that has ended. */
  private recorded({ of }: RecordedWindows, key: string, window: LimitReset): bigint {
    const known = of.get(key)
    return known && known.starts[window] === this.starts[window] ? known.sums[window] : 0n
  }
}

const exactSum = ({ read, added: sums }: { read: Sums; added: ReadonlyMap<string, Total> }, key: string): bigint =>
  (read.get(key) ?? 0n) + (sums.get(key)?.exact ?? 0n)
