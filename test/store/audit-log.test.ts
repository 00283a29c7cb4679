/** The audit log in a SQLite file: what a check finds that was changed behind the gateway's back, and what refuses a change. */
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { canonicalJson } from '../../src/core/audit-entries.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { verifyAuditLog } from '../../src/store/audit-verify.ts'
import { openStore, type Store } from '../../src/store/open.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { SqliteAuditLog } from '../../src/store/sqlite-audit-log.ts'
import { SqliteAuditReaders } from '../../src/store/sqlite-audit-readers.ts'
import { TAMPERINGS } from '../support/audit-tampering.ts'
import { FakeClock } from '../support/clock.ts'
import { auditReadersContract } from './audit-readers.ts'
import { ALICE } from './record-audit-contract.ts'
import { apiKey } from './samples.ts'
import { signedLog } from './signed-audit-log.ts'

const entry = (subject: string) => ({ ...ALICE, action: 'key.changed' as const, subject, before: null, after: { name: subject } })

function fileStore(t: Test): { file: string; open: () => Store } {
  const file = join(t.testdir(), 'ledger.db')
  return {
    file,
    open: () => {
      const store = openStore(`sqlite:${file}`, { clock: new FakeClock() })
      t.teardown(() => store.close())
      return store
    },
  }
}

function run(file: string, statements: readonly string[]): void {
  const db = new DatabaseSync(file)
  for (const statement of statements) db.exec(statement)
  db.close()
}

for (const { title, statements, sequence, needsReceipt } of TAMPERINGS)
  t.test(`a check finds that ${title}`, async (t) => {
    const { file, open } = fileStore(t)
    const store = open()
    await store.auditLog.add(['a', 'b', 'c', 'd', 'e', 'f'].map(entry))
    const { receipt } = await verifyAuditLog(store.auditLog)
    store.close()
    run(file, statements)
    const { auditLog } = open()
    t.match((await verifyAuditLog(auditLog, { receipt })).problem, { sequence })
    const without = (await verifyAuditLog(auditLog)).problem
    if (needsReceipt) t.equal(without, undefined, 'which only a receipt can show')
    else t.match(without, { sequence })
  })

signedLog(t, async (t) => {
  const file = join(t.testdir(), 'signed.db')
  let close = (): void => {}
  t.teardown(() => close())
  return {
    open: async (auditKeys) => {
      close()
      const store = openStore(`sqlite:${file}`, { clock: new FakeClock(), auditKeys })
      close = () => store.close()
      return store.auditLog
    },
    run: (statements) => {
      close()
      close = () => {}
      run(file, statements)
    },
  }
})

auditReadersContract(
  t,
  async (t) => {
    const file = join(t.testdir(), 'read.db')
    const db = openDatabase(file, 'process')
    t.teardown(() => db.close())
    const log = new SqliteAuditLog(db, { clock: new FakeClock() })
    const run = (statements: readonly string[]): void => {
      for (const statement of statements) db.exec(statement)
    }
    return { log, readers: new SqliteAuditReaders(db, log), run }
  },
  false,
)

t.test('a check finds that entries which retention has removed were put in again', async (t) => {
  const { file, open } = fileStore(t)
  const store = open()
  await store.auditLog.add(['a', 'b', 'c', 'd'].map(entry))
  store.close()
  run(file, ['create table kept as select * from audit_entry where sequence <= 2'])
  const pruning = open()
  t.equal(await pruning.auditLog.prune(Number.MAX_SAFE_INTEGER, 2), 2)
  pruning.close()
  run(file, ['insert into audit_entry select * from kept'])
  t.match((await verifyAuditLog(open().auditLog)).problem, { sequence: 1 })
})

/** Adds an entry that follows the last one as the gateway would write it, and leaves the stated end as it is. */
function forge(file: string, more: JsonObject = {}): void {
  const db = new DatabaseSync(file)
  const last = db.prepare('select * from audit_entry order by sequence desc limit 1').get()
  const sequence = Number(last?.sequence) + 1
  const written = { ...(JSON.parse(String(last?.entry)) as JsonObject), sequence, previous: String(last?.hash), ...more }
  const text = canonicalJson(written)
  db.prepare('insert into audit_entry values (?, ?, ?, ?, ?, ?, ?)').run(
    ...[sequence, Number(last?.at), String(last?.actor), String(more.action ?? last?.action), String(last?.subject)],
    ...[text, hash('sha256', text)],
  )
  db.close()
}

t.test('a check finds an entry that was put in behind the end, also one that claims a retention', async (t) => {
  for (const prunes of [false, true]) {
    const { file, open } = fileStore(t)
    const store = open()
    await store.auditLog.add(['a', 'b', 'c', 'd'].map(entry))
    const third = (await store.auditLog.page({ after: 2, limit: 1 }))[0]
    store.close()
    forge(file, prunes ? { action: 'audit_log.pruned', after: { sequence: 3, hash: third?.hash ?? '', count: 3 } } : {})
    if (prunes) run(file, ['delete from audit_entry where sequence <= 3'])
    const { auditLog } = open()
    t.match((await verifyAuditLog(auditLog)).problem, { sequence: 5, text: /put in/ })
  }
})

t.test('a second row that states the end is no end: the log is neither checked nor written', async (t) => {
  const { file, open } = fileStore(t)
  const store = open()
  await store.auditLog.add(['a', 'b', 'c', 'd'].map(entry))
  store.close()
  run(file, [
    'insert into audit_head select sequence, hash from audit_entry where sequence = 2',
    'delete from audit_entry where sequence > 2',
  ])
  const { auditLog } = open()
  const unavailable = { code: 'unavailable', message: /audit_head has several rows/ }
  await t.rejects(async () => verifyAuditLog(auditLog), unavailable)
  t.throws(() => auditLog.add([entry('e')]), unavailable)
})

t.test('an entry that cannot be written refuses its change', async (t) => {
  const { file, open } = fileStore(t)
  const store = open()
  await store.keys.put(apiKey('a'), ALICE)
  store.close()
  run(file, ['delete from audit_head'])
  const { keys, guardrails, compactionKeys, journal, auditLog } = open()
  const unavailable = { code: 'unavailable' }
  t.throws(() => keys.put(apiKey('b'), ALICE), unavailable)
  t.throws(() => keys.change('a'.repeat(64), (key) => ({ ...key, limit: 1 }), ALICE), unavailable)
  t.throws(() => keys.remove('a'.repeat(64), ALICE), unavailable)
  t.throws(() => guardrails.put({ id: 'g', version: 1, name: 'g', fields: {}, createdAt: 1, updatedAt: null }, 0, ALICE), unavailable)
  t.throws(() => compactionKeys.add(1, 'v', ALICE), unavailable)
  const charge = {
    id: 'e',
    at: 1,
    key: 'k',
    model: '',
    provider: '',
    kind: 'correction',
    amount: 5,
    countedAt: 1,
    actor: 'x',
    reason: 'y',
  } as const
  t.throws(() => journal.entries.add(charge, ALICE))
  t.match(await keys.list(), [{ hash: 'a'.repeat(64), limit: null }])
  t.same((await guardrails.all()).guardrails, [])
  t.same(await journal.entries.page({ after: 0, limit: 9 }), [])
  await t.rejects(async () => verifyAuditLog(auditLog), unavailable)
})

t.test('100,000 entries are read in pages, and a store in memory keeps the last ones', async (t) => {
  const store = openStore('memory:', { clock: new FakeClock() })
  t.teardown(() => store.close())
  const { open } = fileStore(t)
  const large = open()
  for (let round = 0; round < 100; round++) {
    const entries = Array.from({ length: 1_000 }, (_, index) => entry(`${round}.${index}`))
    await large.auditLog.add(entries)
    await store.auditLog.add(entries)
  }
  const sizes: number[] = []
  const log = {
    head: () => large.auditLog.head(),
    page: async (query: Parameters<typeof large.auditLog.page>[0]) => {
      const rows = await large.auditLog.page(query)
      sizes.push(rows.length)
      return rows
    },
  }
  t.match(await verifyAuditLog(log), { count: 100_000, problem: undefined })
  t.ok(Math.max(...sizes) <= 1_000, 'no statement reads more')
  const kept = await verifyAuditLog(store.auditLog)
  t.equal(kept.problem, undefined)
  t.ok(kept.count < 12_000, 'no more than 12,000 in memory')
})
