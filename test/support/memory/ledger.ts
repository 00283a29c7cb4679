/** Reads of a ledger that are made of its generations alone: the model with which those of the stores are compared. */

import { BY_DAY } from '../../../src/core/ledger-counts.ts'
import { type DayCounts, type RowCounts, toRowCounts } from '../../../src/core/row-counts.ts'
import type { LedgerEntries } from '../../../src/ledger/entries.ts'
import { parseFacts } from '../../../src/ledger/facts.ts'
import { LEDGER_READS, type LedgerReader, type LedgerReads } from '../../../src/ledger/reader.ts'
import { isWanted } from '../../../src/ledger/search.ts'
import { addSession, Sessions } from '../../../src/ledger/session-use.ts'
import type { GenerationRecord, SessionUse, Sums, UseRow } from '../../../src/ledger/types.ts'
import { DAY_MS, textOr, UseSums } from '../../../src/ledger/use.ts'
import { MemoryEntries } from './entries.ts'

interface Rows {
  find(id: string): GenerationRecord | undefined
  export(since?: number): Iterable<GenerationRecord> | AsyncIterable<GenerationRecord>
  spent(): Sums
  carried?(): Sums
  readonly entries?: LedgerEntries
}

/** Reads that it does not make are those of `more`. */
export function ledgerOfRows(rows: Partial<Rows>, more: Partial<LedgerReader> = {}): LedgerReader {
  const entries = rows.entries ?? new MemoryEntries()
  let summed: readonly SessionUse[] = []
  const each = async (
    { from, until, keys }: { from: number; until: number; keys?: readonly string[] },
    add: (record: GenerationRecord, settled: NonNullable<GenerationRecord['settled']>) => void,
  ): Promise<void> => {
    for await (const record of rows.export?.(from) ?? []) {
      if (record.at >= until) break
      if (record.settled && (!keys || keys.includes(record.hold.key))) add(record, record.settled)
    }
  }
  return {
    ...(Object.fromEntries(LEDGER_READS.map((name) => [name, () => lacking(name)])) as unknown as LedgerReads),
    find: async (id) => rows.find?.(id),
    export: (since) => rows.export?.(since) ?? [],
    spent: async () => rows.spent?.() ?? new Map(),
    carried: async () => rows.carried?.() ?? new Map(),
    removedUnread: async () => new Map(),
    windows: async () => undefined,
    rebuildUse: async () => 0,
    use: async (query) => {
      const sums = new UseSums(query)
      await each(query, (record, settled) => sums.add(useRow(record, settled, query.byKey)))
      return sums.rows()
    },
    sessionNames: async (query) => {
      const sums = new Sessions<SessionUse>(addSession)
      const moves = await entries.moves(0, Number.MAX_SAFE_INTEGER)
      await each(query, (record, settled) => {
        const row = sessionRow(record, settled)
        if (!row || (query.session !== undefined && row.session !== query.session)) return
        const { seq, tag } = record.hold
        const moved = moves.filter(({ generation }) => generation?.seq === seq && generation.tag === tag)
        sums.add({ ...row, cost: moved.reduce((cost, { nano }) => cost + BigInt(nano), row.cost) })
      })
      summed = sums.all
      return summed.map(({ key, session, first, last }) => ({ key, session, first, last }))
    },
    // As they were when the names were read.
    sessionSums: async (_, of) => of.flatMap(({ key, session }) => summed.find((sum) => sum.key === key && sum.session === session) ?? []),
    sessionMoves: async () => [],
    lastUses: async (keys) => {
      const last = new Map<string, number>()
      for await (const { hold, at } of rows.export?.(0) ?? [])
        if (keys.includes(hold.key)) last.set(hold.key, Math.max(last.get(hold.key) ?? 0, Math.floor(at / 60_000) * 60_000))
      return Array.from(last, ([key, at]) => ({ key, at }))
    },
    search: async (query, before) => {
      const end = before === '' ? Number.POSITIVE_INFINITY : Number(before.split(' ')[0])
      const found: GenerationRecord[] = []
      for await (const record of rows.export?.(query.from) ?? [])
        if (record.at < query.until && record.hold.seq < end && isWanted(record, query)) found.unshift(record)
      const page = found.slice(0, query.limit)
      const last = page.at(-1)?.hold
      return { rows: page, ...(found.length > page.length && last ? { next: `${last.seq} ${last.tag}` } : {}) }
    },
    entries,
    readers: undefined,
    lists: undefined,
    ...more,
  }
}

const lacking = async (name: string): Promise<never> => {
  throw new Error(`the model does not read ${name}`)
}

const savedNano = (saved: unknown): number => (typeof saved === 'number' ? Math.round(saved * 1e9) : 0)

const dayCounts = (settled: RowCounts): DayCounts =>
  Object.fromEntries(BY_DAY.map(({ count }) => [count, settled[count]])) as unknown as DayCounts

function useRow({ at, hold }: GenerationRecord, settled: NonNullable<GenerationRecord['settled']>, byKey = false): UseRow {
  const { cost, status } = settled
  const { model, endpoint, provider, cache_discount: saved } = parseFacts(settled)
  return {
    ...dayCounts(settled),
    ...(byKey ? { key: hold.key } : {}),
    day: Math.floor(at / DAY_MS) * DAY_MS,
    model: textOr(model, hold.model),
    endpoint: textOr(endpoint, hold.endpoint),
    provider: textOr(provider, ''),
    answered: status !== 'failed' && status !== 'unknown',
    requests: 1,
    cost: BigInt(cost),
    cacheSaved: savedNano(saved),
  }
}

/** Undefined where the generation belongs to no session. */
function sessionRow({ at, hold }: GenerationRecord, settled: NonNullable<GenerationRecord['settled']>): SessionUse | undefined {
  const { session_id: session, model, cache_discount: saved } = parseFacts(settled)
  if (typeof session !== 'string' || session === '') return undefined
  const { cost, status } = settled
  return {
    key: hold.key,
    session,
    models: [textOr(model, hold.model)],
    requests: 1,
    failed: status === 'failed' || status === 'unknown' ? 1 : 0,
    cost: BigInt(cost),
    ...toRowCounts(settled),
    cacheSaved: savedNano(saved),
    first: at,
    last: at,
  }
}
