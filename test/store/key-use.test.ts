/** Sums of use of each key apart, in pages of some keys, while what is summed in memory moves to the tables. */
import { join } from 'node:path'
import t from 'tap'
import type { UseQuery } from '../../src/ledger/types.ts'
import { DAY_MS } from '../../src/ledger/use.ts'
import { openJournal } from '../../src/store/journal.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { SqliteKeyUse } from '../../src/store/sqlite-key-use.ts'
import { SqliteRollups } from '../../src/store/sqlite-rollups.ts'
import { FakeClock } from '../support/clock.ts'
import { holdRow, settleRow } from './samples.ts'

const FIRST = Date.UTC(2026, 0, 1)
const TICKS = 4096
/** In an order of their bytes that is not that of JavaScript. */
const KEYS = ['a', 'b', 'é', '\u{ff21}', '\u{1f600}', '\u{1f600}b', 'z']

t.test('whatever moves between two pages, each generation counts once', async (t) => {
  const db = openDatabase(join(t.testdir(), 'headgate.db'), 'process')
  t.teardown(() => db.close())
  const rollups = new SqliteRollups(db, 0)
  rollups.roll(FIRST, 1, 0)
  let seq = 0
  for (let day = 0; day < 3; day++)
    for (let hour = 0; hour < 24; hour++)
      for (const key of KEYS) {
        seq = (FIRST + day * DAY_MS + hour * 3_600_000) * TICKS + KEYS.indexOf(key)
        rollups.committed([[settleRow(seq, 1), holdRow(seq, { key })]])
      }
  const query: UseQuery = { from: FIRST, until: FIRST + 3 * DAY_MS, byKey: true, apart: ['day'] }
  const use = new SqliteKeyUse(db, rollups, 2)
  for (const movedBefore of [0, 30, 50, 71]) {
    rollups.roll(FIRST + (movedBefore + 1) * 3_600_000, 10_000, seq)
    const found = new Map<string, number>()
    let hours = movedBefore
    let pages = 0
    for (let after: string | undefined = ''; after !== undefined; pages++) {
      const page = use.read(query, after)
      for (const { key, day, requests } of page.rows) found.set(`${key} ${day}`, (found.get(`${key} ${day}`) ?? 0) + requests)
      rollups.roll(FIRST + ++hours * 3_600_000, 10_000, seq)
      after = page.next
    }
    t.equal(found.size, KEYS.length * 3, `moved before: ${movedBefore}`)
    t.same(new Set(found.values()), new Set([24]), `every generation once, in ${pages} pages`)
  }
})

t.test('a day of many keys is read in pages from the first moment of a process on', async (t) => {
  const path = join(t.testdir(), 'headgate.db')
  const clock = new FakeClock()
  const open = () => openJournal(path, { durability: 'process', clock })
  const before = open()
  const day = Math.floor(clock.now() / DAY_MS) * DAY_MS
  for (let at = 0; at < 1_500; at++) {
    const hold = holdRow(day * TICKS + at, { key: `key-${at}` })
    before.hold(hold)
    before.settle(settleRow(hold.seq, 1, { owner: hold }))
  }
  await before.committed()
  before.roll(day + DAY_MS, 10_000)
  before.close()
  const journal = open()
  t.teardown(() => journal.close())
  const query: UseQuery = { from: day, until: day + DAY_MS, byKey: true, apart: ['day'] }
  const first = journal.ledger.usePage(query, '')
  t.equal(first.rows.length, 1_000)
  t.equal(journal.ledger.usePage(query, first.next ?? '').rows.length, 500)
})
