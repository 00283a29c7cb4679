/** A process that hears nothing of the record for longer than its lease is safe spends none of it. */
import t from 'tap'
import { joinRecord } from '../../src/cluster/index.ts'
import { fixedAsk } from '../../src/ledger/credit.ts'
import { FakeClock } from '../support/clock.ts'
import { holds, seeks } from '../support/holding.ts'
import { MemoryJournal } from '../support/memory/journal.ts'
import { memoryRecord, ScriptedRecord } from './scripted-record.ts'

const GRACE = 60_000
const LIMIT = { limit: 1000 }

t.test('a lease lapses in silence and is taken anew afterwards', async (t) => {
  const clock = new FakeClock()
  const record = new ScriptedRecord(clock)
  const joined = joinRecord({ record, journal: new MemoryJournal(), clock, node: 'n', label: 'n', lostGrace: GRACE, report: () => {} })
  await joined.ready
  const account = joined.credit.account('k')
  t.equal(await seeks(account, 100, LIMIT), true)
  account.release(100)
  const leased = record.count('lease')
  t.ok(holds(account, 100, LIMIT), 'the lease is in hand')
  account.release(100)

  record.mode('refuse', 'pulse')
  const silent = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 250) await clock.advance(250)
  }
  await silent(GRACE / 2)
  t.ok(holds(account, 100, LIMIT), 'a shorter silence changes nothing')
  account.release(100)
  await silent(GRACE / 2)
  t.notOk(holds(account, 1, LIMIT), 'others may have it by now')
  await t.rejects(
    async () => {
      await seeks(account, 1, LIMIT)
    },
    { code: 'unavailable' },
  )
  t.equal(record.count('lease'), leased)

  record.mode('pass', 'pulse')
  await silent(1000)
  t.ok(record.count('endLeases') >= 2, 'what the record still knew of is given back')
  t.equal(await seeks(account, 1000, LIMIT), true, 'the whole limit can be leased again')
  account.release(1000)
  await joined.close()
})

t.test('a lease lapses at once where the wall clock says that the machine was suspended', async (t) => {
  const clock = new FakeClock()
  let suspended = 0
  const wrong = {
    now: () => clock.now() + suspended,
    monotonic: () => clock.monotonic(),
    random: () => clock.random(),
    after: (ms: number, fn: () => void) => clock.after(ms, fn),
  }
  const record = new ScriptedRecord(clock)
  const joined = joinRecord({
    record,
    journal: new MemoryJournal(),
    clock: wrong,
    node: 'n',
    label: 'n',
    lostGrace: GRACE,
    report: () => {},
  })
  await joined.ready
  const account = joined.credit.account('k')
  t.equal(await seeks(account, 100, LIMIT), true)
  account.release(100)
  t.ok(holds(account, 50, LIMIT), 'the lease is in hand')
  suspended = GRACE
  t.notOk(holds(account, 1, LIMIT), 'before any pulse')
  t.equal(await account.cover(1, [LIMIT]), 0, 'nor is usage beyond a hold covered from it')
  const ended = record.count('endLeases')
  await clock.advance(1000)
  t.equal(record.count('endLeases'), ended + 1)
  account.release(50)
  t.equal(await seeks(account, 1000, LIMIT), true, 'leased anew')
  account.release(1000)
  await joined.close()
})

t.test('a process whose leases were set free without its knowing spends none of them after the next pulse', async (t) => {
  const clock = new FakeClock()
  const inner = memoryRecord(clock)
  const record = new ScriptedRecord(clock, inner)
  const joined = joinRecord({ record, journal: new MemoryJournal(), clock, node: 'n', label: 'n', lostGrace: GRACE, report: () => {} })
  await joined.ready
  const account = joined.credit.account('k')
  t.equal(await seeks(account, 100, LIMIT), true)
  account.release(100)
  t.ok(holds(account, 100, LIMIT), 'the lease is in hand')
  account.release(100)
  record.mode('delay', 'lease')
  const late = seeks(account, 200, LIMIT).catch(() => false)
  await clock.advance(1)

  inner.nodeGone('n')
  const all = { key: 'k', ask: fixedAsk(1000), allowances: [LIMIT], idle: 0, more: 0, recallsFirst: false, turn: 1 }
  t.match(await inner.lease('other', all), { granted: 1000 }, 'others have all of it')
  await clock.advance(1000)
  t.notOk(holds(account, 1, LIMIT))
  t.equal(await late, false)
  await record.deliver()
  record.mode('pass', 'lease')
  t.notOk(holds(account, 1, LIMIT), 'nor is what was granted to an ask before that')

  await inner.endLeases('other')
  await clock.advance(6000)
  t.equal(await seeks(account, 1000, LIMIT), true, 'leased anew')
  account.release(1000)
  await joined.close()
})
