/** Credit leased from a record that is slow, full, shared or gone. */
import t, { type Test } from 'tap'
import { LeasedCredit } from '../../src/cluster/leased-credit.ts'
import { Fault } from '../../src/core/faults.ts'
import type { LeaseAsk, SettledRows } from '../../src/store/record.ts'
import { holdRow, settleRow } from '../store/samples.ts'
import { FakeClock, turn } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { holds, left, seeks } from '../support/holding.ts'
import { ScriptedRecord } from './scripted-record.ts'

const LIMIT = { limit: 1000 }
const MIDNIGHT = Date.UTC(2026, 0, 6)

/** A process as far as its credit goes; rows are handed in when the test says so. */
class Process {
  readonly credit: LeasedCredit
  readonly node: string
  private readonly record: ScriptedRecord
  private readonly clock: FakeClock
  private readonly waiting: SettledRows[] = []
  private static seq = 0

  constructor(node: string, record: ScriptedRecord, clock: FakeClock) {
    this.node = node
    this.record = record
    this.clock = clock
    this.credit = new LeasedCredit({ node, record, clock, isRecordReachable: () => true, between: (read) => read() })
    this.credit.open()
  }

  account(key = 'k') {
    return this.credit.account(key)
  }

  /** As the account layer does it: the charge, and its row in the journal. */
  settle(held: number, cost: number, key = 'k'): number {
    const seq = ++Process.seq
    const row = { hold: holdRow(seq, { key, hold: held }), settled: settleRow(seq, cost, { at: this.clock.now() }) }
    const excess = this.account(key).settle(held, cost)
    this.credit.noted(row)
    this.waiting.push(row)
    return excess
  }

  async handIn(most = Number.POSITIVE_INFINITY): Promise<void> {
    const rows = this.waiting.splice(0, most)
    await this.record.take(this.node, rows)
    this.credit.taken(rows)
  }

  /** Does what a pulse asks for. */
  async pulse(): Promise<void> {
    const reply = await this.record.pulse({ node: this.node, label: this.node, expiry: 10_000, cursor: undefined })
    for (const key of reply.wanted) await this.credit.giveBackIdle(key)
  }
}

function rig(nodes = 1): { clock: FakeClock; record: ScriptedRecord; processes: Process[]; one: Process; two: Process } {
  const clock = new FakeClock()
  const record = new ScriptedRecord(clock)
  const processes = Array.from({ length: Math.max(2, nodes) }, (_, index) => new Process(`n${index + 1}`, record, clock))
  const [one, two] = processes
  return { clock, record, processes, one, two }
}

/** States of promises: their values, 'waits', or the code of their fault. */
function fates(promises: readonly Promise<boolean>[]): (boolean | string)[] {
  const found: (boolean | string)[] = promises.map(() => 'waits')
  promises.forEach((promise, index) => {
    promise.then(
      (value) => {
        found[index] = value
      },
      (thrown: unknown) => {
        found[index] = thrown instanceof Fault ? `${thrown.status} ${thrown.code}` : String(thrown)
      },
    )
  })
  return found
}

async function leased(record: ScriptedRecord, key = 'k'): Promise<{ spent: number; leased: number }> {
  const [found] = await record.inner.balances([key])
  return { spent: Number(found.spent), leased: found.leased }
}

t.test('holds are taken from the lease in hand; the record is asked where it is too small', async (t) => {
  const { record, one } = rig()
  const account = one.account()
  t.equal(holds(account, 100, LIMIT), false, 'nothing in hand')
  t.equal(record.count('lease'), 0, 'and nobody asked')
  t.equal(await seeks(account, 100, LIMIT), true)
  t.match(record.of('lease'), [[{ key: 'k', ask: { full: 100, floor: 100 }, allowances: [{ limit: 1000 }], idle: 0, more: 0 }]])
  t.equal(account.held, 100)
  t.equal(holds(account, 1, LIMIT), false, 'all of it is held')
  t.equal(one.settle(100, 30), 0)
  t.equal(holds(account, 70, LIMIT), true, 'what was not spent is free again')
  t.equal(holds(account, 1, LIMIT), false)
  account.release(70)
  t.equal(holds(account, 40, LIMIT), true)
  t.equal(holds(account, 30, LIMIT), true)
  t.equal(holds(account, 0, LIMIT), true, 'nothing fits into nothing')
  const needed = record.of('lease').filter(([ask]) => (ask as LeaseAsk).ask.full > 0)
  t.equal(needed.length, 1, 'all from one lease')
  account.release(70)
  await turn()
  await one.credit.giveBackIdle({ key: 'k' })
  await one.handIn()
  t.same(await leased(record), { spent: 30, leased: 0 })
  t.equal(await seeks(account, 971, LIMIT), false, 'more than there is')
  t.equal(left(account, LIMIT), 970, 'what the record says is left')
  t.equal(await seeks(account, 970, LIMIT), true, 'exactly what is left')
  t.equal(await seeks(account, 1, LIMIT), false)
})

t.test('keys without a limit need no lease', async (t) => {
  const { record, one } = rig()
  const account = one.account()
  t.equal(holds(account, 5000, { limit: null }), true)
  t.equal(await seeks(account, 5000, { limit: null }), true)
  t.equal(one.settle(5000, 4000), 0)
  t.equal(record.calls.length, 0)
  t.equal(left(account, { limit: null }), null)
  // The limit comes while one request is open and one is not handed in.
  t.equal(await seeks(account, 1, { limit: 9000 }), false)
  t.equal(await seeks(account, 1, { limit: 9001 }), true)
  const [, [ask]] = record.of('lease')
  t.match(ask, { ask: { full: 1 }, idle: -9000 }, 'the open hold of 5000 and the 4000 that the record has not seen count as well')
  await one.handIn()
  t.same(await leased(record), { spent: 4000, leased: 5001 })

  // Of two charges under no limit only one is handed in when a limit comes.
  const other = one.account('other')
  t.equal(holds(other, 50, { limit: null }), true)
  one.settle(20, 20, 'other')
  one.settle(30, 30, 'other')
  await one.handIn(1)
  t.equal(await seeks(other, 51, { limit: 100 }), false, '20 are spent, 30 will be')
  t.equal(await seeks(other, 50, { limit: 100 }), true)
  await one.handIn()
  t.same(await leased(record, 'other'), { spent: 50, leased: 50 })
})

t.test('broken amounts are refused and change nothing', async (t) => {
  const { one } = rig()
  const account = one.account()
  t.equal(await seeks(account, 10, LIMIT), true)
  await every(t, 'every bad', async (t) => {
    for (const bad of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      t.throws(() => holds(account, bad, LIMIT), RangeError)
      t.throws(() => account.settle(5, bad), RangeError)
      t.throws(() => account.release(bad), RangeError)
      await t.rejects(seeks(account, bad, LIMIT), RangeError)
    }
  })
  t.throws(() => account.settle(11, 1), RangeError, 'more than was held')
  t.equal(account.held, 10)
})

t.test('who waits is served in the order of coming, with one ask for all', async (t) => {
  const { record, one } = rig()
  const account = one.account()
  record.mode('hang', 'lease')
  const found = fates([seeks(account, 100, LIMIT), seeks(account, 50, LIMIT), seeks(account, 20, LIMIT)])
  await turn()
  t.equal(record.count('lease'), 1)
  t.same(found, ['waits', 'waits', 'waits'])
  t.equal(holds(account, 1, LIMIT), false, 'nobody passes those who wait')
  record.mode('pass', 'lease')
  await turn()
  t.same(found, [true, true, true])
  const asks = record.of('lease').map(([ask]) => ask)
  t.match(asks[0], { ask: { full: 100 }, more: 0 }, 'the others came after it had left')
  t.match(asks[1], { ask: { full: 50 }, idle: 0, more: 20 }, 'for both')
  t.equal(asks.length, 2)
  t.equal(account.held, 170)
})

t.test('what a request gives back serves those who wait at once', async (t) => {
  const { record, one } = rig()
  const account = one.account()
  t.equal(await seeks(account, 60, LIMIT), true)
  record.mode('hang', 'lease')
  const found = fates([seeks(account, 50, LIMIT), seeks(account, 10, LIMIT), seeks(account, 5, LIMIT)])
  await turn()
  account.release(60)
  await turn()
  t.same(found, [true, true, 'waits'], 'exactly 60')
  t.equal(account.held, 60)
  record.mode('pass', 'lease')
  await turn()
  t.same(found, [true, true, true])
})

t.test('a refusal refuses those who cannot fit, and goes on with those who can', async (t) => {
  const { record, one } = rig()
  const account = one.account()
  t.equal(await seeks(account, 900, LIMIT), true)
  const found = fates([
    seeks(account, 101, LIMIT),
    seeks(account, 60, LIMIT),
    seeks(account, 500, LIMIT),
    seeks(account, 40, LIMIT),
    seeks(account, 1, LIMIT),
  ])
  await turn()
  t.same(found, [false, true, false, true, false])
  t.same(await leased(record), { spent: 0, leased: 1000 })
  t.equal(account.held, 1000)
  t.equal(left(account, LIMIT), 0)
})

t.test('a record that does not answer is a fault for all who wait, and never a free pass', async (t) => {
  const { clock, record, one } = rig()
  const account = one.account()
  record.mode('refuse', 'lease')
  const refused = [seeks(account, 10, LIMIT), seeks(account, 20, LIMIT)]
  const faults = await Promise.allSettled(refused)
  t.match(faults, [
    { status: 'rejected', reason: { code: 'unavailable', status: 503, retryAfter: 1 } },
    { status: 'rejected', reason: { code: 'unavailable' } },
  ])
  t.not(faults[0].status === 'rejected' && faults[0].reason, faults[1].status === 'rejected' && faults[1].reason, 'each its own')
  t.equal(account.held, 0)

  record.mode('pass', 'lease')
  t.equal(await seeks(account, 30, LIMIT), true)
  record.mode('refuse', 'lease')
  account.release(30)
  t.equal(holds(account, 30, LIMIT), true, 'what is leased may still be spent')
  await t.rejects(seeks(account, 1, LIMIT), { code: 'unavailable' })

  record.mode('hang', 'lease')
  const found = fates([seeks(account, 50, LIMIT)])
  await clock.advance(1999)
  t.same(found, ['waits'])
  await clock.advance(1)
  t.same(found, ['503 unavailable'], 'nobody waits for ever')
  record.mode('pass', 'lease')
  await turn()
  t.equal(holds(account, 50, LIMIT), true, 'an answer that came late is leased all the same')
  t.same(await leased(record), { spent: 0, leased: 110 }, 'with as much again as was held')
})

t.test('requests that come before the first of them has cost anything double their lease', async (t) => {
  const { record, one } = rig()
  const account = one.account()
  for (let index = 0; index < 40; index++) await seeks(account, 10, { limit: 100_000 })
  t.equal(account.held, 400)
  t.equal(record.count('lease'), 6, 'one call each for request 1, 2, 4, 8, 16 and 32')
  t.match(await leased(record), { leased: 630 })
  const last = one.account('poor')
  for (let index = 0; index < 8; index++) t.equal(await seeks(last, 10, { limit: 80 }), true, 'near the limit no more than is needed')
  t.equal(await seeks(last, 1, { limit: 80 }), false)
})

t.test('others give back what lies idle, and who waits gets it', async (t) => {
  const { clock, record, one, two } = rig()
  for (const each of [one, two]) await each.pulse()
  t.equal(await seeks(one.account(), 900, LIMIT), true)
  t.equal(one.settle(900, 100), 0)
  const found = fates([seeks(two.account(), 400, LIMIT)])
  await turn()
  await clock.advance(99)
  t.same(found, ['waits'])
  t.equal(record.count('lease'), 2)
  await clock.advance(2)
  t.equal(record.count('lease'), 3, 'asked again')
  await one.pulse()
  t.same(record.of('giveBack'), [['k', 800]])
  t.same(found, ['waits'])
  await clock.advance(100)
  t.same(found, [true])
  t.same(await leased(record), { spent: 0, leased: 500 })
  t.equal(holds(one.account(), 1, LIMIT), false, 'the first one has it no more')
  await one.handIn()
  t.same(await leased(record), { spent: 100, leased: 400 })
})

t.test('waiting for others has an end', async (t) => {
  const { clock, record, one, two } = rig()
  for (const each of [one, two]) await each.pulse()
  t.equal(await seeks(one.account(), 1000, LIMIT), true)
  const never = fates([seeks(two.account(), 1, LIMIT)])
  await clock.advance(1900)
  t.same(never, ['waits'], 'the other process does not answer')
  await clock.advance(200)
  t.same(never, [false])
  const told = fates([seeks(two.account(), 1, LIMIT)])
  await clock.advance(100)
  t.same(told, ['waits'])
  await one.pulse()
  await clock.advance(100)
  t.same(told, [false], 'nothing idle is an answer')
  t.same(record.of('giveBack'), [['k', 0]])
})

t.test('a lowered limit holds at once, whatever was leased under the old one', async (t) => {
  const { record, one } = rig()
  const account = one.account()
  t.equal(await seeks(account, 500, LIMIT), true)
  t.equal(one.settle(500, 100), 0)
  await one.handIn()
  t.equal(holds(account, 50, { limit: 140 }), false, 'though 400 lie idle')
  t.equal(await seeks(account, 50, { limit: 140 }), false)
  t.same(record.of('giveBack'), [['k', 400]], 'they go back first')
  t.equal(await seeks(account, 40, { limit: 140 }), true)
  t.equal(await seeks(account, 1, { limit: 140 }), false)
  t.same(await leased(record), { spent: 100, leased: 40 })
  t.equal(holds(account, 1, LIMIT), false)
  t.equal(await seeks(account, 60, LIMIT), true, 'a raised one as well')
  account.release(60)
  t.equal(holds(account, 10, { limit: 1000, limitReset: 'daily' }), false, 'another window is another limit')
  t.equal(await seeks(account, 10, { limit: 1000, limitReset: 'daily' }), true)

  record.mode('refuse', 'giveBack')
  account.release(10)
  await t.rejects(seeks(account, 5, { limit: 145 }), { code: 'unavailable' }, 'without the record there is no telling')
  t.equal(holds(account, 5, { limit: 145 }), false)
})

t.test('slices grow with spending and shrink towards the limit; a small rest is filled up beforehand', async (t) => {
  const { clock, record, one } = rig()
  const account = one.account()
  const allowance = { limit: 1_000_000 }
  await every(t, 'every round', async (t) => {
    for (let index = 0; index < 50; index++) {
      t.equal(await seeks(account, 100, allowance), true)
      one.settle(100, 100)
      await clock.advance(100)
    }
  })
  await one.handIn()
  const asks = record.count('lease')
  t.ok(asks < 15, `${asks} asks for 50 requests`)
  let faster = 0
  for (let index = 0; index < 50; index++) {
    if (holds(account, 100, allowance)) faster++
    else t.equal(await seeks(account, 100, allowance), true)
    one.settle(100, 100)
    await clock.advance(100)
  }
  t.equal(faster, 50, 'filled up before it was empty: no request waited')
  t.ok(record.count('lease') - asks < 15)
  const { leased: most } = await leased(record)
  t.ok(most <= 125_000 + 5000, 'never more than an eighth of the limit')
  t.ok(record.of('lease').some(([ask]) => (ask as LeaseAsk).ask.full === 0))

  record.mode('refuse', 'lease')
  const before = record.count('lease')
  for (let index = 0; index < 30; index++) {
    if (!holds(account, 100, allowance)) break
    one.settle(100, 100)
    await turn()
  }
  const tries = record.count('lease') - before
  t.equal(tries, 1, 'what is asked ahead in vain is asked again only after a while')
})

t.test('leases that nobody uses go back by themselves', async (t) => {
  const { clock, record, one } = rig()
  const account = one.account()
  t.equal(await seeks(account, 300, LIMIT), true)
  t.equal(await seeks(account, 100, LIMIT), true)
  account.release(300)
  t.equal(one.credit.size, 1)
  await clock.advance(29_000)
  one.credit.tidy()
  await clock.advance(11_000)
  one.credit.tidy()
  t.equal(record.count('giveBack'), 0, 'at one time all of it was needed')
  t.equal(holds(account, 20, LIMIT), true)
  account.release(20)
  await clock.advance(31_000)
  t.equal(holds(account, 10, LIMIT), true)
  account.release(10)
  one.credit.tidy()
  t.same(record.of('giveBack'), [['k', 355]], 'of 375 that lay idle no more than 20 were needed at any time')
  await clock.advance(31_000)
  one.credit.tidy()
  t.equal(record.count('giveBack'), 2)
  t.same(await leased(record), { spent: 0, leased: 100 }, 'what is held stays')
  account.release(100)
  await clock.advance(31_000)
  one.credit.tidy()
  t.same(await leased(record), { spent: 0, leased: 0 })
  t.equal(one.credit.size, 1, 'an exchange may still know the account')
  await clock.advance(3_600_000)
  one.credit.tidy()
  t.equal(one.credit.size, 0, 'forgotten')
})

t.test('an answer that was lost leaves credit leased; it comes back when the key is quiet', async (t) => {
  const { clock, record, one } = rig()
  const account = one.account()
  record.mode('lose', 'lease')
  await t.rejects(seeks(account, 300, LIMIT), { code: 'unavailable' })
  t.equal(holds(account, 1, LIMIT), false, 'not spent: it might not have been granted')
  t.same(await leased(record), { spent: 0, leased: 300 })
  record.mode('pass', 'lease')
  t.equal(await seeks(account, 700, LIMIT), true)
  one.settle(700, 200)
  await clock.advance(40_000)
  one.credit.tidy()
  await turn()
  t.same(record.of('giveBack'), [['k', 500]], 'while a charge waits only what is known')
  await one.handIn()
  t.same(await leased(record), { spent: 200, leased: 300 })
  await clock.advance(10_000)
  one.credit.tidy()
  await turn()
  t.same(await leased(record), { spent: 200, leased: 0 })
  t.same(record.of('giveBack').at(-1), ['k', 'all'])

  // An ask that hangs may yet bring a lease: then no more goes back than is known of.
  record.mode('lose', 'lease')
  await t.rejects(seeks(account, 10, LIMIT), { code: 'unavailable' })
  record.mode('hang', 'lease')
  const hanging = t.rejects(seeks(account, 10, LIMIT), { code: 'unavailable' })
  await clock.advance(2000)
  await hanging
  await one.credit.giveBackIdle({ key: 'k' })
  t.same(record.of('giveBack').at(-1), ['k', 0])
  record.mode('pass', 'lease')
  await turn()
  await one.credit.giveBackIdle({ key: 'k' })
  t.same(record.of('giveBack').at(-1), ['k', 'all'])
  t.same(await leased(record), { spent: 200, leased: 0 })

  // All goes back, and nobody knows whether it did: what is leased then it does not take along, whenever it comes.
  await every(t, 'every mode', async (t) => {
    for (const mode of ['lose', 'delay'] as const) {
      record.mode('lose', 'lease')
      record.mode(mode, 'giveBack')
      await t.rejects(seeks(account, 10, LIMIT), { code: 'unavailable' })
      await clock.advance(40_000)
      one.credit.tidy()
      await turn()
      record.mode('pass', 'lease', 'giveBack')
      t.equal(await seeks(account, 10, LIMIT), true, mode)
      const before = await leased(record)
      await record.deliver()
      t.same(await leased(record), before, 'what is held is leased')
      account.release(10)
      await clock.advance(40_000)
      one.credit.tidy()
      await turn()
      t.same(await leased(record), { spent: 200, leased: 0 }, 'and all of it comes back in the end')
    }
  })
})

t.test('a provider that went past its hold', async (t) => {
  const { clock, record, one } = rig()
  const account = one.account()
  t.equal(await seeks(account, 100, LIMIT), true)
  t.equal(one.settle(100, 250), 150, 'is told')
  t.equal(holds(account, 1, LIMIT), false)
  t.equal(await seeks(account, 300, LIMIT), true)
  t.match(record.of('lease').at(-1), [{ ask: { full: 300 }, idle: -150 }], 'what it took too much is asked for as well')
  await one.handIn()
  t.same(await leased(record), { spent: 250, leased: 300 })
  t.equal(one.settle(300, 900), 600)
  await one.handIn()
  t.same(await leased(record), { spent: 1150, leased: 0 })
  t.equal(await seeks(account, 1, LIMIT), false)
  t.equal(left(account, LIMIT), 0)
  await clock.advance(31_000)
  one.credit.tidy()
  await turn()
  t.same(record.of('giveBack'), [['k', 'all']], 'and its lease is settled with the record')
})

t.test('what is shown: the record as it was last read, and what was charged here since', async (t) => {
  const { clock, record, one, two } = rig()
  const account = one.account()
  t.equal(await seeks(account, 500, LIMIT), true)
  one.settle(500, 120)
  t.match([account.settled, account.usage()], [120, { daily: 120, weekly: 120, monthly: 120 }], 'before anything was read')
  await one.credit.refresh(['k', 'other'])
  t.equal(account.settled, 120n, 'not in the record yet')
  await one.handIn()
  t.equal(account.settled, 120n, 'in the record, but not read')
  await one.credit.refresh(['k'])
  t.equal(account.settled, 120n, 'read, and no longer one of those since')
  t.equal(left(account, LIMIT), 880)

  t.equal(await seeks(two.account(), 300, LIMIT), true)
  two.settle(300, 50)
  await two.handIn()
  t.equal(account.settled, 120n)
  await Promise.all([one.credit.refresh(['k']), one.credit.refreshSettled()])
  t.match([account.settled, account.counted(null), account.counted('daily'), one.credit.settled], [170n, 170n, 170n, 170n])
  holds(two.credit.account('other'), 1, { limit: null })
  two.settle(1, 7, 'other')
  t.equal(two.credit.settled, 57n, 'never read: only its own')
  await two.credit.refreshSettled()
  t.equal(two.credit.settled, 177n)
  const sums = record.count('spentByAll')
  await two.credit.refreshSettled()
  t.equal(record.count('spentByAll'), sums, 'kept for a second')
  await clock.advance(1000)
  await two.credit.refreshSettled()
  t.equal(record.count('spentByAll'), sums + 1)
  await two.handIn()
  t.equal(two.credit.settled, 177n)

  t.equal(holds(account, 100, { limit: null }), true)
  await clock.advance(MIDNIGHT - clock.now())
  t.match([account.settled, account.usage()], [170, { daily: 0, weekly: 170, monthly: 170 }], 'a new day')
  one.settle(100, 9)
  t.match([account.settled, account.counted('daily'), account.counted('weekly')], [179, 9, 179])
  await one.credit.refresh(['k'])
  t.match([account.settled, account.counted('daily'), account.counted('weekly')], [179, 9, 179])
  await one.handIn()
  await one.credit.refresh(['k'])
  t.match([account.settled, account.counted('daily'), account.counted('weekly')], [179, 9, 179])

  record.mode('refuse', 'balances')
  await t.rejects(one.credit.refresh(['k']), { code: 'unavailable' })
  record.mode('hang', 'balances')
  const hanging = t.rejects(one.credit.refresh(['k']), { code: 'unavailable' })
  await clock.advance(2000)
  await hanging
  t.equal(account.settled, 179n, 'stays as it was')
})

t.test('1,000 requests of one price on credit for exactly 100, over several processes', async (t: Test) => {
  await every(t, 'every nodes', async (t) => {
    for (const nodes of [1, 2, 3]) {
      const { clock, record, processes } = rig(nodes)
      for (const each of processes) await each.pulse()
      let [served, past] = [0, 0]
      const request = async (each: Process): Promise<boolean> => {
        const account = each.account()
        if (!holds(account, 10, LIMIT) && !(await seeks(account, 10, LIMIT))) return false
        served++
        await turn()
        each.settle(10, 10)
        return true
      }
      const all = Promise.all(Array.from({ length: 1000 }, (_, index) => request(processes[index % nodes])))
      let done = false
      void all.then(() => {
        done = true
      })
      for (let round = 0; round < 200 && !done; round++) {
        const held = processes.reduce((sum, each) => sum + each.account().held, 0)
        const { spent, leased: out } = await leased(record)
        if (spent + out > 1000 || held > out) past++
        for (const each of processes) {
          await each.handIn()
          await each.pulse()
        }
        await clock.advance(50)
      }
      const answers = await all
      t.equal(served, 100, `${nodes} processes`)
      t.equal(answers.filter((answer) => !answer).length, 900)
      t.equal(past, 0)
      for (const each of processes) await each.handIn()
      t.match(await leased(record), { spent: 1000, leased: 0 })
    }
  })
})
