/** The report on what a crash left open, of every journal, and of several together. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { SqliteJournal } from '../../src/store/journal.ts'
import { joinRecoveries, planRecovery } from '../../src/store/recovery.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { FakeClock } from '../support/clock.ts'
import { MemoryJournal } from '../support/memory/journal.ts'
import { holdRow, seqId, settleRow } from './samples.ts'

const AT = Date.UTC(2026, 0, 5, 12)
const TICKS = 4096
const NOTHING = { count: 0, charged: 0, oldest: null, newest: null, keys: [], generations: [] }

const KINDS: Record<string, (t: Test) => MemoryJournal | SqliteJournal> = {
  memory: () => new MemoryJournal(),
  sqlite: (t) => new SqliteJournal(openDatabase(join(t.testdir(), 'headgate.db'), 'process'), { clock: new FakeClock() }),
}

for (const [kind, open] of Object.entries(KINDS))
  t.test(`${kind}: told before anything is written, and settled once`, async (t) => {
    const journal = open(t)
    t.teardown(() => journal.close())
    t.same(journal.unsettled(), NOTHING)
    const seqs = [3000, 1000, 2000, 4000].map((ms) => (AT + ms) * TICKS + 7)
    for (const [index, seq] of seqs.entries()) journal.hold(holdRow(seq, { key: index === 2 ? 'b' : 'a', floor: 10 ** index }))
    journal.settle(settleRow(seqs[3], 5))
    const report = {
      count: 3,
      charged: 111,
      oldest: '2026-01-05T12:00:01.000Z',
      newest: '2026-01-05T12:00:03.000Z',
      keys: [
        { key: 'b', count: 1, charged: 100 },
        { key: 'a', count: 2, charged: 11 },
      ],
      generations: [seqId(seqs[1]), seqId(seqs[2]), seqId(seqs[0])],
    }
    t.same(journal.unsettled(), report)
    t.same(journal.unsettled(), report, 'looking changes nothing')
    t.same(journal.reconcile(), report)
    t.same(journal.reconcile(), NOTHING)
    t.equal([...journal.export()].filter(({ settled }) => settled?.status === 'unknown').length, 3)
  })

t.test('a long list is cut, its sums are not', async (t) => {
  const many = Array.from({ length: 250 }, (_, index) => holdRow(index + 1, { key: `key-${index}`, floor: index }))
  const report = planRecovery(many)
  t.match(report, { count: 250, charged: (249 * 250) / 2 })
  t.equal(report.generations.length, 100)
  t.same(report.keys.length, 100)
  t.same(report.keys[0], { key: 'key-249', count: 1, charged: 249 }, 'the most charged first')
  const absurd = planRecovery([holdRow(1, { floor: Number.MAX_SAFE_INTEGER }), holdRow(2, { floor: Number.MAX_SAFE_INTEGER })])
  t.equal(absurd.charged, Number.MAX_SAFE_INTEGER)
})

t.test('the reports of several processes are one', async (t) => {
  const first = planRecovery([holdRow(AT * TICKS, { key: 'a', floor: 1 }), holdRow((AT + 5000) * TICKS, { key: 'b', floor: 2 })])
  const second = planRecovery([holdRow((AT + 9000) * TICKS, { key: 'a', floor: 4 })])
  t.same(joinRecoveries([first, planRecovery([]), second]), {
    count: 3,
    charged: 7,
    oldest: '2026-01-05T12:00:00.000Z',
    newest: '2026-01-05T12:00:09.000Z',
    keys: [
      { key: 'a', count: 2, charged: 5 },
      { key: 'b', count: 1, charged: 2 },
    ],
    generations: [...first.generations, ...second.generations],
  })
  t.same(joinRecoveries([]), NOTHING)
})
