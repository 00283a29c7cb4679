/** The stores of compaction keys, of events, of guardrails and of refused requests in a worker, and the owner's answers to their calls. */
import type { NewEvent } from '../core/event-types.ts'
import type { CompactionKey, CompactionKeyStore } from '../store/compaction-keys.ts'
import type { DeliveryQuery, EventQuery, EventStore, ReceiverState, StoredDelivery, StoredEvent } from '../store/events.ts'
import type { GivenId, GivenIdStore } from '../store/given-ids.ts'
import type {
  Assignment,
  AssignmentKind,
  AuditQuery,
  AuditRow,
  GuardrailSnapshot,
  GuardrailStore,
  StoredGuardrail,
} from '../store/guardrails.ts'
import type { RefusalQuery, RefusalRow, RefusalStore } from '../store/refusals.ts'
import type { Answers, Line } from './ipc-line.ts'
import type { OwnerOffer, WorkerOffer } from './messages.ts'

/** The store of events in a worker. The owner alone delivers them. */
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

/** The store of compaction keys in a worker. */
export class RemoteCompactionKeys implements CompactionKeyStore {
  private readonly line: Line<OwnerOffer, WorkerOffer>

  constructor(line: Line<OwnerOffer, WorkerOffer>) {
    this.line = line
  }

  all(now: number, first: string): Promise<readonly CompactionKey[]> {
    return this.line.ask('compactionKeys', now, first)
  }

  add(now: number, value: string): Promise<CompactionKey> {
    return this.line.ask('compactionKeyAdd', now, value)
  }

  rewrite(number: number, from: string, to: string): Promise<boolean> {
    return this.line.ask('compactionKeyRewrite', number, from, to)
  }

  remove(number: number): Promise<boolean> {
    return this.line.ask('compactionKeyRemove', number)
  }
}

/** @param store of the record; called for each request of a worker. */
export function compactionKeyAnswers(store: () => CompactionKeyStore) {
  return {
    compactionKeys: async (now, first) => store().all(now, first),
    compactionKeyAdd: async (now, value) => store().add(now, value),
    compactionKeyRewrite: async (number, from, to) => store().rewrite(number, from, to),
    compactionKeyRemove: async (number) => store().remove(number),
  } satisfies Partial<Answers<OwnerOffer>>
}

/** The store of guardrails in a worker. */
export class RemoteGuardrails implements GuardrailStore {
  private readonly line: Line<OwnerOffer, WorkerOffer>

  constructor(line: Line<OwnerOffer, WorkerOffer>) {
    this.line = line
  }

  all(): Promise<GuardrailSnapshot> {
    return this.line.ask('guardrailAll')
  }

  put(guardrail: StoredGuardrail, seen: number): Promise<boolean> {
    return this.line.ask('guardrailPut', guardrail, seen)
  }

  remove(id: string): Promise<boolean> {
    return this.line.ask('guardrailRemove', id)
  }

  assign(assignments: readonly Assignment[]): Promise<number> {
    return this.line.ask('guardrailAssign', assignments)
  }

  unassign(kind: AssignmentKind, guardrail: string, subjects: readonly string[]): Promise<number> {
    return this.line.ask('guardrailUnassign', kind, guardrail, subjects)
  }

  async note(rows: readonly AuditRow[]): Promise<void> {
    await this.line.ask('guardrailNote', rows)
  }

  findings(query: AuditQuery): Promise<AuditRow[]> {
    return this.line.ask('guardrailFindings', query)
  }

  prune(before: number, most: number, age = 0): Promise<number> {
    return this.line.ask('guardrailPrune', before, most, age)
  }

  secret(): Promise<string> {
    return this.line.ask('guardrailSecret')
  }
}

/** @param store of the record; called for each request of a worker. */
export function guardrailAnswers(store: () => GuardrailStore) {
  return {
    guardrailAll: async () => store().all(),
    guardrailPut: async (guardrail, seen) => store().put(guardrail, seen),
    guardrailRemove: async (id) => store().remove(id),
    guardrailAssign: async (assignments) => store().assign(assignments),
    guardrailUnassign: async (kind, guardrail, subjects) => store().unassign(kind, guardrail, subjects),
    guardrailNote: async (rows) => {
      await store().note(rows)
      return null
    },
    guardrailFindings: async (query) => store().findings(query),
    guardrailPrune: async (before, most, age) => store().prune(before, most, age),
    guardrailSecret: async () => store().secret(),
  } satisfies Partial<Answers<OwnerOffer>>
}

/** The store of refused requests in a worker. */
export class RemoteRefusals implements RefusalStore {
  private readonly line: Line<OwnerOffer, WorkerOffer>

  constructor(line: Line<OwnerOffer, WorkerOffer>) {
    this.line = line
  }

  async put(rows: readonly RefusalRow[]): Promise<void> {
    await this.line.ask('refusalPut', rows)
  }

  list(query: RefusalQuery): Promise<RefusalRow[]> {
    return this.line.ask('refusalList', query)
  }

  prune(before: number, most: number, age = 0): Promise<number> {
    return this.line.ask('refusalPrune', before, most, age)
  }
}

/** @param store of the record; called for each request of a worker. */
export function refusalAnswers(store: () => RefusalStore) {
  return {
    refusalPut: async (rows) => {
      await store().put(rows)
      return null
    },
    refusalList: async (query) => store().list(query),
    refusalPrune: async (before, most, age) => store().prune(before, most, age),
  } satisfies Partial<Answers<OwnerOffer>>
}

/** Owners of given ids in a worker. */
export class RemoteGivenIds implements GivenIdStore {
  private readonly line: Line<OwnerOffer, WorkerOffer>

  constructor(line: Line<OwnerOffer, WorkerOffer>) {
    this.line = line
  }

  async give(rows: readonly GivenId[]): Promise<void> {
    await this.line.ask('givenIdGive', rows)
  }

  find(ids: readonly string[]): Promise<GivenId[]> {
    return this.line.ask('givenIdFind', ids)
  }

  prune(before: number, most: number, age = 0): Promise<number> {
    return this.line.ask('givenIdPrune', before, most, age)
  }
}

/** @param store of the record; called for each request of a worker. */
export function givenIdAnswers(store: () => GivenIdStore) {
  return {
    givenIdGive: async (rows) => {
      await store().give(rows)
      return null
    },
    givenIdFind: async (ids) => store().find(ids),
    givenIdPrune: async (before, most, age) => store().prune(before, most, age),
  } satisfies Partial<Answers<OwnerOffer>>
}
