/** Settled generations on their way to the record, through outages, full disks and restarts. */
import { join } from 'node:path'
import t from 'tap'
import { ForwardedJournal } from '../../src/cluster/forwarded-journal.ts'
import { Forwarding } from '../../src/cluster/forwarding.ts'
import { type ClusterReport, type Joined, joinRecord } from '../../src/cluster/index.ts'
import type { Journal } from '../../src/ledger/types.ts'
import { openJournal, SqliteJournal } from '../../src/store/journal.ts'
import type { SettledRows } from '../../src/store/record.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { holdRow, seqId, settleRow } from '../store/samples.ts'
import { FakeClock, turn } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { chargedByDay, holds, seeks } from '../support/holding.ts'
import { MemoryJournal } from '../support/memory/journal.ts'
import { ScriptedRecord } from './scripted-record.ts'

function generation(seq: number, cost = seq): SettledRows {
  return { hold: holdRow(seq, { key: 'k' }), settled: settleRow(seq, cost) }
}

async function write(journal: Journal, ...rows: SettledRows[]): Promise<void> {
  for (const { hold, settled } of rows) {
    journal.hold(hold)
    journal.settle(settled)
  }
  await journal.committed()
}

const journalSeqs = (journal: Journal): number[] => [...journal.export()].map(({ hold }) => hold.seq)

/** A process over a journal, joined to a record. */
class Life {
  readonly reports: ClusterReport[] = []
  readonly joined: Joined
  readonly wire: ScriptedRecord
  constructor(record: ScriptedRecord, journal: Journal, clock: FakeClock, node = 'n1') {
    this.wire = new ScriptedRecord(clock, record)
    this.joined = joinRecord({ record: this.wire, journal, clock, node, label: node, report: (item) => this.reports.push(item) })
  }
  get kinds(): string[] {
    return this.reports.map((item) => ('during' in item ? `${item.kind} ${item.during}` : item.kind))
  }
}

async function rig() {
  const clock = new FakeClock()
  const record = new ScriptedRecord(clock)
  const journal = new MemoryJournal()
  const life = new Life(record, journal, clock)
  await life.joined.ready
  return { clock, record, journal, life, joined: life.joined }
}

const spent = async (record: ScriptedRecord): Promise<number> => Number(await record.inner.spentByAll())

t.test('forwards settled rows once, in one batch, then deletes them from the journal', async (t) => {
  const { clock, record, journal, joined } = await rig()
  await write(joined.journal, generation(1), generation(2))
  joined.journal.hold(holdRow(3, { key: 'k' }))
  await joined.journal.committed()
  t.equal(record.count('take'), 0)
  await clock.advance(200)
  await write(joined.journal, generation(4))
  await clock.advance(49)
  t.equal(record.count('take'), 0, 'more may come')
  t.ok(joined.ledger.find(seqId(1)), 'found meanwhile')
  await clock.advance(1)
  t.same(record.of('take'), [[[1, 2, 4]]])
  t.same(journalSeqs(journal), [3], 'the open one stays')
  t.equal(await spent(record), 7)
  t.match(await joined.ledger.find(seqId(1)), { settled: { cost: 1 } }, 'found at the record')
  t.equal(await joined.ledger.find(seqId(9)), undefined)
  joined.journal.settle(settleRow(3, 10))
  await joined.journal.committed()
  await clock.advance(250)
  t.equal(await spent(record), 17)
  t.same(journalSeqs(journal), [])
  t.equal(joined.journal.lastSeq(), 4)
})

t.test('forwards many rows in batches, one after the other', async (t) => {
  const { clock, record, journal, joined } = await rig()
  record.mode('hang', 'take')
  await write(joined.journal, ...Array.from({ length: 1203 }, (_, index) => generation(index + 1, 1)))
  await clock.advance(250)
  await clock.advance(100)
  t.same(
    record.of('take').map(([seqs]) => (seqs as number[]).length),
    [500],
  )
  record.mode('pass', 'take')
  for (let round = 0; round < 10; round++) await clock.advance(50)
  t.same(
    record.of('take').map(([seqs]) => (seqs as number[]).length),
    [500, 500, 203],
  )
  t.equal(await spent(record), 1203)
  t.same(journalSeqs(journal), [])
})

t.test('retries rows with growing pauses during an outage, and forwards each once', async (t) => {
  const { clock, record, journal, life, joined } = await rig()
  record.mode('refuse', 'take')
  await write(joined.journal, generation(1), generation(2))
  await clock.advance(60_000)
  const tries = record.count('take')
  t.ok(tries > 10 && tries < 40, `${tries} tries in a minute`)
  t.same(life.kinds, ['record-lost hand-in'], 'told once')
  t.same(journalSeqs(journal), [1, 2])
  t.equal((await Promise.resolve(joined.ledger.find(seqId(2))))?.settled?.cost, 2, 'shown meanwhile')
  record.mode('lose', 'take')
  await write(joined.journal, generation(3))
  await clock.advance(5000)
  t.equal(await spent(record), 6, 'taken, though nobody said so')
  record.mode('pass', 'take')
  await clock.advance(5000)
  t.equal(await spent(record), 6, 'once')
  t.same(journalSeqs(journal), [])
  t.same(life.kinds, ['record-lost hand-in', 'record-back hand-in'])
})

t.test('gives up a batch that the record does not answer, and sends it again', async (t) => {
  const { clock, record, journal, joined } = await rig()
  record.mode('hang', 'take')
  await write(joined.journal, generation(1))
  await clock.advance(9000)
  t.equal(record.count('take'), 1)
  await clock.advance(2000)
  t.ok(record.count('take') > 1, 'given up and tried again')
  record.mode('pass', 'take')
  await clock.advance(11_000)
  t.equal(await spent(record), 1)
  t.same(journalSeqs(journal), [])
})

t.test("forwards rows of an earlier process before it leases credit, then returns that process's lease", async (t) => {
  const clock = new FakeClock()
  const record = new ScriptedRecord(clock)
  const journal = new MemoryJournal()
  const before = new Life(record, journal, clock)
  await before.joined.ready
  t.equal(await seeks(before.joined.credit.account('k'), 800, { limit: 1000 }), true)
  record.mode('refuse', 'take')
  await write(before.joined.journal, generation(1, 300))
  before.joined.journal.hold(holdRow(2, { key: 'k', hold: 500, floor: 120 }))
  await before.joined.journal.committed()

  // The process is gone; the next one has its journal and its name.
  before.wire.cut()
  t.match(journal.reconcile(), { count: 1, charged: 120 })
  const next = new Life(record, journal, clock)
  let ready = false
  void next.joined.ready.then(() => {
    ready = true
  })
  const other = new Life(record, new MemoryJournal(), clock, 'n2')
  await other.joined.ready
  const wants = seeks(other.joined.credit.account('k'), 500, { limit: 1000 })
  await clock.advance(4000)
  t.equal(ready, false)
  t.equal(await wants, false, 'until then the lease counts as spent, and nobody gets it')
  t.equal(record.count('giveBack'), 0, 'not even when it is called for')
  await t.rejects(Promise.resolve(seeks(next.joined.credit.account('k'), 1, { limit: 1000 })), { code: 'unavailable' })
  record.mode('refuse', 'endLeases')
  record.mode('pass', 'take')
  await clock.advance(6000)
  t.equal(await spent(record), 420)
  t.match(await record.inner.balances(['k']), [{ leased: 380 }])
  t.equal(ready, false, 'the lease must be known to be gone')
  record.mode('pass', 'endLeases')
  await clock.advance(6000)
  t.equal(ready, true)
  t.match(await record.inner.balances(['k']), [{ spent: 420, leased: 0 }])
  t.equal(await seeks(next.joined.credit.account('k'), 580, { limit: 1000 }), true)
  t.equal(next.joined.credit.settled, 0n, 'what an earlier life charged is not counted twice')
  await next.joined.credit.refresh?.(['k'])
  t.equal(next.joined.credit.account('k').settled, 420n)
})

t.test('reports forwarded rows of this process alone, not those of an earlier one', async (t) => {
  const clock = new FakeClock()
  const record = new ScriptedRecord(clock)
  const inner = new MemoryJournal()
  await write(inner, generation(1, 10), generation(2, 20))
  const told: number[] = []
  const taken = (rows: readonly SettledRows[]) => told.push(...rows.map(({ hold }) => hold.seq))
  const way = new Forwarding({ node: 'n1', record, journal: inner, clock, taken, report: () => {} }, new Set())
  await way.handInLeftovers()
  await write(inner, generation(3))
  way.add(generation(3))
  await way.flush()
  t.equal(await spent(record), 33)
  t.same(told, [3])
  t.same(journalSeqs(inner), [])
})

t.test('forwards waiting rows and returns leases at its end, without waiting for a record that is down', async (t) => {
  const { clock, record, journal, joined } = await rig()
  t.equal(await seeks(joined.credit.account('k'), 100, { limit: 1000 }), true)
  joined.credit.account('k').settle(100, 30)
  await write(joined.journal, generation(1, 30))
  await joined.close()
  t.match(await record.inner.balances(['k']), [{ spent: 30, leased: 0 }])
  t.equal(record.count('close'), 1)
  const calls = record.calls.length
  await clock.advance(20_000)
  t.equal(record.calls.length, calls, 'nothing goes on')

  const gone = new Life(record, journal, clock)
  await gone.joined.ready
  await write(gone.joined.journal, generation(2, 5))
  record.mode('hang', 'take', 'giveBack', 'pulse')
  let closed = false
  void gone.joined.close().then(() => {
    closed = true
  })
  await clock.advance(1900)
  t.equal(closed, false)
  await clock.advance(3000)
  t.equal(closed, true)
  t.same(journalSeqs(journal), [2], 'for the next start')
})

t.test('reads balances between batches, while no row is in doubt', async (t) => {
  const { clock, record, joined } = await rig()
  const account = joined.credit.account('k')
  const charge = async (seq: number, cost: number) => {
    holds(account, cost, { limit: null })
    account.settle(cost, cost)
    await write(joined.journal, generation(seq, cost))
  }
  await charge(1, 10)
  record.mode('hang', 'take')
  await clock.advance(250)
  const reading = joined.credit.refresh?.(['k'])
  await charge(2, 5)
  await turn()
  t.equal(record.count('balances'), 0, 'not while a batch is on its way')
  record.mode('hang', 'balances')
  record.mode('pass', 'take')
  await clock.advance(100)
  t.equal(record.count('take'), 1, 'and no batch while it is read')
  await charge(3, 1)
  record.mode('pass', 'balances')
  await reading
  t.equal(account.settled, 16n)
  await clock.advance(250)
  t.equal(await spent(record), 16)
  t.equal(account.settled, 16n)
  await joined.credit.refresh?.(['k'])
  t.match([account.settled, joined.credit.settled], [16n, 16n])

  record.mode('lose', 'take')
  await charge(4, 4)
  await clock.advance(250)
  t.equal(await spent(record), 20)
  await t.rejects(Promise.resolve(joined.credit.refresh?.(['k'])), { code: 'unavailable' }, 'whether it was taken is not known')
  t.equal(account.settled, 20n)
  record.mode('pass', 'take')
  await joined.credit.refresh?.(['k'])
  t.equal(account.settled, 20n)
})

t.test('however many callers read their balances, one reading runs and one waits, and rows go first', async (t) => {
  const { clock, record, joined } = await rig()
  record.calls.length = 0
  record.mode('hang', 'balances')
  const readings = [joined.credit.refresh?.(['first'])]
  await turn()
  await write(joined.journal, generation(1, 10))
  for (let index = 0; index < 50; index++) readings.push(joined.credit.refresh?.([`k${index % 5}`]))
  await clock.advance(250)
  t.same(record.of('balances'), [[['first']]])
  record.mode('pass', 'balances')
  await Promise.all(readings)
  t.same(
    record.calls.filter(([call]) => call === 'balances' || call === 'take' || call === 'spentByAll'),
    [
      ['balances', ['first']],
      ['take', [1]],
      ['balances', ['k0', 'k1', 'k2', 'k3', 'k4']],
    ],
    'the batch became due after the second reading, and goes before it; the sum over all keys is not read',
  )
  t.equal(joined.credit.account('k').settled, 10n)
})

t.test('gives up reading balances after two seconds, and ignores a later answer', async (t) => {
  const { clock, record, joined } = await rig()
  record.mode('hang', 'balances')
  const reading = t.rejects(Promise.resolve(joined.credit.refresh?.(['k'])), { code: 'unavailable' })
  await turn()
  joined.credit.account('k').settle(0, 10)
  await write(joined.journal, generation(1, 10))
  await clock.advance(2000)
  await reading
  await clock.advance(250)
  t.equal(await spent(record), 10)
  record.mode('pass', 'balances')
  await turn()
  t.equal(joined.credit.account('k').settled, 10n)
})

t.test('the export has all that this process settled before', async (t) => {
  const { record, joined } = await rig()
  await record.inner.take('n2', [generation(7, 1)])
  await write(joined.journal, generation(5), generation(6))
  const seqs: number[] = []
  for await (const { hold } of joined.ledger.export()) seqs.push(hold.seq)
  t.same(seqs, [5, 6, 7])
  t.same(await joined.ledger.spent(), new Map([['k', 12n]]))
  t.same(await joined.ledger.carried?.(), new Map())
  record.mode('refuse', 'take')
  await write(joined.journal, generation(8))
  await t.rejects(Promise.resolve(joined.ledger.spent()), { code: 'unavailable' }, 'better none than an old sum')
})

t.test('reads rows that do not fit into memory from the journal', async (t) => {
  const clock = new FakeClock()
  const record = new ScriptedRecord(clock)
  const inner = new MemoryJournal()
  let taken = 0
  const handing = {
    node: 'n1',
    record,
    journal: inner,
    clock,
    taken: (rows: readonly SettledRows[]) => {
      taken += rows.length
    },
    report: () => {},
  }
  const journal: ForwardedJournal = new ForwardedJournal(inner, clock, {
    noted: () => {},
    committed: (row) => way.add(row),
    dropped: () => {},
  })
  const way = new Forwarding(handing, journal.uncommitted)
  await way.handInLeftovers()
  record.mode('refuse', 'take')
  const rows = Array.from({ length: 25_000 }, (_, index) => generation(index + 1, 1))
  for (let from = 0; from < rows.length; from += 5000) await write(journal, ...rows.slice(from, from + 5000))
  await clock.advance(1000)
  t.equal(way.queued, 20_000, 'bounded')
  record.mode('pass', 'take')
  const flushed = way.flush()
  await write(journal, generation(30_000, 1))
  await flushed
  await clock.advance(1000)
  t.equal(way.queued, 0)
  t.equal(await spent(record), 25_001)
  t.equal(taken, 25_001, 'each told once')
  t.same(journalSeqs(inner), [])
})

t.test('forwards rows of a refused commit only where their requests were sent', async (t) => {
  const clock = new FakeClock()
  const record = new ScriptedRecord(clock)
  const db = openDatabase(join(t.testdir(), 'journal.db'), 'process')
  const inner = new SqliteJournal(db, { clock })
  t.teardown(() => inner.close())
  const life = new Life(record, inner, clock)
  const { joined } = life
  await joined.ready
  const { journal } = joined
  journal.hold(holdRow(1, { key: 'k' }))
  journal.hold(holdRow(2, { key: 'k' }))
  await journal.committed()
  await write(journal, generation(3))
  db.exec('PRAGMA query_only = ON')
  // One more turn of a request that runs, a new request, and one that ends.
  journal.hold(holdRow(1, { key: 'k', hold: 2000 }))
  journal.hold(holdRow(4, { key: 'k' }))
  journal.settle(settleRow(2, 20))
  await t.rejects(journal.committed(), { code: 'unavailable' })
  t.match(joined.credit.account('k').settled, 23n)
  // The new one was never sent; the other ends in its own time.
  journal.settle(settleRow(4, 0))
  journal.settle(settleRow(1, 100))
  await clock.advance(250)
  t.same(record.of('take'), [[[3]]], 'nothing is handed in that is not committed')
  t.same(life.kinds, ['forget-failed'])
  t.ok(await joined.ledger.find(seqId(3)))
  await clock.advance(5000)
  t.equal(record.count('take'), 1)
  db.exec('PRAGMA query_only = OFF')
  await clock.advance(5000)
  t.equal(await spent(record), 123)
  t.same(record.of('take').flat(2).sort(), [1, 2, 3])
  t.equal(await joined.ledger.find(seqId(4)), undefined)
  t.same(journalSeqs(inner), [])
  t.equal(inner.lastSeq(), 4)
  db.exec('PRAGMA query_only = ON')
  journal.hold(holdRow(5, { key: 'k' }))
  await t.rejects(journal.committed(), { code: 'unavailable' })
  db.exec('PRAGMA query_only = OFF')
  journal.settle(settleRow(5, 0))
  await journal.committed()
  await clock.advance(5000)
  t.equal(record.of('take').flat(2).includes(5), false, 'also where nothing else waits to be written')
  await joined.credit.refresh?.(['k'])
  t.equal(joined.credit.account('k').settled, 123n)
  await joined.close()
})

t.test('goes on where the journal cannot be read after a refused commit', async (t) => {
  const clock = new FakeClock()
  const record = new ScriptedRecord(clock)
  const db = openDatabase(join(t.testdir(), 'journal.db'), 'process')
  const inner = new SqliteJournal(db, { clock })
  t.teardown(() => inner.close())
  const { joined } = new Life(record, inner, clock)
  await joined.ready
  const { journal } = joined
  const refused = async (seq: number): Promise<void> => {
    journal.hold(holdRow(seq, { key: 'k' }))
    await journal.committed()
    db.exec('PRAGMA query_only = ON')
    journal.settle(settleRow(seq, 10))
    await t.rejects(journal.committed(), { code: 'unavailable' })
    db.exec('PRAGMA query_only = OFF')
  }
  await refused(1)
  inner.find = () => {
    throw new Error('disk I/O error')
  }
  await clock.advance(2000)
  t.equal(await spent(record), 0)
  Reflect.deleteProperty(inner, 'find')
  await clock.advance(2000)
  t.equal(await spent(record), 10, 'asked again')
  await refused(2)
  await joined.close()
  inner.close()
  await clock.advance(5000)
  t.pass('nobody is asked after the end')
})

t.test('a journal deletes the forwarded rows and no others', async (t) => {
  const clock = new FakeClock()
  const journals = [new MemoryJournal(), openJournal(join(t.testdir(), 'journal.db'), { durability: 'process', clock })]
  await every(t, 'every journal', async (t) => {
    for (const journal of journals) {
      await write(journal, generation(1), generation(2), generation(3))
      journal.hold(holdRow(4, { key: 'k' }))
      await journal.committed()
      t.same(journal.settledAmong([1, 3, 4, 9]), new Map([1, 3].map((seq) => [seq, holdRow(1).tag])))
      journal.forget([])
      journal.forget([1, 3, 4, 9])
      journal.forget([3])
      t.same(journalSeqs(journal), [2, 4], 'an open one stays')
      t.same(journal.spent(), new Map([['k', 2n]]))
      t.equal(journal.find(seqId(1)), undefined)
      t.equal(journal.lastSeq(), 4)
      journal.settle(settleRow(4, 7))
      await journal.committed()
      journal.forget([2, 4])
      t.same([journalSeqs(journal), chargedByDay(journal, 0), journal.unsettled().count], [[], [], 0])
      journal.close()
    }
  })
})
