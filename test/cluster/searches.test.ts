/** The search reads slices of the store, never the whole ledger, also through what is wrapped around the store. */
import { join } from 'node:path'
import t from 'tap'
import { openBookkeeping } from '../../src/cluster/bookkeeping.ts'
import { NO_AUDIT_KEYS } from '../../src/core/audit-keys.ts'
import { LedgerScans } from '../../src/ledger/scans.ts'
import { holdRow, settleRow } from '../store/samples.ts'
import { FakeClock } from '../support/clock.ts'

t.test('a search over a file reads no generation but those of its slices', async (t) => {
  const clock = new FakeClock()
  const url = `sqlite:${join(t.testdir(), 'ledger.db')}`
  const bookkeeping = await openBookkeeping({
    url,
    journal: '',
    lostGrace: 0,
    auditKeys: NO_AUDIT_KEYS,
    clock,
    durability: 'process',
    report: () => {},
  })
  t.teardown(() => bookkeeping.close())
  const { journal, ledger } = bookkeeping
  for (const seq of [4096, 8192]) {
    journal.hold(holdRow(seq))
    journal.settle(settleRow(seq, 5))
  }
  await journal.committed()
  const whole = (): never => {
    throw new Error('the whole ledger is read')
  }
  const found = await new LedgerScans({ ...ledger, export: whole }, clock).search({ from: 0, until: 10, limit: 1 }, '')
  t.same(
    found.rows.map(({ hold }) => hold.seq),
    [8192],
  )
})
