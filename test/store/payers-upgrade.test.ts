/**
 * Stores of schema version 28, whose rows name one payer at most, under budgets above budgets: what was spent before stays where it was.
 * And a program of that version beside this one on PostgreSQL.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { fixedAsk } from '../../src/ledger/credit.ts'
import { verifyLedger } from '../../src/ledger/verify.ts'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { adminFetch } from '../support/admin.ts'
import { FakeClock } from '../support/clock.ts'
import { startGateway } from '../support/gateway.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { setDatabaseTime } from '../support/postgres-clock.ts'
import { APP, BOSS, fixtureConfig, fixtureText, loadSqlite, type Place, RECORDED_AT, readState } from '../support/stored-state.ts'
import { startUpstream } from '../support/upstream.ts'
import { answerFor } from '../support/wire.ts'
import { nodePulse } from './record-contract.ts'

t.setTimeout(280_000)
const VERSION = '28'
const server = await startPostgres(t)

async function places(t: Test, database: TestPostgres | undefined): Promise<Place> {
  const directory = t.testdir()
  if (!database) return { url: `sqlite:${loadSqlite(join(directory, 'store.db'), fixtureText(VERSION, 'sqlite.sql'))}` }
  const url = await database.database()
  await database.query(url, fixtureText(VERSION, 'postgres.sql'))
  const journal = loadSqlite(join(directory, 'journal.db'), fixtureText(VERSION, 'journal.sql'))
  writeFileSync(`${journal}.node`, fixtureText(VERSION, 'journal.node'))
  return { url, journal }
}

for (const kind of ['SQLite', 'PostgreSQL'] as const)
  t.test(
    `${kind}: levels above a key that has spent begin with nothing, and all sums agree`,
    {
      skip: kind === 'PostgreSQL' && !server,
    },
    async (t) => {
      const upstream = await startUpstream((seen) => answerFor(seen, { text: ['ok'] }))
      t.teardown(() => upstream.close())
      const place = await places(t, kind === 'PostgreSQL' ? server : undefined)
      const yaml = fixtureConfig(place, upstream.url).replace('name: app,', 'name: app, parent: team,')
      const budgets =
        'budgets: { team: { weekly: "1.00", parent: acme }, acme: { monthly: "0.02", parent: root }, root: { lifetime: "9.00" } }'
      const gateway = await startGateway(`${yaml}\n${budgets}\n`, { clock: new FakeClock(1, RECORDED_AT) })
      t.teardown(() => gateway.close())
      if (server && place.journal) await setDatabaseTime(server, place.url, RECORDED_AT)
      const before = await readState(gateway)
      t.match(before.verdict, { ok: true })
      const ask = async () =>
        (
          await gateway.post(
            '/v1/chat/completions',
            { model: 'acme/fixed', messages: [{ role: 'user', content: 'a' }] },
            { authorization: `Bearer ${APP}` },
          )
        ).status
      t.same([await ask(), await ask(), await ask()], [200, 200, 402], 'two of a cent each')
      const shown = (await (await gateway.get('/v1/budgets', { authorization: `Bearer ${BOSS}` })).json()) as { data: JsonObject[] }
      t.match(
        shown.data.map(({ name, parent, windows }) => ({ name, parent, used: (windows as JsonObject[])[0]?.used })),
        [
          { name: 'team', parent: 'acme', used: 0.02 },
          { name: 'acme', parent: 'root', used: 0.02 },
          { name: 'root', parent: null, used: 0.02 },
        ],
      )
      await gateway.restart()
      t.match(await (await adminFetch(`${gateway.admin}/ledger/verify/full`)).json(), { ok: true, problems: [] })
    },
  )

t.test('PostgreSQL: a program of the version before leases and forwards with one payer beside this one', { skip: !server }, async (t) => {
  if (!server) return
  const url = await server.database()
  const record = await openPostgres(url, { clock: new FakeClock() })
  t.teardown(() => record.close())
  await record.pulse(nodePulse('new'))
  const limits = [{ limit: 1000, limitReset: null, level: 1 }]
  const lease = { key: 'a', payer: 'team>root', ask: fixedAsk(600), allowances: limits, idle: 0, more: 0, recallsFirst: false, turn: 1 }
  t.match(await record.lease('new', lease), { granted: 600 })
  const grant = (need: number) =>
    server.query(
      url,
      `CALL headgate_grant('old', 'b', 'team', ${need}, ${need}, 0, 0, '{5000,1000}', ARRAY[NULL, 'monthly']::text[], '{f,t}', false, 1000, 1, NULL, NULL, NULL, NULL)`,
    )
  t.match(await grant(401), [{ granted: '0', hold: null }], 'what the other has leased counts')
  t.match(await grant(400), [{ granted: '400', hold: '400', lefts: ['4600', '0'] }])
  t.match(await record.balances(['b', 'team', 'root']), [{ leased: 400 }, { leased: 1000 }, { leased: 600 }])
  await server.query(
    url,
    `SELECT headgate_take('old', '{7}', '{t}', '{b}', '{team}', '{m}', '{e}', '{400}', '{0}', '{completed}', '{300}',
      '{1}', '{1}', '{0}', '{0}', '{0}', '{f}', '{"{}"}', '{0}')`,
  )
  await server.query(url, "CALL headgate_return('old', 'b', 'team', NULL, 2)")
  await record.giveBack('new', { key: 'a', payer: 'team>root' }, 'all', 2)
  t.match(await record.balances(['a', 'b', 'team', 'root']), [
    { leased: 0, spent: 0n },
    { leased: 0, spent: 300n },
    { leased: 0, spent: 300n },
    { leased: 0, spent: 0n },
  ])
  t.match(await verifyLedger(record.ledger, { full: true }), { ok: true, problems: [] })
})
