/** The audit log in PostgreSQL: the row of its end is locked, so that the entries of all processes are one chain. */
import { sql } from 'kysely'
import { type AuditHead, type AuditRow, chain, GATEWAY_ORIGIN } from '../../core/audit-entries.ts'
import type { AuditKeys } from '../../core/audit-keys.ts'
import type { Clock } from '../../core/clock.ts'
import {
  type AuditLogStore,
  type AuditPart,
  type AuditQuery,
  onlyHead,
  placeMarks,
  prunedEntry,
  SIGN_IN_ACTIONS,
  type UntimedEntry,
} from '../audit-log.ts'
import type { Session } from './connection.ts'
import type { Connections } from './connections.ts'
import { query, storable } from './tables.ts'

const COLUMNS = ['sequence', 'at', 'actor', 'action', 'subject', 'entry', 'hash'] as const
/** Rows of one statement. */
const MAX_ROWS = 500

/** Writes the entries of a store. */
export interface AuditPen {
  readonly clock: Pick<Clock, 'now'>
  readonly keys: AuditKeys
}

/**
 * Adds entries within a transaction: what they describe is committed with them, or not at all. The lock lasts to the end of it, so this
 * comes last, behind all other locks. @throws Fault `unavailable`, also where the end of the chain is not known.
 */
export async function appendAudit(session: Session, entries: readonly UntimedEntry[], { clock, keys }: AuditPen): Promise<void> {
  if (entries.length === 0) return
  const at = Math.floor(clock.now())
  const head = await lockHead(session)
  const rows = chain(
    head,
    entries.map((entry) => ({ ...entry, at })),
    keys.current,
  )
  for (let from = 0; from < rows.length; from += MAX_ROWS)
    await session.run(
      query
        .insertInto('audit_entry')
        .values(rows.slice(from, from + MAX_ROWS))
        .compile(),
    )
  const { sequence, hash } = rows.at(-1) ?? head
  await session.run(query.updateTable('audit_head').set({ sequence, hash }).compile())
}

async function lockHead(session: Session): Promise<AuditHead> {
  return onlyHead(await session.run(query.selectFrom('audit_head').select(['sequence', 'hash']).forUpdate().compile()))
}

const inPart = ({ subjects, actors, levels }: AuditPart) => sql<boolean>`(subject = any(${subjects.map(storable)})
  or (action = any(${[...SIGN_IN_ACTIONS]}) and actor = any(${actors.map(storable)}))
  or exists (select 1 from unnest(${levels.flatMap(placeMarks)}::text[]) as mark (of_place) where position(of_place in entry) > 0))`

export class PostgresAuditLog implements AuditLogStore {
  private readonly connections: Pick<Connections, 'readings'>
  private readonly pen: AuditPen

  constructor(connections: Pick<Connections, 'readings'>, pen: AuditPen) {
    this.connections = connections
    this.pen = pen
  }

  async add(entries: readonly UntimedEntry[]): Promise<void> {
    await this.connections.readings.transaction((session) => appendAudit(session, entries, this.pen))
  }

  async page({ after, newestFirst = false, limit, actor, action, subject, since, until, within }: AuditQuery): Promise<AuditRow[]> {
    let found = query.selectFrom('audit_entry').select([...COLUMNS])
    if (after !== 0) found = found.where('sequence', newestFirst ? '<' : '>', after)
    if (actor !== undefined) found = found.where('actor', '=', storable(actor))
    if (action !== undefined) found = found.where('action', '=', storable(action))
    if (subject !== undefined) found = found.where('subject', '=', storable(subject))
    if (since !== undefined) found = found.where('at', '>=', Math.ceil(since))
    if (until !== undefined) found = found.where('at', '<', Math.ceil(until))
    if (within) found = found.where(inPart(within))
    return this.connections.readings.run(
      found
        .orderBy('sequence', newestFirst ? 'desc' : 'asc')
        .limit(limit)
        .compile(),
    )
  }

  async head(): Promise<AuditHead> {
    return onlyHead(await this.connections.readings.run(query.selectFrom('audit_head').select(['sequence', 'hash']).compile()))
  }

  prune(before: number, most: number, age = 0): Promise<number> {
    return this.connections.readings.transaction(async (session) => {
      const head = await lockHead(session)
      const oldest = sql<AuditHead & { isOld: boolean }>`
        select sequence, hash, at < least(${Math.floor(before)}::bigint, headgate_now() - ${Math.ceil(age)}::bigint) as "isOld"
        from audit_entry where sequence < ${head.sequence}::bigint order by sequence limit ${most}`
      const found = await session.run(oldest.compile(query))
      const younger = found.findIndex(({ isOld }) => !isOld)
      const last = found.at(younger === -1 ? -1 : younger - 1)
      if (younger === 0 || !last) return 0
      const gone = sql<{ count: number }>`
        with gone as (delete from audit_entry where sequence <= ${last.sequence}::bigint returning 1) select count(*) as count from gone`
      const [{ count } = { count: 0 }] = await session.run(gone.compile(query))
      await appendAudit(session, [{ ...GATEWAY_ORIGIN, ...prunedEntry(last, count) }], this.pen)
      return count
    })
  }
}
