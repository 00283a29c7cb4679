/** The rules of a step of the schema, and that no function is gone which a program that may still run calls. */
import t from 'tap'
import { asFault } from '../../src/core/faults.ts'
import { type CompiledStep, compiledSteps, FIRST_STATED, SCHEMA_VERSION } from '../../src/store/migrations.ts'
import { openPostgres, type PostgresReport } from '../../src/store/postgres/record.ts'
import { FakeClock } from '../support/clock.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { stepProblems } from '../support/schema-rules.ts'
import { fixtureText } from '../support/stored-state.ts'
import { nodePulse } from './record-contract.ts'

const server = await startPostgres(t)

t.test('each step since version 26 keeps to the rules', async (t) => {
  const steps = compiledSteps('postgres').slice(FIRST_STATED - 1)
  t.ok(steps.length > 0)
  for (const step of steps) t.same(stepProblems(step), [], `version ${step.version}`)
  for (const { version, least } of steps) t.ok(least < version, `a program of the version before works with version ${version}`)
})

t.test('the rules find what would stop a program of the version before', async (t) => {
  const of = (...statements: string[]): Pick<CompiledStep, 'kind' | 'statements' | 'indexes'> => ({
    kind: 'expand',
    statements,
    indexes: [],
  })
  const bad = [
    'alter table lease drop column turn',
    'drop function if exists headgate_lease(text)',
    'alter table lease rename column amount to granted',
    'alter table "lease" add column "x" bigint not null',
    'alter table lease add column a bigint not null default 0, add column b text not null',
    'alter table lease alter column turn set not null',
    'alter table lease alter column turn type numeric',
    'alter table lease add constraint positive check (turn > 0)',
    'create index lease_turn on lease (turn)',
    'update lease set turn = 0',
    'delete from lease',
    'insert into lease_used (key) select key from lease',
  ]
  for (const text of bad) t.equal(stepProblems(of(text)).length, 1, text)
  const good = [
    'create table "more" ("number" bigint not null)',
    'create index more_number on more (number)',
    'alter table "lease" add column "x" bigint default 0 not null',
    'alter table "lease" add column "y" text',
    'insert into more values (0)',
    'create or replace function headgate_x() returns void as $body$ begin delete from lease; end $body$',
  ]
  t.same(stepProblems(of(...good)), [])
  t.equal(stepProblems({ kind: 'stop', statements: [] }).length, 1)
})

if (server) tests(server)
else t.pass('PostgreSQL', { skip: 'PostgreSQL is not installed' })

/** Names, arguments and results of all functions. */
async function functionsIn(server: TestPostgres, url: string): Promise<string[]> {
  const rows = await server.query(
    url,
    `SELECT proname || '(' || pg_get_function_arguments(oid) || ') ' || coalesce(pg_get_function_result(oid), '') AS text FROM pg_proc
      WHERE pronamespace = 'public'::regnamespace ORDER BY 1`,
  )
  return rows.map(({ text }) => String(text))
}

function tests(server: TestPostgres): void {
  const clock = new FakeClock()

  t.test('every function that the oldest program calls is there with the same arguments and result', async (t) => {
    const { least = 0 } = compiledSteps('postgres').at(-1) ?? {}
    const [before, now] = [await server.database(), await server.database()]
    await server.query(before, fixtureText(String(least), 'postgres.sql'))
    await (await openPostgres(now, { clock })).close()
    const present = new Set(await functionsIn(server, now))
    const called = await functionsIn(server, before)
    t.ok(called.length > 20)
    t.same(
      called.filter((each) => !present.has(each)),
      [],
    )
  })

  t.test('a database whose functions are of version 25 is migrated beside a program of that version', async (t) => {
    const url = await server.database()
    await server.query(url, fixtureText('25', 'postgres.sql'))
    const later = Date.now() + 60_000
    await server.query(url, 'INSERT INTO node (node, label, expires_at) VALUES ($1, $2, $3)', ['old', 'old 1', later])
    const news: PostgresReport[] = []
    const record = await openPostgres(url, { clock, report: (item) => news.push(item) })
    t.teardown(() => record.close())
    t.same(news, [{ kind: 'migrated', from: 25, to: SCHEMA_VERSION }])
    await record.pulse(nodePulse('new'))
    t.same(await server.query(url, "SELECT node, schema_version::int FROM node WHERE node IN ('old', 'new') ORDER BY node"), [
      { node: 'new', schema_version: SCHEMA_VERSION },
      { node: 'old', schema_version: 0 },
    ])
    t.match(await server.query(url, 'SELECT version, least, indexed FROM headgate_schema'), [
      { version: SCHEMA_VERSION, indexed: SCHEMA_VERSION },
    ])
  })

  t.test('steps for which all programs have to stop wait for their end, and name one of them', async (t) => {
    const url = await server.database()
    await server.query(url, fixtureText('17', 'postgres.sql'))
    await server.query(url, 'INSERT INTO node (node, label, expires_at) VALUES ($1, $2, $3)', ['old', 'host 7', Date.now() + 60_000])
    const news: PostgresReport[] = []
    const refused = await openPostgres(url, { clock, waitMs: 300, report: (item) => news.push(item) }).catch(asFault)
    const why = /schema version 25 has no place for what programs that still run use \(host 7; 1 in all\): end those first/
    t.match(refused, { code: 'unavailable', message: why })
    t.match(news, [{ kind: 'migration-waits', reason: why }])
    t.match(await server.query(url, 'SELECT version FROM headgate_schema'), [{ version: 17 }])
    const waiting = openPostgres(url, { clock, report: (item) => news.push(item) })
    await server.query(url, 'UPDATE node SET expires_at = $1', [Date.now()])
    await (await waiting).close()
    t.match(await server.query(url, 'SELECT version FROM headgate_schema'), [{ version: SCHEMA_VERSION }])
  })

  t.test('a program works with a newer database until that has removed what it uses', async (t) => {
    const url = await server.database()
    await (await openPostgres(url, { clock })).close()
    await server.query(url, 'UPDATE headgate_schema SET version = $1, indexed = $2', [SCHEMA_VERSION + 2, SCHEMA_VERSION + 1])
    const record = await openPostgres(url, { clock })
    t.teardown(() => record.close())
    t.match(await record.pulse(nodePulse('n')), { nodes: 1 })
    await server.query(url, 'UPDATE headgate_schema SET least = $1', [SCHEMA_VERSION + 1])
    const left = await record.pulse(nodePulse('n')).catch(asFault)
    t.match(left, {
      code: 'unavailable',
      message: `was migrated beyond this program: it works with programs from schema version ${SCHEMA_VERSION + 1} on`,
    })
    for (const call of [() => record.endLeases('n'), () => record.giveBack('n', { key: 'k' }, 'all', 1), () => record.forgetLost(1)])
      t.match(await call().catch(asFault), { code: 'unavailable', message: /was migrated beyond this program/ }, 'and nothing of money')
    t.match(await openPostgres(url, { clock }).catch(asFault), { code: 'unavailable', message: /was written by a newer headgate/ })
  })
}
