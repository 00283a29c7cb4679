/** The root of a worker: learns from its owner how to start, serves on the shared port, and ends at the owner's word. */
import { type Answers, Line, type Port } from '../cluster/ipc-line.ts'
import { type OwnerOffer, WORKER_VARIABLE, type WorkerOffer } from '../cluster/messages.ts'
import { unpack } from '../cluster/record-methods.ts'
import { type RemoteRecord, remoteRecord } from '../cluster/remote-record.ts'
import { RemoteCounters, RemotePubSub } from '../cluster/remote-shared.ts'
import { FallbackCounters, MemoryCounters, type Shared } from '../cluster/shared/index.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../core/clock.ts'
import type { Json } from '../core/json.ts'
import { drainOnSignals } from '../server/signals.ts'
import { type Running, start } from './start.ts'

/** Serves until the owner says otherwise, or is gone. @returns once it serves. */
export async function work(): Promise<Running> {
  // Sent to the whole group by a terminal or a service manager; the owner decides what they mean.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  const worker = new Worker()
  return worker.start()
}

class Worker {
  private readonly line: Line<OwnerOffer, WorkerOffer>
  private readonly record: RemoteRecord
  private readonly pubSub: RemotePubSub
  private running: Running | undefined
  /** The configuration as it came last, packed. */
  private config = ''
  private slot = 0
  /** Damage that the owner has found. */
  private stopped: string | undefined
  /** Passes a signal on to the drain. */
  private signal: (() => void) | undefined

  constructor() {
    this.line = new Line<OwnerOffer, WorkerOffer>(portToOwner(), this.answers(), (error) => this.reportUnexpected(error))
    this.record = remoteRecord(this.line)
    this.pubSub = new RemotePubSub(this.line)
  }

  /** Ends the process where it cannot start. */
  async start(): Promise<Running> {
    const { slot, count, config, drawn, secret, stopped } = await this.line.ask('welcome')
    process.title = `headgate worker ${slot}`
    this.slot = slot
    this.config = config
    this.pubSub.secret = secret
    this.stopped ??= stopped
    const first = unpack(config) as Config
    try {
      this.running = await start({
        configFile: first.file,
        load: () => unpack(this.config) as Config,
        worker: {
          slot,
          count,
          drawn,
          record: this.record,
          status: () => this.line.ask('status'),
          shared: first.shared.url === undefined ? this.shared(count) : undefined,
        },
      })
    } catch (thrown) {
      await this.line.ask('failed', thrown instanceof Error ? thrown.message : String(thrown))
      process.exit(1)
    }
    const { running } = this
    this.serve(running)
    if (this.stopped !== undefined) running.stopWork(this.stopped)
    if (this.config !== config) await running.reload()
    return running
  }

  private serve(running: Running): void {
    // The owner is gone without a word: what this turn has gathered is written down, and the next owner takes it in.
    process.once('exit', () => running.store.journal.close())
    drainOnSignals({
      clock: systemClock,
      process: { on: (_signal, listener) => (this.signal = listener), off: () => {}, exit: (code) => process.exit(code) },
      drain: running.drain,
      close: () => running.close(),
      notice: (text) => process.stderr.write(`headgate: worker ${this.slot}: ${text}\n`),
    })
    this.line.notify('serving', running.url)
  }

  private answers(): Answers<WorkerOffer> {
    return {
      wake: () => {
        this.record.wake()
        return null
      },
      publish: (topic, message) => {
        this.pubSub.receive(topic, message)
        return null
      },
      metrics: async () => ((await this.running?.runtime.metrics.snapshot()) ?? []) as unknown as Json[],
      stopWork: (problem) => {
        this.stopped = problem
        this.running?.stopWork(problem)
        return null
      },
      notReady: () => this.running?.notReady() ?? ['starting'],
      status: () => this.running?.runtime.status.read() ?? null,
      reload: async (config) => {
        this.config = config
        await this.running?.reload()
        return null
      },
      drain: () => {
        if (this.signal) this.signal()
        else process.exit(0)
        return null
      },
      hurry: () => {
        this.signal?.()
        return null
      },
    }
  }

  /** By way of the owner; while it does not answer each worker holds its share of the limits. */
  private shared(count: number): Shared {
    const { line, pubSub } = this
    const counters = new FallbackCounters({
      clock: systemClock,
      shared: new RemoteCounters(line, systemClock),
      local: new MemoryCounters(systemClock),
      processes: () => count,
      report: (report) =>
        process.stderr.write(
          `headgate: worker ${this.slot}: the owner's rate counters are ${report.kind === 'shared-lost' ? 'unavailable' : 'available again'}\n`,
        ),
    })
    return { counters, pubSub, isDegraded: () => counters.isDegraded, ready: Promise.resolve(), close: () => counters.close() }
  }

  private reportUnexpected(error: unknown): void {
    if (this.running) this.running.runtime.reportUnexpected(error)
    else process.stderr.write(`headgate: worker ${this.slot}: ${error instanceof Error ? error.stack : error}\n`)
  }
}

/** The channel to the process that forked this one. @throws Error where there is none. */
function portToOwner(): Port {
  const send = process.send?.bind(process)
  if (!send) throw new Error(`${WORKER_VARIABLE} is set, but this process was not forked`)
  return {
    get open() {
      return process.connected
    },
    send: (message) => {
      send(message, undefined, undefined, () => {})
    },
    listen: (hear, gone) => {
      process.on('message', hear)
      process.once('disconnect', gone)
    },
  }
}
