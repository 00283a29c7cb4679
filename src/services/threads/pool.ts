/** A few threads for jobs of one kind, started when they are needed and ended when they are not. */
import { availableParallelism } from 'node:os'
import type { Clock, Timer } from '../../core/clock.ts'
import { type Job, Thread, ThreadError, type ThreadLimits } from './thread.ts'

export interface PoolOptions {
  /** The module that runs in each thread; it calls `serveJobs`. */
  module: URL
  /** Threads at most; 2 by default, 1 on a machine with one core. */
  threads?: number
  /** Jobs that may wait for a thread; 32 by default. */
  waiting?: number
  limits?: Partial<ThreadLimits>
}

export interface JobOptions {
  clock: Clock
  /** Milliseconds, with the time that the job waits for a thread. */
  timeout: number
  signal?: AbortSignal | undefined
  /** Buffers in the job that may be moved instead of copied. */
  transfer?: readonly ArrayBuffer[]
}

const THREADS = 2
const WAITING = 32
const LIMITS: ThreadLimits = { heap: 384, buffers: 192 }
/** Milliseconds after the last job at which the threads end. */
const IDLE = 60_000

export class ThreadPool {
  private readonly module: URL
  private readonly most: number
  private readonly mostWaiting: number
  private readonly limits: ThreadLimits
  private readonly threads = new Set<Thread>()
  private readonly idle: Thread[] = []
  private readonly waiting: Job[] = []
  private lasting: Timer | undefined

  constructor({ module, threads, waiting = WAITING, limits }: PoolOptions) {
    this.module = module
    this.most = threads ?? Math.min(THREADS, availableParallelism())
    this.mostWaiting = waiting
    this.limits = { ...LIMITS, ...limits }
  }

  /** Threads that are there. */
  get size(): number {
    return this.threads.size
  }

  /** Rejects with a `ThreadError`, or with the reason of the signal. */
  run(input: unknown, { clock, timeout, signal, transfer = [] }: JobOptions): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    if (signal?.aborted) {
      reject(signal.reason)
      return promise
    }
    const timer = clock.after(timeout, () => this.give(job, 'timeout'))
    const abort = (): void => {
      settle()
      reject(signal?.reason)
      this.give(job, 'closed')
    }
    const settle = (): void => {
      timer.cancel()
      signal?.removeEventListener('abort', abort)
    }
    const job: Job = {
      input,
      transfer,
      clock,
      done: (result) => {
        settle()
        resolve(result)
      },
      fail: (error) => {
        settle()
        reject(error)
      },
    }
    signal?.addEventListener('abort', abort, { once: true })
    this.take(job)
    return promise
  }

  /** Ends all threads; what they did fails. A later job starts new ones. */
  close(): void {
    this.lasting?.cancel()
    for (const job of this.waiting.splice(0)) job.fail(new ThreadError('closed'))
    for (const thread of [...this.threads]) thread.end('closed')
  }

  private take(job: Job): void {
    this.lasting?.cancel()
    let thread = this.idle.pop()
    if (!thread && this.threads.size < this.most) {
      try {
        thread = this.begin()
      } catch {
        // The system cannot start a thread. An error thrown here may have no caller that catches it, so the job fails instead.
        job.fail(new ThreadError('busy'))
        return
      }
    }
    if (thread) thread.start(job)
    else if (this.waiting.length < this.mostWaiting) this.waiting.push(job)
    else job.fail(new ThreadError('busy'))
  }

  /** Takes a job back: out of the queue, or with the thread that works on it. */
  private give(job: Job, why: 'timeout' | 'closed'): void {
    const place = this.waiting.indexOf(job)
    if (place >= 0) {
      this.waiting.splice(place, 1)
      job.fail(new ThreadError(why))
      return
    }
    for (const thread of this.threads) if (thread.works(job)) thread.end(why)
  }

  private begin(): Thread {
    const thread = new Thread(this.module, this.limits, {
      free: (freed, clock) => this.next(freed, clock),
      gone: (lost) => {
        this.threads.delete(lost)
        const place = this.idle.indexOf(lost)
        if (place >= 0) this.idle.splice(place, 1)
        const job = this.waiting.shift()
        if (job) this.take(job)
      },
    })
    this.threads.add(thread)
    return thread
  }

  private next(thread: Thread, clock: Clock): void {
    const job = this.waiting.shift()
    if (job) {
      thread.start(job)
      return
    }
    this.idle.push(thread)
    if (this.idle.length < this.threads.size) return
    this.lasting?.cancel()
    this.lasting = clock.after(IDLE, () => this.close())
  }
}
