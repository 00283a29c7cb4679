/** Sums of use on PostgreSQL, with processes that hand generations in while they are added up. */

import t, { type Test } from 'tap'
import type { UseGroup, UseQuery, UseRow } from '../../src/ledger/types.ts'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { FakeClock } from '../support/clock.ts'
import { ledgerOfRows } from '../support/memory/ledger.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { clocked } from '../support/postgres-clock.ts'
import { scanUse } from '../support/use.ts'
import { generation } from './record-contract.ts'

const DAY = 86_400_000
const server = await startPostgres(t)
if (server) suite(server)
else t.plan(0, 'PostgreSQL is not installed')

function suite(server: TestPostgres): void {
  const opened = async (t: Test, url: string) => {
    const clock = new FakeClock()
    const record = await clocked(await openPostgres(url, { clock }), clock, server, url)
    t.teardown(() => record.close())
    return { record, now: () => clock.now() }
  }

  t.test('sums of use are those of the rows, whatever is handed in while they are added up', async (t) => {
    const url = await server.database()
    const { record, now } = await opened(t, url)
    const { record: other } = await opened(t, url)
    const today = Math.floor(now() / DAY) * DAY
    const rows = Array.from({ length: 900 }, (_, index) => {
      // Of the days in between none has use.
      const at = today - ((index * 7) % 3) * 5 * DAY + index * 1000
      const row = generation(at * 4096, `k${index % 4}`, index, at)
      const facts = index % 2 === 0 ? '{"model":"acme/two","provider":"Here","cache_discount":0.5}' : '{}'
      return { ...row, settled: { ...row.settled, facts, status: index % 7 === 0 ? ('failed' as const) : ('completed' as const) } }
    })
    const batches = Array.from({ length: 30 }, (_, index) => rows.filter((_, at) => at % 30 === index))
    let rolled = 0
    const taking = Promise.all(
      batches.flatMap((batch, i) => [(i % 2 ? record : other).take('n1', batch), other.take('n2', batch.slice(0, 9))]),
    )
    const rolling = (async () => {
      for (let round = 0; round < 12; round++) rolled += await (round % 2 ? record : other).roll(today - DAY + round * 40_000_000, 50)
    })()
    await Promise.all([taking, rolling])
    t.ok(rolled > 0 && rolled < rows.length, `${rolled} were added up`)
    const { ledger } = record
    const plain = ledgerOfRows({ export: ledger.export.bind(ledger) })
    const sorted = (found: readonly UseRow[]): string[] =>
      found.map((row) => JSON.stringify({ ...row, cost: String(row.cost) }, Object.keys(row).sort())).sort()
    const agree = async (what: string): Promise<void> => {
      const days = { from: today - 10 * DAY, until: today + DAY }
      const apart = (...groups: UseGroup[]): UseQuery => ({ ...days, byKey: true, apart: groups })
      const some = { keys: ['k1', 'k2'] }
      const both = apart('model', 'provider')
      const coarse = [apart('model'), apart('provider'), apart('day'), apart('day', 'model'), apart(), both]
      const sought = [
        { ...apart('day'), provider: 'Here' },
        { ...apart('provider'), model: 'acme/two' },
        { ...both, from: today - 9 * DAY },
        { ...both, until: today - 2 * DAY },
      ]
      const queries = [days, { ...days, ...some }, apart('day', 'model', 'provider'), ...coarse, ...sought, { ...apart('day'), ...some }]
      for (const query of queries)
        t.same(sorted(await scanUse(ledger, query)), sorted(await scanUse(plain, query)), `${what}: ${JSON.stringify(query)}`)
    }
    await agree('with some above the watermark')
    const before0 = sorted(await scanUse(ledger, { from: today - 10 * DAY, until: today }))
    const late = rows.slice(0, 300).map((row) => ({ ...row, hold: { ...row.hold, seq: row.hold.seq + 1 } }))
    // The last of these days is today, and not over.
    const closing = (async () => {
      while ((await record.roll(0, 9)) >= 9);
    })()
    const handing = (async () => {
      for (let at = 0; at < 150; at += 5) await (at % 2 ? record : other).take('n1', late.slice(at, at + 5))
    })()
    await Promise.all([closing, handing])
    await agree('with days that are closed')
    const [closed] = await server.query(url, 'SELECT day, key FROM use_closed')
    t.equal(closed?.key, '')
    t.ok(Number(closed?.day) > today / DAY - 5, `all days are closed that have use: before ${closed?.day}`)
    await Promise.all([record.take('n1', late.slice(150, 200)), other.take('n2', late.slice(200))])
    await agree('with what came late')
    await server.query(url, 'UPDATE use_by_day SET count = 0; UPDATE use_by_key_model SET count = 0')
    t.notSame(sorted(await scanUse(ledger, { from: today - 10 * DAY, until: today })), before0, 'closed days are what is read')
    await ledger.rebuildUse()
    await agree('while sums are made anew')
    while ((await record.roll(0, 100)) >= 100);
    await agree('made anew')
    const before = sorted(await scanUse(ledger, { from: today - 10 * DAY, until: today + DAY }))
    const gone = await record.prune(today, 500)
    t.ok(gone > 0, `${gone} have left`)
    t.same(sorted(await scanUse(ledger, { from: today - 10 * DAY, until: today + DAY })), before, 'what has left stays in the sums')
    const kept = sorted(await scanUse(ledger, { from: today, until: today + DAY }))
    await server.query(url, 'UPDATE use_by_hour SET count = count + 1')
    t.equal(await ledger.rebuildUse(), today - 4 * DAY, 'a part of the day before was removed')
    t.same(sorted(await scanUse(ledger, { from: today, until: today + DAY })), kept, 'from the rows')
    while ((await record.roll(0, 100)) >= 100);
    t.same(sorted(await scanUse(ledger, { from: today, until: today + DAY })), kept, 'from the tables')
    t.equal(await record.forgetUse(today), true)
  })
}
