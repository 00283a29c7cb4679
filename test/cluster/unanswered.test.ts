/** Calls of the record whose answers are lost or stay out: a limit that is not reached is never said to be. */
import t from 'tap'
import { joinRecord } from '../../src/cluster/index.ts'
import { type ClusterReport, OutageReport, unreachable } from '../../src/cluster/record-calls.ts'
import { Fault } from '../../src/core/faults.ts'
import { holdRow, settleRow } from '../store/samples.ts'
import { FakeClock, turn } from '../support/clock.ts'
import { holds, seeks } from '../support/holding.ts'
import { MemoryJournal } from '../support/memory/journal.ts'
import { ScriptedRecord } from './scripted-record.ts'

const LIMIT = { limit: 1000 }

async function rig() {
  const clock = new FakeClock()
  const record = new ScriptedRecord(clock)
  const joined = joinRecord({ record, journal: new MemoryJournal(), clock, node: 'n', label: 'n', report: () => {} })
  await joined.ready
  const account = joined.credit.account('k')
  const leased = async (): Promise<number> => (await record.inner.balances(['k']))[0].leased
  /** A request that fits, or does not; time goes on for whoever waits. */
  const seek = async (amount: number): Promise<boolean | string> => {
    const sought = Promise.resolve(seeks(account, amount, LIMIT)).catch((thrown: { code: string }) => thrown.code)
    for (let step = 0; step < 30; step++) await clock.advance(100)
    return (await sought) ?? false
  }
  return { clock, record, joined, account, leased, seek }
}

t.test('a grant whose answer is lost is no reason for a refusal', async (t) => {
  const { clock, record, joined, account, leased, seek } = await rig()
  record.mode('lose', 'lease')
  t.equal(await seek(400), 'unavailable')
  record.mode('pass', 'lease')
  t.equal(await leased(), 400, 'nobody here knows of it')
  t.equal(await seek(600), true, 'what is left is there for all')
  t.equal(await seek(100), false, 'the rest is not in question while an open request may need its hold')
  account.release(600)

  record.mode('lose', 'lease')
  t.equal(await seek(900), 'unavailable')
  record.mode('pass', 'lease')
  t.equal(await seek(1000), 'unavailable', 'what the last ask has done is not known yet')
  await clock.advance(5000)
  t.equal(await seek(1001), false, 'more than the limit')
  t.equal(await seek(1000), true, 'the whole limit')
  t.equal(await leased(), 1000)
  account.release(1000)
  await joined.close()
})

t.test('a charge that is not handed in yet keeps its part of the lease', async (t) => {
  const { clock, record, joined, account, leased, seek } = await rig()
  record.mode('lose', 'lease')
  t.equal(await seek(400), 'unavailable')
  record.mode('pass', 'lease')
  t.equal(await seek(500), true)
  await clock.advance(5000)
  record.mode('refuse', 'take')
  joined.journal.hold(holdRow(1, { key: 'k', hold: 500 }))
  account.settle(500, 300, clock.now())
  joined.journal.settle(settleRow(1, 300, { at: clock.now() }))
  await joined.journal.committed()
  t.equal(await seek(700), false, 'the wait ends')
  t.equal(await leased(), 900, 'and nothing of it was given back that the charge will need')
  record.mode('pass', 'take')
  await clock.advance(10_000)
  t.equal(await seek(701), false)
  t.equal(await seek(700), true, 'to the last of it')
  account.release(700)
  await joined.close()
})

t.test('reading balances takes two seconds at most, also while rows are forwarded', async (t) => {
  const { clock, record, joined, account } = await rig()
  record.mode('hang', 'take')
  t.equal(holds(account, 0, { limit: null }), true)
  joined.journal.hold(holdRow(1, { key: 'k' }))
  account.settle(0, 30, clock.now())
  joined.journal.settle(settleRow(1, 30, { at: clock.now() }))
  await joined.journal.committed()
  await clock.advance(250)
  t.equal(record.count('take'), 1, 'on its way')
  let fate = 'waits'
  joined.credit.refresh?.(['k']).catch((thrown: { code: string }) => {
    fate = thrown.code
  })
  await clock.advance(1999)
  t.equal(fate, 'waits')
  await clock.advance(1)
  t.equal(fate, 'unavailable')
  record.mode('pass', 'take')
  await turn()
  await clock.advance(1000)
  await joined.credit.refresh?.(['k'])
  t.equal(account.settled, 30n)
  await joined.close()
})

t.test('what the record answers in an outage is reported whatever has begun it, and once', async (t) => {
  const reports: ClusterReport[] = []
  const outage = new OutageReport('pulse', (item) => reports.push(item))
  for (const why of ['no answer within 2000 ms', 'ECONNREFUSED']) outage.failed(unreachable(new Error(why)))
  for (const cause of [new Fault('unavailable', { message: 'was migrated beyond this program' }), unreachable(new Error('ECONNRESET'))])
    for (let time = 0; time < 3; time++) outage.failed(cause)
  outage.went()
  outage.failed(unreachable(new Error('ECONNREFUSED')))
  t.same(
    reports.map((item) => ('reason' in item ? item.reason : item.kind)),
    ['no answer within 2000 ms', 'was migrated beyond this program', 'record-back', 'ECONNREFUSED'],
  )
})
