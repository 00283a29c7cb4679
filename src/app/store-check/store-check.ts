/**
 * Checks the file of the embedded store beside the work, once after each start that has not read all of it: row by row in a thread, with
 * pauses, so that neither requests nor the disk notice. What looks damaged is read again while no checkpoint changes the file. Nothing is repaired.
 */
import { extname } from 'node:path/posix'
import type { Clock, Timer } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { ThreadError, ThreadPool } from '../../services/threads/index.ts'
import { AdaptivePage } from '../../store/adaptive-page.ts'
import type { UncheckedFile } from '../../store/open.ts'
import { isDamage } from '../../store/page-check.ts'
import type { SliceJob, SliceResult } from './job.ts'

/** Rows of one slice, and the milliseconds that it should take. */
const SLICE = { least: 50, most: 5_000, target: 25 }
/** Milliseconds from the start to the first slice. */
const FIRST = 1_000
/** A pause is so many times as long as the slice before: a quarter of a core, or of a disk that is slow, is the most that it takes. */
const PAUSE = 3
/** Milliseconds that a slice may take, on any disk, and until it is tried again where that went wrong. */
const TIMEOUT_MS = 120_000
const AGAIN = 20_000
/** Times in a row that the system cannot read a page before the page counts as damaged. */
const UNREAD = 3

export interface StoreCheckOptions {
  readonly file: UncheckedFile
  readonly clock: Clock
  readonly log: Log
  /** Called once, where the file is damaged. */
  readonly damaged: (problem: string) => void
}

export class StoreCheck {
  private readonly options: StoreCheckOptions
  private readonly threads = new ThreadPool({
    module: new URL(`./thread${extname(import.meta.url)}`, import.meta.url),
    threads: 1,
    waiting: 1,
  })
  private readonly page = new AdaptivePage(SLICE)
  private readonly begun: number
  private timer: Timer | undefined
  private at = 0
  private after: SliceJob['after']
  private rows = 0
  private readings = 0
  private unread = 0
  private over = false

  constructor(options: StoreCheckOptions) {
    this.options = options
    const { clock, log, file } = options
    this.begun = clock.monotonic()
    log.info({ file: file.path }, 'the start has checked the latest rows of the store; the rest of the file is checked beside the work')
    this.later(FIRST)
  }

  /** For readiness and status: what is not known of the file yet. */
  get notes(): string[] {
    if (this.over) return []
    const { tables } = this.options.file
    return [`the file of the store is being checked: ${this.at} of ${tables.length} tables, ${this.rows} rows so far`]
  }

  close(): void {
    this.over = true
    this.timer?.cancel()
    this.threads.close()
  }

  private later(ms: number): void {
    if (!this.over) this.timer = this.options.clock.after(ms, () => void this.next())
  }

  private async next(): Promise<void> {
    const { clock, log, file } = this.options
    const begun = clock.monotonic()
    try {
      const most = this.page.size
      const found = await this.read(most, `${file.checkpoints.count}`)
      if (this.over) return
      const sure =
        found.problem === undefined ? found : await file.checkpoints.whileStill(() => this.read(most, `still ${++this.readings}`))
      if (this.over) return
      if (sure.problem !== undefined) return this.end(sure.problem)
      this.took(sure)
    } catch (thrown) {
      if (this.over) return
      const problem = thrown instanceof Error ? thrown.message : String(thrown)
      // A checkpoint that meets a damaged page.
      if (isDamage(thrown)) return this.end(problem)
      if (thrown instanceof ThreadError && thrown.failure === 'refused' && ++this.unread >= UNREAD)
        return this.end(`it cannot be read: ${thrown.word}`)
      log.warn({ file: file.path, problem }, 'the check of the store cannot go on; it is tried again')
      return this.later(AGAIN)
    }
    const took = clock.monotonic() - begun
    this.page.took(took)
    if (this.at < file.tables.length) return this.later(Math.max(1, took * PAUSE))
    log.info(
      { file: file.path, rows: this.rows, seconds: Math.round((clock.monotonic() - this.begun) / 1000) },
      'the file of the store is whole',
    )
    this.close()
  }

  private read(most: number, state: string): Promise<SliceResult> {
    const { file, clock } = this.options
    const table = file.tables[this.at]
    if (!table) return Promise.resolve({ rows: 0 })
    const job: SliceJob = { path: file.path, state, table, after: this.after, most }
    return this.threads.run(job, { clock, timeout: TIMEOUT_MS }) as Promise<SliceResult>
  }

  private took({ rows, after }: SliceResult): void {
    this.unread = 0
    this.rows += rows
    this.after = after
    if (after === undefined) this.at++
  }

  private end(problem: string): void {
    this.close()
    this.options.damaged(problem)
  }
}
