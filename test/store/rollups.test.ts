/** Sums of use beside the generations: whatever is added up, settled late, removed or left by a crash, they are those of the rows. */

import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { HoldRow, SettleRow, UseFacts, UseGroup, UseQuery, UseRow } from '../../src/ledger/types.ts'
import { DAY_MS } from '../../src/ledger/use.ts'
import { SqliteJournal } from '../../src/store/journal.ts'
import { startRollup } from '../../src/store/rollup.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { SqliteRollups } from '../../src/store/sqlite-rollups.ts'
import { FakeClock } from '../support/clock.ts'
import { MemoryJournal } from '../support/memory/journal.ts'
import { ledgerOfRows } from '../support/memory/ledger.ts'
import { property } from '../support/seed.ts'
import { scanUse } from '../support/use.ts'
import { holdRow, settleRow } from './samples.ts'

const TICKS = 4096
const FIRST = Date.UTC(2026, 0, 1)
/** They begin within a run of days (`RUN_DAYS` of `use-facts.ts`), and most of them have no use. */
const DAYS = 20
const clock = new FakeClock()

const open = (t: Test, file = join(t.testdir(), 'headgate.db')): [string, SqliteJournal] => [
  file,
  new SqliteJournal(openDatabase(file, 'process'), { clock }),
]

const useRowName = (row: UseRow): string => [row.day, row.model, row.endpoint, row.provider, row.answered, row.key].join('\n')
/** Rows in one order, with the key of each as its last member. */
const sorted = (rows: readonly UseRow[]): UseRow[] =>
  rows.toSorted((a, b) => (useRowName(a) < useRowName(b) ? -1 : 1)).map(({ key, ...row }) => (key === undefined ? row : { ...row, key }))

const QUERIES: UseQuery[] = [
  { from: FIRST, until: FIRST + DAYS * DAY_MS },
  { from: FIRST, until: FIRST + DAYS * DAY_MS, keys: ['a'] },
  { from: FIRST + DAY_MS, until: FIRST + 2 * DAY_MS },
  { from: FIRST + DAY_MS, until: FIRST + 3 * DAY_MS, keys: ['b', 'c'] },
  { from: FIRST + 5_000, until: FIRST + 2 * DAY_MS + 1 },
  { from: FIRST, until: FIRST + DAYS * DAY_MS, byKey: true },
  { from: FIRST + DAY_MS, until: FIRST + 3 * DAY_MS, byKey: true, keys: ['a', 'c'] },
  { from: FIRST, until: FIRST + DAYS * DAY_MS, byKey: true, apart: ['day', 'model', 'provider'] },
  { from: FIRST + DAY_MS, until: FIRST + 3 * DAY_MS, byKey: true, apart: ['model'] },
  { from: FIRST, until: FIRST + DAYS * DAY_MS, byKey: true, apart: ['day'] },
  { from: FIRST, until: FIRST + DAYS * DAY_MS, byKey: true, apart: ['model'] },
  { from: FIRST, until: FIRST + DAYS * DAY_MS, byKey: true, apart: ['day', 'provider'] },
  { from: FIRST + DAY_MS, until: FIRST + 4 * DAY_MS, byKey: true, apart: [] },
  { from: FIRST, until: FIRST + DAYS * DAY_MS, byKey: true, apart: ['provider'], keys: ['a', 'c'] },
  { from: FIRST, until: FIRST + DAYS * DAY_MS, byKey: true, apart: ['model', 'provider'] },
  { from: FIRST + DAY_MS, until: FIRST + 2 * DAY_MS, byKey: true, apart: ['model', 'provider'] },
  { from: FIRST + 2 * DAY_MS, until: FIRST + 10 * DAY_MS, byKey: true, apart: ['model', 'provider'] },
  { from: FIRST + 5 * DAY_MS, until: FIRST + 19 * DAY_MS, byKey: true, apart: ['model', 'provider'] },
  { from: FIRST, until: FIRST + DAYS * DAY_MS, byKey: true, apart: ['day', 'model'], model: 'acme/one' },
  { from: FIRST + DAY_MS, until: FIRST + DAYS * DAY_MS, byKey: true, apart: ['provider'], model: 'acme/one' },
  { from: FIRST, until: FIRST + DAYS * DAY_MS, byKey: true, apart: ['day'], model: 'acme/two', provider: 'Here' },
  { from: FIRST + 4 * DAY_MS, until: FIRST + DAYS * DAY_MS, byKey: true, apart: ['model'], provider: 'Here' },
  { from: FIRST, until: FIRST + DAYS * DAY_MS, byKey: true, apart: ['model'], provider: 'Here', keys: ['a'] },
  { from: FIRST, until: FIRST + DAYS * DAY_MS, byKey: true, apart: [], model: 'acme/other', provider: 'Here' },
]

interface Sample {
  readonly hold: HoldRow
  readonly settled: SettleRow
  /** Step at which it is settled; undefined: it never is. */
  readonly at: number | undefined
}

const STEPS = 4

/** Facts that a writer has at hand, out of those below; the store reads those of the others itself. */
const USE: Readonly<Record<string, UseFacts>> = {
  '{}': { model: '', endpoint: '', provider: '', session: '', saved: 0 },
  '{"provider":"Here","cache_discount":-0.5}': { model: '', endpoint: '', provider: 'Here', session: '', saved: -500_000_000 },
  '{"model":"acme/other"}': { model: 'acme/other', endpoint: '', provider: '', session: '', saved: 0 },
}

const samples = fc
  .array(
    fc.record({
      time: fc.integer({ min: 0, max: DAYS * DAY_MS - 1 }),
      key: fc.constantFrom('a', 'b', 'c'),
      model: fc.constantFrom('acme/one', 'acme/two'),
      status: fc.constantFrom('completed' as const, 'failed' as const, 'aborted' as const),
      cost: fc.constantFrom(0, 7, 1_999_999_999, Number.MAX_SAFE_INTEGER),
      facts: fc.constantFrom('{}', '{"provider":"Here","cache_discount":-0.5}', '{"model":"acme/other"}', '', '{"provider":5}'),
      atHand: fc.boolean(),
      at: fc.constantFrom(0, 0, 1, 2, 3, undefined),
    }),
    { maxLength: 30 },
  )
  .map((list) =>
    list.map(({ time, key, model, status, cost, facts, atHand, at }, index): Sample => {
      const seq = (FIRST + time) * TICKS + index
      return {
        hold: holdRow(seq, { key, model }),
        settled: settleRow(seq, cost, { status, facts, ...(atHand ? { use: USE[facts] } : {}) }),
        at,
      }
    }),
  )

const works = fc.array(
  fc.record({
    roll: fc.option(
      fc.record({
        before: fc.integer({ min: 0, max: DAYS * 24 }),
        most: fc.integer({ min: 1, max: 9 }),
        times: fc.integer({ min: 1, max: 90 }),
      }),
    ),
    rebuild: fc.constantFrom(false, false, false, true),
    reopen: fc.boolean(),
  }),
  { minLength: STEPS, maxLength: STEPS },
)

t.test('whatever is added up when, the sums are those of the rows', async (t) => {
  let compared = 0
  await fc.assert(
    fc.asyncProperty(samples, works, async (samples, works) => {
      let [file, journal] = open(t)
      const plain = new MemoryJournal()
      try {
        for (const [step, { roll, rebuild, reopen }] of works.entries()) {
          for (const { hold, settled, at } of samples) {
            if (step === 0) for (const each of [journal, plain]) each.hold(hold)
            if (at === step) for (const each of [journal, plain]) each.settle(settled)
          }
          await Promise.all([journal.committed(), plain.committed()])
          for (let time = 0; roll && time < roll.times; time++) journal.roll(FIRST + roll.before * 3_600_000, roll.most)
          if (rebuild) await journal.ledger.rebuildUse()
          if (reopen) {
            journal.close()
            journal = open(t, file)[1]
          }
        }
        for (const each of [journal, plain]) each.reconcile()
        for (const query of QUERIES) {
          const [found, expected] = [await scanUse(journal.ledger, query), await scanUse(plain.ledger, query)]
          if (JSON.stringify(sorted(found), text) !== JSON.stringify(sorted(expected), text))
            throw new Error(`${JSON.stringify(query)}: ${JSON.stringify(found, text)}, expected ${JSON.stringify(expected, text)}`)
          compared += expected.length
        }
      } finally {
        journal.close()
        plain.close()
      }
    }),
    property(100, 3000),
  )
  t.ok(compared > 100, `${compared} sums were compared`)
})

/** JSON of rows, whose costs are big integers. */
function text(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

t.test('a page that was begun counts nothing twice that is added up meanwhile', async (t) => {
  const [, journal] = open(t)
  t.teardown(() => journal.close())
  for (let i = 0; i < 40; i++) {
    journal.hold(holdRow((FIRST + i * 2 * 3_600_000) * TICKS))
    journal.settle(settleRow((FIRST + i * 2 * 3_600_000) * TICKS, 1))
  }
  await journal.committed()
  journal.roll(FIRST + 30 * 3_600_000, 100)
  const query = { from: FIRST, until: FIRST + DAYS * DAY_MS }
  let requests = 0
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page = journal.ledger.usePage(query, after)
    requests += page.rows.reduce((sum, row) => sum + row.requests, 0)
    journal.roll(FIRST + DAYS * DAY_MS, 7)
    after = page.next
  }
  t.equal(requests, 40)
})

t.test('generations that leave the store stay in the sums', async (t) => {
  const [, journal] = open(t)
  t.teardown(() => journal.close())
  for (let i = 0; i < 10; i++) {
    journal.hold(holdRow((FIRST + i * 3_600_000) * TICKS))
    journal.settle(settleRow((FIRST + i * 3_600_000) * TICKS, 3))
  }
  await journal.committed()
  const query = { from: FIRST, until: FIRST + DAYS * DAY_MS }
  const before = await scanUse(journal.ledger, query)
  t.equal(journal.prune(FIRST + 8 * 3_600_000, 100), 8)
  t.equal([...journal.export()].length, 2)
  t.same(await scanUse(journal.ledger, query), before)
})

t.test('sums are made anew of the days that are whole, and figures stay right meanwhile', async (t) => {
  const file = join(t.testdir(), 'headgate.db')
  const db = openDatabase(file, 'process')
  const journal = new SqliteJournal(db, { clock })
  t.teardown(() => journal.close())
  t.equal(await journal.ledger.rebuildUse(), DAY_MS, 'there is none yet')
  for (let i = 0; i < 20; i++) {
    journal.hold(holdRow((FIRST + i * 5 * 3_600_000) * TICKS))
    journal.settle(settleRow((FIRST + i * 5 * 3_600_000) * TICKS, 3))
  }
  await journal.committed()
  const query = { from: FIRST, until: FIRST + 5 * DAY_MS }
  const whole = sorted(await scanUse(journal.ledger, query))
  t.equal(journal.prune(FIRST + 10 * 3_600_000, 100), 2)
  while (journal.roll(FIRST + 9 * DAY_MS, 3) >= 3);
  db.exec('UPDATE use_by_hour SET count = count + 5; UPDATE use_by_day SET count = count + 5; UPDATE use_by_key SET count = 0')
  t.notSame(sorted(await scanUse(journal.ledger, query)), whole)
  t.equal(await journal.ledger.rebuildUse(), FIRST + DAY_MS, 'a part of the first day was removed')
  const after = { ...query, from: FIRST + DAY_MS }
  t.same(sorted(await scanUse(journal.ledger, after)), whole.slice(1), 'from the rows')
  while (journal.roll(FIRST + 9 * DAY_MS, 3) >= 3);
  t.same(sorted(await scanUse(journal.ledger, after)), whole.slice(1), 'from the tables')
  const ofKeys = { ...after, keys: ['dev'] }
  t.same(sorted(await scanUse(journal.ledger, ofKeys)), whole.slice(1), 'by key')
})

t.test('a month of many keys is read from the sums of closed days, with what is settled later', async (t) => {
  const file = join(t.testdir(), 'headgate.db')
  const db = openDatabase(file, 'process')
  const journal = new SqliteJournal(db, { clock })
  t.teardown(() => journal.close())
  const settle = (seq: number, of: number): void => {
    journal.hold(holdRow(seq, { key: `key ${of % 7}`, model: `acme/${of % 5}` }))
    journal.settle(settleRow(seq, of, { facts: `{"provider":"p${of % 3}"}`, status: of % 4 === 0 ? 'failed' : 'completed' }))
  }
  for (let i = 0; i < 20 * 24; i++) settle((FIRST + i * 3_600_000) * TICKS, i)
  await journal.committed()
  const now = FIRST + 19 * DAY_MS + 3_600_000
  while (journal.roll(now, 50) >= 50);
  t.match(db.prepare('SELECT day, key FROM use_closed').get(), { day: FIRST / DAY_MS + 19, key: '' }, 'the last day is not over')
  const query = (...apart: UseGroup[]): UseQuery => ({ from: FIRST, until: FIRST + 20 * DAY_MS, byKey: true, apart })
  const queries = [
    query('model'),
    query('provider'),
    query(),
    query('day', 'model'),
    query('model', 'provider'),
    { ...query('model', 'provider'), from: FIRST + 3 * DAY_MS, until: FIRST + 17 * DAY_MS },
    { ...query('provider'), model: 'acme/1' },
    { ...query('day'), model: 'acme/1', provider: 'p1' },
    { from: FIRST, until: FIRST + 20 * DAY_MS },
  ]
  // Only one of these has the day apart, and no page of the others has sums of each day.
  for (const [each, sums] of [
    [query('model'), 7 * 5],
    [query('model', 'provider'), 7 * 5 * 3],
  ] as const) {
    const pages: number[] = []
    for (let after: string | undefined = ''; after !== undefined; ) {
      const { rows, next } = journal.ledger.usePage(each, after)
      pages.push(rows.length)
      after = next
    }
    t.ok(pages.reduce((sum, rows) => sum + rows, 0) <= 2 * sums, `rows of pages: ${pages}`)
  }
  const plain = ledgerOfRows({ export: (since) => journal.export(since) })
  const agree = async (what: string): Promise<void> => {
    for (const each of queries)
      t.same(sorted(await scanUse(journal.ledger, each)), sorted(await scanUse(plain, each)), `${what}: ${each.apart}`)
  }
  await agree('closed')
  for (let i = 0; i < 20 * 24; i += 11) settle((FIRST + i * 3_600_000) * TICKS + 1, i + 3)
  await journal.committed()
  await agree('settled later')
  db.exec('UPDATE use_by_day SET count = 0; UPDATE use_by_key_model SET count = 0; UPDATE use_by_key_running SET count = 0')
  for (const each of [query('model'), query('model', 'provider')])
    t.notSame(sorted(await scanUse(journal.ledger, each)), sorted(await scanUse(plain, each)), `they are what is read: ${each.apart}`)
  await journal.ledger.rebuildUse()
  await agree('while they are made anew')
  while (journal.roll(now, 50) >= 50);
  await agree('made anew')
})

t.test('a journal that is never rolled, as one that hands its rows on, gathers no sums', async (t) => {
  const db = openDatabase(join(t.testdir(), 'headgate.db'), 'process')
  t.teardown(() => db.close())
  const rollups = new SqliteRollups(db, 0)
  const settle = (seq: number): void => {
    rollups.committed([[settleRow(seq, 1), holdRow(seq)]])
  }
  settle(1)
  t.same([...rollups.sums()], [])
  rollups.roll(FIRST, 100, 1)
  settle(2)
  t.match([...rollups.sums()], [{ count: 1 }])
})

t.test('the task brings the tables up to date, and forgets sums of more than 400 days', async (t) => {
  const clock = new FakeClock()
  const [, journal] = open(t)
  const task = startRollup(journal, clock, ({ cause }) => t.fail(String(cause)))
  t.teardown(() => {
    task.close()
    journal.close()
  })
  const write = async (...times: number[]): Promise<void> => {
    for (const time of times) {
      journal.hold(holdRow(time * TICKS))
      journal.settle(settleRow(time * TICKS, 1))
    }
    await journal.committed()
  }
  const now = clock.now()
  await write(now - 401 * DAY_MS, now - 700_000, now - 650_000, now - 30_000)
  // Some batches: that day is closed before it is forgotten.
  await clock.advance(5_100)
  const day = (time: number) => ({ from: Math.floor(time / DAY_MS) * DAY_MS, until: (Math.floor(time / DAY_MS) + 1) * DAY_MS })
  t.same(await scanUse(journal.ledger, day(now - 401 * DAY_MS)), [], 'the oldest day is forgotten')
  t.match(await scanUse(journal.ledger, day(now)), [{ requests: 3 }])
  await write(now - 690_000)
  t.match(await scanUse(journal.ledger, day(now)), [{ requests: 4 }], 'one that comes late is added with its settlement')
})

t.test('a day with many sums by key is read in several pages, each key whole', async (t) => {
  const [, journal] = open(t)
  for (let index = 0; index < 3_000; index++) {
    const seq = FIRST * TICKS + index
    journal.hold(holdRow(seq, { key: `key ${index % 50}`, model: `acme/${index % 60}` }))
    journal.settle(settleRow(seq, index, { facts: '{}' }))
  }
  await journal.committed()
  const now = FIRST + DAYS * DAY_MS
  while (journal.roll(now, 500) >= 500) {}
  const query: UseQuery = { from: FIRST, until: FIRST + DAY_MS, byKey: true }
  const pages: number[] = []
  for (let after: string | undefined = ''; after !== undefined; ) {
    const { rows, next } = journal.ledger.usePage(query, after)
    pages.push(rows.length)
    after = next
  }
  t.ok(Math.max(...pages) < 1_100, `pages of ${pages}`)
  const rows = await scanUse(journal.ledger, query)
  t.equal(rows.length, 300)
  t.equal(
    rows.reduce((sum, { cost }) => sum + cost, 0n),
    (2_999n * 3_000n) / 2n,
  )
  journal.close()
})
