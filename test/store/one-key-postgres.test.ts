/** One key that many processes spend at once, on PostgreSQL: no lease waits for a batch, no batch for another process's, and the sums are exact. */
import pg from 'pg'
import t, { type Test } from 'tap'
import { verifyLedger } from '../../src/ledger/verify.ts'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { FakeClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { clocked } from '../support/postgres-clock.ts'
import { ask, balance, generation, leaseFrom, nodePulse } from './record-contract.ts'

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
    await record.pulse(nodePulse('first'))
    const commit = await openTake(t, url, 'first', 1, 'a', now())
    // Few of 64 processes share the shard of the first one.
    const others = Array.from({ length: 64 }, (_, index) => `n${index}`)
    const [{ shard }] = (await server.query(url, "SELECT hashtext('first') & 63 AS shard")) as [{ shard: number }]
    const apart = await server.query(url, 'SELECT node FROM unnest($1::text[]) AS node WHERE hashtext(node) & 63 <> $2', [others, shard])
    t.ok(apart.length > 60, `${apart.length} of 64 are in other shards`)
    await Promise.all(apart.map(({ node }, index) => record.take(String(node), [generation(100 + index, 'a', 2, now())])))
    const [{ shards }] = (await server.query(url, "SELECT count(*)::int AS shards FROM balance_shard WHERE key = 'a'")) as [
      { shards: number },
    ]
    t.ok(shards > 32, `64 processes have ${shards} shards`)
    t.match(await leaseFrom(record, 'n0', ask('a', 5)), { granted: 5 }, 'a lease, too')
    t.match(await balance(record, 'a'), { spent: 2 * apart.length, leased: 5 }, 'what is committed counts')
    await commit()
    t.match(await balance(record, 'a'), { spent: 2 * apart.length + 7, leased: 5 })
    t.match(await verifyLedger(record.ledger, { full: true }), { ok: true, problems: [] })
  })

  t.test('a lease waits for no batch: not of its own process, nor of one whose lease it calls back', async (t) => {
    const url = await server.database()
    const { record, now } = await opened(t, server, url)
    for (const node of ['first', 'second', 'third']) await record.pulse(nodePulse(node))
    await leaseFrom(record, 'first', ask('a', 900))
    const commit = await openTake(t, url, 'first', 1, 'a', now())
    t.match(await leaseFrom(record, 'first', ask('a', 20, { turn: 2 })), { granted: 20 }, 'its own process')
    t.match(await leaseFrom(record, 'second', ask('a', 30)), { granted: 30 }, 'another process')
    t.match(
      await leaseFrom(record, 'second', ask('a', 500, { turn: 2, recallsFirst: true })),
      { granted: 0, waitingFor: 1 },
      'calls it back',
    )
    t.match((await record.pulse(nodePulse('first'))).wanted, [{ key: 'a' }], 'which is heard')
    const order: string[] = []
    const returned = record.giveBack('first', { key: 'a' }, 100, 3).then(() => order.push('returned'))
    t.match(await leaseFrom(record, 'third', ask('a', 40)), { granted: 40 }, 'beside a return that waits for the batch')
    t.match(await balance(record, 'a'), { spent: 0, leased: 900 + 20 + 30 + 40 })
    order.push('committed')
    await commit()
    await returned
    t.same(order, ['committed', 'returned'])
    t.match(await balance(record, 'a'), { spent: 7, leased: 990 - 7 - 100 })
    const commitNext = await openTake(t, url, 'first', 2, 'a', now())
    const rest = record.giveBack('first', { key: 'a' }, 'all', 4)
    t.match(await leaseFrom(record, 'third', ask('a', 1, { turn: 2 })), { granted: 1 })
    await commitNext()
    await rest
    t.match(await balance(record, 'a'), { spent: 14, leased: 71 }, 'what the batch has used is not given back as well')
    t.same(await server.query(url, 'SELECT node FROM lease_used ORDER BY node'), [{ node: 'second' }, { node: 'third' }])
  })

  t.test('leases end in pages, those of one process and those of lost ones', async (t) => {
    const url = await server.database()
    const { record } = await opened(t, server, url)
    await server.query(
      url,
      `WITH names AS (SELECT 'k' || i AS key, CASE WHEN i % 3 = 0 THEN 'payer' ELSE '' END AS payer, n AS node
         FROM generate_series(1, 900) AS i, unnest(ARRAY['n1', 'n2']) AS n
       ), leases AS (
         INSERT INTO lease (key, payer, node, granted, wanted, answered_at, turn, granted_at) SELECT key, payer, node, 5, false, 0, 1, 1 FROM names
       ), used AS (
         INSERT INTO lease_used (key, payer, node, used) SELECT key, payer, node, 2 FROM names
       )
       INSERT INTO balance_shard (key, shard, leased) SELECT key, 0, 6 FROM names WHERE node = 'n1' UNION ALL SELECT 'payer', 0, 1800`,
    )
    const locked: number[] = []
    const others = new pg.Client({ connectionString: url })
    await others.connect()
    t.teardown(() => others.end())
    // One balance is held, so that a page waits with all that it has locked.
    await others.query("BEGIN; SELECT 1 FROM balance_shard WHERE key = 'k899' FOR UPDATE")
    const ended = record.endLeases('n1')
    await eventually('all pages but the last', async () => {
      const [{ free }] = (await server.query(
        url,
        'SELECT count(*)::int AS free FROM (SELECT 1 FROM balance_shard WHERE shard = 0 FOR UPDATE SKIP LOCKED) AS open',
      )) as [{ free: number }]
      locked.push(901 - free)
      const [{ left }] = (await server.query(url, "SELECT count(*)::int AS left FROM lease WHERE node = 'n1'")) as [{ left: number }]
      return left <= 200
    })
    t.ok(Math.max(...locked) <= 202, `${Math.max(...locked)} of 901 balances were locked at once`)
    await others.query('COMMIT')
    await ended
    t.match(await balance(record, 'payer'), { leased: 900 })
    t.match(await balance(record, 'k899'), { leased: 3 })
    t.same([...(await record.forgetLost(0))], [['n2', 2700]])
    t.same(await server.query(url, 'SELECT sum(leased)::int AS leased FROM balance'), [{ leased: 0 }])
    t.same(await server.query(url, 'SELECT count(*)::int AS left FROM lease_used'), [{ left: 0 }])
  })

  t.test('a lease counts what all processes have forwarded, and no more than the limit is granted', async (t) => {
    const url = await server.database()
    const { record, now } = await opened(t, server, url)
    const nodes = Array.from({ length: 24 }, (_, index) => `n${index}`)
    for (const node of nodes) await record.pulse(nodePulse(node))
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
