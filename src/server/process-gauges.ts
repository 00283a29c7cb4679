/** Gauges of the process itself: event-loop delay, memory, processor time, open files. */
import { readdir } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { reading, type Tallies } from '../core/metrics.ts'

/** Sampling interval of the loop delay in milliseconds; the kernel's timer slack is about 1. */
const RESOLUTION_MS = 20

const loopDelay = reading(
  'gauge',
  'event_loop_delay_seconds',
  'Delay of the event loop since the last scrape. Quantile 1 is the longest.',
  { labels: ['quantile'], isPerProcess: true },
)
const memory = reading('gauge', 'process_memory_bytes', 'Memory of the process: resident, heap in use, and buffers outside the heap.', {
  labels: ['kind'],
  isPerProcess: true,
})
const cpu = reading('counter', 'process_cpu_seconds_total', 'Processor time, user and system.', { labels: ['mode'], isPerProcess: true })
const startTime = reading('gauge', 'process_start_time_seconds', 'Unix time of the start.', { isPerProcess: true })
const openFiles = reading('gauge', 'process_open_files', 'Open file descriptors, where the system shows them.', { isPerProcess: true })

export class ProcessGauges {
  private readonly delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })

  constructor(tallies: Tallies) {
    const { delay } = this
    delay.enable()
    tallies.of(loopDelay).from(() => {
      // The monitor counts its own waiting time in; what remains is the delay.
      const late = (ns: number) => (delay.count === 0 ? 0 : Math.max(0, ns / 1e9 - RESOLUTION_MS / 1000))
      const delays = [
        [{ quantile: '0.5' }, late(delay.percentile(50))],
        [{ quantile: '0.99' }, late(delay.percentile(99))],
        [{ quantile: '1' }, late(delay.max)],
      ] as const
      delay.reset()
      return delays
    })
    tallies.of(memory).from(() => {
      const { rss, heapUsed, external } = process.memoryUsage()
      return [
        [{ kind: 'resident' }, rss],
        [{ kind: 'heap' }, heapUsed],
        [{ kind: 'external' }, external],
      ]
    })
    tallies.of(cpu).from(() => {
      const { user, system } = process.cpuUsage()
      return [
        [{ mode: 'user' }, user / 1e6],
        [{ mode: 'system' }, system / 1e6],
      ]
    })
    tallies.of(startTime).from(() => performance.timeOrigin / 1000)
    tallies.of(openFiles).from(() =>
      readdir('/proc/self/fd').then(
        (files) => files.length,
        () => undefined,
      ),
    )
  }

  close(): void {
    this.delay.disable()
  }
}
