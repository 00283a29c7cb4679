/** Charge-backs of the embedded store while it is written: each is exactly what had been settled at its last page. */
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import type { ChargeGroup, ChargeQuery } from '../../src/ledger/charge-sums.ts'
import { DAY_MS } from '../../src/ledger/use.ts'
import { SqliteJournal } from '../../src/store/journal.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { FakeClock } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { holdRow, settleRow } from './samples.ts'

const TICKS = 4096
const FIRST = Date.UTC(2026, 0, 1)
const DAYS = 10
const KEYS = 1_500

const keyAt = (at: number): string => `key-${String((at * 7919) % KEYS).padStart(5, '0')}`
const factsAt = (at: number): string => JSON.stringify({ provider: at % 3 === 0 ? 'Here' : 'There', session_id: `s${at % 5}` })

const GROUPS: readonly (readonly ChargeGroup[])[] = [
  ['key'],
  ['model'],
  ['day'],
  ['key', 'model', 'provider'],
  ['day', 'key', 'model', 'provider'],
  ['key', 'session'],
  ['session', 'day'],
]

t.test('a charge-back is of one moment while generations are settled', { timeout: 200_000 }, async (t) => {
  const clock = new FakeClock(FIRST + DAYS * DAY_MS - 1)
  const journal = new SqliteJournal(openDatabase(join(t.testdir(), 'headgate.db'), 'process'), { clock })
  t.teardown(() => journal.close())
  let count = 0
  const late: number[] = []
  const hold = (at: number, isLate: boolean): void => {
    const seq = Math.floor((FIRST + at) * TICKS) + (count % TICKS)
    count++
    journal.hold(holdRow(seq, { key: keyAt(count), model: count % 2 === 0 ? 'acme/one' : 'acme/two' }))
    if (isLate) late.push(seq)
    else journal.settle(settleRow(seq, (count * 1_000_003) % 999_999_937, { facts: factsAt(count) }))
  }
  for (let at = 0; at < 12_000; at++) {
    hold(((at * 104_729) % DAYS) * DAY_MS + ((at * 31_337) % DAY_MS), at % 5 === 0)
    if (at % 500 === 0) await journal.committed()
  }
  await journal.committed()
  // All but the last day is closed, and its rows are partly in the tables and partly in memory.
  while (journal.roll(FIRST + (DAYS - 0.5) * DAY_MS, 1_000) >= 1_000);
  const settleSome = async (): Promise<void> => {
    for (let at = 0; at < 3; at++) {
      const [seq] = late.splice((count * 31) % Math.max(1, late.length), 1)
      count++
      if (seq !== undefined) journal.settle(settleRow(seq, (count * 1_000_003) % 999_999_937, { facts: factsAt(count) }))
      hold((DAYS - 1) * DAY_MS + ((count * 31_337) % (DAY_MS / 2)), count % 4 === 0)
    }
    await journal.committed()
    if (count % 50 < 5) journal.roll(FIRST + (DAYS - 0.5) * DAY_MS + count, 200)
  }
  const byHand = (query: ChargeQuery): Map<string, string> => {
    const sums = new Map<string, { requests: number; cost: bigint }>()
    for (const {
      hold: { seq, key, model },
      settled,
    } of journal.export()) {
      if (!settled) continue
      const { provider, session_id: session } = JSON.parse(settled.facts) as { provider: string; session_id: string }
      const groups = { day: Math.floor(seq / TICKS / DAY_MS) * DAY_MS, key, model, provider, session, app: '', user: '' }
      const name = query.by.map((group) => groups[group]).join(' ')
      const sum = sums.get(name) ?? { requests: 0, cost: 0n }
      sums.set(name, { requests: sum.requests + 1, cost: sum.cost + BigInt(settled.cost) })
    }
    return new Map(Array.from(sums, ([name, { requests, cost }]): [string, string] => [name, `${requests} ${cost}`]))
  }
  let written = 0
  await every(t, 'every grouping', async (t) => {
    for (const by of [...GROUPS, ...GROUPS]) {
      const query = { from: FIRST, until: FIRST + DAYS * DAY_MS, by }
      let isOver = false
      const before = count
      const writing = (async () => {
        while (!isOver) {
          await settleSome()
          await nextTurn()
        }
      })()
      const { sums } = await journal.ledger.charges(query)
      const expected = byHand(query)
      isOver = true
      written += count - before
      await writing
      const found = new Map(sums.map((sum): [string, string] => [by.map((group) => sum[group]).join(' '), `${sum.requests} ${sum.cost}`]))
      t.same([...found].sort(), [...expected].sort(), by.join(', '))
    }
  })
  t.ok(written > 200, `${written} generations were written meanwhile`)
})
