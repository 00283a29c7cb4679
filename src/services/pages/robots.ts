/** Verdict of a site's robots.txt on a page (RFC 9309). */
import { extname } from 'node:path'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { type FetchOptions, guardedFetch } from '../outbound/index.ts'
import { ThreadError, ThreadPool } from '../threads/index.ts'
import type { RobotsJob } from './robots-worker.ts'

const AGENT = 'headgate'
/** Bytes that are read; RFC 9309 §2.5 requires 500 KiB at least. */
const SIZE = 512 * 1024
/** Milliseconds that an answer is kept for. */
const KEPT = 5 * 60_000
/** Milliseconds for matching its rules. */
const LOOK = 3000

interface Kept {
  /** '' where all is allowed, undefined where nothing is. */
  text: string | undefined
  /** On the monotonic clock. */
  until: number
}

const kept = new LRUCache<string, Kept>({ maxSize: 8 * 1024 * 1024, sizeCalculation: ({ text }) => (text?.length ?? 0) + 100 })
/** Jobs that may wait: most take no time. */
const WAITING = 1000
const threads = new ThreadPool({
  module: new URL(`./robots-worker${extname(import.meta.url)}`, import.meta.url),
  threads: 1,
  waiting: WAITING,
})

export interface RobotsOptions extends Pick<FetchOptions, 'policy' | 'signal' | 'resolve'> {
  clock: Clock
  /** Milliseconds that fetching it may take. */
  timeout: number
}

/** @throws Fault where the site cannot be reached at all, as its page would; 503 where all threads are busy. */
export async function robotsAllow(address: string, options: RobotsOptions): Promise<boolean> {
  const at = new URL('/robots.txt', address).href
  const text = await fetchRobots(at, options)
  if (text === undefined || text === '') return text === ''
  const job: RobotsJob = { at, text, url: address, agent: AGENT }
  try {
    return (await threads.run(job, { clock: options.clock, timeout: LOOK, signal: options.signal })) === true
  } catch (thrown) {
    // A busy pool says nothing about the site, so it is no refusal.
    if (thrown instanceof ThreadError && thrown.failure === 'busy') throw new Fault('unavailable', { retryAfter: 1, cause: thrown })
    return false
  }
}

/** Ends the thread; a later call starts it anew. */
export function closeRobots(): void {
  threads.close()
}

async function fetchRobots(at: string, { policy, clock, timeout, signal, resolve }: RobotsOptions): Promise<string | undefined> {
  const known = kept.get(at)
  const now = clock.monotonic()
  if (known && known.until > now && known.until <= now + KEPT) return known.text
  const fetched = await guardedFetch(at, { policy, clock, timeout, signal, resolve, maxBytes: SIZE }).catch(endless)
  // RFC 9309 §2.3.1: a missing file allows all pages; a failing server allows none.
  const text = fetched && (fetched.status < 300 ? fetched.bytes.toString('utf8') : fetched.status < 500 ? '' : undefined)
  kept.set(at, { text, until: now + KEPT })
  return text
}

/** A robots.txt that is too long counts as a failing server. */
function endless(thrown: unknown): undefined {
  if (!(thrown instanceof Fault) || thrown.metadata?.fetch !== 'too_large') throw thrown
}
