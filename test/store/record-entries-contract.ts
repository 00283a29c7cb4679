/** Entries of the ledger: what every store of record must do with them. */
import type { Test } from 'tap'
import { generationId } from '../../src/core/ids.ts'
import type { EntryRefusal, LedgerEntry, NewEntry } from '../../src/core/ledger-entries.ts'
import { fixedAsk } from '../../src/ledger/credit.ts'
import type { LedgerEntries } from '../../src/ledger/entries.ts'
import { LedgerScans } from '../../src/ledger/scans.ts'
import type { SessionQuery, UseGroup, UseQuery } from '../../src/ledger/types.ts'
import { verifyLedger } from '../../src/ledger/verify.ts'
import type { StoreOfRecord } from '../../src/store/record.ts'
import { FakeClock } from '../support/clock.ts'
import { scanUse } from '../support/use.ts'
import { balance, generation, type OpenRecord } from './record-contract.ts'

const DAY = 86_400_000

let entries = 0

/** An entry on `key` of so many nano-dollars. */
function entry(key: string, kind: NewEntry['kind'], amount: number, more: Partial<NewEntry> = {}): NewEntry {
  const id = `ent_${++entries}`
  return { id, at: 0, key, model: '', provider: '', kind, amount, countedAt: 0, actor: 'ops', reason: 'a test', ...more }
}

function requireEntries({ ledger }: StoreOfRecord): LedgerEntries {
  const { entries: kept } = ledger
  if (!kept) throw new Error('expected entries')
  return kept
}

function added(found: LedgerEntry | EntryRefusal): LedgerEntry {
  if (typeof found === 'string') throw new Error(found)
  return found
}

export function recordEntriesContract(t: Test, kind: string, open: OpenRecord): void {
  const start = async (t: Test) => {
    const clock = new FakeClock()
    const { record, close, reopen } = await open(clock)
    t.teardown(close)
    return { clock, record, reopen, kept: requireEntries(record) }
  }

  t.test(`${kind}: a settlement makes entries of what it names as unrecovered and disputed, once`, async (t) => {
    const { clock, record, kept } = await start(t)
    const at = clock.now()
    const facts = '{"user":"\\"unrecovered_nano\\":9","unrecovered_nano":70,"disputed_nano":30}'
    const lost = generation(at * 4096 + 1, 'k', 100, at)
    const rows = [{ hold: { ...lost.hold, payer: 'p' }, settled: { ...lost.settled, facts } }, generation(at * 4096 + 2, 'k', 100, at)]
    await record.take('n', rows)
    await record.take('n', rows)
    const found = await kept.page({ after: 0, limit: 10 })
    t.match(
      found.map(({ kind: of, amount, key, payer, actor }) => ({ of, amount, key, payer, actor })),
      [
        { of: 'unrecovered', amount: 70, key: 'k', payer: 'p', actor: 'gateway' },
        { of: 'disputed', amount: 30, key: 'k', payer: 'p', actor: 'gateway' },
      ].sort((a, b) => found.findIndex(({ kind: is }) => is === a.of) - found.findIndex(({ kind: is }) => is === b.of)),
    )
    t.same(found[0]?.generation, { seq: lost.hold.seq, tag: lost.hold.tag })
    t.equal(generationId(lost.hold.seq, lost.hold.tag).slice(0, 4), 'gen-')
    t.equal((await balance(record, 'k')).spent, 200, 'they move nothing')
  })

  t.test(`${kind}: a refund and a correction move what a key has spent, its windows, and those of its issuer, once`, async (t) => {
    const { clock, record, kept, reopen } = await start(t)
    const at = clock.now()
    const row = generation(at * 4096 + 1, 'k', 1000, at)
    await record.take('n', [{ ...row, hold: { ...row.hold, payer: 'p' } }])
    const refund = entry('k', 'refund', 300, { payer: 'p', once: 'ticket-1', countedAt: at })
    const first = added(await kept.add(refund))
    t.match(first, { kind: 'refund', amount: 300, key: 'k', actor: 'ops', reason: 'a test', once: 'ticket-1' })
    t.equal(added(await kept.add({ ...refund, id: 'ent_again', amount: 500 })).id, first.id, 'the same request is the same entry')
    for (const key of ['k', 'p']) t.match(await balance(record, key), { spent: 700, daily: 700, weekly: 700, monthly: 700 }, key)
    added(await kept.add(entry('k', 'correction', 50, { payer: 'p', countedAt: at })))
    t.match(await balance(record, 'k'), { spent: 750, daily: 750 })
    added(await kept.add(entry('k', 'correction', -20, { payer: 'p', countedAt: at - 40 * DAY })))
    t.match(await balance(record, 'k'), { spent: 730, daily: 750, monthly: 750 }, 'of a month that is over')
    t.equal(await record.spentByAll(), 730n)
    t.equal(await kept.add(entry('k', 'refund', 731, { payer: 'p', countedAt: at })), 'more_than_spent')
    const allowances = [{ limit: 1000, limitReset: null }]
    const ask = { key: 'k', payer: 'p', ask: fixedAsk(270), allowances, idle: 0, more: 0, recallsFirst: false, turn: 1 }
    t.match(await record.lease('n', ask), { granted: 270, hold: 270 }, 'what was given back may be spent')
    await record.giveBack('n', ask, 'all', 2)
    t.match(await verifyLedger(record.ledger, { full: true }), { ok: true, problems: [] })
    const day = Math.floor(at / DAY) * DAY
    const used = await scanUse(record.ledger, { from: day, until: day + DAY, byKey: true })
    t.equal(
      used.reduce((sum, { cost }) => sum + cost, 0n),
      750n,
      'and so are sums of use',
    )
    if (!reopen) return
    const again = await reopen()
    t.match(await balance(again, 'k'), { spent: 730, daily: 750 })
    t.match(await balance(again, 'p'), { spent: 730, daily: 750 })
    t.match(await verifyLedger(again.ledger, { full: true }), { ok: true, problems: [] })
  })

  t.test(`${kind}: every sum has what entries moved, in the order in which they were added`, async (t) => {
    const { clock, record, kept } = await start(t)
    const at = clock.now()
    const day = Math.floor(at / DAY) * DAY
    const old = at - 9 * DAY
    const facts = (session: string): string => JSON.stringify({ model: 'served', provider: 'Here', session_id: session })
    const made = [
      { seq: at * 4096 + 1, cost: 1000, when: at, session: 'now' },
      { seq: old * 4096 + 1, cost: 500, when: old, session: 'past' },
      { seq: at * 4096 + 2, cost: 40, when: at, session: '' },
    ].map(({ seq, cost, when, session }) => {
      const row = generation(seq, 'k', cost, when)
      return { ...row, settled: { ...row.settled, facts: facts(session) } }
    })
    await record.take('n', made)
    const scans = new LedgerScans(record.ledger, clock)
    const about = ({ hold }: (typeof made)[number]): Partial<NewEntry> => ({
      generation: { seq: hold.seq, tag: hold.tag },
      model: 'served',
      provider: 'Here',
    })
    const whole = { from: day - 20 * DAY, until: day + DAY }
    const queryCost = async (query: UseQuery): Promise<bigint> => (await scans.use(query)).reduce((sum, { cost }) => sum + cost, 0n)
    const sessions = async (query: SessionQuery): Promise<Record<string, bigint>> => {
      const { rows } = await scans.sessions(query, { offset: 0, limit: 10 })
      return Object.fromEntries(rows.map(({ session, cost }) => [session, cost]))
    }
    t.equal(await queryCost(whole), 1540n)
    t.same(await sessions(whole), { now: 1000n, past: 500n })
    const [present, past, plain] = made
    if (!present || !past || !plain) throw new Error('expected three generations')
    // Of a day that is over, whose sums are kept: charged today, it counts there.
    added(await kept.add(entry('k', 'refund', 200, { ...about(past), countedAt: old })))
    t.equal(await queryCost(whole), 1340n, 'a day that is over')
    t.same(await sessions(whole), { now: 1000n, past: 300n })
    added(await kept.add(entry('k', 'correction', 50, { ...about(past), countedAt: at })))
    added(await kept.add(entry('k', 'correction', -1, { ...about(present), countedAt: at })))
    added(await kept.add(entry('k', 'refund', 40, { ...about(plain), countedAt: at })))
    added(await kept.add(entry('k', 'correction', 7, { countedAt: at })))
    t.equal(await queryCost(whole), 1356n)
    t.same(await sessions(whole), { now: 999n, past: 350n }, 'with their generation, whenever they were added')
    t.same(await sessions({ ...whole, from: at - 1000 }), { now: 999n }, 'a period without that generation')
    t.same(await sessions({ ...whole, session: 'past', keys: ['k'] }), { past: 350n })
    t.same(await sessions({ ...whole, keys: ['other'] }), {})
    for (const apart of [[], ['model'], ['provider'], ['model', 'provider'], ['day'], ['day', 'model', 'provider']] as UseGroup[][]) {
      const rows = await scans.use({ ...whole, byKey: true, apart })
      const names = rows.map((row) => [row.key, row.day, row.model, row.provider].join())
      t.equal(new Set(names).size, names.length, `one row for each: ${apart}`)
      t.equal(
        rows.reduce((sum, { cost }) => sum + cost, 0n),
        1356n,
        String(apart),
      )
      t.equal(
        rows.reduce((sum, { requests }) => sum + requests, 0),
        3,
        'no entry is a request',
      )
    }
    t.equal(await queryCost({ ...whole, byKey: true, apart: ['day'], model: 'served' }), 1349n, 'of one model')
    t.equal(await queryCost({ ...whole, byKey: true, apart: ['day'], provider: 'Elsewhere' }), 0n, 'of another provider')
    t.match(await verifyLedger(record.ledger, { full: true }), { ok: true, problems: [] })
  })

  t.test(`${kind}: what was lost is settled in parts, and never twice`, async (t) => {
    const { clock, record, kept } = await start(t)
    const at = clock.now()
    const row = generation(at * 4096 + 1, 'k', 1000, at)
    await record.take('n', [{ ...row, settled: { ...row.settled, facts: '{"disputed_nano":500}' } }])
    const [disputed] = await kept.page({ after: 0, limit: 1, kind: 'disputed' })
    const settles = disputed?.id ?? ''
    t.equal(await kept.add(entry('k', 'write_off', 501, { settles })), 'more_than_open')
    t.equal(await kept.add(entry('k', 'write_off', 1, { settles: 'ent_none' })), 'no_such_entry')
    added(await kept.add(entry('k', 'write_off', 400, { settles })))
    added(await kept.add(entry('k', 'correction', 100, { settles, countedAt: at })))
    t.equal(await kept.add(entry('k', 'write_off', 1, { settles })), 'more_than_open')
    t.equal((await balance(record, 'k')).spent, 1100)
    t.same(
      [...(await kept.sums(['k', 'other']))].sort((a, b) => (a.kind < b.kind ? -1 : 1)),
      [
        { key: 'k', kind: 'correction', amount: 100n, settled: 0n },
        { key: 'k', kind: 'disputed', amount: 500n, settled: 500n },
        { key: 'k', kind: 'write_off', amount: 400n, settled: 0n },
      ],
    )
    t.same(await kept.sums(['other']), [])
    const both = await Promise.all([1, 2].map(() => kept.add(entry('k', 'refund', 10, { once: 'twice', countedAt: at }))))
    t.equal(new Set(both.map((each) => added(each).id)).size, 1, 'two at once are one')
    t.equal((await balance(record, 'k')).spent, 1090)
    const page = await kept.page({ after: 0, limit: 2 })
    t.equal(page.length, 2)
    t.equal((await kept.page({ after: page.at(-1)?.number ?? 0, limit: 10 })).length, 2)
    t.equal((await kept.page({ after: 0, limit: 10, id: settles })).length, 1)
    const oldest = await kept.page({ after: 0, limit: 10 })
    const newest = await kept.page({ after: 0, newestFirst: true, limit: 3 })
    t.same(newest, oldest.toReversed().slice(0, 3), 'the newest first')
    const last = newest.at(-1)?.number ?? 0
    t.same(await kept.page({ after: last, newestFirst: true, limit: 10 }), oldest.toReversed().slice(3), 'and the next page')
    const about = oldest.find(({ generation }) => generation !== undefined)
    if (!about) throw new Error('no entry is about a generation')
    const of = { key: about.key, generation: about.generation }
    t.ok((await kept.page({ after: 0, limit: 10, ...of })).every(({ generation }) => generation?.seq === about.generation?.seq))
    t.ok((await kept.page({ after: 0, limit: 10, ...of })).length > 0)
    t.match(await verifyLedger(record.ledger, { full: true }), { ok: true })
  })
}
