/** The check of what is new in the ledger, on a file and on PostgreSQL. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { LedgerReader } from '../../src/ledger/reader.ts'
import { verifyLedger } from '../../src/ledger/verify.ts'
import { SqliteJournal } from '../../src/store/journal.ts'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { generation } from '../store/record-contract.ts'
import { FakeClock } from '../support/clock.ts'
import { startPostgres } from '../support/postgres.ts'
import { clocked } from '../support/postgres-clock.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

interface Scene {
  readonly ledger: LedgerReader
  readonly now: () => number
  /** Generations of a key admitted so many milliseconds ago, of 10 nano-dollars each. */
  write(key: string, ...ages: number[]): Promise<void>
  prune(age: number): Promise<number>
  advance(ms: number): Promise<void>
  /** Adds 1 to the cost of the generations admitted at least so long ago. */
  damage(age: number): Promise<void>
}

const server = await startPostgres(t)

async function onFile(t: Test): Promise<Scene> {
  const clock = new FakeClock()
  const db = openDatabase(join(t.testdir(), 'headgate.db'), 'process')
  const journal = new SqliteJournal(db, { clock })
  t.teardown(() => journal.close())
  let count = 0
  return {
    ledger: journal.ledger,
    now: () => clock.now(),
    async write(key, ...ages) {
      for (const age of ages) {
        const { hold, settled } = generation((clock.now() - age) * 4096 + ++count, key, 10, clock.now() - age)
        journal.hold(hold)
        journal.settle(settled)
      }
      await journal.committed()
    },
    advance: (ms) => clock.advance(ms),
    prune: async (age) => journal.prune(clock.now() - age, 1000),
    damage: async (age) => void db.prepare('UPDATE settlement SET cost = cost + 1 WHERE seq <= ?').run((clock.now() - age) * 4096),
  }
}

async function onPostgres(t: Test): Promise<Scene & { readonly clock: FakeClock; readonly url: string }> {
  if (!server) throw new Error('PostgreSQL is not installed')
  const url = await server.database()
  const clock = new FakeClock()
  const record = await clocked(await openPostgres(url, { clock, limits: { connect: 20_000, statement: 20_000 } }), clock, server, url)
  t.teardown(() => record.close())
  let count = 0
  return {
    clock,
    url,
    ledger: record.ledger,
    now: () => clock.now(),
    async write(key, ...ages) {
      const rows = ages.map((age) => generation((clock.now() - age) * 4096 + ++count, key, 10, clock.now() - age))
      await record.take('n1', rows)
    },
    prune: (age) => record.prune(clock.now() - age, 1000, age),
    advance: (ms) => clock.advance(ms),
    damage: async (age) => {
      await server.query(url, 'UPDATE generation SET cost = cost + 1 WHERE seq <= $1', [(clock.now() - age) * 4096])
    },
  }
}

for (const [name, begin] of Object.entries({ 'a file': onFile, ...(server ? { PostgreSQL: onPostgres } : {}) }))
  t.test(`what is new is checked, and what was checked before is not read again: ${name}`, async (t) => {
    const { ledger, now, write, prune, damage } = await begin(t)
    const verify = (full = false) => verifyLedger(ledger, { full, now: now() })
    t.match(await verify(), { ok: true, generations: 0, before: undefined })
    await write('a', 40 * DAY, 39 * DAY, 5 * HOUR, 2 * HOUR)
    await write('b', 3 * HOUR, HOUR / 2)
    t.match(await verify(), { ok: true, generations: 6, charged: 60, before: undefined }, 'the first time everything')
    const until = new Date(Math.floor(now() - 2 * HOUR)).toISOString()
    t.match(
      await verify(),
      { ok: true, generations: 1, charged: 10, before: { generations: 5, charged: '50', until } },
      'then what is younger than an hour',
    )
    await write('b', 4 * HOUR, 1)
    t.match(await verify(), { ok: true, generations: 3, before: { generations: 5 } }, 'one that came late is new')
    t.match(await verify(), { ok: true, generations: 2, before: { generations: 6, charged: '60' } }, 'once')
    t.equal(await prune(32 * DAY), 2)
    t.match(await verify(), { ok: true, generations: 2, carried: 20, before: { generations: 6 } }, 'retention changes no sum')
    t.match(await verify(true), { ok: true, generations: 6, carried: 20, before: undefined }, 'everything')
    await damage(4.5 * HOUR)
    t.match(await verify(), { ok: true, generations: 2 }, 'what was right is not read again')
    const full = await verify(true)
    t.match(full, { ok: false, before: undefined })
    t.ok(full.problems.includes('key a: settlements sum to 41, 40 are recorded as spent'), full.problems.join('\n'))
    await damage(-1)
    const found = await verify()
    t.match(found, { ok: false, generations: 6, before: undefined }, 'where something new is wrong, everything is checked')
    t.equal(found.problems.length > 1, true, found.problems.join('\n'))
  })

for (const [name, begin] of Object.entries({ 'a file': onFile, ...(server ? { PostgreSQL: onPostgres } : {}) }))
  t.test(`what retention removes before a check has read it is no reason to read everything: ${name}`, async (t) => {
    const { ledger, now, write, prune, advance } = await begin(t)
    const verify = (full = false) => verifyLedger(ledger, { full, now: now() })
    await write('a', 5 * HOUR, 4 * HOUR, HOUR / 2)
    await write('p', 5 * HOUR)
    t.match(await verify(), { ok: true, generations: 4, before: undefined })
    await advance(60 * DAY)
    // In order behind the last check, and late.
    await write('a', 50 * DAY, 45 * DAY, 60 * DAY + 4.5 * HOUR, 2 * HOUR)
    await write('b', 44 * DAY)
    t.equal(await prune(40 * DAY), 8)
    t.match(
      await verify(),
      { ok: true, generations: 1, charged: 10, carried: 80, before: { generations: 3 } },
      'only what is there and new',
    )
    t.match(await verify(), { ok: true, generations: 0, carried: 80, before: { generations: 4 } })
    await advance(60 * DAY)
    await write('a', 50 * DAY, 1)
    t.equal(await prune(40 * DAY), 2)
    t.match(await verify(), { ok: true, generations: 1, carried: 100, before: { generations: 4 } }, 'again')
    t.match(await verify(true), { ok: true, generations: 1, carried: 100, before: undefined })
  })

t.test('each check compares the sums of the day, the week and the month', async (t) => {
  if (!server) return
  const { ledger, now, write, clock, url } = await onPostgres(t)
  const verify = () => verifyLedger(ledger, { now: now() })
  await write('a', 5 * HOUR, 2 * HOUR, HOUR / 2)
  await write('b', 3 * HOUR)
  t.match(await verify(), { ok: true, generations: 4, before: undefined })
  await write('a', 4 * HOUR, 1)
  t.match(await verify(), { ok: true, generations: 3, before: { generations: 3 } }, 'with what was read before')
  await clock.advance(DAY)
  await write('b', 2 * HOUR)
  t.match(await verify(), { ok: true, before: { generations: 4 } }, 'on the next day')
  await clock.advance(40 * DAY)
  await write('b', 2 * HOUR, 1)
  t.match(await verify(), { ok: true, before: { generations: 7 } }, 'in the month after next')
  for (const window of ['daily', 'weekly', 'monthly']) {
    await server.query(url, `UPDATE balance_shard SET ${window} = ${window} + 1 WHERE key = 'b' AND spent > 0`)
    const { ok, problems } = await verify()
    t.same([ok, problems], [false, [`key b: settlements of its ${window} window sum to 20, 21 are recorded`]])
    await server.query(url, `UPDATE balance_shard SET ${window} = ${window} - 1 WHERE key = 'b' AND spent > 0`)
  }
  t.match(await verify(), { ok: true, generations: 9, before: undefined }, 'after something was wrong everything is read once')
  t.match(await verify(), { ok: true, before: { generations: 8 } })
  await server.query(url, "UPDATE ledger_reader SET note = (note::jsonb - 'windows')::text WHERE name = 'ledger-verify'")
  t.match(await verify(), { ok: true, before: {} }, 'a check that has kept none')
  await server.query(url, "UPDATE balance_shard SET monthly = monthly + 1 WHERE key = 'b' AND spent > 0")
  t.match(await verify(), { ok: true }, 'the rest of such a month is left to the check of everything')
})
