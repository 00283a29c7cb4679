/** Events in the embedded store, whose one owner alone delivers them. */
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { GATEWAY_ORIGIN, type Origin } from '../core/audit-entries.ts'
import type { NewEvent } from '../core/event-types.ts'
import { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { receiverAudit, redeliveryAudit } from './audited-changes.ts'
import {
  type AttemptResult,
  type Claimed,
  type ClaimQuery,
  DELIVERY_STATES,
  type DeliverableEvents,
  type DeliveryQuery,
  type EventQuery,
  type ReceiverFilter,
  type ReceiverState,
  type StoredDelivery,
  type StoredEvent,
} from './events.ts'
import { atOnce, integer, text } from './sqlite.ts'
import { SqliteAuditLog } from './sqlite-audit-log.ts'

const ADD = `INSERT INTO event (number, id, type, at, once, subject, fields)
  SELECT ifnull(max(number), 0) + 1, ?, ?, ?, ?, ?, ? FROM event WHERE true ON CONFLICT DO NOTHING`
const NAMED = '(?2 = 0 OR type IN (SELECT value FROM json_each(?3)))'
const TIMED = '(?5 IS NULL OR at >= ?5) AND (?6 IS NULL OR at < ?6)'
const OF_SUBJECTS = '(?7 IS NULL OR subject IN (SELECT value FROM json_each(?7)))'
const PAGE = `SELECT * FROM event WHERE number > ?1 AND ${NAMED} AND ${TIMED} AND ${OF_SUBJECTS} ORDER BY number LIMIT ?4`
const NEWEST_PAGE = `SELECT * FROM event WHERE (?1 = 0 OR number < ?1) AND ${NAMED} AND ${TIMED} AND ${OF_SUBJECTS} ORDER BY number DESC LIMIT ?4`
const LAST = 'SELECT ifnull(max(number), 0) AS number FROM event'
const DELIVERIES = `SELECT d.*, e.id, e.type FROM event_delivery d JOIN event e ON e.number = d.event
  WHERE d.event > ?1 AND (?2 IS NULL OR d.state = ?2) AND (?3 IS NULL OR d.receiver = ?3) AND (?4 IS NULL OR d.event = ?4)
  ORDER BY d.event, d.receiver LIMIT ?5`
const NEW_RECEIVER = `INSERT INTO event_receiver (name, next) SELECT ?, ifnull(max(number), 0) + 1 FROM event WHERE true ON CONFLICT DO NOTHING`
const SPREAD = `INSERT INTO event_delivery (receiver, event, state, attempts, first_at, due_at, claimed_until, updated_at)
  SELECT r.name, e.number, 'pending', 0, ?4, ?4, 0, ?4 FROM event_receiver r JOIN event e ON e.number >= r.next
  WHERE r.name = ?1 AND r.disabled_at IS NULL AND ${NAMED} ON CONFLICT DO NOTHING`
const ADVANCE = `UPDATE event_receiver SET next = (SELECT ifnull(max(number), 0) + 1 FROM event) WHERE name = ? AND disabled_at IS NULL
  AND next <= (SELECT ifnull(max(number), 0) FROM event)`
const DUE = `SELECT d.attempts, d.first_at, e.* FROM event_delivery d JOIN event e ON e.number = d.event
  WHERE d.receiver = ?1 AND d.state = 'pending' AND d.due_at <= ?2 AND d.claimed_until <= ?2
    AND EXISTS (SELECT 1 FROM event_receiver r WHERE r.name = d.receiver AND r.disabled_at IS NULL)
  ORDER BY d.due_at, d.event LIMIT ?3`
const CLAIM = 'UPDATE event_delivery SET claimed_until = ? WHERE receiver = ? AND event = ?'
const CONCLUDE = `UPDATE event_delivery SET state = ?, attempts = attempts + 1, due_at = ?, claimed_until = 0, status = ?, problem = ?,
  updated_at = ? WHERE receiver = ? AND event = ? AND state = 'pending'`
const REDELIVER = `UPDATE event_delivery SET state = 'pending', attempts = 0, first_at = ?3, due_at = ?3, claimed_until = 0, updated_at = ?3
  WHERE event = ?1 AND (?2 IS NULL OR receiver = ?2)`
const RECEIVERS = `SELECT r.name, r.disabled_at,
    (SELECT count(*) FROM event_delivery d WHERE d.receiver = r.name AND d.state = 'pending') AS pending,
    (SELECT count(*) FROM event_delivery d WHERE d.receiver = r.name AND d.state = 'dead') AS dead
  FROM event_receiver r ORDER BY r.name`
const DISABLE = 'UPDATE event_receiver SET disabled_at = ? WHERE name = ?'
const OLD = `SELECT number FROM event WHERE at < ? AND number < (SELECT max(number) FROM event)
  AND (once IS NULL OR once NOT LIKE 'ever:%') ORDER BY number LIMIT ?`

type Row = Record<string, SQLOutputValue>

/** Adds events within the caller's transaction. @throws what SQLite throws. */
export function addEvents(insert: StatementSync, events: readonly NewEvent[]): void {
  for (const { id, type, at, once, subject, data } of events)
    insert.run(id, type, Math.floor(at), once ?? null, subject, JSON.stringify(data))
}

export function eventInsert(db: DatabaseSync): StatementSync {
  return db.prepare(ADD)
}

export class SqliteEvents implements DeliverableEvents {
  private readonly db: DatabaseSync
  private readonly audit: SqliteAuditLog
  private claimed = false

  constructor(db: DatabaseSync, audit = new SqliteAuditLog(db)) {
    this.db = db
    this.audit = audit
  }

  add(events: readonly NewEvent[]): void {
    this.write(() => addEvents(eventInsert(this.db), events))
  }

  page({ after, types, subjects, since, until, limit, newestFirst }: EventQuery): StoredEvent[] {
    return this.read(() =>
      this.db
        .prepare(newestFirst ? NEWEST_PAGE : PAGE)
        .all(after, types.length, JSON.stringify(types), limit, since ?? null, until ?? null, subjects ? JSON.stringify(subjects) : null)
        .map(eventFrom),
    )
  }

  last(): number {
    return this.read(() => integer(this.db.prepare(LAST).get()?.number))
  }

  find(id: string): StoredEvent | undefined {
    const row = this.read(() => this.db.prepare('SELECT * FROM event WHERE id = ?').get(id))
    return row && eventFrom(row)
  }

  deliveries({ state, receiver, event, after, limit }: DeliveryQuery): StoredDelivery[] {
    return this.read(() =>
      this.db
        .prepare(DELIVERIES)
        .all(after, state ?? null, receiver ?? null, event ?? null, limit)
        .map(deliveryFrom),
    )
  }

  spread(receivers: readonly ReceiverFilter[], now: number): number {
    return this.write(() => {
      let count = 0
      for (const { name, types } of receivers) {
        this.db.prepare(NEW_RECEIVER).run(name)
        count += Number(this.db.prepare(SPREAD).run(name, types.length, JSON.stringify(types), Math.floor(now)).changes)
        this.db.prepare(ADVANCE).run(name)
      }
      return count
    })
  }

  /** The file has one owner, so claims of an earlier life are worth nothing. */
  claim({ receiver, now, until, most }: ClaimQuery): Claimed[] {
    return this.write(() => {
      if (!this.claimed) this.db.exec('UPDATE event_delivery SET claimed_until = 0 WHERE claimed_until > 0')
      this.claimed = true
      const rows = this.db.prepare(DUE).all(receiver, Math.floor(now), most)
      const claim = this.db.prepare(CLAIM)
      return rows.map((row) => {
        const event = eventFrom(row)
        claim.run(Math.ceil(until), receiver, event.number)
        return { receiver, attempts: integer(row.attempts), firstAt: integer(row.first_at), event }
      })
    })
  }

  conclude({ receiver, event, state, at, dueAt, status, problem }: AttemptResult): void {
    this.write(() => this.db.prepare(CONCLUDE).run(state, Math.ceil(dueAt), status, problem, Math.floor(at), receiver, event))
  }

  redeliver(event: number, receiver: string | null, now: number, by: Origin = GATEWAY_ORIGIN): number {
    return this.write(() => {
      const count = Number(this.db.prepare(REDELIVER).run(event, receiver, Math.floor(now)).changes)
      this.audit.append(redeliveryAudit(event, { receiver, count }, by))
      return count
    })
  }

  receivers(): ReceiverState[] {
    return this.read(() => this.db.prepare(RECEIVERS).all().map(receiverFrom))
  }

  setDisabled(receiver: string, disabledAt: number | null, by: Origin = GATEWAY_ORIGIN): boolean {
    const after = disabledAt === null ? null : Math.floor(disabledAt)
    return this.write(() => {
      const found = this.db.prepare('SELECT disabled_at FROM event_receiver WHERE name = ?').get(receiver)
      if (!found) return false
      this.db.prepare(DISABLE).run(after, receiver)
      const before = found.disabled_at === null ? null : integer(found.disabled_at)
      this.audit.append(receiverAudit(receiver, { before, after }, by))
      return true
    })
  }

  prune(before: number, most: number): number {
    return this.write(() => {
      const old = this.db
        .prepare(OLD)
        .all(Math.floor(before), most)
        .map(({ number }) => integer(number))
      const deliveries = this.db.prepare('DELETE FROM event_delivery WHERE event = ?')
      const events = this.db.prepare('DELETE FROM event WHERE number = ?')
      for (const number of old) {
        deliveries.run(number)
        events.run(number)
      }
      return old.length
    })
  }

  /** All or nothing. @throws Fault `unavailable`. */
  private write<T>(work: () => T): T {
    try {
      return atOnce(this.db, work)
    } catch (cause) {
      throw unavailable(cause)
    }
  }

  private read<T>(work: () => T): T {
    try {
      return work()
    } catch (cause) {
      throw unavailable(cause)
    }
  }
}

function unavailable(cause: unknown): Fault {
  return new Fault('unavailable', { message: 'The store of events cannot be used', cause })
}

function eventFrom(row: Row): StoredEvent {
  return {
    number: integer(row.number),
    id: text(row.id),
    type: text(row.type),
    at: integer(row.at),
    ...(row.once === null ? {} : { once: text(row.once) }),
    subject: text(row.subject),
    data: JSON.parse(text(row.fields)) as JsonObject,
  }
}

/** @throws TypeError for a word that this program does not write. */
export function stateFrom(word: string): StoredDelivery['state'] {
  const state = DELIVERY_STATES.find((each) => each === word)
  if (!state) throw new TypeError('expected the state of a delivery')
  return state
}

function deliveryFrom(row: Row): StoredDelivery {
  return {
    receiver: text(row.receiver),
    event: integer(row.event),
    id: text(row.id),
    type: text(row.type),
    state: stateFrom(text(row.state)),
    attempts: integer(row.attempts),
    firstAt: integer(row.first_at),
    dueAt: integer(row.due_at),
    updatedAt: integer(row.updated_at),
    status: row.status === null ? null : integer(row.status),
    problem: row.problem === null ? null : text(row.problem),
  }
}

function receiverFrom(row: Row): ReceiverState {
  return {
    name: text(row.name),
    disabledAt: row.disabled_at === null ? null : integer(row.disabled_at),
    pending: integer(row.pending),
    dead: integer(row.dead),
  }
}
