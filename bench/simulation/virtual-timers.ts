/** Libraries that ask the process for a timer or for chance get those of the simulation while it runs. */
import type { VirtualClock } from './virtual-clock.ts'

/** Runs the work with `setTimeout` and `Math.random` taken from the clock, and puts both back. */
export async function withVirtualTimers(clock: VirtualClock, work: () => Promise<void>): Promise<void> {
  const { setTimeout } = globalThis
  const { random } = Math
  const virtual = (fn: () => void, ms = 0): object => clock.after(ms, fn)
  Object.assign(globalThis, { setTimeout: virtual })
  Math.random = clock.random
  try {
    await work()
  } finally {
    Object.assign(globalThis, { setTimeout })
    Math.random = random
  }
}
