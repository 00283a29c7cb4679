/**
 * Rows of slices, read from the ledger when somebody looks at a range and kept for the next look: in blocks of ten minutes, the newest
 * first. A block is read anew while generations of it may still be settled, and then no more often than its reading took time.
 * See docs/decisions/0099-slices.md.
 */
import type { Clock } from '../../core/clock.ts'
import { TICKS } from '../../core/ids.ts'
import type { LedgerReader } from '../reader.ts'
import type { GenerationRecord } from '../types.ts'
import { columnNames, WIDTH, writeRow } from './slice-rows.ts'

/** Milliseconds. A sequence within it fits into 32 bits. */
export const BLOCK_MS = 600_000
/** Rows that are kept: 96 MB. */
const MAX_ROWS = 1_500_000
/** Generations of one page of the search. */
const PAGE = 2_000
/** Milliseconds after a block's end in which processes may still hand rows of it in. */
const LATE_MS = 300_000
/** Open generations of a block are looked for again for so long: a request that runs longer ends with the process at the latest. */
const OPEN_MS = 7_200_000
/** Milliseconds for which a reading holds at least; more where it took long. */
const FRESH_MS = 1_000
const LIFE = 10
/** Milliseconds without a look after which the rows are given back. */
const IDLE_MS = 1_800_000

export interface RowBlock {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly rows: Uint32Array
}

interface KeptBlock extends RowBlock {
  /** Monotonic milliseconds: from then on it is read anew. */
  readonly until: number
}

const NO_ROWS = new Uint32Array(0)

/** Generations of one block while they are read. */
interface Gathered {
  readonly records: GenerationRecord[]
  open: number
}

export class KeptRows {
  names = columnNames()
  private readonly ledger: Pick<LedgerReader, 'search'>
  private readonly clock: Pick<Clock, 'now' | 'monotonic' | 'after'>
  private readonly blocks = new Map<number, KeptBlock>()
  private readonly most: number
  private count = 0
  /** The newest block of the range that is looked at for which there was no room, and its rows. */
  private left: { readonly at: number; readonly rows: number } | undefined
  private reading: Promise<void> | undefined
  /** The range that is to be read: the widest of those that are looked at. */
  private wanted: { from: number; until: number } | undefined
  private lastLook = 0
  private hasTimer = false

  constructor(ledger: Pick<LedgerReader, 'search'>, clock: Pick<Clock, 'now' | 'monotonic' | 'after'>, most = MAX_ROWS) {
    this.ledger = ledger
    this.clock = clock
    this.most = most
  }

  /**
   * Has the blocks of a range read. It goes on where a caller stops waiting for it.
   * @returns when all are read, or no more can be kept. @throws Fault `unavailable` where the ledger cannot be read.
   */
  read(from: number, until: number): Promise<void> {
    this.look()
    const { wanted } = this
    this.wanted = wanted ? { from: Math.min(from, wanted.from), until: Math.max(until, wanted.until) } : { from, until }
    this.reading ??= this.readWanted().finally(() => {
      this.reading = undefined
      this.wanted = undefined
    })
    return this.reading
  }

  /** Blocks of a range that are known without a gap from its end on, the newest first. */
  known(from: number, until: number): RowBlock[] {
    const blocks: RowBlock[] = []
    for (let at = lastBlock(until, this.clock.now()); at >= firstBlock(from); at -= BLOCK_MS) {
      const block = this.blocks.get(at)
      if (!block) break
      blocks.push(block)
    }
    return blocks
  }

  /** True where rows of the range that is looked at were given up, or not kept, for want of room. */
  get isFull(): boolean {
    return this.left !== undefined
  }

  private async readWanted(): Promise<void> {
    for (let next = this.missing(); next; next = this.missing()) await this.readRun(next.from, next.until)
  }

  /** The newest blocks of the wanted range that are to be read, as far as they stand beside each other. */
  private missing(): { from: number; until: number } | undefined {
    const { wanted } = this
    if (!wanted) return undefined
    const now = this.clock.monotonic()
    let run: { from: number; until: number } | undefined
    let newer = 0
    for (let at = lastBlock(wanted.until, this.clock.now()); at >= firstBlock(wanted.from); at -= BLOCK_MS) {
      const block = this.blocks.get(at)
      newer += block ? block.rows.length / WIDTH : 0
      const isDue = block ? block.until <= now : this.hasRoom(at, newer)
      if (isDue) run = { from: at, until: run?.until ?? at + BLOCK_MS }
      else if (run || !block) break
    }
    return run
  }

  /** @param newer rows of the range that are newer than a block. */
  private hasRoom(at: number, newer: number): boolean {
    const { left } = this
    return left === undefined || at > left.at || newer + left.rows <= this.most
  }

  private isWanted(at: number): boolean {
    const { wanted } = this
    return wanted !== undefined && at + BLOCK_MS > wanted.from && at < wanted.until
  }

  /** The block that is given up first: the oldest of those outside the range that is looked at, else the oldest of it. */
  private leastWanted(): number | undefined {
    let found: number | undefined
    for (const at of this.blocks.keys()) {
      const [one, other] = [this.isWanted(at), found !== undefined && this.isWanted(found)]
      if (found === undefined || (one === other ? at < found : other)) found = at
    }
    return found
  }

  /** Reads blocks that stand beside each other, the newest first, until as many rows are kept as may be. */
  private async readRun(from: number, until: number): Promise<void> {
    let before: string | undefined = ''
    let at = until - BLOCK_MS
    let begun = this.clock.monotonic()
    let gathered: Gathered = { records: [], open: 0 }
    let isKept = true
    const done = (): void => {
      isKept &&= this.keepBlock(at, gathered, begun)
      at -= BLOCK_MS
      begun = this.clock.monotonic()
      gathered = { records: [], open: 0 }
    }
    while (before !== undefined) {
      const page: Awaited<ReturnType<LedgerReader['search']>> = await this.ledger.search({ from, until, limit: PAGE }, before)
      for (const record of page.rows) {
        while (record.hold.seq < at * TICKS) done()
        if (record.settled) gathered.records.push(record)
        else gathered.open++
      }
      before = page.next
      // Also blocks without a generation are done once the search has passed them.
      const passed = before === undefined ? from : Number(before.split(' ')[0]) / TICKS
      while (at >= passed || (before === undefined && at >= from)) done()
      if (!isKept) return
    }
  }

  /** @returns false where there was no room for it: all that is kept is wanted, and newer. */
  private keepBlock(at: number, { records, open }: Gathered, begun: number): boolean {
    const rows = records.length === 0 ? NO_ROWS : new Uint32Array(records.length * WIDTH)
    for (const [index, record] of records.entries()) writeRow(rows, index * WIDTH, record, this.names, at * TICKS)
    const before = this.blocks.get(at)
    this.count += records.length - (before ? before.rows.length / WIDTH : 0)
    const now = this.clock.now()
    const mayChange = now < at + BLOCK_MS + LATE_MS || (open > 0 && now < at + BLOCK_MS + OPEN_MS)
    const ended = this.clock.monotonic()
    const until = mayChange ? ended + Math.max(FRESH_MS, LIFE * (ended - begun)) : Number.POSITIVE_INFINITY
    this.blocks.set(at, { at, rows, until })
    if (this.left && this.left.at >= at) this.left = undefined
    while (this.count > this.most) this.giveUp(this.leastWanted())
    return this.blocks.has(at)
  }

  private giveUp(at = 0): void {
    const rows = (this.blocks.get(at)?.rows.length ?? 0) / WIDTH
    this.count -= rows
    this.blocks.delete(at)
    if (this.isWanted(at)) this.left = { at, rows }
  }

  /** Notes a look; the rows are given back some time after the last one. */
  private look(): void {
    this.lastLook = this.clock.monotonic()
    if (this.hasTimer) return
    this.hasTimer = true
    this.clock.after(IDLE_MS, () => this.giveBack())
  }

  private giveBack(): void {
    this.hasTimer = false
    const idle = this.clock.monotonic() - this.lastLook
    if (idle >= IDLE_MS && !this.reading) {
      this.blocks.clear()
      this.names = columnNames()
      this.count = 0
      return
    }
    this.hasTimer = true
    this.clock.after(IDLE_MS - Math.min(idle, IDLE_MS - FRESH_MS), () => this.giveBack())
  }
}

const firstBlock = (from: number): number => Math.floor(from / BLOCK_MS) * BLOCK_MS

/** Of moments that are still to come there are blocks too: a clock that was ahead may have dated generations. */
function lastBlock(until: number, now: number): number {
  return Math.floor((Math.min(until, now + BLOCK_MS) - 1) / BLOCK_MS) * BLOCK_MS
}
