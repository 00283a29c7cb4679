/** A gateway with workers on PostgreSQL: what its starts find of before, and an end without the database. */
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import { openJournal } from '../../../src/store/journal.ts'
import { openPostgres } from '../../../src/store/postgres/record.ts'
import { freshVerdict } from '../../support/admin.ts'
import { newCluster, rush, serveArguments, startServers } from '../../support/cluster.ts'
import { runProgram } from '../../support/program.ts'

const servers = await startServers(t)
if (servers) {
  t.test('frees leases of workers of an earlier version after the start, once their rows are in', async (t) => {
    const cluster = await newCluster(t, servers)
    const { postgres, database } = cluster
    const place = await cluster.file({ workers: 2, shared: null })
    const journal = `${dirname(place.file)}/journal-0.db-1`
    const record = await openPostgres(database, { clock: systemClock })
    t.teardown(() => record.close())
    const node = randomUUID()
    await record.lease(node, {
      key: 'app',
      ask: { full: 900, floor: 900 },
      allowances: [{ limit: 5000 }],
      idle: 0,
      more: 0,
      recallsFirst: false,
      turn: 1,
    })
    const left = openJournal(journal, { clock: systemClock, durability: 'process' })
    const seq = Date.now() * 4096
    left.hold({ seq, tag: 'abcdefghijkl', key: 'app', model: 'acme/fixed', endpoint: 'acme/fixed@up', hold: 700, floor: 500 })
    await left.committed()
    left.close()
    writeFileSync(`${journal}.node`, `${node}\n`)
    const program = runProgram(serveArguments(place))
    t.teardown(() => program.child.kill('SIGKILL'))
    await program.until(/listens on/)
    const balance = "SELECT spent::int AS spent, leased::int AS leased FROM balance WHERE key = 'app'"
    t.same(await postgres.query(database, balance), [{ spent: 500, leased: 0 }])
    program.child.kill('SIGTERM')
    t.match(await program.exited, { code: 0 })
  })

  t.test('an end without PostgreSQL takes seconds, and the next start forwards what was left', async (t) => {
    const cluster = await newCluster(t, servers)
    const { postgres, database } = cluster
    const one = await cluster.start({ workers: 2, shared: null })
    t.same(await rush([one], 10), { 200: 10 })
    await postgres.down()
    t.same(await rush([one], 10), { 200: 10 }, 'a key without a limit does not notice')
    one.child.kill('SIGTERM')
    t.match(await one.exited, { code: 0 })
    await postgres.restart()
    const again = await one.again()
    t.same(await postgres.query(database, 'SELECT count(*)::int AS count FROM generation'), [{ count: 20 }])
    t.match(await freshVerdict(again.admin), { ok: true })
  })
} else t.plan(0, 'needs PostgreSQL and Redis')
