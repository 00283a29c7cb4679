/** The store of events in a worker, and the owner's answers to its calls. The owner alone delivers them. */
import type { NewEvent } from '../core/event-types.ts'
import type { DeliveryQuery, EventQuery, EventStore, ReceiverState, StoredDelivery, StoredEvent } from '../store/events.ts'
import type { Answers, Line } from './ipc-line.ts'
import type { OwnerOffer, WorkerOffer } from './messages.ts'

export class RemoteEvents implements EventStore {
  private readonly line: Line<OwnerOffer, WorkerOffer>

  constructor(line: Line<OwnerOffer, WorkerOffer>) {
    this.line = line
  }

  async add(events: readonly NewEvent[]): Promise<void> {
    await this.line.ask('eventAdd', events)
  }

  page(query: EventQuery): Promise<StoredEvent[]> {
    return this.line.ask('eventPage', query)
  }

  last(): Promise<number> {
    return this.line.ask('eventLast')
  }

  find(id: string): Promise<StoredEvent | undefined> {
    return this.line.ask('eventFind', id)
  }

  deliveries(query: DeliveryQuery): Promise<StoredDelivery[]> {
    return this.line.ask('eventDeliveries', query)
  }

  redeliver(event: number, receiver: string | undefined, now: number): Promise<number> {
    return this.line.ask('eventRedeliver', event, receiver, now)
  }

  receivers(): Promise<ReceiverState[]> {
    return this.line.ask('eventReceivers')
  }

  setDisabled(receiver: string, disabledAt: number | null): Promise<boolean> {
    return this.line.ask('eventDisabled', receiver, disabledAt)
  }
}

/** @param store of the record; called for each request of a worker. */
export function eventAnswers(store: () => EventStore) {
  return {
    eventAdd: async (events) => {
      await store().add(events)
      return null
    },
    eventPage: async (query) => store().page(query),
    eventLast: async () => store().last(),
    eventFind: async (id) => store().find(id),
    eventDeliveries: async (query) => store().deliveries(query),
    // Absent values cross as null.
    eventRedeliver: async (event, receiver, now) => store().redeliver(event, receiver ?? undefined, now),
    eventReceivers: async () => store().receivers(),
    eventDisabled: async (receiver, disabledAt) => store().setDisabled(receiver, disabledAt),
  } satisfies Partial<Answers<OwnerOffer>>
}
