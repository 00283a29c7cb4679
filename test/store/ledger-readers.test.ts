/** Readers of the ledger: each settled generation comes in one batch, whatever is settled meanwhile and wherever a crash falls. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { GenerationRecord, LedgerReaders, ReaderBatch } from '../../src/ledger/types.ts'
import { SqliteJournal } from '../../src/store/journal.ts'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { FakeClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { every } from '../support/every.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { clocked } from '../support/postgres-clock.ts'
import { generation } from './record-contract.ts'
import { holdRow, settleRow } from './samples.ts'

const TICKS = 4096
const server = await startPostgres(t)

async function batchIds(readers: LedgerReaders, batch: ReaderBatch): Promise<string[]> {
  const found: GenerationRecord[] = []
  for await (const page of readers.pages(batch)) found.push(...page)
  return found.map(({ id }) => id)
}

const claimAt = (now: number, most = 10, holder = 'a') => ({ reader: 'x', holder, holdFor: 60_000, since: 0, age: 0, most, now })

t.test('SQLite: what is settled behind the bound comes in the next batch, and an open batch stays as it was', async (t) => {
  const journal = new SqliteJournal(openDatabase(join(t.testdir(), 'a.db'), 'process'), { clock: new FakeClock() })
  t.teardown(() => journal.close())
  const { readers } = journal
  for (const at of [1, 2, 3]) journal.hold(holdRow(at * TICKS))
  journal.settle(settleRow(1 * TICKS, 1))
  journal.settle(settleRow(3 * TICKS, 1))
  await journal.committed()
  const batch = readers.claim(claimAt(100))
  const first = await batchIds(readers, batch)
  t.equal(first.length, 2)
  journal.settle(settleRow(2 * TICKS, 1))
  await journal.committed()
  t.same(await batchIds(readers, readers.claim(claimAt(200))), first, 'the open batch comes again')
  t.equal(readers.accept(batch, 'note'), true)
  t.equal(readers.accept(batch, 'note'), false)
  t.match(readers.unread('x', 0, 10), { oldest: 2, rows: 1 })
  const second = readers.claim(claimAt(300))
  t.match(second, { number: 2, note: 'note' })
  t.same(await batchIds(readers, second), [`gen-${(2 * TICKS).toString(36)}-abcdefghijkl`])
  readers.accept(second, '')
  t.match(readers.claim(claimAt(400)), { begunAt: 0 })
  t.match(readers.unread('x', 0, 10), { oldest: undefined, rows: 0 })
})

t.test('SQLite: in any order of holds, settlements, batches and crashes each generation is accepted once', async (t) => {
  const file = join(t.testdir(), 'a.db')
  const clock = new FakeClock(7)
  const open = () => new SqliteJournal(openDatabase(file, 'process'), { clock })
  let journal = open()
  const accepted: string[] = []
  const running: number[] = []
  let at = 1
  for (let round = 0; round < 600; round++) {
    const chance = clock.random()
    if (chance < 0.4) {
      at += 1 + Math.floor(clock.random() * 3)
      journal.hold(holdRow(at * TICKS))
      running.push(at)
    } else if (chance < 0.7 && running.length > 0) {
      const [picked = 0] = running.splice(Math.floor(clock.random() * running.length), 1)
      journal.settle(settleRow(picked * TICKS, 1))
    } else if (chance < 0.97) {
      await journal.committed()
      const batch = journal.readers.claim(claimAt(at + 1, 7))
      const ids = await batchIds(journal.readers, batch)
      if (clock.random() < 0.5 && batch.begunAt > 0 && journal.readers.accept(batch, '')) accepted.push(...ids)
    } else {
      await journal.committed()
      journal.close()
      journal = open()
      journal.reconcile()
      running.length = 0
    }
  }
  await journal.committed()
  journal.reconcile()
  for (let batch = journal.readers.claim(claimAt(at + 1)); batch.begunAt > 0; batch = journal.readers.claim(claimAt(at + 1))) {
    accepted.push(...(await batchIds(journal.readers, batch)))
    journal.readers.accept(batch, '')
  }
  const all = [...journal.export()].map(({ id }) => id)
  journal.close()
  t.ok(all.length > 100, `${all.length} generations`)
  t.same(accepted.toSorted(), all.toSorted())
})

if (server) suite(server)

function suite(server: TestPostgres): void {
  const opened = async (t: Test, url: string) => {
    const clock = new FakeClock()
    const record = await clocked(await openPostgres(url, { clock }), clock, server, url)
    t.teardown(() => record.close())
    return { record, now: () => clock.now() }
  }

  t.test('PostgreSQL: no generation is missed or comes twice, whatever is handed in while batches are taken', async (t) => {
    const url = await server.database()
    const { record, now } = await opened(t, url)
    const { record: other } = await opened(t, url)
    const rows = Array.from({ length: 1200 }, (_, index) => generation((now() - 100_000 + index) * TICKS, `k${index % 5}`, 1, now()))
    const batches = Array.from({ length: 40 }, (_, index) => rows.filter((_, at) => (at * 7) % 40 === index))
    const accepted: string[] = []
    let isOver = false
    const taking = Promise.all(
      batches.flatMap((batch, i) => [(i % 2 ? record : other).take('n1', batch), other.take('n2', batch.slice(0, 9))]),
    )
    const step = async (holder: string, { readers }: typeof record): Promise<boolean> => {
      const batch = await readers.claim(claimAt(now(), 35, holder))
      if (!batch || batch.begunAt === 0) return false
      const [ids, again] = [await batchIds(readers, batch), await batchIds(readers, batch)]
      t.same(again, ids, 'the same batch')
      if (await readers.accept(batch, '')) accepted.push(...ids)
      return true
    }
    const reading = (async () => {
      while (!isOver) await step('a', record)
      while (await step('a', record));
    })()
    await taking
    isOver = true
    await reading
    t.equal(new Set(accepted).size, rows.length)
    t.equal(accepted.length, rows.length)
  })

  t.test('PostgreSQL: a reader of all there is finds the end without a look at each generation', async (t) => {
    const url = await server.database()
    const { record, now } = await opened(t, url)
    const first = (now() - 100_000) * TICKS
    await server.query(
      url,
      `INSERT INTO generation (seq, tag, key, payer, model, endpoint, hold, floor, status, cost, input, output, cached, cache_write, reasoning, estimated, facts, at)
        SELECT $1::bigint + i, 'abcdefghijkl', 'k', '', 'm', 'e', 9, 3, 'completed', 5, 1, 1, 0, 0, 0, false, '{}', 1 FROM generate_series(1, 20000) AS s (i)`,
      [first],
    )
    await server.query(url, 'VACUUM ANALYZE generation')
    const read = async (): Promise<number> => {
      const sql = `SELECT sum(seq_tup_read)::int + (SELECT sum(idx_tup_read)::int FROM pg_stat_user_indexes WHERE relname = 'generation') AS rows
        FROM pg_stat_user_tables WHERE relname = 'generation'`
      return Number((await server.query(url, sql))[0]?.rows)
    }
    const before = await read()
    const batch = await record.readers.claim(claimAt(now(), Number.MAX_SAFE_INTEGER))
    t.match(batch, { number: 1, reaching: first + 20_001 })
    // A connection reports what it has read when it ends; the next look at all rows shows that this has come.
    await record.close()
    await server.query(url, 'SELECT count(*) FROM (SELECT facts FROM generation) AS g')
    const after = await eventually('what was read', async () => ((await read()) >= before + 20_000 ? await read() : undefined))
    t.ok(after - before < 25_000, `${after - before} rows were read`)
  })

  t.test('PostgreSQL: one process reads at a time, and another goes on with its open batch once it is lost', async (t) => {
    const url = await server.database()
    const { record, now } = await opened(t, url)
    const { record: other } = await opened(t, url)
    await record.take('n1', [generation((now() - 1000) * TICKS, 'k', 1, now())])
    const batch = await record.readers.claim({ ...claimAt(now()), holdFor: 0 })
    t.match(batch, { number: 1 })
    const taken = await other.readers.claim(claimAt(now(), 10, 'b'))
    t.match(taken, { number: 1, begunAt: batch?.begunAt })
    t.equal(await record.readers.claim(claimAt(now())), undefined)
    await every(t, 'accepted once', async (t) => {
      if (!taken) throw new Error('expected the batch')
      t.same([await other.readers.accept(taken, ''), await record.readers.accept(taken, '')], [true, false])
    })
    t.match(await record.readers.unread('x', 0, 5), { oldest: undefined, rows: 0 })
  })
}
