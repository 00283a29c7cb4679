import t, { type Test } from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import { openPostgres } from '../../../src/store/postgres/record.ts'
import { adminFetch, freshVerdict } from '../../support/admin.ts'
import {
  ask,
  type Cluster,
  ledgersAgree,
  type Made,
  type Member,
  makeKey,
  newCluster,
  PRICE,
  rush,
  type Servers,
  startServers,
} from '../../support/cluster.ts'
import { left, processFamily } from '../../support/crash/processes.ts'
import { eventually } from '../../support/eventually.ts'
import { Gate } from '../../support/upstream.ts'

const LIMIT = 1

/** Nano-dollars that processes together have leased on a key. */
async function leasedOn({ postgres, database }: Cluster, { hash }: Made): Promise<number> {
  const [row] = await postgres.query(database, 'SELECT leased::float8 AS leased FROM balance WHERE key = $1', [hash])
  return Number(row?.leased ?? 0)
}

async function spentOn({ postgres, database }: Cluster, { hash }: Made): Promise<number> {
  const [row] = await postgres.query(database, 'SELECT sum(cost)::float8 AS cost FROM generation WHERE key = $1', [hash])
  return Number(row?.cost ?? 0)
}

/** Spends all of a key that one program can get, at once. @returns how many requests went through. */
async function exhaust(t: Test, member: Member, key: Made): Promise<number> {
  const counts = await rush([member], LIMIT * 100 + 20, key)
  t.same(
    Object.keys(counts).filter((status) => status !== '200'),
    ['402'],
  )
  return counts[200] ?? 0
}

/** Requests that are at the provider when their program is killed. */
const OPEN = 10

async function killWhileOpen({ upstream }: Cluster, member: Member, key: Made): Promise<void> {
  const gate = new Gate()
  const { script } = upstream
  const reached = upstream.requests.length + OPEN
  upstream.script = async (seen, index) => {
    await gate.opened
    return script(seen, index)
  }
  const cut = Array.from({ length: OPEN }, () => ask(member, key).catch(() => undefined))
  await eventually('open requests', () => (upstream.requests.length === reached ? true : undefined))
  const family = processFamily(member.pid)
  process.kill(member.pid, 'SIGKILL')
  await member.exited
  await eventually('the end of the workers', () => (left(family).length === 0 ? true : undefined))
  gate.open()
  upstream.script = script
  await Promise.all(cut)
}

function kills(t: Test, servers: Servers, workers: number): void {
  const what = workers > 0 ? 'the owner of workers' : 'a process'
  t.test(`kill -9 of ${what} under load: its lease counts until it is back, then its rows are there and the rest is free`, async (t) => {
    const cluster = await newCluster(t, servers)
    const [one, other] = await Promise.all([cluster.start({ workers }), cluster.start()])
    const key = await makeKey(one, 'killed', LIMIT)
    t.same(await rush([one, other], 24, key), { 200: 24 })
    await killWhileOpen(cluster, one, key)

    await exhaust(t, other, key)
    const leased = await leasedOn(cluster, key)
    t.ok(leased >= OPEN * PRICE, `${leased} of it still count: what the open requests may have cost`)
    await eventually(
      'the rows of who is left',
      async () => (await spentOn(cluster, key)) + (await leasedOn(cluster, key)) <= LIMIT * 1e9 || undefined,
    )
    t.equal((await ask(other, key)).status, 402)

    const again = await one.again()
    await eventually('the rows of its earlier life', async () => {
      const found = await cluster.postgres.query(cluster.database, "SELECT count(*)::int AS count FROM generation WHERE status = 'unknown'")
      return found[0]?.count === OPEN || undefined
    })
    await exhaust(t, other, key)
    t.equal((await ask(again, key)).status, 402)
    await ledgersAgree(t, cluster, [again, other])
    t.equal(await spentOn(cluster, key), LIMIT * 1e9, 'to the last cent')
    t.match(
      await (await adminFetch(`${again.admin}/ledger/recovery`)).json(),
      { count: OPEN, charged: OPEN * PRICE },
      'the start told of them',
    )
  })
}

function neverBack(t: Test, servers: Servers): void {
  t.test('a process that never comes back: what it had leased may be spent after the grace', async (t) => {
    const cluster = await newCluster(t, servers)
    const [one, other] = await Promise.all([cluster.start(), cluster.start()])
    const key = await makeKey(one, 'lost', LIMIT)
    t.same(await rush([one], 12, key), { 200: 12 })
    await eventually('their rows', async () => (await spentOn(cluster, key)) === 12 * PRICE || undefined)
    await killWhileOpen(cluster, one, key)
    const before = await exhaust(t, other, key)
    const lost = await leasedOn(cluster, key)
    t.ok(lost >= OPEN * PRICE, `${lost} are lost`)
    // A day later.
    const { postgres, database } = cluster
    await postgres.query(database, 'UPDATE node SET expires_at = expires_at - 86400000 WHERE label LIKE $1', [`% ${one.pid}`])
    const record = await openPostgres(database, { clock: systemClock })
    t.teardown(() => record.close())
    t.same([...(await record.forgetLost(3_600_000)).values()], [lost])
    const after = await exhaust(t, other, key)
    t.equal(before + after, LIMIT * 100 - 12, `${before}, then ${after} more: all that the process had not spent`)
    t.match(await freshVerdict(other.admin), { ok: true })
  })
}

const servers = await startServers(t)
if (servers) {
  kills(t, servers, 0)
  kills(t, servers, 2)
  neverBack(t, servers)
} else t.plan(0, 'needs PostgreSQL and Redis')
