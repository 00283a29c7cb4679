/** Counters of a process that counts for itself although others serve the same keys: each takes its share of every limit. */
import type { MemoryCounters } from './memory-counters.ts'
import { shareOf, UNIT } from './rate-law.ts'
import type { CounterAnswer, CounterAsk, Counters } from './types.ts'

export class ShareCounters implements Counters {
  private readonly memory: MemoryCounters
  private readonly processes: () => number

  /** @param processes that live, this one among them, as last known. */
  constructor(memory: MemoryCounters, processes: () => number) {
    this.memory = memory
    this.processes = processes
  }

  take(ask: CounterAsk): CounterAnswer {
    const { memory } = this
    const processes = this.processes()
    if (processes <= 1) return memory.take(ask)
    const perMinute = shareOf(ask.perMinute, processes)
    const own = { ...ask, perMinute }
    if (ask.take <= perMinute || ask.take > ask.perMinute || ask.always) return memory.take(own)
    // More than a share, yet within the limit: it passes when none of the share is in use, and is waited off afterwards.
    const { left, wait } = memory.take({ ...own, take: 0 })
    if (left >= perMinute) return memory.take({ ...own, always: true })
    return { taken: false, left, wait: wait + Math.ceil(((perMinute - left) * UNIT) / perMinute) }
  }

  close(): Promise<void> {
    return this.memory.close()
  }
}
