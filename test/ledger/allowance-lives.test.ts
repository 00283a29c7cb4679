/** Random lives of workers that share one SQLite file by way of their owner: no allowance is ever passed (issue 15, section 2). */
import { join } from 'node:path'
import t from 'tap'
import { keepAlone } from '../../src/cluster/bookkeeping.ts'
import { OwnerDesk } from '../../src/cluster/owner-desk.ts'
import { LedgerScans } from '../../src/ledger/scans.ts'
import { MemoryCounters } from '../../src/shared/index.ts'
import { LocalRecord } from '../../src/store/local-record.ts'
import { openStore } from '../../src/store/open.ts'
import { employ } from '../cluster/employ.ts'
import { liveMany } from '../support/lives/many.ts'
import { Market, WallClock, type Way } from '../support/lives/market.ts'
import { property } from '../support/seed.ts'

t.test('several allowances, several workers, callers that abort, stall, fail over and crash: never over any allowance', async (t) => {
  const directory = t.testdir()
  let files = 0
  const open = async () => {
    const clock = new WallClock()
    const books = keepAlone(openStore(`sqlite:${join(directory, `${++files}.db`)}`, { clock }), clock)
    const { journal, keys, guardrails, credit, ledger } = books
    const record = new LocalRecord({ journal, keys, guardrails, credit, clock })
    const scans = new LedgerScans(record.ledger, clock)
    const desk = new OwnerDesk({ record, scans, counters: new MemoryCounters(clock), oops: (error) => t.error(error) })
    const way = (): Way => {
      const { record, cable } = employ(desk, clock)
      return { record, gone: cable.cut }
    }
    return { market: new Market(record, clock, way), ledger, close: () => books.close() }
  }
  await liveMany(t, open, property(200, 100_000))
})
