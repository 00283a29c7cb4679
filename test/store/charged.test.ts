/** The sums that the embedded store keeps beside its rows: whatever happens to the rows, both agree. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import t from 'tap'
import { Credit } from '../../src/ledger/credit.ts'
import { verifyLedger } from '../../src/ledger/verify.ts'
import { SqliteJournal } from '../../src/store/journal.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { FakeClock } from '../support/clock.ts'
import { property } from '../support/seed.ts'
import { verify } from '../support/verify-records.ts'
import { holdRow, settleRow } from './samples.ts'

const DAY = 86_400_000
const TICKS = 4096

/** Remains of an open journal after a crash: its file and its log, as they are at this moment. */
function crashCopy(file: string, copy: string): string {
  for (const end of ['', '-wal']) cpSync(`${file}${end}`, `${copy}${end}`)
  return copy
}

const open = (file: string): SqliteJournal => new SqliteJournal(openDatabase(file, 'process'), { clock: new FakeClock() })

type Step =
  | { kind: 'hold' | 'settle' | 'both'; index: number; cost: number; late: number }
  | { kind: 'prune'; day: number; most: number }
  | { kind: 'forget'; indices: number[] }
  | { kind: 'stop' }
  | { kind: 'crash' }

const index = fc.nat(20)
const cost = fc.oneof(fc.nat(1000), fc.constantFrom(999_999_999, 1_000_000_000, 4e15))
const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constantFrom('hold' as const, 'settle' as const, 'both' as const), index, cost, late: fc.nat(DAY) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('prune' as const), day: fc.nat(4), most: fc.integer({ min: 1, max: 9 }) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget' as const), indices: fc.array(index, { maxLength: 4 }) }) },
    { weight: 1, arbitrary: fc.constantFrom({ kind: 'stop' as const }, { kind: 'crash' as const }) },
  ),
  { maxLength: 40 },
)

const placeSeq = (place: number): number => (place % 4) * DAY * TICKS + place + 1
const placeKey = (place: number): { key: string; payer?: string } =>
  place % 3 === 0 ? { key: 'child', payer: 'parent>root' } : { key: `key ${place % 3}` }

async function apply(journal: SqliteJournal, step: Exclude<Step, { kind: 'stop' | 'crash' }>): Promise<void> {
  if (step.kind === 'prune') journal.prune(step.day * DAY, step.most)
  else if (step.kind === 'forget') journal.forget(step.indices.map(placeSeq))
  else {
    const seq = placeSeq(step.index)
    const known = step.kind !== 'hold' && [...journal.export()].some(({ hold }) => hold.seq === seq)
    if (step.kind !== 'settle') journal.hold(holdRow(seq, { ...placeKey(step.index), floor: step.cost }))
    const owner = step.cost % 2 === 0 ? holdRow(seq, placeKey(step.index)) : undefined
    if (step.kind === 'both' || known) journal.settle(settleRow(seq, step.cost, { at: Math.floor(seq / TICKS) + step.late, owner }))
    await journal.committed()
  }
}

t.test('sums and rows agree after any order of holds, settlements, removals, hand-overs and crashes', async (t) => {
  const directory = t.testdir()
  let files = 0
  let generations = 0
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      let file = join(directory, `${files++}.db`)
      let journal = open(file)
      for (const step of all) {
        if (step.kind === 'stop' || step.kind === 'crash') {
          if (step.kind === 'crash') file = crashCopy(file, join(directory, `${files++}.db`))
          journal.close()
          journal = open(file)
          journal.reconcile()
        } else await apply(journal, step)
      }
      const verdict = verify(journal.export(), journal.spent(), journal.carried())
      journal.close()
      if (!verdict.ok) throw new Error(verdict.problems.join('; '))
      generations += verdict.generations
    }),
    property(60, 3000),
  )
  t.ok(generations > 20, `${generations} generations were left`)
})

t.test('the sums are written with every thousandth settlement, and a crash loses none', async (t) => {
  const directory = t.testdir()
  const file = join(directory, 'ledger.db')
  const journal = open(file)
  t.teardown(() => journal.close())
  const settle = async (seq: number): Promise<void> => {
    if (seq > 1) journal.hold(holdRow(seq))
    journal.settle(settleRow(seq, 3))
    await journal.committed()
  }
  journal.hold(holdRow(1))
  for (let seq = 2; seq <= 2500; seq++) await settle(seq)
  // Admitted before the sums were written, and settled after.
  await settle(1)
  const copy = crashCopy(file, join(directory, 'crashed.db'))
  const db = new DatabaseSync(copy)
  t.same({ ...db.prepare('SELECT sum(count) AS count FROM charged').get() }, { count: 2001 })
  db.close()
  const again = open(copy)
  t.teardown(() => again.close())
  t.same([...again.spent()], [['dev', 7500n]])
  t.match(await verifyLedger(again.ledger), { ok: true })
})

t.test('a row that is changed behind the sums is found by ledger verify', async (t) => {
  const file = join(t.testdir(), 'ledger.db')
  const journal = open(file)
  journal.hold(holdRow(1))
  journal.settle(settleRow(1, 40))
  await journal.committed()
  journal.close()
  const db = new DatabaseSync(file)
  db.exec('UPDATE settlement SET cost = 41')
  db.close()
  const again = open(file)
  t.teardown(() => again.close())
  t.match(await verifyLedger(again.ledger), { ok: false, problems: [/key dev: settlements sum to 41, 40 are recorded as spent/] })
})

t.test('a batch that is refused changes no sum', async (t) => {
  const db = openDatabase(join(t.testdir(), 'ledger.db'), 'process')
  const clock = new FakeClock()
  const journal = new SqliteJournal(db, { clock })
  t.teardown(() => journal.close())
  journal.hold(holdRow(1))
  await journal.committed()
  db.exec("CREATE TEMP TRIGGER fails BEFORE INSERT ON settlement BEGIN SELECT RAISE(ABORT, 'no'); END")
  journal.settle(settleRow(1, 7))
  await t.rejects(journal.committed())
  t.same([...journal.spent()], [])
  db.exec('DROP TRIGGER fails')
  await clock.advance(1000)
  await journal.committed()
  t.same([...journal.spent()], [['dev', 7n]])
})

t.test('a settlement counts for the owner of the hold that stands under its number', async (t) => {
  const journal = open(join(t.testdir(), 'ledger.db'))
  t.teardown(() => journal.close())
  journal.hold(holdRow(1, { key: 'first' }))
  await journal.committed()
  journal.hold(holdRow(1, { key: 'second', tag: 'another-tag0' }))
  journal.settle(settleRow(1, 7, { owner: holdRow(0, { key: 'second' }) }))
  await journal.committed()
  t.same([...journal.spent()], [['first', 7n]])
  t.match(await verifyLedger(journal.ledger), { ok: true })
})

t.test('a start reads the sums of each day once', async (t) => {
  const journal = open(join(t.testdir(), 'headgate.db'))
  t.teardown(() => journal.close())
  const { prepare } = DatabaseSync.prototype
  const read: string[] = []
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string) {
    read.push(...[...sql.matchAll(/\bFROM (charged|carried)\b/g)].map(([, table = '']) => table))
    return prepare.call(this, sql)
  }
  t.teardown(() => {
    DatabaseSync.prototype.prepare = prepare
  })
  new Credit(new FakeClock(), journal)
  t.same(read, ['charged', 'carried'])
})
