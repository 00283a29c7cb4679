/** The record of a process that owns its store, in memory and in a file. */
import { join } from 'node:path'
import t from 'tap'
import { Credit } from '../../src/ledger/credit.ts'
import { SqliteJournal } from '../../src/store/journal.ts'
import { LocalRecord } from '../../src/store/local-record.ts'
import { openStore, type Store } from '../../src/store/open.ts'
import type { SettledRows } from '../../src/store/record.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { FakeClock } from '../support/clock.ts'
import { MemoryGuardrails } from '../support/memory/guardrails.ts'
import { MemoryKeys } from '../support/memory/keys.ts'
import { memoryStores } from '../support/memory/stores.ts'
import { ask, balance, leaseFrom, nodePulse, type OpenedRecord, recordContract } from './record-contract.ts'
import { apiKey, holdRow, settleRow } from './samples.ts'

function openRecord(
  { journal, keys, guardrails, compactionKeys, byokKeys, levels, events, auditLog, refusals, givenIds }: Omit<Store, 'close'>,
  clock: FakeClock,
): LocalRecord {
  const credit = new Credit(clock, journal)
  credit.follow(journal.entries)
  const stores = { keys, guardrails, compactionKeys, byokKeys, levels, events, auditLog, refusals, givenIds }
  return new LocalRecord({ journal, ledger: journal.ledger, ...stores, credit, clock })
}

recordContract(t, 'memory', async (clock) => {
  const store = openStore('memory:', { clock })
  return { record: openRecord(store, clock), close: async () => store.close() }
})

let files = 0
const folder = t.testdir()

recordContract(t, 'sqlite', async (clock): Promise<OpenedRecord> => {
  const url = `sqlite:${join(folder, `${files++}.db`)}`
  let store = openStore(url, { clock })
  const reopen = async () => {
    store.close()
    store = openStore(url, { clock })
    return openRecord(store, clock)
  }
  return { record: openRecord(store, clock), reopen, close: async () => store.close() }
})

const row = (seq: number, cost: number, key = 'a'): SettledRows => ({ hold: holdRow(seq, { key }), settled: settleRow(seq, cost) })

t.test('a process that is over: its lease is free once its generations are in, to the last nano-dollar', async (t) => {
  const clock = new FakeClock()
  const store = openStore('memory:', { clock })
  const record = openRecord(store, clock)
  for (const node of ['n1', 'n2']) await record.pulse(nodePulse(node))
  await record.lease('n1', ask('a', 300))
  await record.lease('n1', ask('b', 50))
  await record.lease('n2', ask('a', 200))
  await record.take('n1', [row(1, 120)])
  t.equal(record.nodeGone('n1'), 230)
  t.equal(record.nodeGone('n1'), 0, 'once')
  t.equal(record.nodeGone('never'), 0)
  t.match(await balance(record, 'a'), { spent: 120, leased: 200 })
  t.match(await balance(record, 'b'), { spent: 0, leased: 0 })
  t.equal((await record.pulse(nodePulse('n2'))).nodes, 1)
  await record.endLeases('n2')
  t.match(await balance(record, 'a'), { spent: 120, leased: 0 })
  t.match(await leaseFrom(record, 'n2', ask('a', 880)), { granted: 880, left: 0 }, 'whose leases ended may lease again')
  store.close()
})

t.test('a process whose cursor is too old is sent no list of changes, so that it forgets all it has cached', async (t) => {
  const clock = new FakeClock()
  const store = openStore('memory:', { clock })
  const record = openRecord(store, clock)
  const { cursor } = await record.pulse(nodePulse('n1'))
  for (let index = 0; index < 1024; index++) await record.keys.put(apiKey(index % 2 === 0 ? 'a' : 'b'))
  const full = await record.pulse(nodePulse('n1', cursor))
  t.same([...(full.changed ?? [])].sort(), ['a'.repeat(64), 'b'.repeat(64)])
  await record.keys.put(apiKey('c'))
  t.equal((await record.pulse(nodePulse('n1', cursor))).changed, undefined)
  t.same((await record.pulse(nodePulse('n1', full.cursor))).changed, ['c'.repeat(64)])
  const ahead = `${cursor.split('.')[0]}.999999`
  t.equal((await record.pulse(nodePulse('n1', ahead))).changed, undefined, 'no number of ours')
  store.close()
})

t.test('what the file refuses is not charged, and comes in once when there is room again', async (t) => {
  const clock = new FakeClock()
  const db = openDatabase(join(t.testdir(), 'full.db'), 'process')
  const journal = new SqliteJournal(db, { clock })
  const record = openRecord(
    {
      journal,
      keys: new MemoryKeys(clock),
      guardrails: new MemoryGuardrails(),
      ...memoryStores(),
    },
    clock,
  )
  await record.lease('n1', ask('a', 500))
  await record.take('n1', [row(1, 10)])
  db.exec('PRAGMA query_only = ON')
  const both = await Promise.allSettled([record.take('n1', [row(2, 20), row(3, 30)]), record.take('n1', [row(1, 10), row(3, 30)])])
  t.match(both, [
    { status: 'rejected', reason: { code: 'unavailable' } },
    { status: 'rejected', reason: { code: 'unavailable' } },
  ])
  t.match(await balance(record, 'a'), { spent: 10, leased: 490 })
  db.exec('PRAGMA query_only = OFF')
  await Promise.all([record.take('n1', [row(2, 20), row(3, 30)]), record.take('n1', [row(3, 30), row(3, 30)])])
  await clock.advance(5000)
  t.match(await balance(record, 'a'), { spent: 60, leased: 440 })
  t.same(journal.spent(), new Map([['a', 60n]]))
  await t.rejects(record.take('n1', [row(4, 40), { hold: holdRow(5), settled: settleRow(5, -1) }]), RangeError, 'a broken row')
  t.match(await balance(record, 'a'), { spent: 60, leased: 440 }, 'takes nothing of its batch along')
  t.equal(journal.spent().get('a'), 60n)
  await record.close()
  journal.close()
})
