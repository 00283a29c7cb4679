/**
 * An embedded store of 10 million generations, 200,000 keys and 400 days of sums for 2,500 of them: what runs on the event loop of a gateway
 * leaves each turn of it short, whatever the store holds, and a start reads little of it.
 */
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { keepLocally } from '../../src/cluster/bookkeeping.ts'
import { verifyLedger } from '../../src/ledger/verify.ts'
import { openStore } from '../../src/store/open.ts'
import { FakeClock } from '../support/clock.ts'
import { DAY_MS } from '../support/grown/sizes.ts'
import { fillSqlite } from '../support/grown/sqlite.ts'
import { watchTurns } from '../support/longest-turn.ts'

t.setTimeout(20_000_000)
/** Smaller for a look: HEADGATE_GROWN=0.1 has a tenth. */
const SCALE = Number(process.env.HEADGATE_GROWN ?? 1)
const WHOLE = { rows: 10_000_000 * SCALE, keys: 200_000 * SCALE, carriedKeys: 2_500 * SCALE, days: 400 }
/** Milliseconds of processor time of the gateway's thread, pauses of its collector among them. */
const MAX_TURN_MS = 120
const MAX_START_MS = 2_000
/** Of one call of the upkeep. */
const ROWS_AT_ONCE = 1_000

t.test('no operation holds the event loop', async (t) => {
  const file = join(t.testdir(), 'headgate.db')
  const clock = new FakeClock()
  const until = Math.floor(clock.now()) - 2 * DAY_MS
  const begun = performance.now()
  fillSqlite(file, WHOLE, until)
  t.pass(`filled: ${((performance.now() - begun) / 1000).toFixed(1)} s`)
  const started = await watchTurns(async () => openStore(`sqlite:${file}`, { clock }))
  const store = started.result
  t.teardown(() => store.close())
  t.ok(started.longest < MAX_START_MS, `start: ${started.longest.toFixed(1)} ms`)
  const { ledger } = keepLocally(store, clock)
  const now = clock.now()
  const week = { from: (Math.floor(until / DAY_MS) - 7) * DAY_MS, until: (Math.floor(until / DAY_MS) + 1) * DAY_MS }
  const key = 'k0000007'
  const untilNone = async (work: () => number): Promise<void> => {
    while (work() > 0) await nextTurn()
  }
  const operations: [string, () => Promise<unknown>][] = [
    ['fold', () => untilNone(() => store.journal.roll(now, ROWS_AT_ONCE))],
    ['find', () => ledger.find('gen-1-abcdefghijkl')],
    ['sums of all keys', () => ledger.spent()],
    ['windows', () => ledger.windows()],
    ['search', () => ledger.search({ from: 0, until: now * 2, limit: 50 }, '')],
    ['search by key', () => ledger.search({ from: 0, until: now * 2, key, limit: 50 }, '')],
    ['use', () => ledger.use(week)],
    ['use of a key', () => ledger.use({ ...week, keys: [key], byKey: true, apart: ['day'] })],
    ['use of each key', () => ledger.use({ ...week, byKey: true, apart: [] })],
    ['sessions of a key', () => ledger.sessionNames({ from: until - 3_600_000, until, keys: [key] })],
    [
      'export of a day',
      async () => {
        let count = 0
        for await (const _ of ledger.export(until - DAY_MS)) if (++count % ROWS_AT_ONCE === 0) await nextTurn()
      },
    ],
    ['verify', () => verifyLedger(ledger, { now })],
    ['verify again', () => verifyLedger(ledger, { now })],
    ['verify all', () => verifyLedger(ledger, { full: true, now })],
    ['prune', () => untilNone(() => store.journal.prune(until - 35 * DAY_MS, ROWS_AT_ONCE))],
  ]
  for (const [name, work] of operations) {
    const since = performance.now()
    const { longest } = await watchTurns(work)
    t.ok(
      longest < MAX_TURN_MS,
      `${name}: turns of at most ${longest.toFixed(1)} ms, ${((performance.now() - since) / 1000).toFixed(1)} s in all`,
    )
  }
})
