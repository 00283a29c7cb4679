/** Every statement of the store of record on PostgreSQL, by what a gateway does with it. */
import type { Test } from 'tap'
import { windowStarts } from '../../../src/core/windows.ts'
import type { UsePage } from '../../../src/ledger/types.ts'
import { verifyLedger } from '../../../src/ledger/verify.ts'
import type { PostgresRecord } from '../../../src/store/postgres/record.ts'
import { ask, generation, leaseFrom, nodePulse } from '../../store/record-contract.ts'
import type { TestPostgres } from '../postgres.ts'
import { DAY_MS, SPAN } from './sizes.ts'

export interface GrownRecord {
  readonly server: TestPostgres
  readonly url: string
  readonly record: PostgresRecord
  /** Milliseconds since the epoch. */
  readonly now: number
}

async function all<T>(rows: AsyncIterable<T> | Iterable<T>): Promise<number> {
  let count = 0
  for await (const _ of rows) count++
  return count
}

async function everyPage(read: (after: string) => Promise<UsePage>): Promise<void> {
  for (let after: string | undefined = ''; after !== undefined; ) after = (await read(after)).next
}

/** Operations of a gateway on its store of record, by name. */
export function operations(t: Test, { server, url, record, now }: GrownRecord): [string, () => Promise<unknown>][] {
  const { ledger, readers } = record
  const week = { from: (Math.floor(now / DAY_MS) - 7) * DAY_MS, until: (Math.floor(now / DAY_MS) + 1) * DAY_MS }
  const key = 'k0000007'
  let seq = now * 4096
  return [
    [
      'roll',
      async () => {
        for (let rolled = 1; rolled > 0; ) rolled = await record.roll(now, 5_000)
      },
    ],
    [
      'take',
      () =>
        record.take(
          'n1',
          Array.from({ length: 100 }, (_, i) => generation(++seq, `k000000${i % 10}`, 10, now)),
        ),
    ],
    [
      // Within the days before a month that the sums of its windows are read from.
      'take what is late',
      () =>
        record.take(
          'n1',
          Array.from({ length: 100 }, (_, i) => generation((now - 5 * DAY_MS) * 4096 + i, key, 10, now)),
        ),
    ],
    ['last uses', () => ledger.lastUses(Array.from({ length: 100 }, (_, i) => `k000000${i}`))],
    ['lease', () => leaseFrom(record, 'n1', ask(key, 5, { limit: 1e12 }))],
    ['give back', () => record.giveBack('n1', { key }, 'all', 9)],
    ['end leases', () => record.endLeases('n1')],
    ['pulse', () => record.pulse(nodePulse('n1'))],
    ['balances', () => record.balances([key, 'k0000009'])],
    ['sum of all', () => record.spentByAll()],
    ['forget lost', () => record.forgetLost(1)],
    [
      'give ids',
      () => record.givenIds.give(Array.from({ length: 500 }, (_, i) => ({ id: `new${i}`, owner: key, until: now + SPAN * DAY_MS }))),
    ],
    ['find ids', () => record.givenIds.find(Array.from({ length: 500 }, (_, i) => `new${i}`))],
    ['prune ids', () => record.givenIds.prune(now, 1_000)],
    ['find a key', () => record.keys.find('0'.repeat(64))],
    ['find keys', () => record.keys.findMany(['0'.repeat(64), '1'.repeat(64)])],
    ['find', () => ledger.find('gen-1-abcdefghijkl')],
    ['list of keys', () => record.keys.list()],
    ['keys behind', () => record.keys.listAfter('8', 100)],
    ['search', () => ledger.searchPage({ from: 0, until: now * 2, limit: 50 }, '')],
    ['search by key', () => ledger.searchPage({ from: 0, until: now * 2, key, limit: 50 }, '')],
    ['use', () => ledger.usePage(week, '')],
    ['use of a key', () => ledger.usePage({ ...week, keys: [key], byKey: true, apart: ['day'] }, '')],
    ['use of each key', () => everyPage((after) => ledger.usePage({ ...week, byKey: true, apart: [] }, after))],
    ['use of each key and day', () => everyPage((after) => ledger.usePage({ ...week, byKey: true, apart: ['day', 'model'] }, after))],
    ['charges of a week', () => ledger.charges({ ...week, by: ['key', 'model'] })],
    ['sessions of a key', () => ledger.sessionNamePage({ from: now - 3_600_000, until: now, keys: [key] }, '')],
    ['moves of a session', () => ledger.sessionMoves({ from: now - 3_600_000, until: now, keys: [key] })],
    [
      'claim of an export',
      () =>
        readers.claim({
          reader: 'lake',
          holder: 'h',
          holdFor: 1,
          since: 0,
          age: 10_000,
          most: 5_000,
          ahead: true,
          now,
        }) as Promise<unknown>,
    ],
    ['what an export has not read', () => readers.unread('lake', 0, 10_000) as Promise<unknown>],
    ['export', () => all(ledger.export())],
    // As autovacuum does: rows that were folded into their months are gone.
    ['vacuum', async () => void (await server.query(url, 'VACUUM'))],
    ['verify', () => verifyLedger(ledger, { now })],
    ['verify again', () => verifyLedger(ledger, { now })],
    ['verify all', () => verifyLedger(ledger, { full: true, now })],
    ['rows ahead', () => record.latestAhead()],
    [
      'prune',
      async () => {
        for (let gone = 1; gone > 0; ) gone = await record.prune(now - 35 * DAY_MS, 1_000, 35 * DAY_MS)
      },
    ],
    [
      'forget use',
      async () => {
        while (await record.forgetUse(now - (SPAN - 10) * DAY_MS));
      },
    ],
    ['rebuild use', () => ledger.rebuildUse()],
    [
      'roll again',
      async () => {
        for (let rolled = 1; rolled > 0; ) rolled = await record.roll(now, 5_000)
      },
    ],
    [
      'rebuild windows',
      async () => {
        const { daily } = windowStarts(now + DAY_MS)
        await server.query(url, 'UPDATE balance_shard SET day = $1 WHERE key < $2', [daily, 'k0000500'])
        t.equal(await record.rebuildWindows(), 500)
        t.match(await verifyLedger(ledger, { full: true, now }), { ok: true, problems: [] })
      },
    ],
  ]
}
