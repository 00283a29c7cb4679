/**
 * Several processes on one Redis and one PostgreSQL, workers among them: where requests of one key fail in all of them at the same time, one
 * check is sent. Runs with `npm run test:servers`.
 */
import t from 'tap'
import { ask, newCluster, startServers } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'
import { jsonAnswer } from '../support/upstream.ts'
import { fetchMetrics } from '../support/workers.ts'

t.setTimeout(300_000)

const servers = await startServers(t)

t.test('processes with one Redis send one health check between them', { skip: servers === undefined && 'no servers here' }, async (t) => {
  if (!servers) return
  const cluster = await newCluster(t, servers)
  const { upstream } = cluster
  const members = await Promise.all([2, 2, 0].map((workers) => cluster.start({ workers, more: 'health_checks: { every: 1h }' })))
  let lists = 0
  upstream.script = ({ path }) => {
    if (path === '/v1/models') lists++
    return jsonAnswer({ error: { message: 'Internal server error' } }, 500)
  }
  // Each over a connection of its own, so that every worker has some of them.
  const replies = await Promise.all(members.flatMap((member) => Array.from({ length: 8 }, () => ask(member))))
  t.ok(replies.every(({ status }) => status >= 500))
  const checks = async (): Promise<number> => {
    const read = await Promise.all(members.map(({ admin }) => fetchMetrics(admin)))
    return read.reduce((sum, series) => sum + series('headgate_health_checks_total'), 0)
  }
  const began = performance.now()
  await eventually('the check', async () => (await checks()) > 0)
  // The latest of the others would have been sent by then: each waits a second at most.
  await eventually('a second', () => performance.now() - began > 1_500)
  t.equal(lists, 1)
  t.equal(await checks(), 1)
})
