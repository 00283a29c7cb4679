/** Effect of a step of the schema that removes something on gateways of an older version on one PostgreSQL (decision 64). */
import t from 'tap'
import { SCHEMA_VERSION } from '../../../src/store/schema.ts'
import {
  ask,
  type Cluster,
  ledgersAgree,
  makeKey,
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

/** Column that the step `expand` has added, and the step `contract` removes. */
const added = async ({ postgres, database }: Cluster): Promise<number> => {
  const text = `SELECT count(*)::integer AS found FROM information_schema.columns
    WHERE table_schema = current_schema() AND (column_name = 'next_version' OR table_name = 'next_table')`
  return Number((await postgres.query(database, text))[0]?.found)
}

const NO_PLACE = new RegExp(
  `schema version ${SCHEMA_VERSION + 2} has no place for what programs that still run use \\(.+; 1 in all\\): end those first`,
)
const TOO_OLD = new RegExp(
  `written by a newer headgate: it has schema version ${SCHEMA_VERSION + 2}, and this program knows versions up to ${SCHEMA_VERSION}`,
)

function contractions(servers: Servers): void {
  t.test('a contraction waits while an older gateway runs, is made once it has ended, and no older one starts then', async (t) => {
    const cluster = await newCluster(t, servers)
    const older = await cluster.start()
    const loads = [startLoad(older, 1), startLoad(older, 1, await makeKey(older, 'limited', 1000))]
    for (const load of loads) await load.more(10)

    t.comment('it gives up, names one that runs, and has changed nothing that this one uses')
    const place = await cluster.file({ ahead: ['expand', 'contract'] })
    const first = runProgram(serveArguments(place), place.options)
    t.teardown(() => first.child.kill('SIGKILL'))
    await first.until(/migration-waits/)
    for (const load of loads) await load.more(20)
    t.not((await first.exited).code, 0)
    t.match(first.out() + first.err(), NO_PLACE)
    t.match(first.out() + first.err(), `${older.pid}; 1 in all`)
    const expanded = { version: SCHEMA_VERSION + 1, least: LEAST, indexed: SCHEMA_VERSION + 1 }
    t.same(await clusterState(cluster), expanded)
    t.ok((await added(cluster)) > 5)

    t.comment('one that waits goes on as soon as it has ended')
    const between = await cluster.start({ ahead: ['expand'] })
    const waits = runProgram(serveArguments(place), place.options)
    t.teardown(() => waits.child.kill('SIGKILL'))
    await waits.until(/migration-waits/)
    for (const load of loads) await load.more(20)
    await served(t, loads)
    t.same(await clusterState(cluster), expanded)
    older.child.kill('SIGTERM')
    t.equal((await older.exited).code, 0)
    await waits.until(/listens on/)
    t.same(await clusterState(cluster), { version: SCHEMA_VERSION + 2, least: SCHEMA_VERSION + 1, indexed: SCHEMA_VERSION + 2 })
    t.equal(await added(cluster), 0)

    t.comment('the one of the version between goes on, and an older one does not start')
    const newer = { ...waits, ...place, pid: waits.child.pid ?? 0, again: () => Promise.reject(new Error('not here')) }
    const after = [startLoad(between, 1, await makeKey(between, 'another', 1000)), startLoad(newer, 1)]
    for (const load of after) await load.more(20)
    const late = await cluster.file()
    const refused = runProgram(serveArguments(late), late.options)
    t.teardown(() => refused.child.kill('SIGKILL'))
    t.not((await refused.exited).code, 0)
    t.match(refused.out() + refused.err(), TOO_OLD)
    await served(t, after)
    await ledgersAgree(t, cluster, [between, newer])
  })

  t.test('an older gateway that was suspended while a contraction was made says so, and grants nothing', async (t) => {
    const cluster = await newCluster(t, servers)
    const older = await cluster.start()
    const limited = await makeKey(older, 'limited', 1000)
    t.equal((await ask(older, limited)).status, 200)
    process.kill(older.pid, 'SIGSTOP')
    t.teardown(() => process.kill(older.pid, 'SIGCONT'))
    // It counts as ended once its pulse has been due for so long.
    await cluster.postgres.query(cluster.database, `UPDATE node SET expires_at = 0 WHERE label LIKE '% ${older.pid}'`)
    const newer = await cluster.start({ ahead: ['expand', 'contract'] })
    t.match(await clusterState(cluster), { version: SCHEMA_VERSION + 2, least: SCHEMA_VERSION + 1 })
    process.kill(older.pid, 'SIGCONT')
    await older.until(new RegExp(`migrated beyond this program: it works with programs from schema version ${SCHEMA_VERSION + 1} on`))
    const other = await makeKey(newer, 'made there', 1000)
    const refused = await eventually('a refusal', async () => {
      const reply = await ask(older, other)
      return reply.status === 200 ? undefined : reply
    })
    t.match(String(refused.status), /^(?:401|503)$/, refused.text)
    t.equal((await ask(newer, limited)).status, 200)
  })
}

const servers = await startServers(t)
if (servers) contractions(servers)
else t.pass('PostgreSQL and Redis', { skip: 'one of them is not installed' })
