/** Events at rest, and how far each receiver has them. */
import type { Origin } from '../core/audit-entries.ts'
import type { NewEvent } from '../core/event-types.ts'
import type { Attributed } from './audit-log.ts'

/** An event as it stands in the store: numbered in the order of the commits, without gaps that could still be filled. */
export interface StoredEvent extends NewEvent {
  readonly number: number
}

export type DeliveryState = 'pending' | 'delivered' | 'dead'
export const DELIVERY_STATES: readonly DeliveryState[] = ['pending', 'delivered', 'dead']

export interface StoredDelivery {
  readonly receiver: string
  /** Number of the event. */
  readonly event: number
  /** Its id. */
  readonly id: string
  readonly type: string
  readonly state: DeliveryState
  readonly attempts: number
  /** Milliseconds since the epoch: of the first attempt or the last redelivery, and of the next attempt. */
  readonly firstAt: number
  readonly dueAt: number
  readonly updatedAt: number
  /** Status of the last response; null without one. */
  readonly status: number | null
  /** Why the last attempt failed; null where it did not. */
  readonly problem: string | null
}

/** A receiver as deliveries are made for it. */
export interface ReceiverFilter {
  readonly name: string
  /** Types; empty for all. */
  readonly types: readonly string[]
}

/** A delivery that this process alone may send until the claim ends. */
export interface Claimed {
  readonly receiver: string
  readonly attempts: number
  readonly firstAt: number
  readonly event: StoredEvent
}

/** Result of one attempt to deliver. */
export interface AttemptResult {
  readonly receiver: string
  /** Number of the event. */
  readonly event: number
  readonly state: DeliveryState
  /** Milliseconds since the epoch: when it ended, and where it is pending, when the next one is due. */
  readonly at: number
  readonly dueAt: number
  readonly status: number | null
  readonly problem: string | null
}

export interface ReceiverState {
  readonly name: string
  /** When it answered 410; null where it takes events. */
  readonly disabledAt: number | null
  readonly pending: number
  readonly dead: number
}

export interface EventQuery {
  /** Only events behind this number; where the newest come first, only those before it, and all for 0. */
  readonly after: number
  readonly newestFirst?: boolean
  /** Types; empty for all. */
  readonly types: readonly string[]
  /** Absent: all. */
  readonly subjects?: readonly string[] | undefined
  /** Milliseconds since the epoch: only those that happened from here on, and before there. */
  readonly since?: number | undefined
  readonly until?: number | undefined
  readonly limit: number
}

export interface DeliveryQuery {
  readonly state?: DeliveryState | undefined
  readonly receiver?: string | undefined
  /** Number of one event. */
  readonly event?: number | undefined
  /** Only deliveries of events behind this number. */
  readonly after: number
  readonly limit: number
}

export interface ClaimQuery {
  readonly receiver: string
  /** Milliseconds since the epoch. */
  readonly now: number
  /** End of the claim: from then on another process may send it. */
  readonly until: number
  readonly most: number
}

type Maybe<T> = T | Promise<T>

/** Every change is durable when it returns. All of it may throw Fault `unavailable`. */
export interface EventStore {
  /** One whose id or `once` is there already changes nothing. */
  add(events: readonly NewEvent[]): Maybe<void>
  /** In the order of their numbers. */
  page(query: EventQuery): Maybe<StoredEvent[]>
  /** Number of the newest one; 0 without any. */
  last(): Maybe<number>
  /** @param id as receivers know it. */
  find(id: string): Maybe<StoredEvent | undefined>
  /** By event, the oldest first. */
  deliveries(query: DeliveryQuery): Maybe<StoredDelivery[]>
  /** Makes deliveries pending again. @param receiver null: all that have the event. @returns how many. */
  redeliver(event: number, receiver: string | null, now: number, by?: Origin): Maybe<number>
  receivers(): Maybe<ReceiverState[]>
  /** @param disabledAt null: it takes events again, those that came meanwhile as well. @returns false where there is none. */
  setDisabled(receiver: string, disabledAt: number | null, by?: Origin): Maybe<boolean>
}

/** The same for operations, which state who makes each change. */
export type AttributedEvents = Attributed<EventStore, 'redeliver' | 'setDisabled'>

/** Event store of the process that delivers; workers leave deliveries to their owner. */
export interface DeliverableEvents extends EventStore {
  /**
   * Makes deliveries of events that have none yet. A receiver that is new begins with the next event.
   * @returns how many.
   */
  spread(receivers: readonly ReceiverFilter[], now: number): Maybe<number>
  /** Deliveries that are due, the oldest first; none where the receiver is disabled. */
  claim(query: ClaimQuery): Maybe<Claimed[]>
  conclude(result: AttemptResult): Maybe<void>
  /**
   * Removes events from before a moment with their deliveries; not the newest, since its number would be given again, nor those
   * whose `once` begins with `ever:`, since they may never come again. @returns how many.
   */
  prune(before: number, most: number): Maybe<number>
}

export function isDeliverable(events: EventStore): events is DeliverableEvents {
  return 'claim' in events
}
