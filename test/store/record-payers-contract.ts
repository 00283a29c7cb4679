/** Contract of every store of record: a charge, a lease and an entry count at each payer of their key. */
import type { Test } from 'tap'
import { fixedAsk } from '../../src/ledger/credit.ts'
import { verifyLedger } from '../../src/ledger/verify.ts'
import type { LeaseAnswer, LeaseAsk, SettledRows, StoreOfRecord } from '../../src/store/record.ts'
import { FakeClock } from '../support/clock.ts'
import { generation, nodePulse, type OpenRecord } from './record-contract.ts'

const CHAIN = 'team>organisation>root'
const OTHER = 'other>organisation>root'

/** Nano-dollars by level, of all that was ever spent. */
type Limits = Readonly<Record<number, number>>

function ask(key: string, payer: string, need: number, limits: Limits): LeaseAsk {
  const allowances = Object.entries(limits).map(([level, limit]) => ({ limit, limitReset: null, level: Number(level) }))
  return { key, payer, ask: fixedAsk(need), allowances, idle: 0, more: 0, recallsFirst: false, turn: 1 }
}

async function sums(record: StoreOfRecord, of: 'spent' | 'leased', ...accounts: string[]): Promise<number[]> {
  return (await record.balances(accounts)).map((balance) => Number(balance[of]))
}

const isRefused = ({ granted, hold }: LeaseAnswer): boolean => granted === 0 && hold === null

export function recordPayersContract(t: Test, name: string, open: OpenRecord): void {
  const fresh = async (t: Test) => {
    const clock = new FakeClock()
    const opened = await open(clock)
    t.teardown(() => opened.close())
    let count = 0
    const row = (key: string, payer: string, cost: number): SettledRows => {
      const made = generation(Math.floor(clock.now()) * 4096 + ++count, key, cost, Math.floor(clock.now()))
      return { ...made, hold: { ...made.hold, payer } }
    }
    return { ...opened, clock, row }
  }

  t.test(`${name}: a lease counts at every payer, and each level refuses what passes its limit`, async (t) => {
    const { record, row } = await fresh(t)
    for (const node of ['n1', 'n2']) await record.pulse(nodePulse(node))
    t.match(await record.lease('n1', ask('a', CHAIN, 400, { 0: 5000, 1: 600, 2: 900, 3: 1000 })), {
      granted: 400,
      lefts: [4600, 200, 500, 600],
    })
    t.same(await sums(record, 'leased', 'a', 'team', 'organisation', 'root', 'other'), [400, 400, 400, 400, 0])
    t.ok(isRefused(await record.lease('n2', ask('b', CHAIN, 201, { 1: 600, 3: 1000 }))), 'the team')
    t.match(await record.lease('n2', ask('c', OTHER, 450, { 1: 5000, 2: 900, 3: 1000 })), { granted: 450, lefts: [4550, 50, 150] })
    t.ok(isRefused(await record.lease('n2', ask('d', OTHER, 51, { 2: 900 }))), 'the organisation, by way of two teams')
    t.ok(isRefused(await record.lease('n2', ask('e', 'root', 151, { 1: 1000 }))), 'the root')
    await record.take('n1', [row('a', CHAIN, 300)])
    t.same(await sums(record, 'spent', 'a', 'team', 'organisation', 'root', 'other'), [300, 300, 300, 300, 0])
    t.same(await sums(record, 'leased', 'a', 'team', 'organisation', 'root'), [100, 100, 550, 550])
    t.equal(await record.spentByAll(), 300n, 'each charge once')
    await record.giveBack('n1', { key: 'a', payer: CHAIN }, 'all', 2)
    await record.endLeases('n2')
    t.same(await sums(record, 'leased', 'a', 'c', 'team', 'other', 'organisation', 'root'), [0, 0, 0, 0, 0, 0])
  })

  t.test(`${name}: what lies idle below another team is recalled for the limit that both have`, async (t) => {
    const { record } = await fresh(t)
    for (const node of ['n1', 'n2']) await record.pulse(nodePulse(node))
    await record.lease('n1', ask('a', CHAIN, 800, { 3: 1000 }))
    const answer = await record.lease('n2', ask('b', OTHER, 500, { 3: 1000 }))
    t.ok(isRefused(answer))
    t.equal(answer.waitingFor, 1)
    t.match((await record.pulse(nodePulse('n1'))).wanted, [{ key: 'a', payer: CHAIN }])
    t.equal((await record.lease('n2', ask('c', OTHER, 500, { 1: 400 }))).waitingFor, 0, 'there is no lease below that limit')
  })

  t.test(`${name}: an allowance of a payer that the lease has not is no allowance of nothing`, async (t) => {
    const { record } = await fresh(t)
    await t.rejects(record.lease('n1', ask('a', 'team', 10, { 2: 1000 })))
    t.same(await sums(record, 'leased', 'a', 'team'), [0, 0])
  })

  t.test(`${name}: charges of many at once, a refund and a move to another team are exact at every level`, async (t) => {
    const { record, clock, row, reopen } = await fresh(t)
    const batches = Array.from({ length: 12 }, (_, at) => [
      row(`k${at % 3}`, at % 2 === 0 ? CHAIN : OTHER, 10 + at),
      row('lone', '', 1),
      row('p', 'root', 2),
    ])
    const plain = batches.map((rows) =>
      rows.map(({ hold: { payer, ...hold }, settled }) => ({ hold: payer ? { ...hold, payer } : hold, settled })),
    )
    await Promise.all(plain.flatMap((rows, at) => [record.take(`n${at % 3}`, rows), record.take(`n${at % 3}`, rows)]))
    const even = 10 + 12 + 14 + 16 + 18 + 20
    const odd = even + 6
    const expected = [even, odd, even + odd, even + odd + 24]
    t.same(await sums(record, 'spent', 'team', 'other', 'organisation', 'root'), expected)
    t.equal(await record.spentByAll(), BigInt(even + odd + 24 + 12))
    const at = Math.floor(clock.now())
    const refund = {
      id: 'ent_1',
      at,
      key: 'k0',
      payer: CHAIN,
      model: '',
      provider: '',
      kind: 'refund' as const,
      amount: 9,
      countedAt: at,
      actor: 'ops',
      reason: 'r',
    }
    t.match(await record.ledger.entries?.add(refund), { amount: 9, payer: CHAIN })
    const after = [even - 9, odd, even + odd - 9, even + odd + 24 - 9]
    t.same(await sums(record, 'spent', 'team', 'other', 'organisation', 'root'), after)
    t.equal(await record.spentByAll(), BigInt(even + odd + 24 + 12 - 9))
    const elsewhere = { ...refund, id: 'ent_2', payer: 'new>organisation>root', amount: 1 }
    t.equal(await record.ledger.entries?.add(elsewhere), 'more_than_spent', 'nothing was charged at the team that the key has now')
    t.match(await verifyLedger(record.ledger, { full: true }), { ok: true, problems: [] })
    if (!reopen) return
    const again = await reopen()
    t.same(await sums(again, 'spent', 'team', 'other', 'organisation', 'root'), after)
    t.match(await verifyLedger(again.ledger, { full: true }), { ok: true, problems: [] })
  })
}
