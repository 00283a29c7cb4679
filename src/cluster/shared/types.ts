/** Interfaces of shared state besides money. Each interface has an implementation for all processes and one for this process alone. */
import type { Clock } from '../../core/clock.ts'
import type { Json } from '../../core/json.ts'

/** One limit that is counted: so many in each minute, by the generic cell rate algorithm. */
export interface CounterAsk {
  /** Names the counter: kind of limit and identity of the key. */
  readonly name: string
  /** Units per minute, and the most that may come at once. */
  readonly perMinute: number
  /** Units taken now; 0 only looks. Negative gives back what was taken too much. */
  readonly take: number
  /** True: counted even where it does not fit, since it has happened already. */
  readonly always?: boolean
}

export interface CounterAnswer {
  readonly taken: boolean
  /** Units left after this. */
  readonly left: number
  /** Milliseconds until the units would fit; 0 where they were taken. Without meaning where `take` exceeds `perMinute`. */
  readonly wait: number
  /** Milliseconds until all of the limit is left again. */
  readonly full: number
  /** Units per minute that were counted, where that is this process's share of the limit. */
  readonly share?: number
}

/** Rate counters. An answer that is no promise came from this process alone. */
export interface Counters {
  take(ask: CounterAsk): CounterAnswer | Promise<CounterAnswer>
  close(): Promise<void>
}

export type Topic = 'session' | 'outage' | 'check'

/** Messages to the other processes: delivered at most once, perhaps never; no request waits for them. */
export interface PubSub {
  /** True where no other process listens: callers need not keep what they would publish. */
  readonly isSilent?: boolean | undefined
  publish(topic: Topic, message: Json): void
  /** Receives the messages of other processes, never those of this one. */
  subscribe(topic: Topic, onMessage: (message: Json) => void): void
  /**
   * Receives a secret that all connected processes have in common, now or later, and again should it change.
   * Absent where they have none.
   */
  commonSecret?(onSecret: (secret: string) => void): void
  close(): Promise<void>
}

export type AvailabilityReport = { kind: 'shared-lost'; reason: string } | { kind: 'shared-back' }

/** `news-lost`: limits are shared, but messages of other processes cannot be received. */
export type SharedReport = AvailabilityReport | { kind: 'news-lost'; reason: string }

export interface SharedSource {
  clock: Clock
  /** Processes that live, this one among them, as last known. */
  processes: () => number
  report: (report: SharedReport) => void
  /** Before every key and channel, for several gateways on one server. */
  prefix?: string
}

export interface Shared {
  readonly counters: Counters
  readonly pubSub: PubSub
  /** True while limits are held by shares because the server does not answer. */
  readonly isDegraded: () => boolean
  /** Resolves once the server has answered or has had its chance; never rejected. */
  readonly ready: Promise<void>
  close(): Promise<void>
}
