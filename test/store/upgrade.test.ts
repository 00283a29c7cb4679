/** SQLite files that earlier versions have written, opened by this one: no sum changes, and a newer file is refused. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { SCHEMA_VERSION } from '../../src/store/schema.ts'
import { FakeClock } from '../support/clock.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import {
  checkCompacts,
  checkGoesOn,
  compareStates,
  FIXTURE_VERSIONS,
  fixtureConfig,
  fixtureText,
  loadSqlite,
  RECORDED_AT,
  readState,
  wantedState,
} from '../support/stored-state.ts'
import { startUpstream } from '../support/upstream.ts'
import { answerFor } from '../support/wire.ts'

t.ok(FIXTURE_VERSIONS.includes('5'))

for (const version of FIXTURE_VERSIONS)
  t.test(`a file of schema version ${version} keeps every key, sum and row`, async (t) => {
    const upstream = await startUpstream((seen) => answerFor(seen, { text: ['ok'] }))
    t.teardown(() => upstream.close())
    const file = loadSqlite(join(t.testdir(), 'ledger.db'), fixtureText(version, 'sqlite.sql'))
    const configuration = fixtureConfig({ url: `sqlite:${file}` }, upstream.url)
    const clock = new FakeClock(1, RECORDED_AT)
    const gateway = await startGateway(configuration, { clock })
    t.teardown(() => gateway.close())
    const wanted = wantedState(version, 'sqlite.json')
    compareStates(t, await readState(gateway), wanted)
    await gateway.restart()
    t.match((await readState(gateway)).keys, wanted.keys, 'also after another start')
    await gateway.restart()
    await clock.advance(15_000)
    t.match((await readState(gateway)).activity, wanted.activity, 'and from the sums of use')
    await checkGoesOn(t, gateway, wanted)
    await checkCompacts(t, gateway)
  })

t.test('a file of a newer version is refused, the error names both versions, and the file stays as it is', async (t) => {
  const file = loadSqlite(join(t.testdir(), 'ledger.db'), `${fixtureText('5', 'sqlite.sql')} PRAGMA user_version = 99;`)
  await t.rejects(startGateway(`store: { url: "sqlite:${file}" }\n${oneModel('http://127.0.0.1:9', 'openai-chat')}`), {
    code: 'unavailable',
    message: `store ${file} was written by a newer headgate: it has schema version 99, and this program knows versions up to ${SCHEMA_VERSION}`,
  })
  const db = new DatabaseSync(file)
  t.match(db.prepare('PRAGMA user_version').get(), { user_version: 99 })
  db.close()
})
