/** Figures of this process while it runs, and the one reply that is made of all processes of this machine. */
import { Status, type StatusSource } from '../api/status.ts'
import type { Clock } from '../core/clock.ts'
import { LiveFigures, type ProcessStatus } from '../core/live-figures.ts'
import type { OpenStreams } from '../server/open-streams.ts'
import type { Overload } from '../server/overload.ts'
import { programVersion } from './version.ts'

/** Facts that only the root of the process knows. */
export interface Surroundings {
  /** Replies that are under way. */
  readonly open: () => number
  /** Why it should get no traffic. */
  readonly notReady: () => readonly string[]
  readonly notes: () => readonly string[]
}

export class OwnStatus {
  readonly live: LiveFigures
  surroundings: Surroundings | undefined
  private readonly clock: Pick<Clock, 'now'>
  private readonly startedAt: number
  private readonly streams: OpenStreams
  private readonly overload: () => Overload['state']

  constructor({ clock, streams, overload }: { clock: Pick<Clock, 'now'>; streams: OpenStreams; overload: () => Overload['state'] }) {
    this.clock = clock
    this.streams = streams
    this.overload = overload
    this.live = new LiveFigures(clock)
    this.startedAt = Math.floor(clock.now())
  }

  read(): ProcessStatus {
    const { waiting, wait, saturated } = this.overload()
    return {
      live: this.live.snapshot(),
      open: this.surroundings?.open() ?? 0,
      streams: this.streams.count,
      bodiesWaiting: waiting,
      bodyWait: Math.round(wait),
      saturated,
      memory: process.memoryUsage.rss(),
      startedAt: this.startedAt,
      reasons: this.surroundings?.notReady() ?? [],
      notes: this.surroundings?.notes() ?? [],
    }
  }

  /** @param others what reads all processes, where this is one of several. */
  reply(
    source: Pick<StatusSource, 'health'> & { catalog: () => StatusSource['catalog'] },
    others: (() => Promise<readonly (ProcessStatus | null)[]>) | undefined,
  ): Status {
    const version = programVersion()
    return new Status({
      clock: this.clock,
      version,
      health: source.health,
      get catalog() {
        return source.catalog()
      },
      processes: async () => {
        if (!others) return [this.read()]
        // Without its owner a worker shows itself.
        const all = await others().catch(() => [this.read()])
        return all.map((each) => each ?? undefined)
      },
    })
  }
}
