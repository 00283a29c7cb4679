/** The audit log in PostgreSQL: one chain of several processes, and what a check finds that was changed behind the gateway's back. */
import t, { type Test } from 'tap'
import { verifyAuditLog } from '../../src/store/audit-verify.ts'
import { openPostgres, type PostgresRecord } from '../../src/store/postgres/record.ts'
import { TAMPERINGS } from '../support/audit-tampering.ts'
import { FakeClock } from '../support/clock.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { auditReadersContract } from './audit-readers.ts'
import { ALICE } from './record-audit-contract.ts'
import { apiKey } from './samples.ts'
import { signedLog } from './signed-audit-log.ts'

const server = await startPostgres(t)
if (server) suite(server)
else t.plan(0, 'PostgreSQL is not installed')

async function opened(t: Test, url: string, clock = new FakeClock()): Promise<PostgresRecord> {
  const record = await openPostgres(url, { clock })
  t.teardown(() => record.close())
  return record
}

const entry = (subject: string) => ({ ...ALICE, action: 'key.changed' as const, subject, before: null, after: { name: subject } })

function suite(server: TestPostgres): void {
  signedLog(t, async (t) => {
    const url = await server.database()
    return {
      open: async (auditKeys) => {
        const record = await openPostgres(url, { clock: new FakeClock(), auditKeys })
        t.teardown(() => record.close())
        return record.auditLog
      },
      run: async (statements) => {
        for (const statement of statements) await server.query(url, statement)
      },
    }
  })

  auditReadersContract(
    t,
    async (t) => {
      const url = await server.database()
      const { auditLog: log, auditReaders: readers } = await opened(t, url)
      const run = async (statements: readonly string[]): Promise<void> => {
        for (const statement of statements) await server.query(url, statement)
      }
      return { log, readers, run }
    },
    true,
  )

  t.test('a check finds each way to change the log', async (t) => {
    for (const { title, statements, sequence, needsReceipt } of TAMPERINGS) {
      const url = await server.database()
      const { auditLog } = await opened(t, url)
      await auditLog.add(['a', 'b', 'c', 'd', 'e', 'f'].map(entry))
      const { receipt } = await verifyAuditLog(auditLog)
      for (const statement of statements) await server.query(url, statement)
      t.match((await verifyAuditLog(auditLog, { receipt })).problem, { sequence }, title)
      if (needsReceipt) t.equal((await verifyAuditLog(auditLog)).problem, undefined, 'which only a receipt can show')
    }
  })

  t.test('processes that write at once make one chain without a gap, also where their clocks differ', async (t) => {
    const url = await server.database()
    const ahead = new FakeClock()
    await ahead.advance(3_600_000)
    const records = [await opened(t, url), await opened(t, url, ahead), await opened(t, url)]
    const letters = ['a', 'b', 'c']
    await Promise.all(
      records.flatMap((record, process) =>
        Array.from({ length: 20 }, async (_, index) => {
          const letter = letters[process] ?? 'a'
          if (index % 2 === 0) await record.auditLog.add([entry(`${process}.${index}`)])
          else await record.keys.put({ ...apiKey(letter), limit: index }, ALICE)
        }),
      ),
    )
    const found = await verifyAuditLog((records[0] as PostgresRecord).auditLog)
    t.match(found, { count: 60, problem: undefined, receipt: { sequence: 60 } })
  })

  t.test('an entry that cannot be written refuses its change, and the change that fails leaves no entry', async (t) => {
    const url = await server.database()
    const record = await opened(t, url)
    const { keys, guardrails, compactionKeys, events, ledger, auditLog } = record
    await keys.put(apiKey('a'), ALICE)
    const failing = keys.change(
      'a'.repeat(64),
      () => {
        throw new Error('not so')
      },
      ALICE,
    )
    await t.rejects(failing, /not so/)
    t.equal((await auditLog.head()).sequence, 1)
    await server.query(url, 'delete from audit_head')
    const unavailable = { code: 'unavailable' }
    await t.rejects(keys.put(apiKey('b'), ALICE), unavailable)
    await t.rejects(keys.remove('a'.repeat(64), ALICE), unavailable)
    await t.rejects(guardrails.put({ id: 'g', version: 1, name: 'g', fields: {}, createdAt: 1, updatedAt: null }, 0, ALICE), unavailable)
    await t.rejects(compactionKeys.add(1, 'v', ALICE), unavailable)
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
    await t.rejects(Promise.resolve(ledger.entries.add(charge, ALICE)), unavailable)
    t.equal((await keys.list()).length, 1)
    t.same((await guardrails.all()).guardrails, [])
    t.same(await ledger.entries.page({ after: 0, limit: 9 }), [])
    t.equal(await events.last(), 1, 'nor its event')
  })
}
