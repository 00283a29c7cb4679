/** Entries of the ledger on PostgreSQL. */
import { sql } from 'kysely'
import { GATEWAY_ORIGIN, type Origin } from '../../core/audit-entries.ts'
import type { AuditKeys } from '../../core/audit-keys.ts'
import { Fault } from '../../core/faults.ts'
import {
  type EntryKind,
  type EntryRefusal,
  entryMove,
  type LedgerEntry,
  type Move,
  movedBy,
  type NewEntry,
} from '../../core/ledger-entries.ts'
import { type ChargeQuery, MAX_CHARGE_ENTRIES, refuseTooMany } from '../../ledger/charge-sums.ts'
import type { EntryQuery, EntrySum, LedgerEntries } from '../../ledger/entries.ts'
import type { SessionMove, SessionQuery } from '../../ledger/types.ts'
import { entryAudit } from '../audited-changes.ts'
import { DAY_MS, TICKS } from '../rows.ts'
import { HAS_SESSION, SESSION_OF } from '../search-index.ts'
import { appendAudit } from './audit-log.ts'
import type { Session } from './connection.ts'
import type { Connections } from './connections.ts'
import { inPart } from './search.ts'
import { type LedgerEntryTable, query, storable } from './tables.ts'

export class PostgresEntries implements LedgerEntries {
  private readonly connections: Pick<Connections, 'readings'>
  private readonly keys: AuditKeys

  /** @param keys of the audit log. */
  constructor(connections: Pick<Connections, 'readings'>, keys: AuditKeys) {
    this.connections = connections
    this.keys = keys
  }

  async add(entry: NewEntry, by: Origin = GATEWAY_ORIGIN): Promise<LedgerEntry | EntryRefusal> {
    const { id, key, payer = '', generation, model, provider, kind, amount, countedAt, settles, actor, reason, once } = entry
    const { seq, tag } = generation ?? { seq: 0, tag: '' }
    const entering = sql<{ outcome: string }>`select headgate_enter(${id}, ${key}, ${payer}, ${seq}::bigint, ${tag}, ${storable(model)},
      ${storable(provider)}, ${kind}, ${amount}::bigint, ${movedBy(entry)}::bigint, ${countedAt}::bigint, ${settles ?? null}::text, ${storable(actor)},
      ${storable(reason)}, ${once === undefined ? null : storable(once)}::text) as outcome`
    const outcome = await this.connections.readings.transaction(async (session) => {
      const [row] = await session.run(entering.compile(query))
      if (row?.outcome === 'added') await appendAudit(session, entryAudit(entry, by), { clock: { now: () => entry.at }, keys: this.keys })
      return row?.outcome
    })
    switch (outcome) {
      case 'no_such_entry':
      case 'more_than_open':
      case 'more_than_spent':
        return outcome
    }
    const found = await this.connections.readings.run(
      query
        .selectFrom('ledger_entry')
        .selectAll()
        .where((of) => of.or([of('id', '=', id), ...(once === undefined ? [] : [of('once', '=', storable(once))])]))
        .limit(1)
        .compile(),
    )
    const [known] = found
    if (!known) throw new Fault('unavailable', { message: 'The store of record has lost an entry' })
    return entryFrom(known)
  }

  async page({ after, newestFirst = false, limit, key, kind, id, generation, within }: EntryQuery): Promise<LedgerEntry[]> {
    let found = query.selectFrom('ledger_entry').selectAll()
    if (after !== 0) found = found.where('number', newestFirst ? '<' : '>', after)
    if (generation) found = found.where('seq', '=', generation.seq).where('tag', '=', generation.tag)
    if (key !== undefined) found = found.where('key', '=', storable(key))
    if (kind !== undefined) found = found.where('kind', '=', kind)
    if (id !== undefined) found = found.where('id', '=', storable(id))
    if (within) found = found.where(inPart(within))
    return (
      await this.connections.readings.run(
        found
          .orderBy('number', newestFirst ? 'desc' : 'asc')
          .limit(limit)
          .compile(),
      )
    ).map(entryFrom)
  }

  async sums(keys?: readonly string[]): Promise<EntrySum[]> {
    const ofKeys = keys ? sql`where e.key = any(${keys.map(storable)})` : sql``
    const summing = sql<{ key: string; kind: EntryKind; amount: bigint; settled: bigint }>`
      select e.key, e.kind, sum(e.amount)::numeric as amount, coalesce(sum(s.amount), 0)::numeric as settled
      from ledger_entry e left join (select settles, sum(amount) as amount from ledger_entry where settles is not null group by settles) s
        on s.settles = e.id ${ofKeys} group by e.key, e.kind`
    return this.connections.readings.run(summing.compile(query))
  }

  /** See `LedgerReader.sessionMoves`. @throws Fault `unavailable`. */
  async sessionMoves(wanted: SessionQuery): Promise<SessionMove[]> {
    const found = await this.connections.readings.run(movesOfSessions(wanted).compile(query))
    return found.map(({ key, session, kind, amount }) => ({ key, session, nano: movedBy({ kind, amount }) }))
  }

  async moves(from: number, until: number): Promise<Move[]> {
    const found = query
      .selectFrom('ledger_entry')
      .selectAll()
      .where('counted_at', '>', 0)
      .where('counted_at', '>=', from)
      .where('counted_at', '<', Math.min(until, Number.MAX_SAFE_INTEGER))
    return (await this.connections.readings.run(found.compile())).flatMap((row) => entryMove(entryFrom(row)) ?? [])
  }
}

/** See `ChargeStatement.entries`. @throws Fault 400 where there are too many, and `unavailable`. */
export async function chargedEntries(session: Session, { from, until }: Pick<ChargeQuery, 'from' | 'until'>): Promise<LedgerEntry[]> {
  const select = sql<LedgerEntryTable>`select * from ledger_entry
    where (counted_at > 0 and counted_at >= ${from}::bigint and counted_at < ${until}::bigint and kind in ('correction', 'refund'))
      or (kind = 'write_off' and at >= ${from}::bigint and at < ${until}::bigint)
    order by number limit ${MAX_CHARGE_ENTRIES + 1}`
  const found = await session.run(select.compile(query))
  if (found.length > MAX_CHARGE_ENTRIES) refuseTooMany('entries', MAX_CHARGE_ENTRIES)
  return found.map(entryFrom)
}

const SESSION = sql.raw(`(${SESSION_OF.postgres})`)
const HAS_SESSION_SQL = sql.raw(HAS_SESSION.postgres)

/** A move counts no earlier than its generation was admitted; a day is left for clocks that were set back in between. */
const movesOfSessions = ({ from, until, keys, session }: SessionQuery) => sql<{
  key: string
  session: string
  kind: EntryKind
  amount: number
}>`
  select e.key, g.session, e.kind, e.amount from ledger_entry e cross join lateral (
    select ${SESSION} as session from generation where seq = e.seq and tag = e.tag and ${HAS_SESSION_SQL} offset 0
  ) g where e.counted_at > 0 and e.counted_at >= ${Math.floor(from) - DAY_MS}::bigint
    and e.seq >= ${Math.max(0, Math.ceil(from * TICKS))}::bigint and e.seq < ${Math.ceil(until * TICKS)}::bigint
    ${keys ? sql`and e.key = any(${keys.map(storable)})` : sql``}
    ${session === undefined ? sql`` : sql`and g.session = ${storable(session)}`}`

function entryFrom(row: LedgerEntryTable): LedgerEntry {
  const { id, number, at, key, payer, seq, tag, model, provider, kind, amount, settles, actor, reason, once } = row
  return {
    id,
    number,
    at,
    key,
    payer: payer || undefined,
    generation: seq > 0 ? { seq, tag } : undefined,
    model,
    provider,
    kind,
    amount,
    countedAt: row.counted_at,
    settles: settles ?? undefined,
    actor,
    reason,
    once: once ?? undefined,
  }
}
