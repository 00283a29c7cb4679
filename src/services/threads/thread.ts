/** One worker thread: one job at a time, and an end as soon as it breaks a limit. */
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../core/clock.ts'
import { fileText, isInside } from '../../core/program-files.ts'
import type { Answered } from './serve.ts'

/**
 * Why a job gave no result: `busy` (too many wait), `timeout`, `memory` (its thread grew too large), `refused` (the job
 * refused its input, see `word`), `failed` (it threw, or its thread died), `closed` (the pool has ended).
 */
export type ThreadFailure = 'busy' | 'timeout' | 'memory' | 'refused' | 'failed' | 'closed'

export class ThreadError extends Error {
  readonly failure: ThreadFailure
  /** Of the work, where it refused. */
  readonly word: string

  constructor(failure: ThreadFailure, word = '') {
    super(word === '' ? failure : `${failure}: ${word}`)
    this.name = `ThreadError (${this.message})`
    this.failure = failure
    this.word = word
  }
}

/** Milliseconds between two looks at the memory of a busy thread. */
const LOOK = 25
const MB = 1024 * 1024
/**
 * MB at which the runtime ends the thread by itself. Where one allocation leaps over that limit it ends the whole process
 * instead, so it is far above our limit, which is checked while the thread works.
 */
const CEILING = 3072

export interface ThreadLimits {
  /** MB of JavaScript objects. */
  heap: number
  /** MB of buffers outside of the heap, which the runtime itself does not limit. */
  buffers: number
}

export interface Job {
  readonly input: unknown
  readonly transfer: readonly ArrayBuffer[]
  readonly clock: Clock
  done(result: unknown): void
  fail(error: ThreadError): void
}

export class Thread {
  private readonly worker: Worker
  private readonly limits: ThreadLimits
  private job: Job | undefined
  private look: Timer | undefined
  /** Called when it can take another job. */
  private readonly free: (thread: Thread, clock: Clock) => void
  /** Called once, when it takes no more jobs. */
  private readonly gone: (thread: Thread) => void
  private over = false

  constructor(module: URL, limits: ThreadLimits, on: { free: (thread: Thread, clock: Clock) => void; gone: (thread: Thread) => void }) {
    this.limits = limits
    this.free = on.free
    this.gone = on.gone
    const path = fileURLToPath(module)
    const inside = isInside(path)
    this.worker = new Worker(inside ? fileText(path) : module, {
      eval: inside,
      // The thread reads untrusted input, so it gets no environment variables and cannot write to the gateway's output.
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: CEILING, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
    })
    this.worker.unref()
    this.worker.on('message', (answered: Answered) => this.answered(answered))
    this.worker.on('error', (error: NodeJS.ErrnoException) => this.end(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : 'failed'))
    this.worker.on('exit', () => this.end('failed'))
  }

  start(job: Job): void {
    this.job = job
    // A waiting job keeps the process alive, an idle thread does not.
    this.worker.ref()
    try {
      this.worker.postMessage({ job: job.input }, job.transfer)
    } catch {
      this.end('failed')
      return
    }
    this.watch(job)
  }

  /** Ends the thread; its job fails with this. */
  end(failure: 'timeout' | 'memory' | 'failed' | 'closed'): void {
    if (this.over) return
    this.over = true
    this.look?.cancel()
    void this.worker.terminate()
    this.gone(this)
    this.job?.fail(new ThreadError(failure))
  }

  works(job: Job): boolean {
    return this.job === job
  }

  private answered(answered: Answered): void {
    const { job } = this
    if (this.over || !job) return
    this.look?.cancel()
    this.job = undefined
    this.worker.unref()
    if ('result' in answered) job.done(answered.result)
    else job.fail('refused' in answered ? new ThreadError('refused', answered.refused) : new ThreadError('failed'))
    // Memory that is still in use would count against the next job.
    if (answered.used > ((this.limits.heap + this.limits.buffers) * MB) / 4) this.end('closed')
    else this.free(this, job.clock)
  }

  private watch(job: Job): void {
    this.look = job.clock.after(LOOK, () => {
      this.worker.getHeapStatistics().then(
        ({ used_heap_size: heap, external_memory: buffers }) => {
          if (this.over || this.job !== job) return
          if (heap > this.limits.heap * MB || buffers > this.limits.buffers * MB) this.end('memory')
          else this.watch(job)
        },
        // It has not begun yet, or has just ended and says so by itself.
        () => {
          if (!this.over && this.job === job) this.watch(job)
        },
      )
    })
  }
}
