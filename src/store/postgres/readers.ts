/** Readers of the ledger on PostgreSQL, see `ledger/types.ts`; `reader-functions.ts` has the steps. */
import { sql } from 'kysely'
import type { GenerationRecord, KeptSums, LedgerReaders, ReaderBatch, ReaderClaim, Unread } from '../../ledger/types.ts'
import { TICKS } from '../rows.ts'
import type { Connection } from './connection.ts'
import { recordFrom } from './ledger.ts'
import { EARLY } from './reader-functions.ts'
import { type GenerationTable, query } from './tables.ts'

const PAGE = 500

interface ClaimRow {
  below: number
  reaching: number
  batch: number
  begun_at: number
  note: string
}

export class PostgresReaders implements LedgerReaders {
  private readonly connection: Connection

  constructor(connection: Connection) {
    this.connection = connection
  }

  async claim({ reader, holder, holdFor, since, age, most, ahead = false }: ReaderClaim): Promise<ReaderBatch | undefined> {
    const first = Math.max(0, Math.ceil(since * TICKS))
    const claimed = sql<ClaimRow>`select below, reaching, batch, begun_at, note
      from headgate_claim(${reader}, ${holder}, ${Math.ceil(holdFor)}::bigint, ${first}::bigint, ${Math.ceil(age)}::bigint, ${most}::bigint, ${ahead})`
    const [row] = await this.connection.run(claimed.compile(query))
    if (!row) return undefined
    const { below, reaching, batch, begun_at: begunAt, note } = row
    return { reader, number: batch, begunAt, below, reaching, note }
  }

  async *pages({ reader, number, below, reaching }: ReaderBatch): AsyncIterable<readonly GenerationRecord[]> {
    yield* this.paged(
      sql`generation g join ledger_reader_late l on l.seq = g.seq and l.tag = g.tag where l.reader = ${reader} and l.batch = ${number}::bigint`,
    )
    // Those that came since the batch was begun wait for the next one: so this one stays as it was.
    yield* this.paged(
      sql`generation g where g.seq >= ${below}::bigint and g.seq < ${reaching}::bigint and not exists (select 1 from ledger_reader_late l
        where l.reader = ${reader} and l.seq = g.seq and l.tag = g.tag and l.batch <= 0)`,
    )
  }

  async accept({ reader, number }: ReaderBatch, note: string): Promise<boolean> {
    const accepted = sql<{ accepted: boolean }>`select headgate_accept(${reader}, ${number}::bigint, ${note}) as accepted`
    const [row] = await this.connection.run(accepted.compile(query))
    return row?.accepted === true
  }

  async reset(reader: string): Promise<void> {
    const anew = sql`with begun as (
        update ledger_reader set below = 0, reaching = 0, begun_at = 0, note = '' where name = ${reader} returning name
      ) delete from ledger_reader_late using begun where reader = begun.name`
    await this.connection.run(anew.compile(query))
  }

  async keep({ reader, number }: ReaderBatch, sums: readonly KeptSums[]): Promise<void> {
    const kept = sql`insert into reader_sum (reader, batch, account, sums)
      select ${reader}, ${number}::bigint, k.account, k.sums
      from unnest(${sums.map(({ account }) => account)}::text[], ${sums.map((each) => each.sums)}::text[]) as k (account, sums)
      on conflict (reader, batch, account) do update set sums = excluded.sums`
    await this.connection.run(kept.compile(query))
  }

  kept(reader: string, batch: number, after: string, most: number): Promise<KeptSums[]> {
    const found = sql<KeptSums>`select account, sums from reader_sum
      where reader = ${reader} and batch = ${batch}::bigint and account > ${after} order by account limit ${most}`
    return this.connection.run(found.compile(query))
  }

  async dropKept(reader: string, batch: number, most: number): Promise<number> {
    const dropped = sql<{ count: number }>`with gone as (
        delete from reader_sum where ctid = any(array(
          (select ctid from reader_sum where reader = ${reader} and batch < ${batch}::bigint limit ${most})
          union all (select ctid from reader_sum where reader = ${reader} and batch > ${batch}::bigint limit ${most}))) returning 1
      ) select count(*) as count from gone`
    const [row] = await this.connection.run(dropped.compile(query))
    return row?.count ?? 0
  }

  async unread(reader: string, since: number, most: number): Promise<Unread> {
    const first = Math.max(0, Math.ceil(since * TICKS))
    const found = sql<{ oldest: number | null; rows: number }>`
      with bound as (select coalesce((select below from ledger_reader where name = ${reader}), ${first}::bigint) as seq)
      select min(seq) as oldest, count(*) as rows from (
        (select l.seq from ledger_reader_late l where l.reader = ${reader} and l.batch >= 0 order by l.seq limit ${most})
        union all (select g.seq from generation g where g.seq >= (select seq from bound) and not exists (select 1 from ledger_reader_late l
          where l.reader = ${reader} and l.seq = g.seq and l.tag = g.tag and l.batch = ${EARLY}) order by g.seq limit ${most})) as u`
    const [row] = await this.connection.run(found.compile(query))
    return { oldest: row?.oldest == null ? undefined : Math.floor(row.oldest / TICKS), rows: row?.rows ?? 0 }
  }

  private async *paged(from: ReturnType<typeof sql>): AsyncIterable<readonly GenerationRecord[]> {
    let [seq, tag] = [-1, '']
    for (;;) {
      const page = sql<GenerationTable>`select g.* from ${from} and (g.seq, g.tag) > (${seq}::bigint, ${tag}::text) order by g.seq, g.tag limit ${PAGE}`
      const rows = await this.connection.run(page.compile(query))
      if (rows.length > 0) yield rows.map(recordFrom)
      const last = rows.at(-1)
      if (last === undefined || rows.length < PAGE) return
      seq = last.seq
      tag = last.tag
    }
  }
}
