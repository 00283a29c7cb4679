/** Checks the books against themselves: what the `ledger verify` command runs. */
import { Fault } from '../core/faults.ts'
import { type Entry, entriesOf } from './entries.ts'
import type { GenerationRecord, LedgerReader } from './types.ts'

export interface Verdict {
  ok: boolean
  generations: number
  /** Still without a settlement. */
  open: number
  /** Nano-dollars of all settlements: what left the keys. */
  charged: number
  /** Where it went: `providers + fees = charged`. */
  providers: number
  fees: number
  /** Nano-dollars of generations that retention has removed; not in `charged`. */
  carried: number
  /** One line each, at most `MOST_PROBLEMS` of them. */
  problems: string[]
}

type Sums = ReadonlyMap<string, number>

const MOST_PROBLEMS = 100
/** Records after which requests get their turn. */
const BREATH = 500
/** Walks until one was not overtaken by retention. */
const MOST_WALKS = 5
const NONE: Sums = new Map()

/**
 * The order of the sequence kept, every generation once, at most one settlement per hold and of the same sequence,
 * entries that sum to zero, no negative or broken amount, and the entries of each key together with what was carried
 * over summing to its balance.
 * @param spent the balances: nano-dollars per key. @param carried the part of them whose generations have been removed.
 */
export function verify(records: Iterable<GenerationRecord>, spent: Sums, carried: Sums = NONE): Verdict {
  const books = new Books()
  for (const record of records) books.add(record)
  return books.close(spent, spent, carried)
}

/**
 * The same for a ledger that is being written to, and where rows may be damaged: the sum of each key lies between its balances before and after the walk.
 * @throws Fault `unavailable` where the ledger cannot be read.
 */
export async function verifyLedger(ledger: LedgerReader): Promise<Verdict> {
  for (let walks = 1; ; walks++) {
    const carriedBefore = (await ledger.carried?.()) ?? NONE
    const before = await ledger.spent()
    const books = new Books()
    let walked = 0
    try {
      for await (const record of ledger.export()) {
        books.add(record)
        if (++walked % BREATH === 0) await new Promise((resolve) => setImmediate(resolve))
      }
    } catch (error) {
      if (error instanceof Fault) throw error
      books.breaksOff(error)
    }
    const after = await ledger.spent()
    const carried = (await ledger.carried?.()) ?? NONE
    if (walks === MOST_WALKS || same(carriedBefore, carried)) return books.close(before, after, carried)
  }
}

class Books {
  private readonly verdict: Verdict = { ok: true, generations: 0, open: 0, charged: 0, providers: 0, fees: 0, carried: 0, problems: [] }
  private readonly sums = new Map<string, number>()
  private seq = -1
  /** Tags that the present sequence came with: processes without a common store may draw the same one. */
  private readonly tags = new Set<string>()

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
    try {
      this.post(id, entriesOf(record))
    } catch {
      this.note(`${id}: the facts of its settlement are no JSON`)
    }
  }

  /** A row that cannot be read, and all after it. */
  breaksOff(error: unknown): void {
    this.note(`after ${this.verdict.generations} generations: a row cannot be read: ${error instanceof Error ? error.message : error}`)
  }

  close(before: Sums, after: Sums, carried: Sums): Verdict {
    const { sums, verdict } = this
    for (const sum of carried.values()) verdict.carried = capped(verdict.carried + sum)
    for (const key of new Set([...sums.keys(), ...after.keys(), ...carried.keys()])) {
      const here = capped((sums.get(key) ?? 0) + (carried.get(key) ?? 0))
      const least = before.get(key) ?? 0
      const most = after.get(key) ?? 0
      const balance = least === most ? `${most} are` : `${least} to ${most} were`
      if (here < least || here > most) this.note(`key ${key}: settlements sum to ${here}, ${balance} recorded as spent`)
      else if (!amount(least) || !amount(most)) this.note(`key ${key}: ${balance} recorded as spent`)
    }
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
    const { sums, verdict } = this
    let sum = 0
    for (const { account, of, nano } of entries) {
      sum += nano
      if (account === 'key') {
        sums.set(of, (sums.get(of) ?? 0) - nano)
        verdict.charged -= nano
        continue
      }
      if (!amount(nano)) this.note(`${id}: an entry of ${nano} for ${account} ${of}`)
      verdict[account === 'fee' ? 'fees' : 'providers'] += nano
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

/** As the stores cut their sums. */
function capped(value: number): number {
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}

function same(a: Sums, b: Sums): boolean {
  if (a.size !== b.size) return false
  for (const [key, value] of a) if (b.get(key) !== value) return false
  return true
}
