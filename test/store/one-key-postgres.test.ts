/** One key that many processes spend at once, on PostgreSQL: none of them waits for the commit of another, and the sums are exact. */
import pg from 'pg'
import t, { type Test } from 'tap'
import { verifyLedger } from '../../src/ledger/verify.ts'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { FakeClock } from '../support/clock.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { clocked } from '../support/postgres-clock.ts'
import { ask, balance, generation, leaseFrom, pulseOf } from './record-contract.ts'

const server = await startPostgres(t)
if (server) suite(server)
else t.plan(0, 'PostgreSQL is not installed')

async function opened(t: Test, server: TestPostgres, url: string) {
  const clock = new FakeClock()
  const plain = await openPostgres(`${url}?pool=8`, { clock, limits: { connect: 2000, statement: 2000 } })
  const record = await clocked(plain, clock, server, url)
  t.teardown(() => record.close())
  return { record, now: () => clock.now() }
}

/** Forwards one row in a transaction that stays open. @returns ends it. */
async function openTake(t: Test, url: string, node: string, seq: number, key: string, at: number): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end().catch(() => {}))
  await client.query('BEGIN')
  const one = (value: unknown) => [value]
  const columns = [seq, 'other', key, '', 'acme/one', 'acme/one@here', 10, 1, 'completed', 7, 1, 1, 0, 0, 0, false, '{}', at]
  await client.query(`SELECT headgate_take(${Array.from({ length: columns.length + 1 }, (_, i) => `$${i + 1}`).join(', ')})`, [
    node,
    ...columns.map(one),
  ])
  return async () => {
    await client.query('COMMIT')
  }
}

function suite(server: TestPostgres): void {
  t.test('rows and leases of a key do not wait for a commit of another process', async (t) => {
    const url = await server.database()
    const { record, now } = await opened(t, server, url)
    await record.pulse(pulseOf('first'))
    const commit = await openTake(t, url, 'first', 1, 'a', now())
    // Sixteen shards: of 40 processes some share the shard of the first one, most do not.
    const others = Array.from({ length: 40 }, (_, index) => `n${index}`)
    const [{ shard }] = (await server.query(url, "SELECT hashtext('first') & 15 AS shard")) as [{ shard: number }]
    const apart = await server.query(url, 'SELECT node FROM unnest($1::text[]) AS node WHERE hashtext(node) & 15 <> $2', [others, shard])
    t.ok(apart.length > 20, `${apart.length} of 40 are in other shards`)
    await Promise.all(apart.map(({ node }, index) => record.take(String(node), [generation(100 + index, 'a', 2, now())])))
    t.match(await leaseFrom(record, 'n0', ask('a', 5)), { granted: 5 }, 'a lease, too')
    t.match(await balance(record, 'a'), { spent: 2 * apart.length, leased: 5 }, 'what is committed counts')
    await commit()
    t.match(await balance(record, 'a'), { spent: 2 * apart.length + 7, leased: 5 })
    t.match(await verifyLedger(record.ledger, { full: true }), { ok: true, problems: [] })
  })

  t.test('a lease counts what all processes have forwarded, and no more than the limit is granted', async (t) => {
    const url = await server.database()
    const { record, now } = await opened(t, server, url)
    const nodes = Array.from({ length: 24 }, (_, index) => `n${index}`)
    for (const node of nodes) await record.pulse(pulseOf(node))
    let seq = 0
    const spend = async (node: string): Promise<number> => {
      let spent = 0
      for (let turn = 1; turn <= 6; turn++) {
        const { granted } = await leaseFrom(record, node, ask('a', 7, { limit: 900, turn }))
        if (granted > 0) await record.take(node, [generation(++seq, 'a', granted, now())])
        spent += granted
      }
      return spent
    }
    const all = (await Promise.all(nodes.map(spend))).reduce((sum, spent) => sum + spent, 0)
    t.ok(all > 893 && all <= 900, `${all} of 900`)
    t.match(await balance(record, 'a'), { spent: all, leased: 0 })
    t.match(await verifyLedger(record.ledger, { full: true }), { ok: true, problems: [] })
  })

  t.test('a batch that is sent twice at once is charged and summed once, late rows too', async (t) => {
    const url = await server.database()
    const { record, now } = await opened(t, server, url)
    await server.query(url, 'UPDATE use_below SET seq = 1000')
    await server.query(url, 'UPDATE session_below SET seq = 1000')
    const batch = Array.from({ length: 60 }, (_, index) => generation(index * 40 + 1, 'a', 1, now()))
    await Promise.all(Array.from({ length: 6 }, (_, index) => record.take(index % 2 === 0 ? 'n1' : 'n2', batch)))
    t.match(await balance(record, 'a'), { spent: 60 })
    const late = batch.filter(({ hold }) => hold.seq < 1000).length
    t.same(await server.query(url, 'SELECT sum(count)::int AS count FROM use_by_key'), [{ count: late }])
    t.match(await verifyLedger(record.ledger, { full: true }), { ok: true, generations: 60, problems: [] })
  })
}
