/** Exports of past ranges that the control room starts: one at a time, to an export of the configuration, by this process. */
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import type { Log } from '../../core/log.ts'
import type { LedgerPlace } from '../../ledger/types.ts'
import type { Destination, ExportSettings } from './destination.ts'
import { errorProblem } from './exporter.ts'
import { openDestination } from './open-destination.ts'
import { AT_BEGIN, type ExportedLine, exportRange, type RunPosition } from './range-export.ts'

export interface RangeExportsSource {
  readonly exports: readonly ExportSettings[]
  /** Settled generations of a range, behind a place. */
  readonly lines: (range: { since: number; until: number; after: LedgerPlace }) => AsyncIterable<ExportedLine>
  readonly clock: Clock
  readonly log: Log
}

interface Run {
  readonly name: string
  readonly since: number
  readonly until: number
  readonly destination: Destination
  position: RunPosition
  rows: number
  state: 'running' | 'done' | 'failed'
  problem: string | null
}

/** Last run that was started, and the exports to which one can go. */
interface RangeStatus {
  exports: string[]
  run: (Pick<Run, 'rows' | 'state' | 'problem'> & { export: string; since: string; until: string; batches: number }) | null
}

export class RangeExports {
  private readonly source: RangeExportsSource
  private run: Run | undefined
  private running: Promise<void> | undefined
  private isClosed = false

  constructor(source: RangeExportsSource) {
    this.source = source
  }

  /** A run that has failed goes on where it stopped, if the same is wanted again. @throws Fault 404, 409. */
  start(name: string, { since, until }: { since: number; until: number }): RangeStatus {
    const { exports, clock, log } = this.source
    const settings = exports.find((each) => each.name === name)
    if (!settings) throw new Fault('not_found', { message: 'No such export' })
    if (this.run?.state === 'running') throw new Fault('conflict', { message: 'An export on demand runs already' })
    const before = this.run
    const goesOn = before?.state === 'failed' && before.name === name && before.since === since && before.until === until
    const position = goesOn ? before.position : { begunAt: clock.now(), batches: 0, ...AT_BEGIN }
    const rows = goesOn ? before.rows : 0
    const destination = openDestination(settings, clock)
    const run: Run = { name, since, until, destination, position, rows, state: 'running', problem: null }
    this.run = run
    log.info({ export: name, since, until }, 'an export on demand has begun')
    this.running = this.deliver(run, settings)
    return this.status()
  }

  status(): RangeStatus {
    const { run, source } = this
    return {
      exports: source.exports.map(({ name }) => name),
      run: run
        ? {
            export: run.name,
            since: new Date(run.since).toISOString(),
            until: new Date(run.until).toISOString(),
            rows: run.rows,
            batches: run.position.batches,
            state: run.state,
            problem: run.problem,
          }
        : null,
    }
  }

  /** Ends when the batch that is under way has ended. */
  async close(): Promise<void> {
    this.isClosed = true
    this.run?.destination.close()
    await this.running
  }

  private async deliver(run: Run, settings: ExportSettings): Promise<void> {
    const { clock, log, lines } = this.source
    const { since, until, destination, position } = run
    const before = run.rows
    try {
      await exportRange({
        settings,
        destination,
        lines: lines({ since, until, after: position }),
        position,
        clock,
        stopped: () => this.isClosed,
        progress: (at, rows) => {
          run.position = at
          run.rows = before + rows
        },
      })
      run.state = 'done'
    } catch (error) {
      run.state = 'failed'
      run.problem = errorProblem(error)
    } finally {
      destination.close()
      const { name, rows, state, problem } = run
      log.info({ export: name, rows, state, problem: problem ?? undefined }, 'an export on demand has ended')
    }
  }
}
