/**
 * The overlap of a rotation where several processes serve: workers, and programs that share a PostgreSQL. All of them know both secrets, and
 * each ends the old one by itself when its time has come. Runs with `npm run test:servers`.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { fileText, freePorts } from '../../support/crash/configuration.ts'
import { eventually } from '../../support/eventually.ts'
import { startPostgres } from '../../support/postgres.ts'
import { startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'
import { askOnce, command, configured, serveWorkers, type WorkerGroup } from '../../support/workers.ts'

const postgres = await startPostgres(t)

interface Made {
  readonly key: string
  readonly data: JsonObject
}

async function provider(t: Test): Promise<string> {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['fine'] }))
  t.teardown(() => upstream.close())
  return upstream.url
}

/** Answers of every worker of every program. */
async function answers(programs: readonly WorkerGroup[], key: string): Promise<{ status: number; text: string }[]> {
  const sent = programs.flatMap(({ url }) => Array.from({ length: 8 }, () => askOnce(url, { key, path: '/v1/key' })))
  return Promise.all(sent)
}

const allAre = async (programs: readonly WorkerGroup[], key: string, status: number): Promise<true | undefined> =>
  (await answers(programs, key)).every((reply) => reply.status === status) || undefined

/** Seconds. */
const GRACE = 4

async function overlap(t: Test, programs: readonly [WorkerGroup, ...WorkerGroup[]]): Promise<void> {
  const [{ admin }] = programs
  const first = (await command(admin, { verb: 'create', fields: { name: 'rolled' } })) as unknown as Made
  await eventually('the first secret everywhere', () => allAre(programs, first.key, 200))
  const second = (await command(admin, { verb: 'rotate', key: 'rolled', fields: { grace_seconds: 3600 } })) as unknown as Made
  await eventually('the second secret everywhere', () => allAre(programs, second.key, 200))
  t.ok(await allAre(programs, first.key, 200), 'the first one works on')
  await command(admin, { verb: 'revoke-old', key: 'rolled' })
  await eventually('the end of the first one everywhere', () => allAre(programs, first.key, 401))
  t.ok(await allAre(programs, second.key, 200))

  const third = (await command(admin, { verb: 'rotate', key: 'rolled', fields: { grace_seconds: GRACE } })) as unknown as Made
  const until = Date.parse(String(third.data.previous_secret_expires_at))
  await eventually('the third secret everywhere', () => allAre(programs, third.key, 200))
  const before = await answers(programs, second.key)
  // A busy machine may come too late for this look.
  if (Date.now() < until) t.ok(before.every(({ status }) => status === 200))
  await eventually('the end of the second one everywhere', () => allAre(programs, second.key, 401))
  t.ok(Date.now() >= until, 'not before its time')
  for (const { text } of await answers(programs, second.key)) t.match(text, /This secret was replaced by a rotation of its key at /)
  t.ok(await allAre(programs, third.key, 200))
  await command(admin, { verb: 'delete', key: 'rolled' })
  await eventually('the end of the key', () => allAre(programs, third.key, 401))
  await eventually(
    'the end of the text',
    async () => (await answers(programs, second.key)).every(({ text }) => /Invalid API key/.test(text)) || undefined,
  )
}

t.test('workers', async (t) => {
  const { file } = await configured(t, await provider(t))
  await overlap(t, [await serveWorkers(t, file, 3)])
})

if (!postgres) t.pass('skipped: no PostgreSQL')
else
  t.test('programs that share a PostgreSQL', async (t) => {
    const directory = t.testdir()
    const record = await postgres.database()
    const upstream = await provider(t)
    const programs: WorkerGroup[] = []
    for (const name of ['one', 'two']) {
      const file = join(directory, `${name}.yaml`)
      const [port, admin] = await freePorts(2)
      writeFileSync(file, fileText({ port, admin, store: join(directory, `${name}.db`), record, provider: upstream }))
      programs.push(await serveWorkers(t, file, 2))
    }
    await overlap(t, programs as [WorkerGroup, ...WorkerGroup[]])
  })
