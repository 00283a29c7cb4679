/** Contract of every store of record; each one passes the same tests. */

import type { Test } from 'tap'
import { generationId } from '../../src/core/ids.ts'
import { fixedAsk } from '../../src/ledger/credit.ts'
import type { SessionUse, UseRow } from '../../src/ledger/types.ts'
import type { LimitReset } from '../../src/plugin-api/key.ts'
import type { Balance, LeaseAnswer, LeaseAsk, Pulse, SettledRows, StoreOfRecord } from '../../src/store/record.ts'
import { FakeClock } from '../support/clock.ts'
import { ledgerOfRows } from '../support/memory/ledger.ts'
import { allSessions } from '../support/sessions.ts'
import { scanUse } from '../support/use.ts'
import { recordAuditContract } from './record-audit-contract.ts'
import { recordByokKeysContract } from './record-byok-keys-contract.ts'
import { recordCompactionKeysContract } from './record-compaction-keys-contract.ts'
import { recordEntriesContract } from './record-entries-contract.ts'
import { recordGivenIdsContract } from './record-given-ids-contract.ts'
import { recordGuardrailsContract } from './record-guardrails-contract.ts'
import { recordKeysContract } from './record-keys-contract.ts'
import { recordLevelsContract } from './record-levels-contract.ts'
import { recordModelContract } from './record-model-contract.ts'
import { recordPayersContract } from './record-payers-contract.ts'
import { recordRefusalsContract } from './record-refusals-contract.ts'
import { holdRow, settleRow } from './samples.ts'

export interface OpenedRecord {
  readonly record: StoreOfRecord
  /** Closes the record and opens it again on the same data; absent where it forgets. */
  reopen?(): Promise<StoreOfRecord>
  close(): Promise<void>
}

/** Makes an empty record. */
export type OpenRecord = (clock: FakeClock) => Promise<OpenedRecord>

const DAY = 86_400_000
const MOST = Number.MAX_SAFE_INTEGER

/** A generation of `cost` nano-dollars that ended at `at`, milliseconds since the epoch. */
export function generation(seq: number, key: string, cost: number, at: number): SettledRows {
  return { hold: holdRow(seq, { key, hold: cost }), settled: settleRow(seq, cost, { at, facts: '{"user":"ü\\u0001"}' }) }
}

/** An ask for an amount that cannot shrink, under one allowance: 1000 of all that was ever spent, unless said otherwise. */
export function ask(key: string, need: number, { want = need, limit = 1000, limitReset = null, ...more }: AskTerms = {}): LeaseAsk {
  const allowances = [{ limit, limitReset }]
  return { key, ask: fixedAsk(need), allowances, idle: 0, more: want - need, recallsFirst: false, turn: 1, ...more }
}

interface AskTerms extends Partial<LeaseAsk> {
  /** Nano-dollars that would be welcome. */
  want?: number
  limit?: number
  limitReset?: LimitReset | null
}

/** Answer of the record, with the least that is left under all allowances, never below 0. */
export async function leaseFrom(record: StoreOfRecord, node: string, asked: LeaseAsk): Promise<LeaseAnswer & { left: number }> {
  const answer = await record.lease(node, asked)
  return { ...answer, left: Math.max(0, Math.min(...answer.lefts)) }
}

export function nodePulse(node: string, cursor?: string, expiry = 5000): Pulse {
  return { node, label: `host ${node}`, expiry, cursor }
}

export async function balance(record: StoreOfRecord, key: string): Promise<ShownBalance> {
  const [found] = await record.balances([key])
  if (!found) throw new Error('expected a balance')
  return shown(found)
}

type ShownBalance = Record<'spent' | 'daily' | 'weekly' | 'monthly' | 'leased', number> & { key: string }

/** Amounts that fit into numbers, as numbers. */
export function shown({ key, spent, daily, weekly, monthly, leased }: Balance): ShownBalance {
  return { key, spent: Number(spent), daily: Number(daily), weekly: Number(weekly), monthly: Number(monthly), leased }
}

/** Sums without the keys that spent nothing: whether these are listed is the store's affair. */
async function sums(record: StoreOfRecord): Promise<Record<string, number>> {
  return Object.fromEntries([...(await record.ledger.spent())].flatMap(([key, cost]) => (cost === 0n ? [] : [[key, Number(cost)]])))
}

async function exported(record: StoreOfRecord, since?: number): Promise<number[]> {
  const seqs: number[] = []
  for await (const { hold } of record.ledger.export(since)) seqs.push(hold.seq)
  return seqs
}

/**
 * The contract of a store of record.
 * @param name begins the name of every test.
 */
export function recordContract(t: Test, name: string, open: OpenRecord): void {
  const fresh = async (t: Test) => {
    const clock = new FakeClock()
    const opened = await open(clock)
    t.teardown(() => opened.close())
    return { clock, opened, record: opened.record, now: () => clock.now() }
  }
  const suite = { name, fresh }
  taking(t, suite)
  leasing(t, suite)
  recalling(t, suite)
  living(t, suite)
  recordKeysContract(t, name, open)
  recordGuardrailsContract(t, name, open)
  recordRefusalsContract(t, name, open)
  recordGivenIdsContract(t, name, open)
  recordByokKeysContract(t, name, open)
  recordLevelsContract(t, name, open)
  recordCompactionKeysContract(t, name, open)
  recordEntriesContract(t, name, open)
  recordAuditContract(t, name, open)
  recordModelContract(t, name, open)
  recordPayersContract(t, name, open)
}

interface Suite {
  name: string
  fresh(t: Test): Promise<{ clock: FakeClock; opened: OpenedRecord; record: StoreOfRecord; now: () => number }>
}

function taking(t: Test, { name, fresh }: Suite): void {
  t.test(`${name}: generations come in once, however often they are handed in`, async (t) => {
    const { record, now } = await fresh(t)
    await record.pulse(nodePulse('n1'))
    const first = [generation(1, 'a', 5, now()), generation(2, 'b', 7, now()), generation(3, 'a', 11, now())]
    await record.take('n1', [])
    await record.take('n1', first)
    await record.take('n1', first)
    await record.take('n2', [generation(4, 'a', 100, now()), ...first])
    t.same(await sums(record), { a: 116, b: 7 })
    t.equal(await record.spentByAll(), 123n)
    t.match(await balance(record, 'a'), { spent: 116, daily: 116, weekly: 116, monthly: 116, leased: 0 })
    t.same(await exported(record), [1, 2, 3, 4])
  })

  t.test(`${name}: batches that overlap and come at the same time`, async (t) => {
    const { record, now } = await fresh(t)
    const keys = ['a', 'b', 'c', 'd']
    const rows = Array.from({ length: 120 }, (_, index) => generation(index + 1, keys[index % 4], index + 1, now()))
    const batches = [rows, [...rows].reverse(), rows.slice(30, 90), rows.filter((_, index) => index % 3 === 0), rows.slice(60), rows]
    await Promise.all(batches.map((batch, index) => record.take(`n${index}`, batch)))
    const expected = Object.fromEntries(
      keys.map((key) => [key, rows.reduce((sum, { hold, settled }) => (hold.key === key ? sum + settled.cost : sum), 0)]),
    )
    t.same(await sums(record), expected)
    t.equal(await record.spentByAll(), 7260n)
    t.equal((await exported(record)).length, 120)
  })

  t.test(`${name}: a charge moves from the lease to what was spent`, async (t) => {
    const { record, now } = await fresh(t)
    for (const node of ['n1', 'n2']) await record.pulse(nodePulse(node))
    t.equal((await leaseFrom(record, 'n1', ask('a', 100))).granted, 100)
    t.equal((await leaseFrom(record, 'n2', ask('a', 50))).granted, 50)
    await record.take('n1', [generation(1, 'a', 30, now()), generation(2, 'a', 20, now())])
    t.match(await balance(record, 'a'), { spent: 50, leased: 100 })
    await record.take('n1', [generation(1, 'a', 30, now())])
    t.match(await balance(record, 'a'), { spent: 50, leased: 100 }, 'a second time changes no lease either')
    await record.take('n1', [generation(3, 'a', 80, now())])
    t.match(await balance(record, 'a'), { spent: 130, leased: 50 }, 'below 0 no lease falls, and no other is touched')
    await record.take('n3', [generation(4, 'a', 7, now())])
    t.match(await balance(record, 'a'), { spent: 137, leased: 50 }, 'a process without a lease')
    await record.take('n2', [generation(5, 'b', 9, now())])
    t.match(await record.balances(['b', 'a', 'never']), [
      { key: 'b', spent: 9, leased: 0 },
      { key: 'a', spent: 137, leased: 50 },
      { key: 'never', spent: 0, daily: 0, weekly: 0, monthly: 0, leased: 0 },
    ])
  })

  t.test(`${name}: sums of use are those of the rows, of all keys and of some`, async (t) => {
    const { record, now } = await fresh(t)
    const today = Math.floor(now() / DAY) * DAY
    const facts = ['{"model":"acme/two","provider":"Here","cache_discount":0.000000123}', '{}', '']
    const rows = Array.from({ length: 1200 }, (_, index) => {
      const at = today - (index % 3) * DAY + 1000
      const row = generation(at * 4096 + index, index % 5 === 0 ? 'b' : 'a', index, at)
      const status = index % 7 === 0 ? ('failed' as const) : ('completed' as const)
      return { ...row, settled: { ...row.settled, status, facts: facts[index % 2] } }
    })
    await record.take('n1', rows)
    const { ledger } = record
    const single = ledgerOfRows({ export: ledger.export.bind(ledger) })
    const sorted = (found: readonly UseRow[]): string[] =>
      found.map((row) => JSON.stringify(Object.entries({ ...row, cost: String(row.cost) }).sort())).sort()
    for (const keys of [undefined, ['b'], ['nobody']]) {
      const query = { from: today - DAY, until: today + DAY, ...(keys ? { keys } : {}) }
      const expected = await scanUse(single, query)
      t.equal(expected.length, keys?.[0] === 'nobody' ? 0 : 8)
      t.same(sorted(await scanUse(ledger, query)), sorted(expected), String(keys))
    }
  })

  t.test(`${name}: sums of sessions are those of the rows, of all keys and of some`, async (t) => {
    const { record, now } = await fresh(t)
    const at = Math.floor(now() / DAY) * DAY
    const facts = ['{"session_id":"one","model":"acme/two","cache_discount":0.000000123}', '{"session_id":"two \\u00e9"}', '{}']
    const rows = Array.from({ length: 1200 }, (_, index) => {
      const row = generation((at + index) * 4096, index % 5 === 0 ? 'b' : 'a', index, at + index)
      const status = index % 7 === 0 ? ('failed' as const) : ('completed' as const)
      return { ...row, settled: { ...row.settled, status, facts: facts[index % 3] } }
    })
    await record.take('n1', rows)
    const { ledger } = record
    const single = ledgerOfRows({ export: ledger.export.bind(ledger) })
    const texts = (found: readonly SessionUse[]): string[] =>
      found.map((row) => JSON.stringify(Object.entries({ ...row, cost: String(row.cost) }).sort()))
    const QUERIES = [{}, { keys: ['b'] }, { session: 'two é' }, { keys: ['a'], session: 'one' }, { keys: ['nobody'] }]
    for (const filter of QUERIES) {
      const query = { from: at + 100, until: at + 1150, ...filter }
      const expected = await allSessions(single, query)
      t.equal(expected.length, [4, 2, 2, 1, 0][QUERIES.indexOf(filter)])
      t.same(texts(await allSessions(ledger, query)), texts(expected), JSON.stringify(filter))
    }
  })

  t.test(`${name}: one session is read without the generations of others`, async (t) => {
    const { record, now } = await fresh(t)
    const rows = Array.from({ length: 1100 }, (_, index) => {
      const row = generation((now() + index) * 4096, 'a', 5, now() + index)
      return { ...row, settled: { ...row.settled, facts: index % 1000 === 50 ? '{"session_id":"rare"}' : '{}' } }
    })
    await record.take('n1', rows)
    const query = { from: now(), until: now() + DAY, session: 'rare' }
    t.match(await record.ledger.sessionNames(query), [{ key: 'a', session: 'rare', first: now() + 50, last: now() + 1050 }])
    t.match(await allSessions(record.ledger, query), [{ requests: 2 }])
  })

  t.test(`${name}: a generation is found by its whole id, and read back as it came`, async (t) => {
    const { record, now } = await fresh(t)
    const seq = now() * 4096 + 9
    const row = generation(seq, 'a', 12, now())
    const other = { hold: row.hold, settled: { ...row.settled, status: 'aborted' as const, estimated: true } }
    await record.take('n1', [row])
    await record.take('n1', [other])
    const found = await record.ledger.find(generationId(seq, row.hold.tag))
    t.same(found, { id: generationId(seq, row.hold.tag), at: now(), hold: row.hold, settled: row.settled }, 'the first one stands')
    for (const id of [
      generationId(seq, 'somebodyelse'),
      generationId(seq + 1, row.hold.tag),
      'gen-',
      '',
      "' OR 1=1",
      'gen-zzzzzzzzzzz-abcdefghijkl',
    ])
      t.equal(await record.ledger.find(id), undefined, id)
  })

  t.test(`${name}: the export goes by sequence, from a moment on`, async (t) => {
    const { record, now } = await fresh(t)
    const start = now()
    const seqs = Array.from({ length: 1203 }, (_, index) => (start + ((index * 7919) % 1203)) * 4096 + 5)
    for (let from = 0; from < seqs.length; from += 400)
      await record.take(
        'n1',
        seqs.slice(from, from + 400).map((seq) => generation(seq, 'a', 1, start)),
      )
    const sorted = seqs.sort((a, b) => a - b)
    t.same(await exported(record), sorted)
    t.same(await exported(record, start + 1200), sorted.slice(1200), 'its own moment counts')
    t.same(await exported(record, start + 1203), [])
    t.same(await sums(record), { a: 1203 })
  })

  t.test(`${name}: sums far beyond 2^53 are exact`, async (t) => {
    const { record, now } = await fresh(t)
    await record.take('n1', [generation(1, 'a', MOST, now()), generation(2, 'a', MOST, now()), generation(3, 'b', 5, now())])
    await record.take('n1', [generation(4, 'a', MOST, now())])
    const all = 3n * BigInt(MOST)
    t.match(await record.balances(['a']), [{ spent: all, daily: all, weekly: all, monthly: all }])
    t.same(
      await record.ledger.spent(),
      new Map([
        ['a', all],
        ['b', 5n],
      ]),
    )
    t.equal(await record.spentByAll(), all + 5n)
    t.match(await leaseFrom(record, 'n1', ask('a', 1, { limit: MOST })), { granted: 0, left: 0 })
  })

  t.test(`${name}: a charge counts in the day, week and month in which it fell`, async (t) => {
    const { clock, record, now } = await fresh(t)
    // Monday, 5 January 2026, noon.
    await record.take('n1', [generation(1, 'a', 1, now())])
    await clock.advance(DAY)
    await record.take('n1', [generation(2, 'a', 10, now())])
    t.match(await balance(record, 'a'), { spent: 11, daily: 10, weekly: 11, monthly: 11 })
    await record.take('n1', [generation(3, 'a', 100, now() - DAY)])
    t.match(await balance(record, 'a'), { spent: 111, daily: 10, weekly: 111, monthly: 111 }, 'handed in a day late')
    await record.take('n1', [generation(now() * 4096, 'a', 1000, 0)])
    t.match(await balance(record, 'a'), { spent: 1111, daily: 1010, weekly: 1111, monthly: 1111 }, 'its end unknown, its admission counts')
    await clock.advance(6 * DAY)
    t.match(await balance(record, 'a'), { spent: 1111, daily: 0, weekly: 0, monthly: 1111 }, 'Monday')
    await clock.advance(20 * DAY)
    t.match(await balance(record, 'a'), { spent: 1111, daily: 0, weekly: 0, monthly: 0 }, 'February')
  })
}

function leasing(t: Test, { name, fresh }: Suite): void {
  t.test(`${name}: many processes lease at once and never pass the limit`, async (t) => {
    const { record } = await fresh(t)
    const nodes = Array.from({ length: 8 }, (_, index) => `n${index}`)
    for (const node of nodes) await record.pulse(nodePulse(node))
    const answers = await Promise.all(nodes.flatMap((node) => Array.from({ length: 20 }, () => leaseFrom(record, node, ask('a', 7)))))
    const granted = answers.filter((answer) => answer.granted > 0)
    t.equal(granted.length, 142, '142 times 7 fit into 1000')
    t.ok(
      granted.every((answer) => answer.granted === 7),
      'all or nothing',
    )
    t.same(
      granted.map((answer) => answer.left).sort((a, b) => a - b),
      Array.from({ length: 142 }, (_, index) => 6 + index * 7),
      'each saw what the one before left',
    )
    t.match(await balance(record, 'a'), { spent: 0, leased: 994 })
    t.match(await leaseFrom(record, 'n0', ask('a', 6)), { granted: 6, left: 0 })
    t.match(await leaseFrom(record, 'n0', ask('b', 1000)), { granted: 1000, left: 0 }, 'another key is not touched')
  })

  t.test(`${name}: leases, charges and returns at once, and no sample passes the limit`, async (t) => {
    const { record, now } = await fresh(t)
    const nodes = ['n1', 'n2', 'n3', 'n4']
    for (const node of nodes) await record.pulse(nodePulse(node))
    let [charged, passed, samples] = [0, 0, 0]
    const work = async (node: string, index: number) => {
      for (let round = 0; round < 15; round++) {
        const { granted } = await leaseFrom(record, node, ask('a', 10, { want: 40 }))
        if (granted > 0) {
          const cost = Math.floor(granted / 2)
          charged += cost
          await record.take(node, [generation(index * 100 + round + 1, 'a', cost, now())])
          await record.giveBack(node, { key: 'a' }, round % 3 === 0 ? 'all' : granted - cost, 1)
        }
        const { spent, leased } = await balance(record, 'a')
        samples++
        if (spent + leased > 1000) passed++
      }
    }
    await Promise.all(nodes.map(work))
    t.equal(samples, 60)
    t.equal(passed, 0)
    t.match(await balance(record, 'a'), { spent: charged, leased: 0 })
  })

  t.test(`${name}: slices are large far from the limit and no larger than needed near it`, async (t) => {
    const { record } = await fresh(t)
    await record.pulse(nodePulse('n1'))
    t.match(await leaseFrom(record, 'n1', ask('far', 5, { want: 50, limit: 1_000_000 })), { granted: 50, left: 999_950, waitingFor: 0 })
    t.match(await leaseFrom(record, 'n1', ask('near', 40, { want: 90, limit: 60 })), { granted: 40, left: 20 })
    t.match(
      await leaseFrom(record, 'n1', ask('near', 21, { want: 90, limit: 60 })),
      { granted: 0, left: 20 },
      'less than needed is nothing',
    )
    t.match(await leaseFrom(record, 'n1', ask('near', 20, { want: 90, limit: 60 })), { granted: 20, left: 0 })
    t.match(
      await leaseFrom(record, 'n1', ask('near', 20, { want: 90, limit: 100 })),
      { granted: 20, left: 20 },
      'the limit comes with each call',
    )
    t.match(await leaseFrom(record, 'n1', ask('near', 1, { limit: 30 })), { granted: 0, left: 0 }, 'one that fell below what is out')
    t.match(await leaseFrom(record, 'n1', ask('none', 1, { limit: 0 })), { granted: 0, left: 0, waitingFor: 0 })
    t.match(await balance(record, 'near'), { leased: 80 })
  })

  const WINDOWS: readonly [LimitReset, days: number][] = [
    ['daily', 1],
    ['weekly', 7],
    ['monthly', 27],
  ]
  for (const [limitReset, days] of WINDOWS)
    t.test(`${name}: a ${limitReset} limit begins anew`, async (t) => {
      const { clock, record, now } = await fresh(t)
      await record.pulse(nodePulse('n1'))
      const all = ask('a', 100, { limit: 100, limitReset })
      const one = ask('a', 1, { limit: 100, limitReset })
      t.match(await leaseFrom(record, 'n1', all), { granted: 100, left: 0 })
      await record.take('n1', [generation(1, 'a', 60, now())])
      t.match(await leaseFrom(record, 'n1', one), { granted: 0, left: 0 })
      await record.giveBack('n1', { key: 'a' }, 30, 1)
      t.match(await leaseFrom(record, 'n1', one), { granted: 1, left: 29 })
      // 00:00 UTC of the day in which the window ends is twelve hours before noon.
      await clock.advance(days * DAY - DAY / 2 - 1)
      t.match(await leaseFrom(record, 'n1', one), { granted: 1, left: 28 })
      await clock.advance(1)
      t.match(await leaseFrom(record, 'n1', one), { granted: 1, left: 87 }, 'leases count on, the charge does not')
      await record.take('n1', [generation(2, 'a', 5, now())])
      t.match(await leaseFrom(record, 'n1', one), { granted: 1, left: 86 }, 'the 5 were leased')
      t.match(await leaseFrom(record, 'n1', ask('a', 1, { limit: 100 })), { granted: 1, left: 25 }, 'without a window all counts')
    })

  t.test(`${name}: a clock that was ahead opens no window in which nothing counts`, async (t) => {
    const { record, now } = await fresh(t)
    let seq = 0
    for (const limitReset of ['daily', 'weekly', 'monthly'] as const) {
      const spent = (cost: number, days = 0) => generation(++seq, limitReset, cost, now() + days * DAY)
      const part = (need: number) => ask(limitReset, need, { limitReset })
      await record.take('n1', [spent(1, 40)])
      await record.take('n2', [spent(300), spent(300, -40)])
      t.match(await balance(record, limitReset), { spent: 601, [limitReset]: 301 }, 'what was spent long ago stays where it was')
      t.match(await leaseFrom(record, 'n2', part(700)), { granted: 0, left: 699 })
      t.match(await leaseFrom(record, 'n2', part(600)), { granted: 600 })
      await record.take('n2', [spent(600)])
      t.match(await balance(record, limitReset), { leased: 0, [limitReset]: 901 })
      t.match(await leaseFrom(record, 'n2', part(100)), { granted: 0, left: 99 })
    }
  })

  t.test(`${name}: credit that a process gives back is free for others`, async (t) => {
    const { record } = await fresh(t)
    for (const node of ['n1', 'n2']) await record.pulse(nodePulse(node))
    await leaseFrom(record, 'n1', ask('a', 600))
    await leaseFrom(record, 'n2', ask('a', 300))
    await record.giveBack('n1', { key: 'a' }, 100, 1)
    t.match(await balance(record, 'a'), { leased: 800 })
    await record.giveBack('n1', { key: 'a' }, 9999, 1)
    t.match(await balance(record, 'a'), { leased: 300 }, 'no more than it has')
    await record.giveBack('n1', { key: 'a' }, 'all', 1)
    await record.giveBack('n3', { key: 'a' }, 'all', 1)
    await record.giveBack('n1', { key: 'never' }, 5, 1)
    t.match(await balance(record, 'a'), { leased: 300 })
    await record.giveBack('n2', { key: 'a' }, 'all', 1)
    t.match(await balance(record, 'a'), { leased: 0, spent: 0 })
  })

  t.test(`${name}: a return that comes after a later grant changes nothing`, async (t) => {
    const { record } = await fresh(t)
    for (const node of ['n1', 'n2']) await record.pulse(nodePulse(node))
    await leaseFrom(record, 'n1', ask('a', 600, { turn: 10 }))
    await leaseFrom(record, 'n2', ask('a', 100, { turn: 1 }))
    await record.giveBack('n1', { key: 'a' }, 'all', 11)
    await leaseFrom(record, 'n1', ask('a', 300, { turn: 12 }))
    for (const amount of ['all', 5, 0] as const) await record.giveBack('n1', { key: 'a' }, amount, 11)
    t.match(await balance(record, 'a'), { leased: 400 }, 'given up, and late')
    await leaseFrom(record, 'n1', ask('a', 50, { turn: 9 }))
    await record.giveBack('n1', { key: 'a' }, 'all', 11)
    t.match(await balance(record, 'a'), { leased: 450 }, 'an ask that comes late takes nothing back')
    await record.giveBack('n1', { key: 'a' }, 20, 12)
    await record.giveBack('n2', { key: 'a' }, 'all', 2)
    t.match(await balance(record, 'a'), { leased: 330 }, 'each process by itself')
    await record.giveBack('n1', { key: 'a' }, 'all', 13)
    t.match(await balance(record, 'a'), { leased: 0 })
    await leaseFrom(record, 'n1', ask('a', 10, { turn: 99 }))
    await record.endLeases('n1')
    t.match(await balance(record, 'a'), { leased: 0 }, 'the end of a life asks for no turn')
  })
}

function recalling(t: Test, { name, fresh }: Suite): void {
  const wanted = async (record: StoreOfRecord, node: string) => (await record.pulse(nodePulse(node))).wanted.map(({ key }) => key)
  const refused = (answer: LeaseAnswer, waitingFor: number) => answer.granted === 0 && answer.waitingFor === waitingFor

  t.test(`${name}: holders hear a recall of idle leases until they answer it, and no one waits for it afterwards`, async (t) => {
    const { clock, record } = await fresh(t)
    for (const node of ['n1', 'n2', 'n3']) await record.pulse(nodePulse(node))
    await leaseFrom(record, 'n1', ask('a', 400))
    await leaseFrom(record, 'n2', ask('a', 400))
    await leaseFrom(record, 'n1', ask('b', 400))
    t.same(await wanted(record, 'n1'), [], 'nobody has asked')
    t.ok(refused(await leaseFrom(record, 'n3', ask('a', 500)), 2))
    t.same(await wanted(record, 'n1'), ['a'])
    t.same(await wanted(record, 'n1'), ['a'], 'until it is answered')
    t.same(await wanted(record, 'n2'), ['a'])
    t.same(await wanted(record, 'n3'), [], 'not the one that asks')
    await record.giveBack('n1', { key: 'a' }, 0, 1)
    t.same(await wanted(record, 'n1'), [], 'nothing idle is an answer')
    t.ok(refused(await leaseFrom(record, 'n3', ask('a', 500)), 1))
    await record.giveBack('n2', { key: 'a' }, 300, 1)
    t.match(await leaseFrom(record, 'n3', ask('a', 500)), { granted: 500, left: 0, waitingFor: 0 })
    t.match(await balance(record, 'a'), { leased: 1000 })

    t.ok(refused(await leaseFrom(record, 'n3', ask('a', 90)), 0), 'whoever has just answered is not asked again')
    await clock.advance(60_000)
    for (const node of ['n1', 'n2', 'n3']) await record.pulse(nodePulse(node))
    t.ok(refused(await leaseFrom(record, 'n3', ask('a', 90)), 2), 'later it is')
    t.same(await wanted(record, 'n1'), ['a'])
    await record.giveBack('n1', { key: 'a' }, 'all', 1)
    await record.giveBack('n2', { key: 'a' }, 'all', 1)
    t.same(await wanted(record, 'n1'), [])
    t.match(await leaseFrom(record, 'n3', ask('a', 90)), { granted: 90, waitingFor: 0 })
  })

  t.test(`${name}: leases can be recalled again after a new grant`, async (t) => {
    const { record } = await fresh(t)
    for (const node of ['n1', 'n2']) await record.pulse(nodePulse(node))
    await leaseFrom(record, 'n1', ask('a', 800))
    t.ok(refused(await leaseFrom(record, 'n2', ask('a', 300)), 1))
    await record.giveBack('n1', { key: 'a' }, 0, 1)
    t.ok(refused(await leaseFrom(record, 'n2', ask('a', 300)), 0))
    t.equal((await leaseFrom(record, 'n1', ask('a', 100))).granted, 100)
    t.ok(refused(await leaseFrom(record, 'n2', ask('a', 300)), 1))
    t.same(await wanted(record, 'n1'), ['a'])
  })

  t.test(`${name}: a recall waits for no process that is lost or holds no lease`, async (t) => {
    const { clock, record } = await fresh(t)
    for (const node of ['n1', 'n2', 'n3']) await record.pulse(nodePulse(node))
    await leaseFrom(record, 'n1', ask('a', 500))
    await leaseFrom(record, 'n2', ask('a', 500))
    await record.giveBack('n2', { key: 'a' }, 'all', 1)
    await clock.advance(4000)
    for (const node of ['n2', 'n3']) await record.pulse(nodePulse(node))
    t.ok(refused(await leaseFrom(record, 'n3', ask('a', 600)), 1), 'n1 alone')
    await clock.advance(1001)
    t.ok(refused(await leaseFrom(record, 'n3', ask('a', 600)), 0), 'n1 is lost')
    t.match(await balance(record, 'a'), { leased: 500 }, 'its lease counts on')
    await record.pulse(nodePulse('n1'))
    t.ok(refused(await leaseFrom(record, 'n3', ask('a', 600)), 1), 'and is back')
  })
}

function living(t: Test, { name, fresh }: Suite): void {
  t.test(`${name}: counts the processes whose pulse has not expired`, async (t) => {
    const { clock, record } = await fresh(t)
    t.equal((await record.pulse(nodePulse('n1'))).nodes, 1)
    t.equal((await record.pulse(nodePulse('n2', undefined, 9000))).nodes, 2)
    t.equal((await record.pulse(nodePulse('n2', undefined, 9000))).nodes, 2, 'one process counts once')
    await clock.advance(4999)
    t.equal((await record.pulse(nodePulse('n3'))).nodes, 3)
    await clock.advance(2)
    t.equal((await record.pulse(nodePulse('n3'))).nodes, 2, 'n1 did not pulse for 5000 ms')
    t.equal((await record.pulse(nodePulse('n1'))).nodes, 3)
  })

  t.test(`${name}: leases of the lost are forgotten after the grace, and only theirs`, async (t) => {
    const { clock, record, now } = await fresh(t)
    for (const node of ['n1', 'n2', 'n3']) await record.pulse(nodePulse(node))
    await leaseFrom(record, 'n1', ask('a', 300))
    await leaseFrom(record, 'n1', ask('b', 40))
    await leaseFrom(record, 'n2', ask('a', 200))
    await record.take('n1', [generation(1, 'a', 100, now())])
    await clock.advance(5000 + 59_999)
    await record.pulse(nodePulse('n2'))
    t.same([...(await record.forgetLost(60_000))], [], 'not yet')
    t.match(await balance(record, 'a'), { spent: 100, leased: 400 })
    await clock.advance(2)
    t.same(
      [...(await record.forgetLost(60_000))].filter(([, amount]) => amount > 0),
      [['n1', 240]],
    )
    t.match(await balance(record, 'a'), { spent: 100, leased: 200 })
    t.match(await balance(record, 'b'), { spent: 0, leased: 0 })
    t.same([...(await record.forgetLost(60_000))], [], 'once')
    await record.take('n1', [generation(2, 'a', 50, now())])
    t.match(await balance(record, 'a'), { spent: 150, leased: 200 }, 'rows that come after all are charged')
    t.match(await leaseFrom(record, 'n1', ask('a', 10)), { granted: 10 }, 'it may come back')
  })

  t.test(`${name}: a process learns by its life that its leases were ended`, async (t) => {
    const { clock, record } = await fresh(t)
    const lives = async (): Promise<number[]> => [(await record.pulse(nodePulse('n1'))).life, (await record.pulse(nodePulse('n2'))).life]
    const before = await lives()
    t.same(await lives(), before)
    await leaseFrom(record, 'n1', ask('a', 300))
    await leaseFrom(record, 'n2', ask('a', 200))
    await record.endLeases('n2')
    t.same(await lives(), before, 'what it does itself changes nothing')
    await leaseFrom(record, 'n2', ask('a', 200))
    await clock.advance(65_001)
    await record.pulse(nodePulse('n2'))
    await record.forgetLost(60_000)
    await leaseFrom(record, 'n1', ask('a', 10))
    const after = await lives()
    t.not(after[0], before[0], 'also where it leases before it pulses')
    t.equal(after[1], before[1])
    t.same(await lives(), after)
  })

  t.test(`${name}: a process that starts anew ends the leases of its earlier life, and only these`, async (t) => {
    const { record, now } = await fresh(t)
    for (const node of ['n1', 'n2']) await record.pulse(nodePulse(node))
    await leaseFrom(record, 'n1', ask('a', 300))
    await leaseFrom(record, 'n1', ask('b', 40))
    await leaseFrom(record, 'n2', ask('a', 200))
    await record.take('n1', [generation(1, 'a', 100, now())])
    await record.endLeases('n1')
    await record.endLeases('n1')
    await record.endLeases('never')
    t.match(await balance(record, 'a'), { spent: 100, leased: 200 })
    t.match(await balance(record, 'b'), { spent: 0, leased: 0 })
    t.equal((await record.pulse(nodePulse('n1'))).nodes, 2, 'it lives')
    t.match(await leaseFrom(record, 'n1', ask('a', 700)), { granted: 700, left: 0 })
  })

  t.test(`${name}: what was taken is there when it is opened again`, async (t) => {
    const { opened, record, now } = await fresh(t)
    if (!opened.reopen) return t.pass('it forgets')
    await record.take('n1', [generation(1, 'a', 30, now()), generation(2, 'b', 4, now())])
    const again = await opened.reopen()
    t.match(await balance(again, 'a'), { spent: 30, daily: 30, weekly: 30, monthly: 30 })
    await again.take('n1', [generation(1, 'a', 30, now()), generation(3, 'a', 5, now())])
    t.same(await sums(again), { a: 35, b: 4 })
    t.equal(await again.spentByAll(), 39n)
    t.same(await exported(again), [1, 2, 3])
    t.match(await leaseFrom(again, 'n1', ask('a', 965)), { granted: 965, left: 0 })
  })
}
