/** Readings of balances for callers: one runs and one waits, which covers all that is requested meanwhile. */
import type { Clock } from '../core/clock.ts'
import type { Balance, StoreOfRecord } from '../store/record.ts'
import { unreachable, within } from './bounded.ts'

export interface BalanceReadingsOptions {
  readonly record: Pick<StoreOfRecord, 'balances' | 'spentByAll'>
  readonly clock: Pick<Clock, 'after'>
  /** Runs a reading between two batches of rows. */
  readonly between: <T>(read: () => Promise<T>) => Promise<T>
  /** Called with what was read, before the next batch of rows. @param all undefined where it was not read. */
  readonly learn: (balances: readonly Balance[], all: bigint | undefined) => void
}

interface Next {
  readonly identities: Set<string>
  all: boolean
  readonly done: Promise<void>
}

/** Milliseconds for which callers wait, and after which a reading makes room for rows. */
const LONGEST_READ = 2_000

export class BalanceReadings {
  private readonly options: BalanceReadingsOptions
  private next: Next | undefined

  constructor(options: BalanceReadingsOptions) {
    this.options = options
  }

  /**
   * Resolves once a reading that began after the call has ended.
   * @param all true for the sum over all keys as well. @throws Fault `unavailable`.
   */
  read(identities: readonly string[], all = false): Promise<void> {
    this.next ??= this.queue()
    for (const identity of identities) this.next.identities.add(identity)
    if (all) this.next.all = true
    return within(this.options.clock, LONGEST_READ, this.next.done).catch((thrown: unknown) => {
      throw unreachable(thrown)
    })
  }

  private queue(): Next {
    const identities = new Set<string>()
    const begun = (): void => {
      if (this.next === next) this.next = undefined
    }
    const read = (): Promise<void> => {
      begun()
      return this.run([...identities], next.all)
    }
    // Where the batch before it fails, a reading ends without having begun.
    const done = Promise.resolve()
      .then(() => this.options.between(read))
      .finally(begun)
    const next: Next = { identities, all: false, done }
    return next
  }

  private async run(identities: readonly string[], all: boolean): Promise<void> {
    const { record, clock, learn } = this.options
    const balances = identities.length > 0 ? record.balances(identities) : []
    const read = Promise.all([balances, all ? record.spentByAll() : undefined])
    // What comes later is not learned: rows may have been taken meanwhile.
    learn(...(await within(clock, LONGEST_READ, read)))
  }
}
