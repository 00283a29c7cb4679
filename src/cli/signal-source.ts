/** The signals of the process as their sender meant them: one, however many programs pass it on. */
import type { Clock } from '../core/clock.ts'
import type { ProcessLike } from '../server/signals.ts'

/**
 * Milliseconds in which further signals count as the same one: Ctrl-C reaches every process of the terminal's group,
 * and npm or the launcher passes it on to its child once more.
 */
const SAME_SIGNAL = 500

type Name = 'SIGTERM' | 'SIGINT'

export function signalSource(clock: Clock, source: ProcessLike): ProcessLike {
  const merged = new Map<() => void, () => void>()
  let last = Number.NEGATIVE_INFINITY
  const wrap = (listener: () => void) => (): void => {
    const now = clock.monotonic()
    if (now - last < SAME_SIGNAL) return
    last = now
    listener()
  }
  return {
    on: (signal: Name, listener: () => void) => {
      const wrapped = merged.get(listener) ?? wrap(listener)
      merged.set(listener, wrapped)
      source.on(signal, wrapped)
    },
    off: (signal: Name, listener: () => void) => {
      const wrapped = merged.get(listener)
      if (wrapped) source.off(signal, wrapped)
    },
    exit: (code: number) => source.exit(code),
  }
}
