/** The mark below which nothing is open: a start finds every open generation from there on, in whatever order rows were written. */
import { join } from 'node:path'
import t from 'tap'
import { SqliteJournal } from '../../src/store/journal.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { FakeClock } from '../support/clock.ts'
import { runs, seed } from '../support/seed.ts'
import { holdRow, settleRow } from './samples.ts'

/** Milliseconds: the mark is raised past generations that are older. */
const AGE = 60_000
const SEQ = 4096

t.test(
  'holds that come late, settlements in any order, refused batches and crashes: each start settles exactly what is open',
  async (t) => {
    const folder = t.testdir()
    for (let run = 0; run < runs(6, 1000); run++) {
      const file = join(folder, `${run}.db`)
      const clock = new FakeClock(seed() + run)
      const random = (): number => clock.random()
      const open = new Set<number>()
      const settled = new Set<number>()
      let db = openDatabase(file, 'process')
      let journal = new SqliteJournal(db, { clock })
      const any = (from: ReadonlySet<number>): number | undefined => [...from][Math.floor(random() * from.size)]
      for (let step = 0; step < 120; step++) {
        const move = random()
        if (move < 0.45) {
          // Some were numbered long before they are written.
          const seq = Math.floor((clock.now() - (random() < 0.3 ? random() * 10 * AGE : 0)) * SEQ) + step
          if (open.has(seq) || settled.has(seq)) continue
          journal.hold(holdRow(seq))
          open.add(seq)
          if (random() < 0.3) {
            journal.settle(settleRow(seq, 1))
            open.delete(seq)
            settled.add(seq)
          }
        } else if (move < 0.75) {
          const seq = any(open)
          if (seq === undefined) continue
          journal.settle(settleRow(seq, 1))
          open.delete(seq)
          settled.add(seq)
        } else if (move < 0.9) {
          await journal.committed()
          await clock.advance(random() * 2 * AGE)
          for (let most = 1 + Math.floor(random() * 5); journal.roll(clock.now(), most) >= most; );
        } else {
          await journal.committed()
          // As a crash leaves it: nothing is written on the way out.
          db.close()
          db = openDatabase(file, 'process')
          journal = new SqliteJournal(db, { clock })
          const found = journal.reconcile()
          if (found.count !== open.size) t.fail(`run ${run}, step ${step}: ${found.count} open ones were found of ${open.size}`)
          for (const seq of open) settled.add(seq)
          open.clear()
        }
      }
      await journal.committed()
      journal.close()
    }
    t.pass('all runs')
  },
)

t.test('a start reads no row below the mark', async (t) => {
  const file = join(t.testdir(), 'ledger.db')
  const clock = new FakeClock()
  const journal = new SqliteJournal(openDatabase(file, 'process'), { clock })
  for (let at = 0; at < 500; at++) {
    journal.hold(holdRow(clock.now() * SEQ + at))
    journal.settle(settleRow(clock.now() * SEQ + at, 1))
  }
  await journal.committed()
  await clock.advance(2 * AGE)
  while (journal.roll(clock.now(), 100) >= 100);
  journal.close()
  const db = openDatabase(file, 'process')
  t.teardown(() => db.close())
  const [mark] = db.prepare('SELECT seq FROM settled_below').all()
  t.equal(mark?.seq, clock.now() * SEQ - 2 * AGE * SEQ + 500)
})
