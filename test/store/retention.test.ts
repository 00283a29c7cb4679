/** Old generations leave, their sums stay: for every journal, whatever the order of rows, prunes and restarts. */
import { join } from 'node:path'
import { inspect as show } from 'node:util'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { verifyLedger } from '../../src/ledger/verify.ts'
import { SqliteJournal } from '../../src/store/journal.ts'
import { MIN_RETENTION_MS, type RetentionReport, startRetention } from '../../src/store/retention.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { FakeClock, turn } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { chargedByDay } from '../support/holding.ts'
import { MemoryJournal } from '../support/memory/journal.ts'
import { property } from '../support/seed.ts'
import { verify } from '../support/verify-records.ts'
import { holdRow, seqId, settleRow } from './samples.ts'

type Journal = MemoryJournal | SqliteJournal
const DAY = 86_400_000
const TICKS = 4096
const KINDS: Record<string, (t: Test) => Journal> = {
  memory: () => new MemoryJournal(),
  sqlite: (t) => new SqliteJournal(openDatabase(join(t.testdir(), 'headgate.db'), 'process'), { clock: new FakeClock() }),
}

const inspect = (value: unknown): string => show(value, { depth: 9, maxArrayLength: null })
const byName = (a: { key: string; day: number }, b: { key: string; day: number }): number => a.day - b.day || (a.key < b.key ? -1 : 1)
const sorted = (sums: ReadonlyMap<string, bigint>): [string, bigint][] => [...sums].sort(([a], [b]) => (a < b ? -1 : 1))

/** Of days that no window counts any more the sum of their month stays. */
function byMonth(days: Iterable<{ key: string; day: number; cost: bigint }>): [string, bigint][] {
  const sums = new Map<string, bigint>()
  for (const { key, day, cost } of days) {
    const month = `${new Date(day).toISOString().slice(0, 7)} ${key}`
    sums.set(month, (sums.get(month) ?? 0n) + cost)
  }
  return sorted(sums)
}

for (const [kind, open] of Object.entries(KINDS)) {
  t.test(`${kind}: the oldest settled ones leave, in batches, and their sums stay`, async (t) => {
    const journal = open(t)
    t.teardown(() => journal.close())
    const start = Date.UTC(2026, 0, 1)
    const seqs = Array.from({ length: 10 }, (_, index) => (start + index * DAY) * TICKS)
    for (const [index, seq] of seqs.entries()) {
      journal.hold(holdRow(seq, { key: index % 2 === 0 ? 'a' : 'b' }))
      // The third stays open: what it costs is not known yet.
      if (index !== 2) journal.settle(settleRow(seq, 10 + index, { at: index % 3 === 0 ? 0 : start + (index + 1) * DAY }))
    }
    await journal.committed()
    const spent = sorted(journal.spent())
    const days = chargedByDay(journal, 0).sort(byName)
    t.equal(journal.prune(start, 100), 0, 'nothing is older')
    t.equal(journal.prune(start + 5 * DAY, 3), 3)
    t.ok(journal.find(seqId(seqs[4])), 'a batch takes no more than it may')
    t.equal(journal.prune(start + 5 * DAY, 3), 1, 'the rest of what is older')
    t.equal(journal.prune(start + 5 * DAY, 3), 0)
    await every(t, 'every round', async (t) => {
      for (const index of [0, 1, 3, 4]) t.equal(journal.find(seqId(seqs[index])), undefined)
    })
    await every(t, 'every round', async (t) => {
      for (const index of [2, 5, 9]) t.ok(journal.find(seqId(seqs[index])), 'open and newer ones stay')
    })
    t.same([...journal.export()].length, 6)
    t.same(sorted(journal.spent()), spent)
    t.same(chargedByDay(journal, 0).sort(byName), days)
    t.same(sorted(journal.carried()), [
      ['a', 24n],
      ['b', 24n],
    ])
    t.match(verify(journal.export(), journal.spent(), journal.carried()), { ok: true, generations: 6, open: 1, carried: 48 })
    t.match(verify(journal.export(), journal.spent()), { ok: false }, 'without what was carried over the ledger would not agree')
    t.match(journal.reconcile(), { count: 1, generations: [seqId(seqs[2])] })
    t.equal(journal.prune(start + 5 * DAY, 100), 1, 'the open one leaves once it is settled')
    t.match(await verifyLedger(journal.ledger), { ok: true, open: 0 })
  })

  t.test(`${kind}: any rows and any prunes leave every sum as it was`, async (t) => {
    const row = fc.record({
      seq: fc.integer({ min: 0, max: 40 * DAY * TICKS }),
      key: fc.constantFrom('a', 'b', 'c'),
      cost: fc.integer({ min: 0, max: 1e12 }),
      late: fc.integer({ min: 0, max: 3 * DAY }),
      settled: fc.boolean(),
    })
    const prunes = fc.array(fc.record({ before: fc.integer({ min: 0, max: 41 * DAY }), most: fc.integer({ min: 1, max: 8 }) }), {
      maxLength: 6,
    })
    const rows = fc.uniqueArray(row, { selector: ({ seq }) => seq, maxLength: 30 })
    let removed = 0
    const directory = t.testdir()
    let files = 0
    const fresh = (): Journal =>
      kind === 'memory'
        ? new MemoryJournal()
        : new SqliteJournal(openDatabase(join(directory, `${files++}.db`), 'process'), { clock: new FakeClock() })
    await fc.assert(
      fc.asyncProperty(rows, prunes, async (all, cuts) => {
        const journal = fresh()
        for (const { seq, key, cost, late, settled } of all) {
          journal.hold(holdRow(seq, { key }))
          if (settled) journal.settle(settleRow(seq, cost, { at: Math.floor(seq / TICKS) + late }))
        }
        await journal.committed()
        const before = { spent: sorted(journal.spent()), months: byMonth(chargedByDay(journal, 0)) }
        let horizon = 0
        for (const cut of cuts) {
          const old = all.filter(({ seq, settled }) => settled && seq < cut.before * TICKS && journal.find(seqId(seq))).length
          const count = journal.prune(cut.before, cut.most)
          if (count !== Math.min(old, cut.most)) throw new Error(`${count} removed of ${old}, at most ${cut.most}`)
          removed += count
          horizon = Math.max(horizon, cut.before)
        }
        for (const { seq, settled } of all)
          if ((!settled || seq >= horizon * TICKS) && !journal.find(seqId(seq))) throw new Error(`${seq} had to stay`)
        const after = { spent: sorted(journal.spent()), months: byMonth(chargedByDay(journal, 0)) }
        const verdict = verify(journal.export(), journal.spent(), journal.carried())
        journal.close()
        if (!verdict.ok) throw new Error(verdict.problems.join('; '))
        if (inspect(after) !== inspect(before)) throw new Error(`${inspect(after)} instead of ${inspect(before)}`)
      }),
      property(40, 2000),
    )
    t.ok(removed > 20, `${removed} generations were removed`)
  })
}

t.test('sums survive a restart, and absurd ones are exact', async (t) => {
  const file = join(t.testdir(), 'headgate.db')
  const first = new SqliteJournal(openDatabase(file, 'process'), { clock: new FakeClock() })
  for (const seq of [1, 2, 3]) {
    first.hold(holdRow(seq))
    first.settle(settleRow(seq, Number.MAX_SAFE_INTEGER))
  }
  await first.committed()
  t.equal(first.prune(DAY, 2), 2)
  t.equal(first.prune(DAY, 2), 1)
  first.close()
  const again = new SqliteJournal(openDatabase(file, 'process'), { clock: new FakeClock() })
  t.teardown(() => again.close())
  t.same([...again.spent()], [['dev', 3n * BigInt(Number.MAX_SAFE_INTEGER)]])
  t.same(chargedByDay(again, 0), [{ key: 'dev', day: 0, cost: 3n * BigInt(Number.MAX_SAFE_INTEGER) }])
  t.match(verify(again.export(), again.spent(), again.carried()), { ok: true, generations: 0 })
})

t.test('what fails in the middle of a batch removes nothing', async (t) => {
  const db = openDatabase(join(t.testdir(), 'headgate.db'), 'process')
  const journal = new SqliteJournal(db, { clock: new FakeClock() })
  t.teardown(() => journal.close())
  for (const seq of [1, 2, 3]) {
    journal.hold(holdRow(seq))
    journal.settle(settleRow(seq, 5))
  }
  await journal.committed()
  db.exec("CREATE TEMP TRIGGER fails BEFORE DELETE ON settlement WHEN old.seq = 3 BEGIN SELECT RAISE(ABORT, 'no'); END")
  t.throws(() => journal.prune(DAY, 100))
  t.equal(db.isTransaction, false)
  t.equal([...journal.export()].length, 3)
  t.same([...journal.carried()], [])
  t.same([...journal.spent()], [['dev', 15n]])
  journal.hold(holdRow(4))
  await journal.committed()
  db.exec('DROP TRIGGER fails')
  t.equal(journal.prune(DAY, 100), 3)
})

t.test('rounds come by the clock, and a round takes a breath after every batch', async (t) => {
  const clock = new FakeClock()
  const journal = new MemoryJournal()
  const news: RetentionReport[] = []
  const old = (clock.now() - MIN_RETENTION_MS - DAY) * TICKS
  const young = (clock.now() - MIN_RETENTION_MS + 2 * 3_600_000) * TICKS
  for (let index = 0; index < 650; index++) {
    journal.hold(holdRow(old + index))
    journal.settle(settleRow(old + index, 1))
  }
  journal.hold(holdRow(young))
  journal.settle(settleRow(young, 1))
  await journal.committed()
  const rows = (): number => [...journal.export()].length
  const retention = startRetention({ store: journal, keep: MIN_RETENTION_MS, clock, report: (item) => news.push(item) })
  await clock.advance(59_999)
  t.equal(rows(), 651, 'the start has other work')
  const left: number[] = []
  await clock.advance(1)
  for (let batch = 0; batch < 3; batch++) {
    left.push(rows())
    await clock.advance(5)
  }
  t.same(left, [451, 51, 1], 'a batch at a time, larger ones where they take no time')
  t.same(news, [{ kind: 'pruned', count: 650 }], 'told once')
  t.same(clock.waiting, [3_600_000])
  await clock.advance(3_600_000)
  t.equal(rows(), 1, 'not old enough yet')
  await clock.advance(3_600_000)
  t.equal(rows(), 0)
  t.same(journal.spent(), new Map([['dev', 651n]]))
  t.same(news.at(-1), { kind: 'pruned', count: 1 })
  retention.close()
  t.same(clock.waiting, [])
})

t.test('a round that fails is told, and the next one comes', async (t) => {
  const clock = new FakeClock()
  const news: RetentionReport[] = []
  const cause = new Error('no')
  let calls = 0
  const store = {
    prune: async (before: number, _most: number, age: number) => {
      t.same([before, age], [clock.now() - MIN_RETENTION_MS, MIN_RETENTION_MS])
      if (++calls === 1) throw cause
      return 7
    },
  }
  const retention = startRetention({ store, keep: MIN_RETENTION_MS, clock, report: (item) => news.push(item) })
  await clock.advance(60_000)
  await clock.advance(3_600_000)
  t.same(news, [
    { kind: 'prune-failed', cause },
    { kind: 'pruned', count: 7 },
  ])
  retention.close()
  await clock.advance(10 * DAY)
  t.equal(calls, 2)
})

t.test('sets no timer and reports nothing when it is closed during a batch', async (t) => {
  const clock = new FakeClock()
  const gate = Promise.withResolvers<number>()
  const news: RetentionReport[] = []
  const retention = startRetention({
    store: { prune: () => gate.promise },
    keep: MIN_RETENTION_MS,
    clock,
    report: (item) => news.push(item),
  })
  await clock.advance(60_000)
  retention.close()
  gate.reject(new Error('closed'))
  await turn()
  t.same(clock.waiting, [])
  t.same(news, [])
})

t.test('less than 32 days cannot be kept', async (t) => {
  const store = { prune: () => 0 }
  await every(t, 'every keep', async (t) => {
    for (const keep of [MIN_RETENTION_MS - 1, 0, Number.NaN])
      t.throws(() => startRetention({ store, keep, clock: new FakeClock() }), RangeError)
  })
})

t.test('what an export has not read stays for a while longer, and its removal is reported', async (t) => {
  const clock = new FakeClock()
  const journal = new SqliteJournal(openDatabase(join(t.testdir(), 'headgate.db'), 'process'), { clock })
  t.teardown(() => journal.close())
  const start = clock.now()
  for (const day of [0, 1, 2]) {
    journal.hold(holdRow((start + day * DAY) * TICKS))
    journal.settle(settleRow((start + day * DAY) * TICKS, 1))
  }
  await journal.committed()
  const { readers } = journal
  const batch = readers.claim({ reader: 'x', holder: 'a', holdFor: 0, since: 0, age: 0, most: 1, now: start + 3 * DAY })
  readers.accept(batch, '')
  const news: RetentionReport[] = []
  const unread = { oldest: () => readers.unread('x', 0, 1).oldest, grace: 7 * DAY }
  const task = startRetention({ store: journal, unread, keep: MIN_RETENTION_MS, clock, report: (each) => news.push(each) })
  t.teardown(() => task.close())
  const after = async (ms: number): Promise<number> => {
    await clock.advance(ms)
    return [...journal.export()].length
  }
  t.equal(await after(MIN_RETENTION_MS + 4 * DAY), 2, 'the one that was read is gone')
  t.same(news, [{ kind: 'pruned', count: 1 }])
  t.equal(await after(4.5 * DAY), 1)
  t.same(news.slice(1), [
    { kind: 'pruned', count: 1 },
    { kind: 'unread-pruned', count: 1 },
  ])
})
