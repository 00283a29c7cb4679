/** Answers of the record that come in another order than that in which it did things: nothing is spent that is not leased. */
import t, { type Test } from 'tap'
import { joinRecord } from '../../src/cluster/index.ts'
import { LeasedCredit } from '../../src/cluster/leased-credit.ts'
import { Fault } from '../../src/core/faults.ts'
import { Credit } from '../../src/ledger/credit.ts'
import { LocalRecord } from '../../src/store/local-record.ts'
import type { LeaseAnswer, LeaseAsk, Pulse, PulseReply, SettledRows } from '../../src/store/record.ts'
import { ask as leaseAsk } from '../store/record-contract.ts'
import { holdRow, settleRow } from '../store/samples.ts'
import { FakeClock, turns } from '../support/clock.ts'
import { holds, seeks } from '../support/holding.ts'
import { MemoryGuardrails } from '../support/memory/guardrails.ts'
import { MemoryJournal } from '../support/memory/journal.ts'
import { MemoryKeys } from '../support/memory/keys.ts'
import { memoryStores } from '../support/memory/stores.ts'

const UNLIMITED = { limit: null }
const GRACE = 60_000

/** A record whose steps a test lets happen one by one. */
class SlowRecord extends LocalRecord {
  /** Place in which leases wait: before the record has done anything, or before its answer arrives. */
  slow: 'not' | 'before' | 'after' = 'not'
  silent = false
  endsWait = false
  readonly ends: (() => void)[] = []
  returnsWait = false
  readonly returns: (() => void)[] = []
  private readonly answers: (() => void)[] = []

  constructor(clock: FakeClock) {
    const journal = new MemoryJournal()
    super({
      journal,
      ledger: journal.ledger,
      keys: new MemoryKeys(clock),
      guardrails: new MemoryGuardrails(),
      ...memoryStores(),
      credit: new Credit(clock),
      clock,
    })
  }

  override async lease(node: string, ask: LeaseAsk): Promise<LeaseAnswer> {
    if (this.slow === 'before') await this.wait()
    const answer = await super.lease(node, ask)
    if (this.slow === 'after') await this.wait()
    return answer
  }

  override async endLeases(node: string): Promise<void> {
    if (this.endsWait) await new Promise<void>((resolve) => this.ends.push(resolve))
    await super.endLeases(node)
  }

  override async giveBack(...returned: Parameters<LocalRecord['giveBack']>): Promise<void> {
    if (this.returnsWait) await new Promise<void>((resolve) => this.returns.push(resolve))
    await super.giveBack(...returned)
  }

  override async pulse(pulse: Pulse): Promise<PulseReply> {
    if (this.silent) throw new Fault('unavailable')
    return super.pulse(pulse)
  }

  async go(): Promise<void> {
    this.slow = 'not'
    for (const answer of this.answers.splice(0)) answer()
    await settled()
  }

  async leased(): Promise<number> {
    const [balance] = await this.balances(['k'])
    return balance?.leased ?? 0
  }

  private wait(): Promise<void> {
    return new Promise((resolve) => this.answers.push(resolve))
  }
}

async function settled(): Promise<void> {
  await turns(10)
}

/** A key without a limit has charged 900, of which the record knows nothing yet. */
function spender(t: Test) {
  const clock = new FakeClock()
  const record = new SlowRecord(clock)
  const credit = new LeasedCredit({ node: 'n', record, clock, isRecordReachable: () => true, between: (read) => read() })
  credit.open()
  t.teardown(() => credit.close())
  const account = credit.account('k')
  const charge = (seq: number, cost: number): SettledRows => {
    const row = { hold: holdRow(seq, { key: 'k', hold: cost }), settled: settleRow(seq, cost, { at: clock.now() }) }
    account.settle(cost, cost)
    credit.noted(row)
    return row
  }
  const handIn = async (row: SettledRows): Promise<void> => {
    await record.take('n', [row])
    credit.taken([row])
  }
  holds(account, 900, UNLIMITED)
  const row = charge(1, 900)
  return { clock, record, credit, account, charge, row, handIn }
}

t.test('a grant that pays for earlier charges is not spent again where its answer comes after theirs', async (t) => {
  const { record, account, charge, row, handIn } = spender(t)
  record.slow = 'after'
  const held = seeks(account, 10, { limit: 1000 })
  await settled()
  t.equal(await record.leased(), 910)
  await handIn(row)
  t.equal(await record.leased(), 10, 'the charge has used up what was granted for it')
  await record.go()
  t.equal(await held, true)
  t.notOk(holds(account, 1, { limit: 1000 }), 'nothing else is leased')
  await handIn(charge(2, 10))
  t.equal(await seeks(account, 91, { limit: 1000 }), false)
  t.equal(await seeks(account, 90, { limit: 1000 }), true, 'and the rest of the limit can be had')
  account.release(90)
})

t.test('leases anew where charges were forwarded while its call was under way', async (t) => {
  const { record, account, row, handIn } = spender(t)
  record.slow = 'before'
  const held = seeks(account, 100, { limit: 1000 })
  await settled()
  await handIn(row)
  await record.go()
  t.equal(await held, true, '100 are left')
  t.equal(await record.leased(), 100)
  account.release(100)
})

t.test('returns credit that was granted for charges that had been forwarded before', async (t) => {
  const { clock, record, credit, account, row, handIn } = spender(t)
  record.slow = 'before'
  const held = seeks(account, 10, { limit: 5000 })
  await settled()
  await handIn(row)
  await record.go()
  t.equal(await held, true)
  t.equal(await record.leased(), 910)
  account.release(10)
  await clock.advance(30_000)
  credit.tidy()
  await settled()
  t.equal(await record.leased(), 0)
})

t.test('returns that credit also where the forwarding is confirmed last', async (t) => {
  const { clock, record, credit, account, row } = spender(t)
  await record.take('n', [row])
  t.equal(await seeks(account, 10, { limit: 5000 }), true)
  t.equal(await record.leased(), 910)
  credit.taken([row])
  account.release(10)
  await clock.advance(30_000)
  credit.tidy()
  await settled()
  t.equal(await record.leased(), 0)
})

t.test('after a silence the leases are ended once, however many pulses are answered meanwhile', async (t) => {
  const clock = new FakeClock()
  const record = new SlowRecord(clock)
  const joined = joinRecord({ record, journal: new MemoryJournal(), clock, node: 'n', label: 'n', lostGrace: GRACE, report: () => {} })
  await joined.ready
  const account = joined.credit.account('k')
  const silent = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 250) await clock.advance(250)
  }
  record.silent = true
  await silent(GRACE)
  record.silent = false
  record.endsWait = true
  await silent(2000)
  record.ends.shift()?.()
  await settled()
  t.equal(await seeks(account, 600, { limit: 1000 }), true)
  for (const end of record.ends.splice(0)) end()
  await settled()
  t.equal(await record.leased(), 600, 'what is held here is leased there')
  account.release(600)
  record.endsWait = false
  await joined.close()
})

t.test('what a process gives back at its end and comes late takes nothing from its next life', async (t) => {
  const clock = new FakeClock()
  const record = new SlowRecord(clock)
  const join = () => joinRecord({ record, journal: new MemoryJournal(), clock, node: 'n', label: 'n', report: () => {} })
  const first = join()
  await first.ready
  t.equal(await seeks(first.credit.account('k'), 300, { limit: 1000 }), true)
  first.credit.account('k').release(300)
  record.returnsWait = true
  const closing = first.close()
  await settled()
  await clock.advance(2_000)
  await closing
  record.returnsWait = false
  const second = join()
  await second.ready
  t.equal(await seeks(second.credit.account('k'), 600, { limit: 1000 }), true)
  t.equal(record.returns.length, 1)
  for (const come of record.returns.splice(0)) come()
  await settled()
  t.equal(await record.leased(), 600)
  second.credit.account('k').release(600)
  await second.close()
  t.equal(await record.leased(), 0)
})

t.test('a silence before the start is over opens nothing', async (t) => {
  const clock = new FakeClock()
  const record = new SlowRecord(clock)
  await record.lease('n', leaseAsk('k', 500))
  record.silent = true
  record.endsWait = true
  const joined = joinRecord({ record, journal: new MemoryJournal(), clock, node: 'n', label: 'n', lostGrace: GRACE, report: () => {} })
  for (let passed = 0; passed < GRACE; passed += 250) await clock.advance(250)
  record.silent = false
  for (let passed = 0; passed < 1000; passed += 250) await clock.advance(250)
  t.equal(record.ends.length, 1, 'the start alone ends the leases of an earlier life')
  for (const end of record.ends.splice(0)) end()
  await joined.ready
  t.equal(await seeks(joined.credit.account('k'), 1000, { limit: 1000 }), true)
  joined.credit.account('k').release(1000)
  record.endsWait = false
  await joined.close()
})
