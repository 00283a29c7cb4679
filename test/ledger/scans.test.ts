/** Scans of the ledger: one at a time, shared, kept for a stated time, and the same sums from every store. */

import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { LedgerScans } from '../../src/ledger/scans.ts'
import type { GenerationRecord, SessionUse, SettleStatus, UseQuery, UseRow } from '../../src/ledger/types.ts'
import { DAY_MS } from '../../src/ledger/use.ts'
import { AdaptivePage } from '../../src/store/adaptive-page.ts'
import { SqliteJournal } from '../../src/store/journal.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { holdRow, settleRow } from '../store/samples.ts'
import { FakeClock } from '../support/clock.ts'
import { MemoryJournal } from '../support/memory/journal.ts'
import { ledgerOfRows } from '../support/memory/ledger.ts'
import { property } from '../support/seed.ts'
import { allSessions } from '../support/sessions.ts'
import { scanUse } from '../support/use.ts'

const TODAY = Date.UTC(2026, 0, 5)
const TICKS = 4096

/** A ledger whose scans a test continues one by one. */
class GatedLedger {
  readonly begun: (number | undefined)[] = []
  private readonly waiting: (() => void)[] = []
  private readonly watchers: (() => void)[] = []

  readonly export = (since?: number): AsyncGenerator<GenerationRecord> => this.rows(since)

  private async *rows(since?: number): AsyncGenerator<GenerationRecord> {
    this.begun.push(since)
    for (const wake of this.watchers.splice(0)) wake()
    await new Promise<void>((resolve) => this.waiting.push(resolve))
    yield* []
  }

  /** Resolves once so many scans have begun. */
  async reached(count: number): Promise<void> {
    while (this.begun.length < count) await new Promise<void>((resolve) => this.watchers.push(resolve))
  }

  /** Ends the scan that runs. */
  async end(): Promise<void> {
    this.waiting.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const days = (from: number, until: number, keys?: readonly string[]): UseQuery => ({
  from: TODAY + from * DAY_MS,
  until: TODAY + until * DAY_MS,
  ...(keys ? { keys } : {}),
})

t.test('one scan runs at a time, those who want the same share it, others wait', async (t) => {
  const ledger = new GatedLedger()
  const scans = new LedgerScans(ledgerOfRows(ledger), new FakeClock())
  const one = scans.use(days(-7, 0))
  const same = scans.use(days(-7, 0))
  const byKey = scans.use(days(-7, 0, ['a']))
  const verdict = scans.verify()
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(ledger.begun.length, 1)
  await ledger.end()
  t.same(await Promise.all([one, same]), [[], []])
  t.equal(ledger.begun.length, 2, 'the next one began when the first had ended')
  await ledger.end()
  t.same(await byKey, [])
  t.equal(ledger.begun.length, 3)
  await ledger.end()
  t.match(await verdict, { ok: true })
})

t.test('refuses a scan with Retry-After while many wait', async (t) => {
  const ledger = new GatedLedger()
  const scans = new LedgerScans(ledgerOfRows(ledger), new FakeClock())
  const waiting = Array.from({ length: 9 }, (_, index) => scans.use(days(-1, 0, [`key ${index}`])))
  await t.rejects(scans.use(days(-1, 0, ['one too many'])), { code: 'unavailable', retryAfter: 10 })
  for (let index = 0; index < 9; index++) {
    await new Promise((resolve) => setImmediate(resolve))
    await ledger.end()
  }
  t.equal((await Promise.all(waiting)).length, 9)
})

t.test('a scan that fails does not stop those that wait', async (t) => {
  let fails = true
  const ledger = {
    export: (): GenerationRecord[] => {
      if (fails) throw new Error('no')
      return []
    },
  }
  const scans = new LedgerScans(ledgerOfRows(ledger), new FakeClock())
  await t.rejects(scans.use(days(-1, 0)), { message: 'no' })
  fails = false
  t.same(await scans.use(days(-1, 0)), [])
})

t.test('what was read is kept: five minutes for the last days and for keys, for good before that', async (t) => {
  const clock = new FakeClock()
  const begun: (number | undefined)[] = []
  const ledger = {
    export: (since?: number): GenerationRecord[] => {
      begun.push(since)
      return []
    },
  }
  const scans = new LedgerScans(ledgerOfRows(ledger), clock)
  const read = async (query: UseQuery): Promise<number> => {
    begun.length = 0
    await scans.use(query)
    return begun.length
  }
  t.equal(await read(days(-30, 0)), 1)
  t.equal(await read(days(-30, 0)), 0)
  t.equal(await read(days(-10, -5)), 0, 'part of it')
  t.equal(await read(days(-30, 0, ['a'])), 1)
  t.equal(await read(days(-30, 0, ['a'])), 0)
  await clock.advance(300_000)
  t.equal(await read(days(-30, -2)), 0, 'days that are long over')
  t.equal(await read(days(-30, 0)), 1)
  t.same(begun, [TODAY - 2 * DAY_MS], 'only the last two')
  t.equal(await read(days(-30, 0, ['a'])), 1)
})

t.test('a fresh verdict comes from a scan that begins after the request', async (t) => {
  const ledger = new GatedLedger()
  const clock = new FakeClock()
  const scans = new LedgerScans(ledgerOfRows(ledger), clock)
  const shared = scans.verify()
  await ledger.reached(1)
  await clock.advance(1_000)
  const fresh = [scans.verify({ fresh: true }), scans.verify({ fresh: true })]
  const joins = scans.verify()
  t.equal(ledger.begun.length, 1)
  await ledger.end()
  const first = Date.parse((await shared).checked_at)
  await ledger.reached(2)
  await ledger.end()
  const times = (await Promise.all([...fresh, joins])).map(({ checked_at: at }) => Date.parse(at) - first)
  t.same(times, [1_000, 1_000, 1_000], 'one scan for all of them')
  t.equal(ledger.begun.length, 2)
})

t.test('the verdict of a scan that took long is kept for ten times as long', async (t) => {
  const clock = new FakeClock()
  let scanned = 0
  const ledger = {
    async *export(): AsyncGenerator<GenerationRecord> {
      scanned++
      await clock.advance(2_000)
      yield* []
    },
  }
  const scans = new LedgerScans(ledgerOfRows(ledger), clock)
  const begun = new Date(clock.now()).toISOString()
  t.equal((await scans.verify()).checked_at, begun, 'when its scan began')
  await clock.advance(19_999)
  t.equal((await scans.verify()).checked_at, begun, 'the kept verdict states its age')
  t.equal(scanned, 1)
  await clock.advance(1)
  t.equal(Date.parse((await scans.verify()).checked_at) - Date.parse(begun), 22_000)
  t.equal(scanned, 2)
})

t.test('a page grows to what fits into its time, by no more than twice at once', async (t) => {
  const page = new AdaptivePage({ least: 100, most: 1000, target: 2 })
  const sizes = [1, 1, 0, 0, 0, 4, 40].map((ms) => {
    page.took(ms)
    return page.size
  })
  t.same(sizes, [200, 400, 800, 1000, 1000, 500, 100])
})

const STATUSES: readonly SettleStatus[] = ['completed', 'incomplete', 'failed', 'aborted', 'unknown']
const FACTS = [
  '{}',
  '',
  '{"model":"acme/two","provider":"Here","endpoint":"acme/two@here"}',
  '{"provider":"There","model":7,"cache_discount":0.001234567}',
  '{"provider":"There","cache_discount":-0.000000003}',
  '{"provider":"There","cache_discount":"0.5"}',
  '{"model":"","provider":null,"note":"\\u0000"}',
  '{"session_id":"one"}',
  '{"session_id":"one","model":"acme/two","cache_discount":0.5}',
  '{"session_id":"two \\"quoted\\""}',
  '{"session_id":7}',
]

const byName = (rows: readonly UseRow[]): string[] => rows.map((row) => JSON.stringify({ ...row, cost: String(row.cost) })).sort()

const sessionText = (rows: readonly SessionUse[]): string =>
  JSON.stringify(rows.map((row) => ({ ...row, cost: String(row.cost), models: [...row.models].sort() })))

t.test('SQLite sums what the rows say, whatever they are', async (t) => {
  const directory = t.testdir()
  let files = 0
  const row = fc.record({
    seq: fc.tuple(fc.nat(4), fc.nat(50)).map(([day, index]) => day * DAY_MS * TICKS + index + 1),
    key: fc.constantFrom('a', 'b'),
    cost: fc.integer({ min: 0, max: 1e12 }),
    status: fc.constantFrom(...STATUSES),
    facts: fc.constantFrom(...FACTS),
    settled: fc.boolean(),
  })
  let compared = 0
  let summed = 0
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(row, { selector: ({ seq }) => seq, maxLength: 40 }),
      fc.nat(3),
      fc.integer({ min: 1, max: 5 }),
      fc.option(fc.constantFrom(['a'], ['b', 'c'], []), { freq: 1 }),
      fc.option(fc.constantFrom('one', 'two "quoted"', 'three'), { freq: 1 }),
      async (rows, first, length, keys, session) => {
        const memory = new MemoryJournal()
        const sqlite = new SqliteJournal(openDatabase(join(directory, `${files++}.db`), 'process'), { clock: new FakeClock() })
        for (const journal of [memory, sqlite])
          for (const { seq, key, cost, status, facts, settled } of rows) {
            journal.hold(holdRow(seq, { key }))
            if (settled) journal.settle(settleRow(seq, cost, { status, facts }))
          }
        await Promise.all([memory.committed(), sqlite.committed()])
        const query = { from: first * DAY_MS, until: (first + length) * DAY_MS, ...(keys ? { keys } : {}) }
        const [expected, found] = [await scanUse(memory.ledger, query), await scanUse(sqlite.ledger, query)]
        const ofSession = session === null ? query : { ...query, session }
        const [sessions, inSqlite] = [await allSessions(memory.ledger, ofSession), await allSessions(sqlite.ledger, ofSession)]
        sqlite.close()
        if (sessionText(inSqlite) !== sessionText(sessions)) throw new Error(`${sessionText(inSqlite)} instead of ${sessionText(sessions)}`)
        summed += sessions.length
        if (JSON.stringify(byName(found)) !== JSON.stringify(byName(expected)))
          throw new Error(`${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`)
        compared += expected.length
      },
    ),
    property(60, 3000),
  )
  t.ok(compared > 20, `${compared} sums were compared`)
  t.ok(summed > 10, `${summed} sessions were compared`)
})

t.test('pages end where the next one begins', async (t) => {
  const journal = new SqliteJournal(openDatabase(join(t.testdir(), 'ledger.db'), 'process'), { clock: new FakeClock() })
  t.teardown(() => journal.close())
  const from = TODAY * TICKS
  for (let index = 0; index < 1050; index++) {
    journal.hold(holdRow(from + index))
    journal.settle(settleRow(from + index, 2))
  }
  await journal.committed()
  // Rows are read of no whole days: the others are summed already.
  const query = { from: TODAY, until: TODAY + DAY_MS + 1 }
  const first = journal.ledger.usePage(query, '')
  t.match(first, { rows: [{ requests: 100, cost: 200n }], next: String(from + 99) })
  t.match(await scanUse(journal.ledger, query), [{ requests: 1050, cost: 2100n, day: TODAY }])
})

t.test('sums are exact whatever they come to', async (t) => {
  const journal = new SqliteJournal(openDatabase(join(t.testdir(), 'ledger.db'), 'process'), { clock: new FakeClock() })
  t.teardown(() => journal.close())
  const count = 1_200
  for (let index = 0; index < count; index++) {
    journal.hold(holdRow(TODAY * TICKS + index))
    journal.settle(settleRow(TODAY * TICKS + index, Number.MAX_SAFE_INTEGER))
  }
  await journal.committed()
  t.match(await scanUse(journal.ledger, days(0, 1)), [{ requests: count, cost: BigInt(count) * BigInt(Number.MAX_SAFE_INTEGER) }])
})

t.test('a period with more sessions than memory should hold is refused', async (t) => {
  const rows = function* (): Generator<GenerationRecord> {
    for (let index = 0; index <= 50_000; index++) {
      const settled = settleRow(index, 1, { facts: `{"session_id":"${index}"}` })
      yield { id: '', at: TODAY, hold: holdRow(index), settled }
    }
  }
  const ledger = ledgerOfRows({ export: rows })
  await t.rejects(allSessions(ledger, days(0, 1)), { code: 'bad_request', message: /more than 50000 sessions/ })
})

t.test('sessions of a long scan are kept for ten times as long', async (t) => {
  const clock = new FakeClock()
  let scanned = 0
  const ledger = {
    async *export(): AsyncGenerator<GenerationRecord> {
      scanned++
      await clock.advance(2_000)
      for (let index = 0; index < 3; index++)
        yield { id: '', at: TODAY + index, hold: holdRow(index), settled: settleRow(index, 1, { facts: `{"session_id":"s${index}"}` }) }
    },
  }
  const scans = new LedgerScans(ledgerOfRows(ledger), clock)
  const read = async (offset: number, query = days(0, 1)) => {
    const { total, rows } = await scans.sessions(query, { offset, limit: 2 })
    return [total, ...rows.map(({ session }) => session)]
  }
  t.same(await read(0), [3, 's2', 's1'])
  t.same(await read(2), [3, 's0'], 'the next page is of the same scan')
  t.equal(scanned, 1)
  t.same(await read(0, days(0, 2)), [3, 's2', 's1'])
  t.equal(scanned, 2, 'another period is another scan')
  await clock.advance(20_000)
  await read(0)
  t.equal(scanned, 3)
})
