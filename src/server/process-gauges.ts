/** Gauges of the process itself: event-loop delay, memory, processor time, open files. */
import { readdir } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Registry } from 'prom-client'
import { Counter, Gauge } from 'prom-client'

/** Sampling interval of the loop delay in milliseconds; the kernel's timer slack is about 1. */
const RESOLUTION_MS = 20

export class ProcessGauges {
  private readonly delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })

  constructor(registry: Registry) {
    this.delay.enable()
    this.declareLoop(registry)
    this.declareProcess(registry)
  }

  close(): void {
    this.delay.disable()
  }

  private declareLoop(registry: Registry): void {
    const delay = this.delay
    new Gauge({
      name: 'headgate_event_loop_delay_seconds',
      help: 'Delay of the event loop since the last scrape.',
      labelNames: ['quantile'],
      registers: [registry],
      collect() {
        // The monitor counts its own waiting time in; what remains is the delay.
        const late = (ns: number) => (delay.count === 0 ? 0 : Math.max(0, ns / 1e9 - RESOLUTION_MS / 1000))
        this.set({ quantile: '0.5' }, late(delay.percentile(50)))
        this.set({ quantile: '0.99' }, late(delay.percentile(99)))
        this.set({ quantile: '1' }, late(delay.max))
        delay.reset()
      },
    })
  }

  private declareProcess(registry: Registry): void {
    const registers = [registry]
    new Gauge({
      name: 'headgate_process_memory_bytes',
      help: 'Memory of the process: resident, heap in use, and buffers outside the heap.',
      labelNames: ['kind'],
      registers,
      collect() {
        const memory = process.memoryUsage()
        this.set({ kind: 'resident' }, memory.rss)
        this.set({ kind: 'heap' }, memory.heapUsed)
        this.set({ kind: 'external' }, memory.external)
      },
    })
    new Counter({
      name: 'headgate_process_cpu_seconds_total',
      help: 'Processor time used.',
      labelNames: ['mode'],
      registers,
      collect() {
        const used = process.cpuUsage()
        this.reset()
        this.inc({ mode: 'user' }, used.user / 1e6)
        this.inc({ mode: 'system' }, used.system / 1e6)
      },
    })
    new Gauge({ name: 'headgate_process_start_time_seconds', help: 'Unix time of the start.', registers }).set(
      performance.timeOrigin / 1000,
    )
    new Gauge({
      name: 'headgate_process_open_files',
      help: 'Open file descriptors; absent where the system does not tell.',
      registers,
      async collect() {
        try {
          this.set((await readdir('/proc/self/fd')).length)
        } catch {
          this.remove()
        }
      },
    })
  }
}
