/** Events in PostgreSQL: numbered under a lock, so that the number of one that is committed later is higher, and claimed row by row. */
import { sql } from 'kysely'
import { GATEWAY_ORIGIN, type Origin } from '../../core/audit-entries.ts'
import type { NewEvent } from '../../core/event-types.ts'
import type { JsonObject } from '../../core/json.ts'
import { receiverAudit, redeliveryAudit } from '../audited-changes.ts'
import type {
  AttemptResult,
  Claimed,
  ClaimQuery,
  DeliverableEvents,
  DeliveryQuery,
  EventQuery,
  ReceiverFilter,
  ReceiverState,
  StoredDelivery,
  StoredEvent,
} from '../events.ts'
import { stateFrom } from '../sqlite-events.ts'
import { type AuditPen, appendAudit } from './audit-log.ts'
import type { Session } from './connection.ts'
import type { Connections } from './connections.ts'
import { LOCKS } from './locks.ts'
import { type EventDeliveryTable, type EventTable, query, storable } from './tables.ts'

const NEXT = sql`(select coalesce(max(number), 0) + 1 from event)`

/**
 * Adds events within a transaction. The lock lasts to its end: whatever has seen one number has seen all below it.
 * Where the transaction has the lock of key changes as well, it took that one first.
 */
export async function addEvents(session: Session, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return
  await session.run(sql`select pg_advisory_xact_lock(${LOCKS.program}::int, ${LOCKS.events}::int)`.compile(query))
  for (const { id, type, at, once, subject, data } of events) {
    const fields = storable(JSON.stringify(data))
    const insert = sql`
      insert into event (number, id, type, at, once, subject, fields)
      select ${NEXT}, ${id}, ${type}, ${Math.floor(at)}::bigint, ${once ?? null}, ${storable(subject)}, ${fields} on conflict do nothing`
    await session.run(insert.compile(query))
  }
}

export class PostgresEvents implements DeliverableEvents {
  private readonly connections: Pick<Connections, 'readings'>
  private readonly pen: AuditPen

  constructor(connections: Pick<Connections, 'readings'>, pen: AuditPen) {
    this.connections = connections
    this.pen = pen
  }

  add(events: readonly NewEvent[]): Promise<void> {
    return this.connections.readings.transaction((session) => addEvents(session, events))
  }

  async page({ after, types, subjects, since, until, limit, newestFirst = false }: EventQuery): Promise<StoredEvent[]> {
    let found = query.selectFrom('event').selectAll()
    if (!newestFirst || after > 0) found = found.where('number', newestFirst ? '<' : '>', after)
    if (types.length > 0) found = found.where('type', 'in', [...types])
    if (since !== undefined) found = found.where('at', '>=', since)
    if (until !== undefined) found = found.where('at', '<', until)
    if (subjects) found = found.where(sql<boolean>`subject = any(${subjects.map(storable)})`)
    return (
      await this.connections.readings.run(
        found
          .orderBy('number', newestFirst ? 'desc' : 'asc')
          .limit(limit)
          .compile(),
      )
    ).map(eventFrom)
  }

  async last(): Promise<number> {
    const [row] = await this.connections.readings.run(
      sql<{ number: number }>`select coalesce(max(number), 0) as number from event`.compile(query),
    )
    return row?.number ?? 0
  }

  async find(id: string): Promise<StoredEvent | undefined> {
    const [row] = await this.connections.readings.run(query.selectFrom('event').selectAll().where('id', '=', storable(id)).compile())
    return row && eventFrom(row)
  }

  async deliveries({ state, receiver, event, after, limit }: DeliveryQuery): Promise<StoredDelivery[]> {
    const joined = query.selectFrom('event_delivery').innerJoin('event', 'event.number', 'event_delivery.event')
    let found = joined.selectAll('event_delivery').select(['event.id', 'event.type']).where('event', '>', after)
    if (state !== undefined) found = found.where('state', '=', state)
    if (receiver !== undefined) found = found.where('receiver', '=', storable(receiver))
    if (event !== undefined) found = found.where('event', '=', event)
    const rows = await this.connections.readings.run(found.orderBy('event').orderBy('receiver').limit(limit).compile())
    return rows.map(deliveryFrom)
  }

  spread(receivers: readonly ReceiverFilter[], now: number): Promise<number> {
    return this.connections.readings.transaction(async (session) => {
      await session.run(sql`select pg_advisory_xact_lock(${LOCKS.program}::int, ${LOCKS.events}::int)`.compile(query))
      let count = 0
      for (const receiver of receivers) count += await spreadTo(session, receiver, Math.floor(now))
      return count
    })
  }

  async claim({ receiver, now, until, most }: ClaimQuery): Promise<Claimed[]> {
    const at = Math.floor(now)
    const claiming = sql<EventTable & Pick<EventDeliveryTable, 'attempts' | 'first_at'>>`
      with due as (
        select d.receiver, d.event from event_delivery d join event_receiver r on r.name = d.receiver
        where d.receiver = ${receiver} and d.state = 'pending' and d.due_at <= ${at}::bigint and d.claimed_until <= ${at}::bigint
          and r.disabled_at is null
        order by d.due_at, d.event limit ${most} for update of d skip locked
      ), claimed as (
        update event_delivery d set claimed_until = ${Math.ceil(until)}::bigint from due
        where d.receiver = due.receiver and d.event = due.event returning d.event, d.attempts, d.first_at
      )
      select e.*, c.attempts, c.first_at from claimed c join event e on e.number = c.event order by e.number`
    const rows = await this.connections.readings.run(claiming.compile(query))
    return rows.map((row) => ({ receiver, attempts: row.attempts, firstAt: row.first_at, event: eventFrom(row) }))
  }

  async conclude({ receiver, event, state, at, dueAt, status, problem }: AttemptResult): Promise<void> {
    const concluding = sql`
      update event_delivery set state = ${state}, attempts = attempts + 1, due_at = ${Math.ceil(dueAt)}::bigint, claimed_until = 0,
        status = ${status}::bigint, problem = ${problem}, updated_at = ${Math.floor(at)}::bigint
      where receiver = ${receiver} and event = ${event}::bigint and state = 'pending'`
    await this.connections.readings.run(concluding.compile(query))
  }

  redeliver(event: number, receiver: string | null, now: number, by: Origin = GATEWAY_ORIGIN): Promise<number> {
    const at = Math.floor(now)
    const row = { state: 'pending', attempts: 0, first_at: at, due_at: at, claimed_until: 0, updated_at: at }
    let making = query.updateTable('event_delivery').set(row).where('event', '=', event)
    if (receiver !== null) making = making.where('receiver', '=', storable(receiver))
    return this.connections.readings.transaction(async (session) => {
      const count = (await session.run(making.returning('event').compile())).length
      await appendAudit(session, redeliveryAudit(event, { receiver, count }, by), this.pen)
      return count
    })
  }

  async receivers(): Promise<ReceiverState[]> {
    const reading = sql<{ name: string; disabled_at: number | null; pending: number; dead: number }>`
      select r.name, r.disabled_at,
        (select count(*) from event_delivery d where d.receiver = r.name and d.state = 'pending') as pending,
        (select count(*) from event_delivery d where d.receiver = r.name and d.state = 'dead') as dead
      from event_receiver r order by r.name`
    const rows = await this.connections.readings.run(reading.compile(query))
    return rows.map(({ disabled_at: disabledAt, ...row }) => ({ ...row, disabledAt }))
  }

  setDisabled(receiver: string, disabledAt: number | null, by: Origin = GATEWAY_ORIGIN): Promise<boolean> {
    const name = storable(receiver)
    const after = disabledAt === null ? null : Math.floor(disabledAt)
    return this.connections.readings.transaction(async (session) => {
      const finding = query.selectFrom('event_receiver').select('disabled_at').where('name', '=', name).forUpdate()
      const [found] = await session.run(finding.compile())
      if (!found) return false
      await session.run(query.updateTable('event_receiver').set({ disabled_at: after }).where('name', '=', name).compile())
      await appendAudit(session, receiverAudit(receiver, { before: found.disabled_at, after }, by), this.pen)
      return true
    })
  }

  async prune(before: number, most: number): Promise<number> {
    const pruning = sql<{ count: number }>`
      with old as (
        select number from event where at < ${Math.floor(before)}::bigint and number < (select max(number) from event)
          and (once is null or once not like 'ever:%')
        order by number limit ${most} for update skip locked
      ), deliveries as (
        delete from event_delivery d using old where d.event = old.number
      ), gone as (
        delete from event e using old where e.number = old.number returning 1
      )
      select count(*) as count from gone`
    const [row] = await this.connections.readings.run(pruning.compile(query))
    return row?.count ?? 0
  }
}

/** Under the lock. @returns how many deliveries it made. */
async function spreadTo(session: Session, { name, types }: ReceiverFilter, now: number): Promise<number> {
  await session.run(sql`insert into event_receiver (name, next) select ${name}, ${NEXT} on conflict do nothing`.compile(query))
  const filter = types.length === 0 ? sql`true` : sql`e.type = any(${[...types]})`
  const spreading = sql<{ event: number }>`
    insert into event_delivery (receiver, event, state, attempts, first_at, due_at, claimed_until, updated_at)
    select r.name, e.number, 'pending', 0, ${now}::bigint, ${now}::bigint, 0, ${now}::bigint
    from event_receiver r join event e on e.number >= r.next
    where r.name = ${name} and r.disabled_at is null and ${filter} on conflict do nothing returning event`
  const made = await session.run(spreading.compile(query))
  await session.run(
    sql`update event_receiver set next = ${NEXT} where name = ${name} and disabled_at is null and next < ${NEXT}`.compile(query),
  )
  return made.length
}

function eventFrom({ number, id, type, at, once, subject, fields }: EventTable): StoredEvent {
  return { number, id, type, at, ...(once === null ? {} : { once }), subject, data: JSON.parse(fields) as JsonObject }
}

function deliveryFrom(row: EventDeliveryTable & { id: string; type: string }): StoredDelivery {
  const { receiver, event, id, type, attempts, status, problem } = row
  return {
    ...{ receiver, event, id, type, attempts, status, problem, state: stateFrom(row.state) },
    ...{ firstAt: row.first_at, dueAt: row.due_at, updatedAt: row.updated_at },
  }
}
