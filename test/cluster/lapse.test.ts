/** A process that hears nothing of the record for longer than its lease is safe spends none of it. */
import t from 'tap'
import { joinRecord } from '../../src/cluster/index.ts'
import { MemoryJournal } from '../../src/store/memory.ts'
import { FakeClock } from '../support/clock.ts'
import { holds, seeks } from '../support/holding.ts'
import { ScriptedRecord } from './scripted-record.ts'

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
