/** Two programs whose PostgreSQL ends, stands still and crashes under load; and programs that start without it, or without Redis. */
import t, { type Test } from 'tap'
import {
  allHeard,
  ask,
  type Cluster,
  type Load,
  ledgersAgree,
  type Made,
  type Member,
  makeKey,
  newCluster,
  type Reply,
  rush,
  startLoad,
  startServers,
  tally,
} from '../../support/cluster.ts'
import { eventually } from '../../support/eventually.ts'

interface Outage {
  name: string
  begin: (cluster: Cluster) => Promise<void> | void
  end: (cluster: Cluster) => Promise<void> | void
}

const OUTAGES: readonly Outage[] = [
  { name: 'ends', begin: ({ postgres }) => postgres.down(), end: ({ postgres }) => postgres.restart() },
  { name: 'stands still', begin: ({ postgres }) => postgres.freeze(), end: ({ postgres }) => postgres.thaw() },
  { name: 'crashes', begin: ({ postgres }) => postgres.kill9(), end: ({ postgres }) => postgres.restart() },
]

interface Place {
  readonly cluster: Cluster
  readonly members: readonly Member[]
}

/** USD. */
const LIMIT = 1.5
/** Connections at once of which every worker gets some. */
const MANY = 12

/** Asks until nothing goes through any more. @returns the last replies: all of them refusals. */
async function spend(member: Member, key: string): Promise<Reply[]> {
  return eventually('nothing but refusals', async () => {
    const replies = await Promise.all(Array.from({ length: MANY }, () => ask(member, { key })))
    return replies.every(({ status }) => status !== 200) ? replies : undefined
  })
}

/** Nano-dollars of the ledger that a key was charged. */
async function spentBy(cluster: Cluster, { hash }: Made): Promise<number> {
  const { postgres, database } = cluster
  const [row] = await postgres.query(database, 'SELECT coalesce(sum(cost), 0)::float8 AS spent FROM generation WHERE key = $1', [hash])
  return Number(row?.spent)
}

/** Statements of a program while no process can be reached. */
async function saysSo(t: Test, member: Member, limited: Made): Promise<void> {
  const refusals = await spend(member, limited.key)
  t.same(tally(refusals), { 503: MANY }, 'a limited key spends what is leased and is told to come again')
  t.ok(
    refusals.every(({ retryAfter }) => retryAfter >= 1),
    'Retry-After',
  )
  const [unknown, shown, generation] = await Promise.all([
    ask(member, { key: 'sk-router-v1-nobody000000000000000' }),
    ask(member, { key: limited.key, path: '/v1/key' }),
    ask(member, { path: '/v1/generation?id=gen-20ela1n2xa8-XMrhyLdJYSG7' }),
  ])
  t.equal(unknown.status, 503, 'not 401: perhaps it is a good key')
  t.ok(unknown.retryAfter >= 1)
  t.equal(shown.status, 503, 'no figure that may be wrong')
  t.equal(generation.status, 503, 'not 404: perhaps it is there')
}

async function survives(t: Test, { name, begin, end }: Outage, { cluster, members }: Place): Promise<void> {
  const [limited, cached] = [await makeKey(members[0], `limited ${name}`, LIMIT), await makeKey(members[1], `cached ${name}`)]
  const loads: Load[] = [...members.map((member) => startLoad(member, 4)), ...members.map((member) => startLoad(member, 2, cached))]
  const more = (count: number) => Promise.all(loads.map((load) => load.more(count)))
  t.same(await rush(members, 40, limited), { 200: 40 })
  // A key of whose making a process hears only now is looked up once more.
  await allHeard(cluster, members)
  await more(20)
  await begin(cluster)
  await more(20)
  await Promise.all(members.map((member) => saysSo(t, member, limited)))
  await more(20)
  await end(cluster)
  await Promise.all(members.map((member) => eventually('credit', async () => (await ask(member, limited)).status === 200 || undefined)))
  await more(20)
  for (const load of loads) {
    await load.end()
    t.same(Object.keys(tally(load.replies)), ['200'], 'keys without a limit, configured or kept at hand, never noticed')
    t.same(load.broken, [])
  }
  for (const member of members)
    await eventually(
      'the end of the limit',
      async () => (await spend(member, limited.key)).every(({ status }) => status === 402) || undefined,
    )
  await ledgersAgree(t, cluster, members)
  t.equal(await spentBy(cluster, limited), LIMIT * 1e9, 'the limit is spent to the last cent, and not more')
}

async function tests({ cluster, members }: Place): Promise<void> {
  for (const outage of OUTAGES)
    await t.test(`PostgreSQL ${outage.name} under load: nothing is lost, doubled or free`, (t) => survives(t, outage, { cluster, members }))
  await t.test('each outage is told once, and its end', async (t) => {
    for (const member of members) {
      const told = (kind: string): number => member.out().match(new RegExp(`"kind":"${kind}","during":"pulse"`, 'g'))?.length ?? 0
      // The owner of workers reports each; a worker whose pulse falls into it does so, too.
      const [least, most] = [OUTAGES.length, OUTAGES.length * (1 + member.workers)]
      const lost = told('record-lost')
      t.ok(lost >= least && lost <= most, `${lost} of ${least} to ${most}`)
      t.equal(told('record-back'), lost)
      t.match(
        member.out(),
        /"kind":"record-lost".*"reason":"The store of record does not answer \((shut down, 57P01|ECONNREFUSED|connection ended)\)"/,
      )
      t.match(member.out(), /"kind":"record-lost".*"reason":"no answer within \d+ ms"/)
    }
  })
  await t.test('both end in order', async (t) => {
    for (const { child } of members) child.kill('SIGTERM')
    for (const { exited } of members) t.match(await exited, { code: 0 })
    const left = await cluster.postgres.query(cluster.database, 'SELECT coalesce(sum(leased), 0)::int AS leased FROM balance')
    t.same(left, [{ leased: 0 }], 'no lease is left behind')
  })
}

const servers = await startServers(t)
if (servers) {
  const cluster = await newCluster(t, servers)
  await tests({ cluster, members: await Promise.all([cluster.start(), cluster.start({ workers: 2 })]) })
} else t.plan(0, 'needs PostgreSQL and Redis')
