/** A gateway with workers on PostgreSQL: one process of it has to do with the database, for all of them. */
import t from 'tap'
import { freshVerdict } from '../../support/admin.ts'
import { ask, makeKey, newCluster, PRICE, rush, startServers } from '../../support/cluster.ts'
import { processFamily } from '../../support/crash/processes.ts'
import { eventually } from '../../support/eventually.ts'
import { fetchMetrics, ready } from '../../support/workers.ts'

const WORKERS = 3

const servers = await startServers(t)
if (servers) {
  t.test('one process of the cluster with one set of connections, however many workers there are', async (t) => {
    const cluster = await newCluster(t, servers)
    const { postgres, database } = cluster
    const count = async (text: string): Promise<number> => Number((await postgres.query(database, text))[0]?.count)
    const gateway = await cluster.start({ workers: WORKERS, shared: null })
    const key = await makeKey(gateway, 'limited', 2)
    t.same(await rush([gateway], 100, key), { 200: 100 })
    t.same(await rush([gateway], 20, { ...key, path: '/v1/key', method: 'GET' }), { 200: 20 })
    const connections = await count("SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name LIKE 'headgate%'")
    t.ok(connections <= 9, `${connections} connections`)
    t.equal(await count('SELECT count(*)::int AS count FROM node'), 1, 'processes that the database knows')
    t.ok((await count(`SELECT count(*)::int AS count FROM lease WHERE key = '${key.hash}'`)) <= 1, 'leases of the key')
    await eventually('the rows', async () => (await count('SELECT count(*)::int AS count FROM generation')) === 100 || undefined)
    t.same(await rush([gateway], 110, key), { 200: 100, 402: 10 }, 'the rest, to the last cent')
    t.match(await freshVerdict(gateway.admin), { ok: true })
  })

  t.test('kill -9 of a worker: its requests are settled, and what it had leased is spent by the others of both machines', async (t) => {
    const cluster = await newCluster(t, servers)
    const { postgres, database } = cluster
    const [one, other] = await Promise.all([cluster.start({ workers: 2 }), cluster.start({ workers: 2 })])
    const key = await makeKey(one, 'killed', 1)
    t.same(await rush([one, other], 20, key), { 200: 20 })
    const family = processFamily(one.pid)
    const load = Promise.allSettled(Array.from({ length: 30 }, () => ask(one, key)))
    process.kill(family[1]?.pid ?? 0, 'SIGKILL')
    await load
    await eventually('the replacement', async () => (await fetchMetrics(one.admin))('headgate_worker_restarts_total') || undefined)
    await ready(one.admin)
    const spent = async (): Promise<number> => {
      const [row] = await postgres.query(database, 'SELECT coalesce(sum(cost), 0)::float8 AS cost FROM generation WHERE key = $1', [
        key.hash,
      ])
      return Number(row?.cost)
    }
    await eventually('the last cent', async () => {
      await rush([one, other], 20, key)
      return (await spent()) === 100 * PRICE || undefined
    })
    t.same(await rush([one, other], 20, key), { 402: 20 })
    t.equal(await spent(), 100 * PRICE, 'and not more')
    for (const member of [one, other]) t.match(await freshVerdict(member.admin), { ok: true })
    for (const { child } of [one, other]) child.kill('SIGTERM')
    for (const { exited } of [one, other]) t.match(await exited, { code: 0 })
    t.same(await postgres.query(database, 'SELECT coalesce(sum(leased), 0)::int AS leased FROM balance'), [{ leased: 0 }])
  })
} else t.plan(0, 'needs PostgreSQL and Redis')
