/** When the log of the embedded store is copied into its file. */
import type { DatabaseSync } from 'node:sqlite'
import type { Clock, Timer } from '../core/clock.ts'
import { CHECKPOINT_PAGES } from './sqlite.ts'
import { integer } from './sqlite-values.ts'

export type CheckpointReport =
  | { kind: 'checkpoint-failed'; cause: unknown }
  /** All requests waited for so many milliseconds: the disk is slow. */
  | { kind: 'checkpoint-slow'; ms: number }

export interface CheckpointOptions {
  readonly clock: Clock
  readonly report: (report: CheckpointReport) => void
}

/**
 * A checkpoint costs two fsyncs however little it copies, and stalls the loop for longer the more it copies.
 * So it comes when this many rows wait in the log, looked at this often, and else after so many milliseconds.
 */
const ROWS = 2_000
const LOOK = 250
const LATEST = 5_000
/** A checkpoint comes no earlier than this many times as long as the last one took: on a slow disk requests wait for a fiftieth of the time. */
const REST = 50
/** Milliseconds above which a disk counts as slow, and between two reports. */
const SLOW = 500
const REPORT_PAUSE = 600_000

export class Checkpoints {
  /** Number of checkpoints that have begun. Between two of them the file itself does not change. */
  count = 0
  private readonly db: DatabaseSync
  private readonly options: CheckpointOptions
  /** Writes a number that is there already. */
  private readonly writeNothing: string
  /** A database in memory has no log. */
  private readonly hasLog: boolean
  private timer: Timer | undefined
  /** Rows since the last one, and when the first of them came. */
  private rows = 0
  private since = 0
  private still = false
  /** Monotonic milliseconds. */
  private notBefore = 0
  private reportedAt = Number.NEGATIVE_INFINITY

  /** @throws what SQLite throws. */
  constructor(db: DatabaseSync, options: CheckpointOptions) {
    this.db = db
    this.options = options
    this.hasLog = db.location() !== null
    this.writeNothing = `PRAGMA user_version = ${integer(db.prepare('PRAGMA user_version').get()?.user_version)}`
  }

  /** So many rows more wait in the log. */
  logged(rows: number): void {
    if (!this.hasLog) return
    this.rows += rows
    if (this.timer) return
    this.since = this.options.clock.monotonic()
    this.timer = this.options.clock.after(LOOK, this.look)
  }

  /** Runs it while the file has everything that was written until now, and does not change. @throws what it throws, and what SQLite throws. */
  async whileStill<T>(work: () => Promise<T>): Promise<T> {
    this.copy()
    this.db.exec('PRAGMA wal_autocheckpoint = 0')
    this.still = true
    try {
      return await work()
    } finally {
      this.still = false
      if (this.db.isOpen) this.db.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
    }
  }

  close(): void {
    this.timer?.cancel()
  }

  private readonly look = (): void => {
    const { clock, report } = this.options
    const begun = clock.monotonic()
    const due = !this.still && (this.rows >= ROWS || begun - this.since >= LATEST) && begun >= this.notBefore
    this.timer = due ? undefined : clock.after(LOOK, this.look)
    if (!due) return
    this.rows = 0
    try {
      this.copy()
    } catch (cause) {
      report({ kind: 'checkpoint-failed', cause })
    }
    const ended = clock.monotonic()
    this.notBefore = ended + REST * (ended - begun)
    if (ended - begun < SLOW || ended - this.reportedAt < REPORT_PAUSE) return
    this.reportedAt = ended
    report({ kind: 'checkpoint-slow', ms: Math.round(ended - begun) })
  }

  /**
   * Copies the log into the file, off the path of any request; a failure only leaves the log longer.
   * The first write after it starts the log over. That is done at once: a log that is cut or damaged later then takes back
   * only what came after the checkpoint, where pages that are in the file already would come back older than their
   * neighbours. It also takes that write's fsync away from the next request.
   */
  private copy(): void {
    this.count++
    this.db.exec('PRAGMA wal_checkpoint(PASSIVE)')
    this.db.exec(this.writeNothing)
  }
}
