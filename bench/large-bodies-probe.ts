/** Loaded into the gateway with `--import`: at each SIGUSR2 writes how late its event loop was since the last one, and what its heap holds after a full collection. */
import { writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Milliseconds. */
export interface Probed {
  readonly p99: number
  readonly max: number
  /** Most CPU time of this thread between two timers of a millisecond, at the 99th percentile and at the most: other processes cannot lengthen it. */
  readonly work99: number
  readonly workMax: number
  /** Bytes. */
  readonly heap: number
  readonly buffers: number
}

const file = process.env.HEADGATE_BENCH_PROBE
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
const cpu = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
let last = cpu()
let turns: number[] = []
setInterval(() => {
  const now = cpu()
  turns.push(now - last)
  last = now
}, 1).unref()

process.on('SIGUSR2', () => {
  const sorted = turns.sort((a, b) => a - b)
  const late = { p99: delay.percentile(99) / 1e6 - 1, max: delay.max / 1e6 - 1 }
  const work = { work99: sorted[Math.floor(sorted.length * 0.99)] ?? 0, workMax: sorted.at(-1) ?? 0 }
  globalThis.gc?.()
  globalThis.gc?.()
  const { heapUsed: heap, arrayBuffers: buffers } = process.memoryUsage()
  if (file !== undefined) writeFileSync(file, JSON.stringify({ ...late, ...work, heap, buffers } satisfies Probed))
  turns = []
  delay.reset()
  last = cpu()
})
