/** Sums by session beside the generations: whatever is written, settled late, removed or left by a crash, they are those of the rows. */
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { scanSessions } from '../../src/ledger/session-use.ts'
import type { HoldRow, SessionName, SessionNamePage, SessionPage, SessionQuery, SessionUse, SettleRow } from '../../src/ledger/types.ts'
import { SqliteJournal } from '../../src/store/journal.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { FakeClock } from '../support/clock.ts'
import { MemoryJournal } from '../support/memory/journal.ts'
import { property } from '../support/seed.ts'
import { allSessions } from '../support/sessions.ts'
import { holdRow, settleRow } from './samples.ts'

const TICKS = 4096
const HOUR = 3_600_000
const FIRST = Date.UTC(2026, 0, 1)
const HOURS = 6
const STEPS = 4
const clock = new FakeClock()

const open = (t: Test, file = join(t.testdir(), 'headgate.db')): [string, SqliteJournal] => [
  file,
  new SqliteJournal(openDatabase(file, 'process'), { clock }),
]

const period = (from: number, until: number, more: Partial<SessionQuery> = {}): SessionQuery => ({
  from: FIRST + from * HOUR,
  until: FIRST + until * HOUR,
  ...more,
})

const QUERIES: SessionQuery[] = [
  { from: 0, until: FIRST + HOURS * HOUR },
  period(0, HOURS),
  period(0, HOURS, { keys: ['a', 'é'] }),
  period(1, 3),
  period(1.4, 1.6),
  period(0.5, 2.5),
  period(0.5, 4.25, { keys: ['é'] }),
  period(0.3, 5.7, { session: 'one' }),
  period(2.5, 2.9, { session: 'one', keys: ['a'] }),
]

interface Sample {
  readonly hold: HoldRow
  readonly settled: SettleRow
  /** Step at which it is written, and that at which it is settled; undefined: it never is. */
  readonly held: number
  readonly at: number | undefined
}

const FACTS = [
  '{}',
  '{"session_id":"one"}',
  '{"session_id":"one","model":"acme/other","cache_discount":-0.5}',
  '{"session_id":"\u{1f600} two"}',
  '{"session_id":"\uffee two"}',
  '{"session_id":7}',
  '',
]

const samples = fc
  .array(
    fc.record({
      time: fc.integer({ min: 0, max: HOURS * HOUR - 1 }),
      key: fc.constantFrom('a', 'b', 'é'),
      model: fc.constantFrom('acme/one', 'acme/two'),
      status: fc.constantFrom('completed' as const, 'failed' as const),
      cost: fc.constantFrom(0, 7, 1_999_999_999, Number.MAX_SAFE_INTEGER),
      facts: fc.constantFrom(...FACTS),
      atHand: fc.boolean(),
      held: fc.constantFrom(0, 0, 1, 2),
      wait: fc.constantFrom(0, 0, 1, 3, undefined),
    }),
    { maxLength: 40 },
  )
  .map((list) =>
    list.map(({ time, key, model, status, cost, facts, atHand, held, wait }, index): Sample => {
      const seq = (FIRST + time) * TICKS + index
      const { session_id: session, model: served, cache_discount: saved } = JSON.parse(facts || '{}')
      const use = {
        ...{ model: served ?? '', endpoint: '', provider: '', saved: (saved ?? 0) * 1e9 },
        session: typeof session === 'string' ? session : '',
      }
      return {
        hold: holdRow(seq, { key, model }),
        settled: settleRow(seq, cost, { status, facts, ...(atHand ? { use } : {}) }),
        held,
        at: wait === undefined ? undefined : held + wait,
      }
    }),
  )

const works = fc.array(
  fc.record({
    rolls: fc.integer({ min: 0, max: 30 }),
    before: fc.integer({ min: 0, max: HOURS + 2 }),
    most: fc.integer({ min: 1, max: 9 }),
    reopen: fc.boolean(),
    rebuild: fc.boolean(),
  }),
  { minLength: STEPS, maxLength: STEPS },
)

const rowsText = (rows: readonly SessionUse[]): string =>
  JSON.stringify(
    rows.map((row) => ({ ...row, models: row.models.toSorted(), cost: String(row.cost) })),
    [
      'key',
      'session',
      'models',
      'requests',
      'failed',
      'cost',
      'input',
      'output',
      'cached',
      'cacheWrite',
      'reasoning',
      'cacheSaved',
      'first',
      'last',
    ],
  )

t.test('whatever is written when, the sums of sessions are those of the rows', async (t) => {
  let compared = 0
  await fc.assert(
    fc.asyncProperty(samples, works, async (samples, works) => {
      let [file, journal] = open(t)
      const plain = new MemoryJournal()
      const agree = async (): Promise<void> => {
        for (const query of QUERIES) {
          const [found, expected] = [rowsText(await allSessions(journal.ledger, query)), rowsText(await allSessions(plain.ledger, query))]
          if (found !== expected) throw new Error(`${JSON.stringify(query)}: ${found}, expected ${expected}`)
          const scan = await scanSessions(journal.ledger, query)
          const parts: SessionUse[] = []
          for (let offset = 0; offset <= scan.total; offset += 2) parts.push(...(await scan.rows({ offset, limit: 2 })))
          if (rowsText(parts) !== expected)
            throw new Error(`${JSON.stringify(query)}, two by two: ${rowsText(parts)}, expected ${expected}`)
          compared += expected.length > 2 ? 1 : 0
        }
      }
      try {
        for (const [step, { rolls, before, most, reopen, rebuild }] of works.entries()) {
          for (const { hold, settled, held, at } of samples) {
            if (held === step) for (const each of [journal, plain]) each.hold(hold)
            if (at === step) for (const each of [journal, plain]) each.settle(settled)
          }
          await Promise.all([journal.committed(), plain.committed()])
          if (rebuild) await journal.ledger.rebuildUse()
          for (let roll = 0; roll < rolls; roll++) journal.roll(FIRST + before * HOUR, most)
          if (reopen) {
            journal.close()
            journal = open(t, file)[1]
          }
          await agree()
        }
        for (const each of [journal, plain]) each.reconcile()
        await agree()
      } finally {
        journal.close()
        plain.close()
      }
    }),
    property(40, 3000),
  )
  t.ok(compared > 100, `${compared} lists were compared`)
})

/** One generation of a session at a moment of the period. */
async function write(journal: SqliteJournal, hours: number, session: string): Promise<void> {
  const seq = Math.floor((FIRST + hours * HOUR) * TICKS)
  journal.hold(holdRow(seq))
  journal.settle(settleRow(seq, 1, { facts: `{"session_id":"${session}"}` }))
  await journal.committed()
}

const rollAll = (journal: SqliteJournal, hours: number): void => {
  while (journal.roll(FIRST + hours * HOUR, 5) >= 5);
}

t.test('a list that was begun counts each generation once, whatever is written meanwhile', async (t) => {
  const [, journal] = open(t)
  t.teardown(() => journal.close())
  journal.roll(FIRST, 5)
  for (let i = 0; i < 120; i++) await write(journal, i / 20, `s${i % 7}`)
  for (const rolled of [0, 1.5, 3.5, 9]) {
    rollAll(journal, rolled)
    let requests = 0
    let hours = rolled
    const work = (): void => {
      hours += 0.5
      journal.roll(FIRST + hours * HOUR, 3)
    }
    const query = period(0.52, 5.52)
    const names: SessionName[] = []
    for (let after: string | undefined = ''; after !== undefined; work()) {
      const page: SessionNamePage = journal.ledger.sessionNamePage(query, after)
      names.push(...page.rows)
      after = page.next
    }
    const of = Array.from({ length: 7 }, (_, i) => {
      const found = names.filter(({ session }) => session === `s${i}`)
      const [first, last] = [Math.min(...found.map((name) => name.first)), Math.max(...found.map((name) => name.last))]
      return { key: 'dev', session: `s${i}`, first, last }
    })
    for (let after: string | undefined = ''; after !== undefined; work()) {
      const page: SessionPage = journal.ledger.sessionSumPage(query, after, of)
      requests += page.rows.reduce((sum, row) => sum + row.requests, 0)
      after = page.next
    }
    t.equal(requests, 100, `from ${rolled}`)
  }
})

t.test('a session that another key uses as well, and far more, is found by its own last generation', async (t) => {
  const [, journal] = open(t)
  t.teardown(() => journal.close())
  const of = (hours: number, key: string): void => {
    const seq = Math.floor((FIRST + hours * HOUR) * TICKS)
    journal.hold(holdRow(seq, { key }))
    journal.settle(settleRow(seq, 1, { facts: '{"session_id":"one"}' }))
  }
  for (const hours of [0.1, 0.9]) of(hours, 'a')
  for (let i = 0; i < 2_500; i++) of(0.2 + i / 10_000, 'b')
  await journal.committed()
  for (const rolled of [0, 2]) {
    rollAll(journal, rolled)
    const found = await allSessions(journal.ledger, period(0, 0.5))
    t.match(found, [
      { key: 'b', requests: 2_500 },
      { key: 'a', requests: 1, last: FIRST + 0.1 * HOUR },
    ])
  }
})

t.test('hours that are over are in the table, once for each session', async (t) => {
  const file = join(t.testdir(), 'headgate.db')
  const db = openDatabase(file, 'process')
  const journal = new SqliteJournal(db, { clock })
  t.teardown(() => journal.close())
  const table = () => db.prepare('SELECT hour, session, count, models FROM session_use ORDER BY 1, 2').all()
  const hour = FIRST / HOUR
  rollAll(journal, 0)
  for (const at of [0.1, 0.5, 0.9, 1.1]) await write(journal, at, 'one')
  rollAll(journal, 1.1)
  t.same(table(), [], 'an hour that has just ended stays in memory')
  rollAll(journal, 1.2)
  t.match(table(), [{ hour, session: 'one', count: 3 }])
  await write(journal, 0.7, 'one')
  await write(journal, 0.71, 'two')
  t.match(
    table(),
    [
      { hour, session: 'one', count: 4, models: '["acme/one"]' },
      { hour, session: 'two', count: 1 },
    ],
    'late ones',
  )
  t.equal(journal.prune(FIRST + 0.95 * HOUR, 100), 5)
  rollAll(journal, 1.2)
  t.match(table(), [], 'retention has removed all of the hour')
  t.match(await allSessions(journal.ledger, period(0, 3)), [{ session: 'one', requests: 1 }])
})

t.test('more sessions than memory should hold reach the table before their hour is over', async (t) => {
  const file = join(t.testdir(), 'headgate.db')
  const db = openDatabase(file, 'process')
  const journal = new SqliteJournal(db, { clock })
  t.teardown(() => journal.close())
  journal.roll(FIRST, 5)
  const first = FIRST * TICKS
  for (let i = 0; i <= 50_000; i++) {
    journal.hold(holdRow(first + i))
    journal.settle(settleRow(first + i, 1, { facts: '{}', use: { model: '', endpoint: '', provider: '', session: `s${i}`, saved: 0 } }))
  }
  await journal.committed()
  while (journal.roll(FIRST, 1_000) >= 1_000);
  t.match(db.prepare('SELECT count(*) AS count FROM session_use').get(), { count: 50_001 })
  await write(journal, 0.5, 's7')
  t.match(await allSessions(journal.ledger, period(0.1, 1)), [{ session: 's7', requests: 1 }])
  t.match(db.prepare("SELECT count FROM session_use WHERE session = 's7'").get(), { count: 2 })
})
