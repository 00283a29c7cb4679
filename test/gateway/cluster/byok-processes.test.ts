/** Keys of teams in several processes: a change is seen everywhere within a second, and a limit that counts the provider's bill holds to the last cent. */
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { freshVerdict } from '../../support/admin.ts'
import { encryptionKey } from '../../support/byok-scene.ts'
import { allHeard, ask, manage, newCluster, PRICE, rush, startServers } from '../../support/cluster.ts'
import { eventually } from '../../support/eventually.ts'

const TEAM = 'sk-team-account-of-the-cluster'

const servers = await startServers(t)
if (servers) {
  for (const kind of ['PostgreSQL', 'SQLite'] as const) {
    t.test(`${kind}: workers and programs`, async (t) => {
      const cluster = await newCluster(t, servers)
      const more = `byok: { encryption_keys: [ "${encryptionKey()}" ], operator_fallback: false }`
      const parts = {
        workers: 2,
        more,
        ...(kind === 'SQLite' ? { shared: null, database: `sqlite:${join(t.testdir(), 'ledger.db')}` } : {}),
      }
      const members = await Promise.all(
        kind === 'SQLite' ? [cluster.start(parts)] : [cluster.start(parts), cluster.start({ ...parts, workers: 0 })],
      )
      const [one] = members
      if (!one) throw new Error('no program')
      const made = await manage(one, '/keys', 'POST', { name: 'counted', limit: 1, include_byok_in_limit: true })
      const key = { key: String(made.key) }
      const arrivals = (): string[] => cluster.upstream.requests.map(({ headers }) => String(headers.authorization).replace('Bearer ', ''))
      await rush(members, 12, key)
      t.same([...new Set(arrivals())], ['sk-up'])
      const entry = (await manage(one, '/byok', 'POST', { provider: 'up', key: TEAM })).data as JsonObject
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      const before = arrivals().length
      await rush(members, 30, key)
      t.same([...new Set(arrivals().slice(before))], [TEAM], 'within a second, in every process')
      const replies = await rush(members, 100, key)
      t.same(replies, { 200: 58, 402: 42 }, 'to the last cent')
      if (kind === 'PostgreSQL') await allHeard(cluster, members)
      await eventually('the sums', async () => {
        const { data } = JSON.parse((await ask(one, { ...key, path: '/v1/key', method: 'GET' })).text) as { data: JsonObject }
        return (Number(data.byok_usage) === 0.88 && Number(data.usage) === 0.12 && data.limit_remaining === 0) || undefined
      })
      await manage(one, `/byok/${entry.id}`, 'DELETE')
      await manage(one, `/keys/${(made.data as JsonObject).hash}`, 'PATCH', { limit: 2 })
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      const last = arrivals().length
      await rush(members, 20, key)
      t.same([...new Set(arrivals().slice(last))], ['sk-up'], 'removed everywhere')
      for (const { admin } of members) t.match(await freshVerdict(admin), { ok: true })
      t.equal(PRICE, 10_000_000)
    })
  }
} else t.plan(0, 'needs PostgreSQL and Redis')
