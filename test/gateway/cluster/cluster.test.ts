/** Two programs, one of them with workers, on one PostgreSQL and one Redis: keys, figures, the ledger and rate limits are one. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { adminFetch } from '../../support/admin.ts'
import {
  APP,
  type Asking,
  ask,
  type Cluster,
  ledgersAgree,
  type Made,
  type Member,
  makeKey,
  manage,
  newCluster,
  OPS,
  PRICE,
  rush,
  type Servers,
  startLoad,
  startServers,
  tally,
} from '../../support/cluster.ts'
import { eventually, realTime } from '../../support/eventually.ts'
import { fetchMetrics, inTurn } from '../../support/workers.ts'

/** Connections of which every worker gets some. */
const MANY = 12
const DAY_MS = 86_400_000
/** Milliseconds until all have heard of a change. */
const SECOND = 1000

const statuses = (member: Member, key: string): Promise<number[]> => inTurn(MANY, async () => (await ask(member, { key })).status)

/** Once a second has passed every connection to every program is answered so. */
async function soonAll(t: Test, members: readonly Member[], key: string, status: number): Promise<void> {
  await realTime(SECOND)
  for (const member of members) t.same(await statuses(member, key), Array(MANY).fill(status), `${status} everywhere`)
}

type Pair = readonly [here: Member, there: Member]

async function keyIsOne(t: Test, [here, there]: Pair): Promise<void> {
  const brief = await makeKey(here, 'brief')
  t.same(await statuses(there, brief.key), Array(MANY).fill(200), 'a new key counts with the next request')
  t.same(await statuses(here, brief.key), Array(MANY).fill(200))

  await manage(here, `/keys/${brief.hash}`, 'PATCH', { disabled: true })
  await soonAll(t, [here, there], brief.key, 401)
  await manage(there, `/keys/${brief.hash}`, 'PATCH', { disabled: false })
  await soonAll(t, [here, there], brief.key, 200)

  const rotated = await rotate(here, brief)
  await soonAll(t, [here, there], brief.key, 401)
  t.same([...(await statuses(here, rotated.key)), ...(await statuses(there, rotated.key))], Array(2 * MANY).fill(200))

  await manage(here, `/keys/${rotated.hash}`, 'DELETE')
  await soonAll(t, [here, there], rotated.key, 401)
}

async function limitIsOne(t: Test, [here, there]: Pair): Promise<void> {
  const tight = await makeKey(here, 'tight', 10)
  t.same(await statuses(there, tight.key), Array(MANY).fill(200))
  await manage(here, `/keys/${tight.hash}`, 'PATCH', { limit: 0.05 })
  await soonAll(t, [here, there], tight.key, 402)
  await manage(there, `/keys/${tight.hash}`, 'PATCH', { limit: ((MANY + 3) * PRICE) / 1e9 })
  await eventually('the raised limit', async () => (await ask(here, { key: tight.key })).status === 200 || undefined)
  t.same(await rush([here, there], 20, { key: tight.key }), { 200: 2, 402: 18 }, 'to the last cent')
}

function keysAreOne(t: Test, [one, other]: Pair): void {
  const bothWays = (how: (t: Test, pair: Pair) => Promise<void>) => async (t: Test) => {
    await Promise.all([how(t, [one, other]), how(t, [other, one])])
  }
  t.test('keys made, changed and deleted at one program are so at the other', bothWays(keyIsOne))
  t.test('a limit that is lowered at one holds at the other, and one that is raised', bothWays(limitIsOne))
}

/** As the command line does: there is no other way. */
async function rotate(member: Member, { hash }: Made): Promise<Made> {
  const reply = await adminFetch(`${member.admin}/keys/command`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ verb: 'rotate', key: hash }),
  })
  const body = (await reply.json()) as { key: string; data: { hash: string } }
  return { key: body.key, hash: body.data.hash }
}

function figuresAreOne(t: Test, cluster: Cluster, members: readonly Member[]): void {
  t.test('every program shows the same of keys, credits, activity and generations', async (t) => {
    const key = await makeKey(members[0], 'figures', 1)
    const replies = await Promise.all(Array.from({ length: 30 }, (_, index) => ask(members[index % 2], { key: key.key })))
    t.same(tally(replies), { 200: 30 })
    const shown = async (member: Member, path: string, by: string): Promise<JsonObject> =>
      JSON.parse((await ask(member, { key: by, path })).text) as JsonObject
    const everywhere = async (what: string, path: string, by: string, right: (body: JsonObject) => boolean): Promise<void> => {
      for (const member of members)
        await eventually(what, async () => {
          const all = await inTurn(MANY, () => shown(member, path, by))
          return all.every(right) || undefined
        })
      const [one, other] = [await shown(members[0], path, by), await shown(members[1], path, by)]
      t.same(other, one, what)
    }
    await everywhere('the key', '/v1/key', key.key, ({ data }) => {
      const { usage, usage_daily: daily, limit_remaining: left } = data as { usage: number; usage_daily: number; limit_remaining: number }
      return usage === 0.3 && daily === 0.3 && left === 0.7
    })
    const total = (cluster.upstream.requests.length * PRICE) / 1e9
    await everywhere('credits', '/v1/credits', OPS, ({ data }) => (data as { total_usage: number }).total_usage === total)
    for (const { id } of replies.slice(0, 4))
      await everywhere(`generation ${id}`, `/v1/generation?id=${id}`, key.key, (body) => (body.data as JsonObject | undefined)?.id === id)
    await ledgersAgree(t, cluster, members)
  })
}

function limitsAreOne(t: Test, cluster: Cluster, members: Pair): void {
  t.test('a limit of requests per minute counts all processes', async (t) => {
    t.same(await rush(members, 40, { key: FEW }), { 200: 5, 429: 35 })
  })

  t.test('Redis stops answering, ends and comes back: nothing fails, and everybody says so', async (t) => {
    const asking: Asking = { key: MUCH }
    const loads = members.map((member) => startLoad(member, 4, asking))
    const more = (count: number) => Promise.all(loads.map((load) => load.more(count)))
    const alone = (wanted: number) => async () => {
      const counts = await Promise.all(members.map(async ({ admin }) => (await fetchMetrics(admin))('headgate_redis_unavailable')))
      return counts.every((count) => (wanted > 0 ? count > 0 : count === 0)) || undefined
    }
    await more(20)
    cluster.redis.pause()
    await eventually('alone', alone(1))
    await more(40)
    cluster.redis.resume()
    await eventually('together', alone(0))
    await more(20)
    await cluster.redis.kill()
    await eventually('alone again', alone(1))
    await more(40)
    await cluster.redis.start()
    await eventually('together again', alone(0))
    await more(20)
    for (const load of loads) {
      await load.end()
      t.same(Object.keys(tally(load.replies)), ['200'])
      t.same(load.broken, [])
    }
    for (const member of members) {
      t.match(member.out(), /"kind":"shared-lost"/)
      t.match(member.out(), /"kind":"shared-back"/)
    }
    t.same(await rush(members, 40, { key: FEW_MORE }), { 200: 5, 429: 35 }, 'and it counts for all again')
    await ledgersAgree(t, cluster, members)
  })
}

const FEW = 'sk-router-v1-few00000000000000000'
const FEW_MORE = 'sk-router-v1-fewmore0000000000000'
const MUCH = 'sk-router-v1-much0000000000000000'
const KEYS = [
  `{ name: few, key: "${FEW}", limits: { requests: 5 } }`,
  `{ name: fewmore, key: "${FEW_MORE}", limits: { requests: 5 } }`,
  `{ name: much, key: "${MUCH}", limits: { requests: 1000000, tokens: 1000000000 } }`,
]

async function tests(servers: Servers): Promise<void> {
  await t.test('two programs', async (t) => {
    const cluster = await newCluster(t, servers)
    const members: Pair = await Promise.all([cluster.start({ keys: KEYS }), cluster.start({ keys: KEYS, workers: 2 })])
    t.same(await rush(members, 4, { key: APP }), { 200: 4 })
    keysAreOne(t, members)
    figuresAreOne(t, cluster, members)
    limitsAreOne(t, cluster, members)
    t.test('activity has the generations of all', async (t) => {
      const { database, postgres } = cluster
      const stored = async () => Number((await postgres.query(database, 'SELECT count(*) AS n FROM generation'))[0].n)
      await eventually('all have been sent to the database', async () => (await stored()) >= cluster.upstream.requests.length)
      // Today is left out until it is over: the whole day's work was done the day before.
      await postgres.query(database, `UPDATE generation SET seq = seq - ${DAY_MS}::bigint * 4096, at = at - ${DAY_MS}`)
      const requests = cluster.upstream.requests.length
      for (const member of members) {
        const [row, ...rest] = (await manage(member, '/activity')).data as JsonObject[]
        t.match(row, { requests, usage: (requests * PRICE) / 1e9, model: 'acme/fixed' })
        t.same(rest, [])
      }
    })
    t.test('both end in order', async (t) => {
      for (const { child } of members) child.kill('SIGTERM')
      for (const { exited } of members) t.match(await exited, { code: 0 })
      const left = await cluster.postgres.query(cluster.database, 'SELECT coalesce(sum(leased), 0)::int AS leased FROM balance')
      t.same(left, [{ leased: 0 }], 'no lease is left behind')
    })
  })
}

const servers = await startServers(t)
if (servers) await tests(servers)
else t.plan(0, 'needs PostgreSQL and Redis')
