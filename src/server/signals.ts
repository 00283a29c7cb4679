/** Ties the signals of a process to the drain, and the end of the drain to the exit. */
import type { Clock } from '../core/clock.ts'
import type { Drain, DrainResult } from './drain.ts'

/** The part of `process` that is needed; tests pass their own. */
export interface ProcessLike {
  on(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown
  off(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown
  exit(code: number): void
}

export interface SignalOptions {
  clock: Clock
  process: ProcessLike
  drain: Pick<Drain, 'open' | 'begin' | 'hurry'>
  /** Noun for the count of `drain.open` in the notice. */
  counted?: string | undefined
  /** Closes store, journal and admin once every exchange has ended. */
  close: (result: DrainResult) => Promise<void>
  /** Called with each step, for the log. */
  notice?: (text: string) => void
}

/** Closing what is behind the exchanges may take this long; then the exit code is 1. */
const CLOSE_MS = 10_000

/**
 * First signal: drain, close, exit 0. Second: open exchanges are cut, then the same. Third: exit 1 at once.
 * @returns a function that takes the handlers off again.
 */
export function drainOnSignals(options: SignalOptions): () => void {
  const { clock, process, drain } = options
  const say = options.notice ?? (() => {})
  let signals = 0
  const onSignal = () => {
    signals++
    if (signals === 1) {
      say(`draining ${drain.open} ${options.counted ?? 'open exchanges'}`)
      void drain
        .begin()
        .then((result) => {
          clock.after(CLOSE_MS, () => process.exit(1))
          return options.close(result)
        })
        .then(
          () => process.exit(0),
          (error: unknown) => {
            say(`closing failed: ${error instanceof Error ? error.message : String(error)}`)
            process.exit(1)
          },
        )
    } else if (signals === 2) {
      say('second signal: cutting open exchanges')
      drain.hurry()
    } else process.exit(1)
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  return () => {
    process.off('SIGTERM', onSignal)
    process.off('SIGINT', onSignal)
  }
}
