/** A gateway of the schema before and one of the next on one PostgreSQL: both serve, settle, lease and reload while it is migrated. */
import t, { type Test } from 'tap'
import { SCHEMA_VERSION } from '../../../src/store/schema.ts'
import {
  allHeard,
  ask,
  type Cluster,
  called,
  ledgersAgree,
  makeKey,
  manage,
  newCluster,
  type Servers,
  serveArguments,
  startLoad,
  startServers,
} from '../../support/cluster.ts'
import { eventually } from '../../support/eventually.ts'
import { clusterState, LEAST, served } from '../../support/mixed-versions.ts'
import { runProgram } from '../../support/program.ts'

t.setTimeout(600_000)
/** A program starts meanwhile, beside loads that take all of the machine. */
const STARTED = { limit: 150_000 }

const indexes = ({ postgres, database }: Cluster) =>
  postgres.query(
    database,
    `SELECT c.relname AS name, i.indisvalid AS valid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname LIKE 'generation_next%' ORDER BY 1`,
  )

const BOTH = [
  { name: 'generation_next_cost', valid: true },
  { name: 'generation_next_tag', valid: true },
]

/** A transaction that keeps a snapshot, or a lock of the generations, until it is ended. */
async function openTransaction(t: Test, { postgres, database }: Cluster, text: string): Promise<() => Promise<void>> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: database })
  client.on('error', () => {})
  await client.connect()
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await client.query(text)
  const end = (): Promise<void> => client.end()
  t.teardown(end)
  t.ok(postgres)
  return end
}

function tests(servers: Servers): void {
  t.test('both serve while the database is migrated and afterwards', async (t) => {
    const cluster = await newCluster(t, servers)
    const older = await cluster.start()
    const limited = await makeKey(older, 'limited', 1000)
    const before = [startLoad(older, 1), startLoad(older, 2, limited)]
    for (const load of before) await load.more(20)
    const newer = await cluster.start({ ahead: ['expand', 'indexes'] })
    t.same(await clusterState(cluster), { version: SCHEMA_VERSION + 2, least: LEAST, indexed: SCHEMA_VERSION + 2 })
    t.same(await indexes(cluster), BOTH)
    const beside = startLoad(newer, 1, limited)
    for (const load of [...before, beside]) await load.more(40)

    // The older one looks these up with statements that it has prepared before the tables changed.
    for (const name of ['one', 'two', 'three', 'four'])
      t.equal((await ask(older, await makeKey(newer, name, 1))).status, 200, `key ${name}`)

    t.comment('an older one starts there, one is killed and starts again, both read their files again')
    await served(t, before)
    const late = await cluster.start()
    process.kill(older.pid, 'SIGKILL')
    await older.exited
    const again = await older.again()
    for (const member of [late, newer]) {
      process.kill(member.pid, 'SIGHUP')
      await member.until(/configuration reloaded/)
    }
    const after = [again, late, newer].map((member) => startLoad(member, 1, limited))
    for (const load of after) await load.more(20)

    t.comment('what one changes the other hears')
    const there = await makeKey(newer, 'made there', 1)
    const here = await makeKey(late, 'made here', 1)
    await allHeard(cluster, [again, late, newer])
    t.equal((await ask(late, there)).status, 200)
    t.equal((await ask(newer, here)).status, 200)
    await manage(late, `/keys/${there.hash}`, 'PATCH', { disabled: true })
    await eventually('the newer one hears that a key is disabled', async () =>
      (await ask(newer, there)).status === 200 ? undefined : true,
    )
    await served(t, [beside, ...after])
    t.ok(called(cluster).length > 150)
    await ledgersAgree(t, cluster, [again, late, newer])
  })

  t.test(
    'a migration that is killed while it makes an index is ended by the next start, and the older gateway serves meanwhile',
    async (t) => {
      const cluster = await newCluster(t, servers)
      const older = await cluster.start()
      const loads = [startLoad(older, 1), startLoad(older, 1, await makeKey(older, 'limited', 1000))]
      for (const load of loads) await load.more(10)
      const release = await openTransaction(t, cluster, 'SELECT count(*) FROM pg_class')
      const place = await cluster.file({ ahead: ['indexes'] })
      const killed = runProgram(serveArguments(place), place.options)
      t.teardown(() => killed.child.kill('SIGKILL'))
      await eventually('an index that is begun', async () => (await indexes(cluster)).length > 0 || undefined, STARTED)
      for (const load of loads) await load.more(20)
      killed.child.kill('SIGKILL')
      await killed.exited
      t.same(await clusterState(cluster), { version: SCHEMA_VERSION + 1, least: LEAST, indexed: SCHEMA_VERSION })
      t.same(await indexes(cluster), [{ name: 'generation_next_cost', valid: false }])

      t.comment('its session at the server ends, too')
      await cluster.postgres.query(
        cluster.database,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ILIKE 'create index%' AND pid <> pg_backend_pid()`,
      )
      const next = cluster.start({ ahead: ['indexes'] })
      const other = cluster.start({ ahead: ['indexes'] })
      await eventually('another try', async () => (await runningBuilds(cluster)) > 0 || undefined, STARTED)
      for (const load of loads) await load.more(20)
      await release()
      const members = [older, await next, await other]
      t.same(await clusterState(cluster), { version: SCHEMA_VERSION + 1, least: LEAST, indexed: SCHEMA_VERSION + 1 })
      t.same(await indexes(cluster), BOTH)
      for (const load of loads) await load.more(10)
      await served(t, loads)
      await ledgersAgree(t, cluster, members)
    },
  )

  t.test(
    'a step that has to wait for a lock keeps the older gateway waiting for moments only, and changes nothing when it is killed',
    async (t) => {
      const cluster = await newCluster(t, servers)
      const older = await cluster.start()
      const loads = [startLoad(older, 1), startLoad(older, 1, await makeKey(older, 'limited', 1000))]
      for (const load of loads) await load.more(10)
      const release = await openTransaction(t, cluster, 'LOCK TABLE generation IN ACCESS SHARE MODE')
      const place = await cluster.file({ ahead: ['expand'] })
      const killed = runProgram(serveArguments(place), place.options)
      t.teardown(() => killed.child.kill('SIGKILL'))
      await eventually('a step that waits', async () => (await waiting(cluster)) > 0 || undefined, STARTED)
      for (const load of loads) await load.more(50)
      await eventually('a step that waits again', async () => (await waiting(cluster)) > 0 || undefined, STARTED)
      killed.child.kill('SIGKILL')
      await killed.exited
      t.same(await clusterState(cluster), { version: SCHEMA_VERSION, least: LEAST, indexed: SCHEMA_VERSION })
      const next = cluster.start({ ahead: ['expand'] })
      for (const load of loads) await load.more(20)
      await release()
      const members = [older, await next]
      t.match(await clusterState(cluster), { version: SCHEMA_VERSION + 1 })
      await served(t, loads)
      await ledgersAgree(t, cluster, members)
    },
  )
}

async function runningBuilds({ postgres, database }: Cluster): Promise<number> {
  return (await postgres.query(database, 'SELECT pid FROM pg_stat_progress_create_index')).length
}

async function waiting({ postgres, database }: Cluster): Promise<number> {
  const text = "SELECT pid FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"
  return (await postgres.query(database, text)).length
}

const servers = await startServers(t)
if (servers) tests(servers)
else t.pass('PostgreSQL and Redis', { skip: 'one of them is not installed' })
