/** Slices of the ledger over any range: an answer comes at once, of what is read by then, and says how far that is. */
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import type { LedgerReader } from '../reader.ts'
import { extremeRows, recordsAt } from './extremes.ts'
import { KeptRows, type RowBlock } from './kept-rows.ts'
import { sumRows } from './slice-sums.ts'
import type { ExtremeList, ExtremeQuery, SliceCover, SliceList, SliceQuery, SliceRange } from './slice-types.ts'

/** Milliseconds for which a call waits for rows that are not read yet. */
const WAIT_MS = 60
/** Calls that add rows up at once. */
const MAX_RUNNING = 4

export class Slices {
  private readonly kept: KeptRows
  private readonly ledger: Pick<LedgerReader, 'search'>
  private readonly clock: Pick<Clock, 'now' | 'monotonic' | 'after'>
  private running = 0

  /** @param most rows that are kept. */
  constructor(ledger: Pick<LedgerReader, 'search'>, clock: Pick<Clock, 'now' | 'monotonic' | 'after'>, most?: number) {
    this.ledger = ledger
    this.clock = clock
    this.kept = new KeptRows(ledger, clock, most)
  }

  /** @throws Fault 400 where there are too many groups; `unavailable` where too many calls run, or the ledger cannot be read. */
  slices(query: SliceQuery): Promise<SliceList> {
    return this.over(query, async (blocks) => sumRows(blocks, this.kept.names, query))
  }

  /** Generations with the most of a measure. @throws as `slices`. */
  extremes(query: ExtremeQuery): Promise<ExtremeList> {
    return this.over(query, async (blocks) => ({
      rows: await recordsAt(await extremeRows(blocks, this.kept.names, query), this.ledger),
    }))
  }

  private async over<T>({ from, until }: SliceRange, work: (blocks: readonly RowBlock[]) => Promise<T>): Promise<T & SliceCover> {
    if (this.running >= MAX_RUNNING) throw new Fault('unavailable', { message: 'Too many slices of the ledger are made', retryAfter: 1 })
    this.running++
    try {
      const isRead = await this.waited(this.kept.read(from, until))
      const blocks = this.kept.known(from, until)
      const readFrom = Math.max(from, blocks.at(-1)?.at ?? until)
      return { ...(await work(blocks)), readFrom, isFull: isRead && readFrom > from && this.kept.isFull }
    } finally {
      this.running--
    }
  }

  /** @returns true where the reading ends in a short time; it goes on otherwise. @throws what it throws by then. */
  private async waited(reading: Promise<void>): Promise<boolean> {
    // A failure after the wait comes to the next call, which reads anew.
    reading.catch(() => {})
    const short = new Promise<false>((resolve) => this.clock.after(WAIT_MS, () => resolve(false)))
    return Promise.race([reading.then(() => true), short])
  }
}
