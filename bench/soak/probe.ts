/**
 * Loaded into the gateway with `--import`: answers each message of its parent with what the process holds after a full
 * collection. Writes a heap snapshot where the message names a file.
 */
import { getHeapSpaceStatistics, writeHeapSnapshot } from 'node:v8'

/** Bytes, and counts of what keeps the event loop alive. */
export interface Held {
  readonly rss: number
  readonly heap: number
  readonly heapTotal: number
  /** Of V8's young generation: it doubles under load up to its bound, and does not shrink while the load lasts. */
  readonly young: number
  readonly external: number
  readonly buffers: number
  readonly timers: number
  /** Sockets, pipes and servers. */
  readonly handles: number
}

const TIMERS = new Set(['Timeout', 'Immediate'])

function held(): Held {
  const { rss, heapUsed, heapTotal, external, arrayBuffers } = process.memoryUsage()
  const resources = process.getActiveResourcesInfo()
  const timers = resources.filter((name) => TIMERS.has(name)).length
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.physical_space_size ?? 0
  return { rss, heap: heapUsed, heapTotal, young, external, buffers: arrayBuffers, timers, handles: resources.length - timers }
}

process.on('message', (order: { snapshot?: string }) => {
  // Twice: what a first collection finalises is freed by the second.
  globalThis.gc?.()
  globalThis.gc?.()
  const found = held()
  if (order.snapshot) writeHeapSnapshot(order.snapshot)
  process.send?.(found)
})
// The gateway ends as it would without a parent that listens.
process.channel?.unref()
