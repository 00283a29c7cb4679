/** A node of a Redis Cluster, or a Sentinel, as the server of rate limits: refused in words, for all keys alike. */
import { Redis } from 'ioredis'
import t from 'tap'
import { FallbackCounters, type SharedReport } from '../../src/cluster/shared/index.ts'
import { MemoryCounters } from '../../src/cluster/shared/memory-counters.ts'
import { RedisCounters, shareThroughRedis } from '../../src/cluster/shared/redis.ts'
import { FakeClock } from '../support/clock.ts'
import { freePorts } from '../support/crash/configuration.ts'
import { startRedis } from '../support/redis.ts'

async function node(): Promise<{ url: string; client: Redis; bus: number } | undefined> {
  const [bus] = await freePorts(1)
  const server = await startRedis({
    more: ['--cluster-enabled', 'yes', '--cluster-port', String(bus), '--cluster-require-full-coverage', 'no'],
  })
  if (!server) return undefined
  const client = new Redis(server.url)
  t.teardown(async () => {
    client.disconnect()
    await server.close()
  })
  return { url: server.url, client, bus }
}

const first = await node()

if (first) {
  // Every second slot: of many keys about half are answered, the others with MOVED or CLUSTERDOWN.
  await first.client.call('CLUSTER', 'ADDSLOTSRANGE', '0', '8191')

  t.test('a gateway says so at its start, and each process takes its share of all keys', async (t) => {
    const clock = new FakeClock()
    const reports: SharedReport[] = []
    const shared = shareThroughRedis(first.url, { clock, processes: () => 2, report: (report) => reports.push(report) })
    t.teardown(() => shared.close())
    await shared.ready
    t.equal(shared.isDegraded(), true)
    t.match(reports, [{ kind: 'shared-lost', reason: /node of a Redis Cluster/ }])
    for (let key = 0; key < 12; key++) {
      let taken = 0
      for (let count = 0; count < 10; count++)
        if ((await shared.counters.take({ name: `k${key}`, perMinute: 10, take: 1, always: false })).taken) taken++
      t.equal(taken, 5, `k${key}`)
    }
  })

  t.test('where the server does not say what it is, the first answer of a cluster does', async (t) => {
    const client = new Redis(first.url)
    t.teardown(() => client.disconnect())
    const clock = new FakeClock()
    const reports: SharedReport[] = []
    const shared = new RedisCounters(client, { prefix: 'test:' })
    const counters = new FallbackCounters({
      clock,
      shared,
      local: new MemoryCounters(clock),
      processes: () => 2,
      report: (report) => reports.push(report),
    })
    t.teardown(() => counters.close())
    const ask = { perMinute: 10, take: 1, always: false }
    for (let key = 0; key < 40; key++) await counters.take({ ...ask, name: `k${key}` })
    await counters.check()
    t.equal(counters.isDegraded, true, 'also for the keys, and the probe, that it answers')
    t.match(reports, [{ kind: 'shared-lost', reason: /node of a Redis Cluster/ }])
  })
}
