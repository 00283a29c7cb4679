/** A limit of time for what may not hear an abort signal everywhere, as the chain of AWS does not. */
import type { Clock } from '../../core/clock.ts'

export interface TimeLimit {
  readonly clock: Clock
  readonly ms: number
  /** What the call rejects with when the time has passed. */
  late(): Error
}

/** Aborts the signal, and rejects, when the time has passed. */
export async function withinLimit<Result>({ clock, ms, late }: TimeLimit, run: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const controller = new AbortController()
  let expire = (): void => {}
  const expired = new Promise<never>((_, reject) => {
    expire = () => reject(late())
  })
  const timer = clock.after(ms, () => {
    expire()
    controller.abort()
  })
  try {
    return await Promise.race([run(controller.signal), expired])
  } finally {
    timer.cancel()
  }
}
