/** Sums by session on PostgreSQL, with processes that hand generations in while they are added up. */

import t, { type Test } from 'tap'
import type { SessionName, SessionNamePage, SessionQuery, SessionUse } from '../../src/ledger/types.ts'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { FakeClock } from '../support/clock.ts'
import { ledgerOfRows } from '../support/memory/ledger.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { clocked } from '../support/postgres-clock.ts'
import { allSessions } from '../support/sessions.ts'
import { generation } from './record-contract.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const server = await startPostgres(t)
if (server) suite(server)
else t.plan(0, 'PostgreSQL is not installed')

function suite(server: TestPostgres): void {
  const opened = async (t: Test, url: string) => {
    const clock = new FakeClock()
    const record = await clocked(await openPostgres(url, { clock, limits: { connect: 20_000, statement: 20_000 } }), clock, server, url)
    t.teardown(() => record.close())
    return { record, now: () => clock.now() }
  }
  const texts = (found: readonly SessionUse[]): string[] =>
    found.map((row) => JSON.stringify(Object.entries({ ...row, models: row.models.toSorted(), cost: String(row.cost) }).sort()))

  t.test('sums of sessions are those of the rows, whatever is handed in while they are added up', async (t) => {
    const url = await server.database()
    const { record, now } = await opened(t, url)
    const { record: other } = await opened(t, url)
    const begun = Math.floor(now() / DAY) * DAY - 9 * HOUR
    const rows = Array.from({ length: 900 }, (_, index) => {
      const at = begun + ((index * 37) % 900) * 30_000
      const row = generation(at * 4096 + (index % 4096), `k${index % 4}`, index, at)
      const facts = [
        `{"session_id":"s${index % 5}","model":"acme/two","cache_discount":0.5}`,
        `{"session_id":"s${index % 5} \\u0000 é"}`,
        `{"session_id":"of ${Math.floor(at / HOUR)}","model":"acme/${index % 3}"}`,
        '{}',
      ]
      const status = index % 7 === 0 ? ('failed' as const) : ('completed' as const)
      return { ...row, settled: { ...row.settled, facts: facts[Math.floor(index / 4) % 4] ?? '', status } }
    })
    const batches = Array.from({ length: 30 }, (_, index) => rows.filter((_, at) => at % 30 === index))
    const taking = Promise.all(
      batches.flatMap((batch, i) => [(i % 2 ? record : other).take('n1', batch), other.take('n2', batch.slice(0, 9))]),
    )
    const rolling = (async () => {
      for (let round = 0; round < 24; round++) await (round % 2 ? record : other).roll(0, 50)
    })()
    const queries: SessionQuery[] = [
      { from: begun, until: begun + 9 * HOUR },
      { from: begun + HOUR, until: begun + 5 * HOUR, keys: ['k1', 'k2'] },
      { from: begun + 0.3 * HOUR, until: begun + 4.7 * HOUR },
      { from: begun + 2.3 * HOUR, until: begun + 2.7 * HOUR, keys: ['k0'] },
      { from: begun + 0.5 * HOUR, until: begun + 8 * HOUR, session: 's1' },
    ]
    const { ledger } = record
    const plain = ledgerOfRows({ export: ledger.export.bind(ledger) })
    const agree = async (what: string, ...of: SessionQuery[]): Promise<void> => {
      for (const query of of) {
        const expected = await allSessions(plain, query)
        t.ok(expected.length > 3, `${expected.length} sessions`)
        t.same(texts(await allSessions(ledger, query)), texts(expected), `${what}, ${JSON.stringify(query)}`)
      }
    }
    await Promise.all([taking, rolling])
    await agree('with some above the watermark', ...queries)
    while ((await record.roll(0, 100)) >= 100);
    await agree('from the table', ...queries)
    const late = generation((begun + 0.5 * HOUR) * 4096 + 3000, 'k1', 5, begun + 0.5 * HOUR)
    const lateRow = { ...late, settled: { ...late.settled, facts: '{"session_id":"s1","model":"acme/late"}' } }
    await Promise.all([record.take('n1', [lateRow]), other.take('n2', [lateRow])])
    await agree('with one that came late, twice', ...queries)
    const gone = await record.prune(begun + 2.5 * HOUR, 5000)
    t.ok(gone > 100, `${gone} have left`)
    while ((await record.roll(0, 50)) >= 50);
    const [{ hour } = {}] = await server.query(url, 'SELECT min(hour) AS hour FROM session_use')
    t.equal(Number(hour), begun / HOUR + 2, 'hours of which all generations are gone are forgotten')
    await server.query(url, 'UPDATE session_use SET count = count + 1')
    const next = { from: begun + DAY, until: begun + 2 * DAY }
    await record.take(
      'n1',
      [generation((begun + DAY) * 4096, 'k1', 5, begun + DAY)].map((row) => ({
        ...row,
        settled: { ...row.settled, facts: '{"session_id":"s1"}' },
      })),
    )
    await ledger.rebuildUse()
    t.same(texts(await allSessions(ledger, next)), texts(await allSessions(plain, next)), 'sums that were made anew')
  })

  t.test('a list that was begun counts each generation once, whatever is added up meanwhile', async (t) => {
    const url = await server.database()
    const { record, now } = await opened(t, url)
    const begun = Math.floor(now() / HOUR) * HOUR - 6 * HOUR
    const rows = Array.from({ length: 3000 }, (_, index) => {
      const at = begun + index * 6_000
      const row = generation(at * 4096, 'a', 1, at)
      return { ...row, settled: { ...row.settled, facts: `{"session_id":"s${index}"}` } }
    })
    await record.take('n1', rows)
    const query = { from: begun, until: begun + 6 * HOUR }
    for (const rolled of [0, 500, 2800]) {
      await record.roll(0, rolled)
      let requests = 0
      const names: SessionName[] = []
      for (let after: string | undefined = ''; after !== undefined; ) {
        const page: SessionNamePage = await record.ledger.sessionNamePage(query, after)
        names.push(...page.rows)
        await record.roll(0, 150)
        after = page.next
      }
      t.equal(new Set(names.map(({ session }) => session)).size, 3000)
      for (let at = 0; at < names.length; at += 100) {
        const { rows, next } = await record.ledger.sessionSumPage(query, '', names.slice(at, at + 100))
        requests += rows.reduce((sum, row) => sum + row.requests, 0)
        if (next !== undefined) throw new Error('a part is one page')
      }
      t.equal(requests, 3000)
    }
  })
}
