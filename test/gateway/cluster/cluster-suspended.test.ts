/** A program that was suspended while another set its leases free, on one PostgreSQL. */
import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import { openPostgres } from '../../../src/store/postgres/record.ts'
import { makeKey, newCluster, PRICE, rush, type Servers, startServers } from '../../support/cluster.ts'
import { eventually, realTime } from '../../support/eventually.ts'

const DAY = 86_400_000
const LIMIT = 5

const servers = await startServers(t)
for (const workers of servers ? [0, 2] : []) {
  const what = workers > 0 ? 'suspended owner of workers' : 'suspended program'
  t.test(`a ${what} spends nothing of a lease that was set free`, async (t) => {
    const cluster = await newCluster(t, servers as Servers)
    const [one, other] = [await cluster.start({ shared: null, workers }), await cluster.start({ shared: null })]
    const { postgres, database } = cluster
    const key = await makeKey(one, 'k', LIMIT)
    let served = 0
    const count = async (...asking: Parameters<typeof rush>): Promise<void> => {
      served += (await rush(...asking))[200] ?? 0
    }
    for (let round = 0; round < 30; round++) await count([one], 4, key)
    const balance = `SELECT leased::float8 AS leased, spent::float8 AS spent FROM balance WHERE key = '${key.hash}'`
    const row = async () => (await postgres.query(database, balance))[0]
    // What is charged and not handed in yet is covered by the lease: set free with it, it would be spent twice.
    await eventually('all charges are handed in', async () => (Number((await row())?.spent) === served * PRICE ? true : undefined))
    t.ok(Number((await row())?.leased) > 0, 'it has a lease in hand')

    process.kill(one.pid, 'SIGSTOP')
    t.teardown(() => process.kill(one.pid, 'SIGCONT'))
    await postgres.query(database, `UPDATE node SET expires_at = expires_at - ${DAY + 100_000} WHERE label LIKE '% ${one.pid}'`)
    const record = await openPostgres(database, { clock: systemClock })
    t.teardown(() => record.close())
    t.ok([...(await record.forgetLost(DAY)).values()].some((freed) => freed > 0))
    await count([other], 600, key)

    process.kill(one.pid, 'SIGCONT')
    const label = `label LIKE '% ${one.pid}' AND expires_at > extract(epoch FROM clock_timestamp()) * 1000`
    await eventually('its next pulse', async () =>
      (await postgres.query(database, `SELECT 1 FROM node WHERE ${label}`)).length > 0 ? true : undefined,
    )
    await realTime(1000)
    // What lies idle in the other's lease is called back in its own time.
    await eventually('the last cent', async () => {
      await count([one], 100, key)
      return served * PRICE >= LIMIT * 1e9
    })
    await count([one], 20, key)
    t.equal(served * PRICE, LIMIT * 1e9, 'to the last cent, and not more')
  })
}
