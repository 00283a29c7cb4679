/** `/v1/events`: the event log, and its deliveries to receivers. */
import type { Clock } from '../core/clock.ts'
import { eventTypes } from '../core/event-types.ts'
import { badField, Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { cloudEvent } from '../services/events/index.ts'
import { type AttributedEvents, DELIVERY_STATES, type ReceiverState, type StoredDelivery, type StoredEvent } from '../store/events.ts'
import type { ChangeSource } from './origin.ts'
import { choice, cursor, flag, integer, text, time } from './parameters.ts'
import { type ApiReply, ok } from './reply.ts'

/** Dependencies of operations that read events. */
export interface EventReading extends Omit<EventSource, 'events'> {
  readonly events: Pick<AttributedEvents, 'page' | 'last' | 'find' | 'deliveries'>
}

export interface EventSource {
  readonly events: AttributedEvents
  /** `source` of every event. */
  readonly source: string
  readonly time: Pick<Clock, 'now' | 'monotonic' | 'after'>
  /** True once the process drains: streams end then. */
  readonly isDraining?: () => boolean
}

const MAX_PAGE_LENGTH = 100
const USUAL_PAGE = 50

const rows = integer('limit', 'Entries per page at most; 50 without it.', { least: 1, most: MAX_PAGE_LENGTH, example: USUAL_PAGE })
const ofType = text('type', 'Only events of this type; may be repeated.')
const order = choice('order', '`newest` for the newest first.', ['oldest', 'newest'], 'newest')
const since = time('since', 'That happened at this time (UTC) or later.')
const until = time('until', 'That happened before this time (UTC).')
const withDeliveries = flag('include_deliveries', 'With the deliveries of each event.', 'true')
export const EVENTS_QUERY = [cursor, rows, ofType, since, until, order, withDeliveries]
const ofState = choice('state', 'Only these.', DELIVERY_STATES, 'dead')
const ofReceiver = text('receiver', 'Only of this receiver.', {}, 'ops')
export const DELIVERIES_QUERY = [ofState, ofReceiver, cursor, rows]

/** @param query with `EVENTS_QUERY`. @throws Fault 400 naming the query parameter. */
export async function listEvents(query: URLSearchParams, { events, source }: EventReading): Promise<ApiReply> {
  const limit = rows.read(query) ?? USUAL_PAGE
  const newestFirst = order.read(query) === 'newest'
  const found = await events.page({
    after: cursor.read(query) ?? 0,
    types: wantedTypes(query),
    since: since.read(query),
    until: until.read(query),
    limit,
    newestFirst,
  })
  const deliveries = withDeliveries.read(query) ? await deliveriesFor(found, events) : undefined
  const data = found.map((event) => ({
    ...cloudEvent(event, source),
    ...(deliveries && { deliveries: (deliveries.get(event.number) ?? []).map(deliveryEntry) }),
  }))
  return ok(paged(data, found.at(-1)?.number, limit))
}

/** Deliveries of the events of a page, by their numbers. */
async function deliveriesFor(
  found: readonly StoredEvent[],
  events: Pick<AttributedEvents, 'deliveries'>,
): Promise<ReadonlyMap<number, readonly StoredDelivery[]>> {
  const all = await Promise.all(found.map(({ number: event }) => events.deliveries({ event, after: 0, limit: MAX_PAGE_LENGTH })))
  return new Map(found.map(({ number }, at) => [number, all[at] ?? []]))
}

/** @throws Fault 400 for types that are none. */
export function wantedTypes(query: URLSearchParams): string[] {
  const types = query.getAll(ofType.name)
  const unknown = types.find((type) => !eventTypes().some((each) => each.type === type))
  if (unknown !== undefined) throw badField('type', `expected types of events such as ${eventTypes()[0]?.type}`)
  return types
}

/** @param query with `DELIVERIES_QUERY`. @throws Fault 400 naming the query parameter. */
export async function listDeliveries(query: URLSearchParams, { events }: EventSource): Promise<ApiReply> {
  const limit = rows.read(query) ?? USUAL_PAGE
  const named = query.get('state')
  const state = DELIVERY_STATES.find((each) => each === named)
  if (named !== null && !state) throw badField('state', `expected one of: ${DELIVERY_STATES.join(', ')}`)
  const receiver = query.get('receiver') ?? undefined
  const found = await events.deliveries({ state, receiver, after: cursor.read(query) ?? 0, limit: limit + 1 })
  return ok(deliveryPage(found, limit))
}

/** Deliveries of one event are not parted: the cursor names the event before. */
function deliveryPage(found: readonly StoredDelivery[], limit: number): JsonObject {
  const next = found[limit]
  if (!next) return { data: found.map(deliveryEntry), next_cursor: null }
  const whole = found.filter(({ event }) => event !== next.event)
  // More receivers than a page has room for: the rest of the event is left out, `GET /v1/events/{id}` shows it.
  const shown = whole.length > 0 ? whole : found.slice(0, limit)
  return { data: shown.map(deliveryEntry), next_cursor: String(shown.at(-1)?.event ?? next.event) }
}

/** An event with its deliveries. @throws Fault 404. */
export async function oneEvent(id: string, { events, source }: EventReading): Promise<ApiReply> {
  const event = await findEvent(id, events)
  const deliveries = await events.deliveries({ event: event.number, after: 0, limit: MAX_PAGE_LENGTH })
  return ok({ data: { ...cloudEvent(event, source), deliveries: deliveries.map(deliveryEntry) } })
}

/** @param receiver undefined: all that have the event. @throws Fault 404. */
export async function redeliverEvent(id: string, receiver: string | undefined, source: EventSource & ChangeSource): Promise<ApiReply> {
  const { events, time, origin } = source
  const event = await findEvent(id, events)
  const count = await events.redeliver(event.number, receiver ?? null, time.now(), origin)
  if (count === 0) throw new Fault('not_found', { message: 'The event has no such delivery' })
  return ok({ data: { id, deliveries: count } })
}

export async function listReceivers({ events }: Pick<EventSource, 'events'>): Promise<ApiReply> {
  return ok({ data: (await events.receivers()).map(receiverEntry) })
}

/** Enables a receiver again. Events that came while it was disabled are delivered too. @throws Fault 404. */
export async function enableReceiver(name: string, { events, origin }: Pick<EventSource, 'events'> & ChangeSource): Promise<ApiReply> {
  if (!(await events.setDisabled(name, null, origin))) throw new Fault('not_found', { message: 'No such receiver has been delivered to' })
  return ok({ data: { name, disabled_at: null } })
}

async function findEvent(id: string, events: Pick<AttributedEvents, 'find'>): Promise<StoredEvent> {
  const event = await events.find(id)
  if (!event) throw new Fault('not_found', { message: 'No such event' })
  return event
}

function paged(data: readonly JsonObject[], last: number | undefined, limit: number): JsonObject {
  return { data: [...data], next_cursor: data.length < limit || last === undefined ? null : String(last) }
}

function deliveryEntry(delivery: StoredDelivery): JsonObject {
  const { receiver, id, type, state, attempts, status, problem, dueAt, updatedAt } = delivery
  return {
    event: id,
    type,
    receiver,
    state,
    attempts,
    status,
    problem,
    next_attempt_at: state === 'pending' ? new Date(dueAt).toISOString() : null,
    updated_at: new Date(updatedAt).toISOString(),
  }
}

function receiverEntry({ name, disabledAt, pending, dead }: ReceiverState): JsonObject {
  return { name, disabled_at: disabledAt === null ? null : new Date(disabledAt).toISOString(), pending, dead }
}
