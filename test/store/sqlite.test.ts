/** Failures of the embedded file alone: a second owner, damage, a full disk, a torn log. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { asFault, type Fault } from '../../src/core/faults.ts'
import { type JournalReport, openJournal, SqliteJournal } from '../../src/store/journal.ts'
import { openStore } from '../../src/store/open.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { FakeClock } from '../support/clock.ts'
import { chargedByDay } from '../support/holding.ts'
import { property } from '../support/seed.ts'
import { verify } from '../support/verify-records.ts'
import { apiKey, holdRow, seqId, settleRow } from './samples.ts'

const fileIn = (t: Test) => join(t.testdir(), 'headgate.db')

function catchFault(run: () => unknown): Fault {
  try {
    run()
  } catch (thrown) {
    return asFault(thrown)
  }
  throw new Error('expected a fault')
}

t.test('what was written is there after a restart, for both durabilities', async (t) => {
  for (const durability of ['process', 'power'] as const) {
    const url = `sqlite:${join(t.testdir(), durability, 'deep', 'headgate.db')}`
    const clock = new FakeClock()
    const first = openStore(url, { clock, durability })
    await first.keys.put(apiKey('a', { limit: 7 }))
    first.journal.hold(holdRow(5))
    first.journal.hold(holdRow(6))
    first.journal.settle(settleRow(5, 123))
    await first.journal.committed()
    first.close()
    const again = openStore(url, { clock, durability })
    t.teardown(() => again.close())
    t.same(again.journal.spent(), new Map([['dev', 123n]]))
    t.equal(again.journal.lastSeq(), 6)
    t.match(await again.keys.find('a'.repeat(64)), { limit: 7 })
    t.match(again.journal.reconcile(), { count: 1, charged: 300 })
  }
})

t.test('the file belongs to its owner alone, in rights and in locks', async (t) => {
  const path = fileIn(t)
  const journal = openJournal(path, { durability: 'process', clock: new FakeClock() })
  t.equal(statSync(path).mode & 0o077, 0, 'nobody else may read it')
  const fault = catchFault(() => openDatabase(path, 'process'))
  t.equal(fault.code, 'unavailable')
  t.match(fault.message, /headgate\.db is in use by another process/)
  journal.hold(holdRow(1))
  await journal.committed()
  t.ok(journal.find(seqId(1)), 'the first owner does not notice')
  journal.close()
  openDatabase(path, 'process').close()
})

t.test('files that are not ours, or broken, are refused with the reason and left alone', async (t) => {
  const path = fileIn(t)
  const refusal = (pattern: RegExp) => {
    const before = readFileSync(path)
    const fault = catchFault(() => openDatabase(path, 'process'))
    t.equal(fault.code, 'unavailable')
    t.match(fault.message, pattern)
    t.ok(fault.message.includes(path), 'names the file')
    t.same(readFileSync(path), before, 'not a byte of it changed')
  }
  writeFileSync(path, 'this is no database at all, but it is long enough to look like one '.repeat(40))
  refusal(/is damaged or not a database/)

  writeFileSync(path, '')
  const foreign = new DatabaseSync(path)
  foreign.exec('CREATE TABLE theirs (x)')
  foreign.close()
  refusal(/is a database of another program/)

  const newer = join(dirname(path), 'newer.db')
  const db = openDatabase(newer, 'process')
  db.exec('PRAGMA user_version = 99')
  db.close()
  t.match(catchFault(() => openDatabase(newer, 'process')).message, /has schema version 99, and this program knows versions up to \d+/)

  mkdirSync(join(dirname(path), 'folder.db'))
  t.match(catchFault(() => openDatabase(join(dirname(path), 'folder.db'), 'process')).message, /folder\.db cannot be opened/)
})

/** The tables as version 1 of the file had them. */
const VERSION_1 = `
CREATE TABLE hold (seq INTEGER PRIMARY KEY, tag TEXT NOT NULL, key TEXT NOT NULL, model TEXT NOT NULL, endpoint TEXT NOT NULL,
  hold INTEGER NOT NULL, floor INTEGER NOT NULL) STRICT;
CREATE TABLE settlement (seq INTEGER PRIMARY KEY, status TEXT NOT NULL, cost INTEGER NOT NULL, input INTEGER NOT NULL,
  output INTEGER NOT NULL, cached INTEGER NOT NULL, cache_write INTEGER NOT NULL, reasoning INTEGER NOT NULL,
  estimated INTEGER NOT NULL, facts TEXT NOT NULL) STRICT;
CREATE TABLE api_key (hash TEXT PRIMARY KEY, name TEXT NOT NULL, label TEXT NOT NULL, credit_limit INTEGER, management INTEGER NOT NULL,
  disabled INTEGER NOT NULL, expires_at INTEGER, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, policy TEXT NOT NULL)
  STRICT, WITHOUT ROWID;
PRAGMA application_id = ${0x48474154};
PRAGMA user_version = 1;
`

t.test('a file of version 1 is brought up in place, once, with all its rows', async (t) => {
  const path = fileIn(t)
  const hash = 'a'.repeat(64)
  const old = new DatabaseSync(path)
  old.exec(VERSION_1)
  const seq = Date.UTC(2026, 0, 5, 12) * 4096
  old.prepare('INSERT INTO hold VALUES (?, ?, ?, ?, ?, ?, ?)').run(seq, 'abcdefghijkl', hash, 'acme/one', 'acme/one@here', 900, 300)
  old.prepare('INSERT INTO settlement VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').run(seq, 'completed', 42, 1, 2, 0, 0, 0, 0, '{}')
  const policy = JSON.stringify({ limits: { requests: 3 }, passage: true })
  old.prepare('INSERT INTO api_key VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').run(hash, 'old', 'sk-o...ld', 7, 0, 1, null, 11, 12, policy)
  old.close()
  for (const round of ['migrated', 'opened again']) {
    const store = openStore(`sqlite:${path}`, { clock: new FakeClock() })
    const key = {
      identity: hash,
      hash,
      name: 'old',
      limit: 7,
      limitReset: null,
      disabled: true,
      passThrough: true,
      creator: null,
      createdAt: 11,
    }
    t.match(await store.keys.find(hash), { ...key, includeByokInLimit: false, limits: { requests: 3 } }, round)
    t.match([...store.journal.export()], [{ hold: { key: hash, hold: 900 }, settled: { cost: 42, at: 0, output: 2 } }])
    t.same(chargedByDay(store.journal, 0), [{ key: hash, day: Date.UTC(2026, 0, 5), cost: 42 }], 'the day of the admission')
    t.ok(verify(store.journal.export(), store.journal.spent()).ok)
    store.close()
  }
  const again = openStore(`sqlite:${path}`, { clock: new FakeClock() })
  t.teardown(() => again.close())
  await again.keys.change(hash, (key) => ({ ...key, limitReset: 'monthly', creator: 'me' }))
  again.journal.hold(holdRow(seq + 1))
  again.journal.settle(settleRow(seq + 1, 5, { at: 86_400_000 }))
  await again.journal.committed()
  t.match(again.journal.find(seqId(seq + 1)), { settled: { cost: 5, at: 86_400_000 } }, 'new rows have the new columns')
  t.match(await again.keys.find(hash), { limitReset: 'monthly', creator: 'me' })
})

t.test('a file whose migration fails is left as it was', async (t) => {
  const path = fileIn(t)
  const old = new DatabaseSync(path)
  old.exec(`${VERSION_1} DROP TABLE api_key;`)
  old.close()
  t.match(
    catchFault(() => openDatabase(path, 'process')),
    { code: 'unavailable' },
  )
  const after = new DatabaseSync(path)
  t.teardown(() => after.close())
  t.match(after.prepare('PRAGMA user_version').get(), { user_version: 1 })
  t.equal(after.prepare('PRAGMA table_info(settlement)').all().length, 10, 'no column was added')
})

async function filled(path: string, rows: number): Promise<void> {
  const journal = openJournal(path, { durability: 'process', clock: new FakeClock() })
  for (let seq = 1; seq <= rows; seq++) {
    journal.hold(holdRow(seq))
    journal.settle(settleRow(seq, seq))
  }
  await journal.committed()
  journal.close()
}

t.test('damaged pages are noticed before anything is written', async (t) => {
  const path = fileIn(t)
  await filled(path, 400)
  const whole = readFileSync(path)
  const pageSize = whole.readUInt16BE(16)
  const pages = whole.length / pageSize
  t.ok(pages > 20)
  for (const page of [1, 2, 5, pages - 2]) {
    const damaged = Buffer.from(whole)
    damaged.fill(0xa5, page * pageSize, (page + 1) * pageSize)
    writeFileSync(path, damaged)
    t.match(catchFault(() => openDatabase(path, 'process')).message, /headgate\.db is damaged/, `page ${page}`)
  }
  writeFileSync(path, whole.subarray(0, Math.floor(pages / 2) * pageSize))
  t.match(catchFault(() => openDatabase(path, 'process')).message, /is damaged/, 'cut in half')
  writeFileSync(path, whole)
  openDatabase(path, 'process').close()
})

t.test('a log cut at any byte leaves a clean prefix of the commits', async (t) => {
  const source = join(t.testdir(), 'source.db')
  const journal = openJournal(source, { durability: 'process', clock: new FakeClock() })
  const TURNS = 12
  for (let seq = 1; seq <= TURNS; seq++) {
    journal.hold(holdRow(seq))
    if (seq > 1) journal.settle(settleRow(seq - 1, 10))
    await journal.committed()
  }
  const log = readFileSync(`${source}-wal`)
  const main = join(dirname(source), 'main.db')
  copyFileSync(source, main)
  journal.close()

  const path = join(dirname(source), 'cut.db')
  const step = Math.ceil(log.length / property(60, 4000).numRuns)
  let last = 0
  let opened = 0
  for (let cut = 0; cut <= log.length; cut += step) {
    copyFileSync(main, path)
    writeFileSync(`${path}-wal`, log)
    truncateSync(`${path}-wal`, cut)
    const again = openJournal(path, { durability: 'process', clock: new FakeClock() })
    const records = [...again.export()]
    const verdict = verify(records, again.spent())
    if (!verdict.ok) t.fail(`cut at ${cut}: ${verdict.problems.join('; ')}`)
    if (records.length < last) t.fail(`cut at ${cut}: ${records.length} rows, a shorter log had ${last}`)
    if (verdict.open > 1) t.fail(`cut at ${cut}: a commit came back in part`)
    last = records.length
    opened++
    again.close()
  }
  t.ok(opened >= 50, `${opened} cuts`)
  t.ok(last >= TURNS - 1, 'all but the last bytes: all but the last commit')
})

/** A journal on a file that may not grow until `free` is called. */
function tight(t: Test): { journal: SqliteJournal; news: JournalReport[]; clock: FakeClock; free: () => void; rows: () => number } {
  const db = openDatabase(fileIn(t), 'process')
  const clock = new FakeClock()
  const news: JournalReport[] = []
  const journal = new SqliteJournal(db, { clock, report: (item) => news.push(item) })
  t.teardown(() => journal.close())
  const limit = (pages: number) => db.exec(`PRAGMA max_page_count = ${pages}`)
  limit(1)
  const count = db.prepare('SELECT (SELECT count(*) FROM hold) + (SELECT count(*) FROM settlement) AS n')
  return { journal, news, clock, free: () => limit(1_000_000), rows: () => Number(count.get()?.n) }
}

const BIG = JSON.stringify({ text: 'x'.repeat(6000) })

t.test('a full disk: the batch is refused whole, the process goes on, space brings it back', async (t) => {
  const { journal, news, free, rows } = tight(t)
  for (const seq of [1, 2]) journal.hold(holdRow(seq))
  await journal.committed()
  const before = rows()
  t.equal(before, 2, 'small rows still fit')

  journal.hold(holdRow(3))
  journal.hold(holdRow(5))
  journal.settle(settleRow(1, 50, { facts: BIG }))
  const refused = journal.committed()
  await t.rejects(refused, { code: 'unavailable', status: 503 })
  t.match(news, [{ kind: 'refused' }])
  t.equal(rows(), before, 'nothing is half recorded')
  t.equal(journal.find(seqId(3)), undefined, 'a hold that was refused never was')
  t.match(journal.find(seqId(1)), { settled: { cost: 50 } }, 'a settlement that was refused still waits')

  journal.settle(settleRow(3, 7))
  await t.rejects(journal.committed(), { code: 'unavailable' }, 'still full')
  free()
  journal.settle(settleRow(5, 8))
  journal.hold(holdRow(4))
  await journal.committed()
  t.equal(rows(), 4, 'holds 1, 2, 4 and the settlement of 1')
  t.same(journal.spent(), new Map([['dev', 50n]]), 'what had no hold is not charged')
  t.same(verify(journal.export(), journal.spent()).problems, [])
})

t.test('an error in the middle of a batch leaves none of its rows', async (t) => {
  const db = openDatabase(fileIn(t), 'process')
  const journal = new SqliteJournal(db, { clock: new FakeClock() })
  t.teardown(() => journal.close())
  db.exec("CREATE TEMP TRIGGER fails BEFORE INSERT ON settlement WHEN new.cost = 13 BEGIN SELECT RAISE(ABORT, 'no'); END")
  for (const seq of [1, 2, 3]) journal.hold(holdRow(seq))
  await journal.committed()
  journal.hold(holdRow(4))
  journal.settle(settleRow(1, 12))
  journal.settle(settleRow(2, 13))
  await t.rejects(journal.committed(), { code: 'unavailable' })
  t.equal(db.isTransaction, false)
  t.equal(db.prepare('SELECT max(seq) AS seq FROM hold').get()?.seq, 3)
  t.same(journal.spent(), new Map(), 'the settlement before it is not recorded either')
  db.exec('DROP TRIGGER fails')
  journal.settle(settleRow(3, 14))
  await journal.committed()
  t.same(journal.spent(), new Map([['dev', 12 + 13 + 14]]))
})

t.test('a refused settlement is tried again by itself', async (t) => {
  const { journal, clock, free, rows } = tight(t)
  journal.hold(holdRow(1))
  await journal.committed()
  journal.settle(settleRow(1, 50, { facts: BIG }))
  await t.rejects(journal.committed())
  await clock.advance(1000)
  t.equal(rows(), 1, 'still no space')
  free()
  await clock.advance(1000)
  t.equal(rows(), 2, 'with no other request to carry it')
  t.same(journal.spent(), new Map([['dev', 50n]]))
})

t.test('a refused rise of a hold leaves the hold to be settled', async (t) => {
  const { journal, free, rows } = tight(t)
  journal.hold(holdRow(1))
  journal.hold(holdRow(2))
  await journal.committed()
  journal.hold(holdRow(1, { hold: 5000 }))
  journal.settle(settleRow(2, 20, { facts: BIG }))
  await t.rejects(journal.committed())
  journal.settle(settleRow(1, 9))
  free()
  await journal.committed()
  t.equal(rows(), 4)
  t.match(journal.find(seqId(1)), { hold: { hold: 900 }, settled: { cost: 9 } })
})

t.test('nobody waiting for a refused batch is no unhandled rejection', async (t) => {
  const { journal, news } = tight(t)
  journal.hold(holdRow(1))
  await journal.committed()
  journal.settle(settleRow(1, 1, { facts: BIG }))
  void journal.committed()
  await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setImmediate(resolve))
  t.match(news, [{ kind: 'refused' }])
})

t.test('the log is carried into the file by a timer', async (t) => {
  const path = fileIn(t)
  const clock = new FakeClock()
  const journal = openJournal(path, { durability: 'process', clock })
  t.teardown(() => journal.close())
  const before = statSync(path).size
  for (let seq = 1; seq <= 200; seq++) journal.hold(holdRow(seq))
  await journal.committed()
  t.equal(statSync(path).size, before, 'no checkpoint in the turn of a request')
  t.equal(clock.waiting.length, 1, 'one timer, however many commits')
  await clock.advance(4_999)
  t.equal(statSync(path).size, before, 'a few rows wait')
  await clock.advance(251)
  const some = statSync(path).size
  t.ok(some > before + 10_000)
  t.same(clock.waiting, [], 'an idle gateway has no timer')
  for (let seq = 201; seq <= 2_400; seq++) journal.hold(holdRow(seq))
  await journal.committed()
  await clock.advance(250)
  t.ok(statSync(path).size > some + 50_000, 'many rows do not')
  t.ok(existsSync(`${path}-wal`))
})

t.test('a closed journal refuses what comes late, and stays closed', async (t) => {
  const clock = new FakeClock()
  const journal = openJournal(fileIn(t), { durability: 'process', clock })
  journal.close()
  journal.hold(holdRow(1))
  await t.rejects(journal.committed(), { code: 'unavailable' })
  t.same(clock.waiting, [])
})
