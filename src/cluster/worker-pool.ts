/** The owner's workers as processes: started, replaced when they die, ended in order. */
import type { Clock, Timer } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import type { Log } from '../core/log.ts'
import { type MetricRegistry, reading } from '../machines/metrics/metrics.ts'
import type { Channel } from './ipc-line.ts'
import type { Reception, WorkerHandle } from './owner-server.ts'

/** A process as `node:cluster` gives it; tests pass their own. */
export interface WorkerProcess extends Channel {
  readonly pid: number | undefined
  once(event: 'exit', ended: (code: number | null, signal: string | null) => void): unknown
  once(event: 'disconnect', gone: () => void): unknown
  kill(signal: 'SIGKILL'): unknown
}

export interface WorkerPoolOptions {
  /** Workers are numbered from 1 to this. */
  count: number
  clock: Clock
  log: Pick<Log, 'warn' | 'error' | 'info'>
  metrics: MetricRegistry
  fork: (slot: number) => WorkerProcess
  /** Connects the worker to the owner. */
  attach: (slot: number, process: WorkerProcess, reception: Omit<Reception, 'welcome' | 'status'>) => WorkerHandle
  /** Takes over what a dead worker has left. It is called again where it throws, and the worker is replaced only afterwards. */
  inherit: (slot: number, workerHandle: WorkerHandle) => Promise<void>
}

export interface Member {
  readonly slot: number
  readonly pid: number | undefined
  readonly workerHandle: WorkerHandle
  /** Address on which it listens; undefined while it starts. */
  url: string | undefined
}

const workers = reading('gauge', 'workers', 'Workers that listen. With `--workers` only.')
const restarts = reading('counter', 'worker_restarts_total', 'Workers started in the place of dead ones. With `--workers` only.')

/** A worker that died sooner than this is started again more and more slowly: milliseconds. */
const STEADY = 10_000
const FIRST_WAIT = 250
const MAX_WAIT_MS = 15_000
/** Milliseconds that the channel of a dead process has for its end. */
const LAST_WORDS = 1_000

interface Post {
  member: (Member & { process: WorkerProcess; since: number; ended: Promise<void> }) | undefined
  /** Deaths in a row of workers that had hardly started. */
  early: number
  waiting: Timer | undefined
}

export class WorkerPool {
  private readonly options: WorkerPoolOptions
  private readonly posts = new Map<number, Post>()
  private stopping = false
  /** True: a worker that cannot start is tried again; false: it makes the whole start fail. */
  private running = false
  /** Workers started in the place of dead ones. */
  private restartCount = 0

  constructor(options: WorkerPoolOptions) {
    this.options = options
    for (let slot = 1; slot <= options.count; slot++) this.posts.set(slot, { member: undefined, early: 0, waiting: undefined })
    options.metrics.of(workers).from(() => this.members.filter(({ url }) => url !== undefined).length)
    options.metrics.of(restarts).from(() => this.restartCount)
  }

  /** Members whose process lives. */
  get members(): Member[] {
    return [...this.posts.values()].flatMap(({ member }) => (member ? [member] : []))
  }

  /** Why no traffic should come: every worker that does not listen. */
  notListening(): string[] {
    const slots = [...this.posts].filter(([, { member }]) => member?.url === undefined)
    return slots.map(([slot, { member }]) => `worker ${slot} ${member ? 'is starting' : 'has ended'}`)
  }

  /** @returns the address on which all listen. @throws Fault with the reason of the first worker that cannot start; then none is left. */
  async start(): Promise<string> {
    const started = [...this.posts].map(([slot, post]) => this.begin(slot, post))
    try {
      const [url] = await Promise.all(started)
      if (url === undefined) throw new TypeError('no worker is to be started')
      this.running = true
      return url
    } catch (thrown) {
      await this.kill()
      throw thrown
    }
  }

  /**
   * Lets every worker end what it has begun. Resolves when none is left.
   * @param graceMs milliseconds after which those that are left are ended at once.
   */
  async drain(graceMs: number): Promise<void> {
    this.stopping = true
    const limit = this.options.clock.after(graceMs, () => void this.kill())
    for (const { waiting } of this.posts.values()) waiting?.cancel()
    for (const { workerHandle } of this.members) workerHandle.line.notify('drain')
    await this.gone()
    limit.cancel()
  }

  /** Sends a word to every worker. */
  notify(word: 'reload' | 'stopWork', argument: string): void {
    for (const { workerHandle } of this.members) workerHandle.line.notify(word, argument)
  }

  /** Cuts what the drain still waits for. */
  hurry(): void {
    for (const { workerHandle } of this.members) workerHandle.line.notify('hurry')
  }

  /** Ends all at once; what they leave is in their journals. */
  async kill(): Promise<void> {
    this.stopping = true
    for (const { waiting, member } of this.posts.values()) {
      waiting?.cancel()
      member?.process.kill('SIGKILL')
    }
    await this.gone()
  }

  private async gone(): Promise<void> {
    await Promise.all([...this.posts.values()].map(({ member }) => member?.ended))
  }

  /** Starts the worker of a slot. Rejects where it ends before it listens. */
  private begin(slot: number, post: Post): Promise<string> {
    const { clock, fork, attach } = this.options
    const listens = Promise.withResolvers<string>()
    const ended = Promise.withResolvers<void>()
    let why: string | undefined
    const process = fork(slot)
    const workerHandle = attach(slot, process, {
      serving: (url) => {
        member.url = url
        listens.resolve(url)
        return null
      },
      failed: (reason) => {
        why = reason
        return null
      },
    })
    const member = {
      slot,
      pid: process.pid,
      workerHandle,
      process,
      url: undefined as string | undefined,
      since: clock.monotonic(),
      ended: ended.promise,
    }
    post.member = member
    process.once('exit', (code, signal) => {
      this.afterLastWords(workerHandle, () => {
        post.member = undefined
        ended.resolve()
        const how = why ?? (signal ? `it was ended by ${signal}` : `it ended with code ${code}`)
        listens.reject(new Fault('unavailable', { message: why ?? `worker ${slot} did not start: ${how}` }))
        const follows = !this.stopping && (this.running || member.url !== undefined)
        if (follows) this.follow(post, { slot, workerHandle, how, lived: clock.monotonic() - member.since })
      })
    })
    return listens.promise
  }

  /** The last messages of the process may still be on their way, and the end of a channel is not always reported. */
  private afterLastWords(workerHandle: WorkerHandle, then: () => void): void {
    let done = false
    const once = (): void => {
      timer.cancel()
      if (!done) then()
      done = true
    }
    const timer = this.options.clock.after(LAST_WORDS, once)
    workerHandle.line.whenGone(once)
  }

  private follow(post: Post, death: { slot: number; workerHandle: WorkerHandle; how: string; lived: number }): void {
    const { log } = this.options
    const { slot, workerHandle, how, lived } = death
    post.early = lived < STEADY ? post.early + 1 : 0
    const wait = post.early === 0 ? 0 : Math.min(FIRST_WAIT * 2 ** (post.early - 1), MAX_WAIT_MS)
    log.error({ worker: slot, reason: how, wait }, 'a worker has ended: another one takes its place')
    const succeed = async (): Promise<void> => {
      try {
        await this.options.inherit(slot, workerHandle)
      } catch (thrown) {
        log.error({ worker: slot, problem: String(thrown) }, 'what the worker left cannot be taken over yet')
        this.after(post, FIRST_WAIT * 4, succeed)
        return
      }
      if (this.stopping) return
      this.after(post, wait, async () => {
        this.restartCount++
        // A failure is reported when the process ends.
        await this.begin(slot, post).catch(() => {})
      })
    }
    void succeed()
  }

  private after(post: Post, ms: number, then: () => Promise<void>): void {
    if (!this.stopping) post.waiting = this.options.clock.after(ms, () => void then())
  }
}
