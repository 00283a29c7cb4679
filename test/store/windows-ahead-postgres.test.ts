/** Windows of limits that a clock of the database has opened early: they are computed anew in pages, beside those that hand generations in. */
import t from 'tap'
import { verifyLedger } from '../../src/ledger/verify.ts'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { FakeClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { startPostgres } from '../support/postgres.ts'
import { clocked } from '../support/postgres-clock.ts'
import { generation } from './record-contract.ts'

const DAY = 86_400_000
const server = await startPostgres(t)

/** A record whose database's clock is the test's, and its generations: `<key> <cost> <days ago>`. */
async function opened(limits = { connect: 20_000, statement: 20_000 }) {
  if (!server) throw new Error('PostgreSQL is not installed')
  const url = await server.database()
  const clock = new FakeClock()
  // The middle of a month and of a week.
  await clock.advance(Date.UTC(2026, 3, 15, 12) - clock.now())
  const record = await clocked(await openPostgres(url, { clock, limits }), clock, server, url)
  t.teardown(() => record.close())
  let count = 0
  const rows = (key: string, ages: readonly number[], payer?: string) =>
    ages.map((age) => {
      const row = generation(Math.floor(clock.now() - age * DAY) * 4096 + ++count, key, 10, Math.floor(clock.now() - age * DAY))
      return payer === undefined ? row : { ...row, hold: { ...row.hold, payer } }
    })
  return { url, clock, record, rows }
}

if (server) {
  t.test('after the clock went back over midnight each window has what was spent in it', async (t) => {
    const { clock, record, rows, url } = await opened()
    await record.take('n1', [...rows('a', [20, 13, 1.2, 0.2]), ...rows('b', [0.1], 'p>o>r')])
    await clock.advance(DAY)
    await record.take('n1', rows('a', [0]))
    await record.take('n1', rows('c', [0], 'p>o>r'))
    await clock.advance(-DAY)
    await record.balances([])
    t.match(await verifyLedger(record.ledger, { full: true }), { ok: false, problems: Array(5).fill(/ahead of now/) })
    t.match(
      await server.query(url, "SELECT headgate_set_windows('{p}', '{0}', '{0}', '{0}', 0, 0, 0, 'limit-windows') AS count"),
      [{ count: -1 }],
      'a program that knows one payer sets none',
    )
    t.equal(await record.rebuildWindows(), 5, 'a, c, p, o and r')
    t.match(await verifyLedger(record.ledger, { full: true }), { ok: true, problems: [] })
    const [a, b, c, ...payers] = await record.balances(['a', 'b', 'c', 'p', 'o', 'r'])
    t.match(a, { daily: 20n, weekly: 30n, monthly: 40n, spent: 50n })
    t.match(b, { daily: 10n, weekly: 10n, monthly: 10n })
    t.match(c, { daily: 10n })
    t.match(payers, Array(3).fill({ daily: 20n, monthly: 20n }))
    t.equal(await record.rebuildWindows(), 0, 'nothing is left to do')
    t.match(await record.ledger.readers.unread('limit-windows', 0, 10), { rows: 7 }, 'nor is the reader, which would note what comes late')
  })

  t.test('what comes in meanwhile, late or ahead of now, counts once', async (t) => {
    const { clock, record, rows, url } = await opened()
    const keys = ['a', 'b', 'c', 'd']
    for (const key of keys) await record.take('n1', rows(key, [9, 1, 0.3]))
    await clock.advance(DAY)
    for (const key of keys) await record.take('n1', rows(key, [0]))
    await clock.advance(-DAY)
    let running = true
    const writing = (async () => {
      let taken = 0
      for (; running; taken++) await record.take('n1', rows(keys[taken % 4] ?? 'a', [0, 0.1, 2, -0.2]))
      return taken
    })()
    // Two processes at once: one of them does it.
    const counts = await Promise.all([record.rebuildWindows(), record.rebuildWindows()])
    await eventually(
      'generations of the meantime',
      async () => Number((await server.query(url, 'SELECT count(*)::int AS n FROM generation'))[0]?.n) > 60,
    )
    running = false
    t.ok((await writing) > 0)
    t.equal(Math.max(...counts), 4)
    t.match(await verifyLedger(record.ledger, { full: true }), { ok: true, problems: [] })
  })
}
