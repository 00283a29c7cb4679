/**
 * Shared counters with a fallback: while they do not answer, this process applies its own share of each limit.
 *
 * Units taken from the shared counters are counted here as well, so that an outage does not begin with a fresh allowance. If an
 * answer is missing, this process decides at once; if a second call also gets no answer, the outage begins.
 */

import type { Clock, Timer } from '../../core/clock.ts'
import type { MemoryCounters } from './memory-counters.ts'
import { limitShare, UNIT } from './rate-law.ts'
import type { AvailabilityReport, CounterAnswer, CounterAsk, Counters } from './types.ts'

interface FallbackSource {
  clock: Clock
  /** Their promises may be rejected. */
  shared: Counters
  local: MemoryCounters
  /** Processes that live, this one among them, as last known. */
  processes: () => number
  /** Called once when an outage begins, and once when it ends. */
  report: (report: AvailabilityReport) => void
}

/** Milliseconds between checks whether the shared counters answer again. */
const ASK_AGAIN_MS = 1_000
/** Takes something, since a server may still answer but no longer write; it has drained a millisecond later. */
const PROBE: CounterAsk = { name: 'probe', perMinute: UNIT, take: 1, always: true }

export class FallbackCounters implements Counters {
  private readonly source: FallbackSource
  private readonly share: ShareCounters
  private degraded = false
  private asking: Promise<void> | undefined
  private timer: Timer | undefined
  private closed = false

  constructor(source: FallbackSource) {
    this.source = source
    this.share = new ShareCounters(source.local, source.processes)
  }

  /** True during an outage. */
  get isDegraded(): boolean {
    return this.degraded
  }

  /** Never rejected; no promise during an outage. */
  take(ask: CounterAsk): CounterAnswer | Promise<CounterAnswer> {
    if (this.degraded) return this.share.take(ask)
    const taking = this.source.shared.take(ask)
    if (!(taking instanceof Promise)) return this.mirror(ask, taking)
    return taking.then(
      (answer) => this.mirror(ask, answer),
      () => {
        void this.check()
        return this.share.take(ask)
      },
    )
  }

  /** Checks whether the shared counters answer; called early when there are signs that they do or that they do not. */
  check(): Promise<void> {
    if (this.closed) return Promise.resolve()
    this.asking ??= this.ask().finally(() => {
      this.asking = undefined
    })
    return this.asking
  }

  async close(): Promise<void> {
    this.closed = true
    this.timer?.cancel()
    await this.source.shared.close()
    await this.source.local.close()
  }

  private async ask(): Promise<void> {
    this.timer?.cancel()
    this.timer = undefined
    try {
      await this.source.shared.take(PROBE)
    } catch (error) {
      if (this.closed) return
      this.timer = this.source.clock.after(ASK_AGAIN_MS, () => void this.check())
      if (!this.degraded) this.source.report({ kind: 'shared-lost', reason: error instanceof Error ? error.message : 'unknown' })
      this.degraded = true
      return
    }
    if (this.degraded && !this.closed) this.source.report({ kind: 'shared-back' })
    this.degraded = false
  }

  private mirror(ask: CounterAsk, answer: CounterAnswer): CounterAnswer {
    if (answer.taken && ask.take !== 0) this.source.local.take({ ...ask, always: true })
    return answer
  }
}

/** Counters of a process that counts for itself although others serve the same keys: each takes its share of every limit. */
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
    const perMinute = limitShare(ask.perMinute, processes)
    const own = { ...ask, perMinute }
    if (ask.take <= perMinute || ask.take > ask.perMinute || ask.always) return { ...memory.take(own), share: perMinute }
    // More than a share, yet within the limit: it passes when none of the share is in use, and is waited off afterwards.
    const { left, wait, full } = memory.take({ ...own, take: 0 })
    if (left >= perMinute) return { ...memory.take({ ...own, always: true }), share: perMinute }
    return { taken: false, left, wait: wait + Math.ceil(((perMinute - left) * UNIT) / perMinute), full, share: perMinute }
  }

  close(): Promise<void> {
    return this.memory.close()
  }
}
