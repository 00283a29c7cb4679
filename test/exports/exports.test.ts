/** Generations are exported in batches to files, to S3 and to ClickHouse, whatever the destinations do. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { FakeClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { every } from '../support/every.ts'
import { CLICKHOUSE_USER, S3_KEY, startObjectStore, storedLines } from '../support/object-store.ts'
import { type Scene, startScene } from '../support/scene.ts'

async function sceneWith(t: Test, folder: string, exports: string, clock = new FakeClock()): Promise<Scene> {
  return startScene(t, { clock, yaml: `store: { url: "sqlite:${join(folder, 'headgate.db')}" }\nexports: [ ${exports} ]` })
}

async function asks(scene: Scene, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let index = 0; index < count; index++) {
    const reply = await scene.ask()
    await reply.text()
    ids.push(reply.headers.get('x-generation-id') ?? '')
  }
  return ids
}

const folderFiles = (folder: string): string[] =>
  (existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : [])
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()

const someFiles = (folder: string, count: number): Promise<string[]> =>
  eventually(`${count} files`, () => {
    const found = folderFiles(join(folder, 'out')).filter((name) => !name.endsWith('.part'))
    return found.length === count && found
  })

async function metric(scene: Scene, name: string): Promise<number> {
  const text = await (await fetch(`${scene.gateway.admin}/metrics`)).text()
  return Number(new RegExp(`^headgate_${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1])
}

t.test('a batch is a file of JSON lines: the records of /generation, and nothing of the texts', async (t) => {
  const folder = t.testdir()
  const scene = await sceneWith(t, folder, `{ name: lake, file: { path: "${folder}/out" }, compression: none, interval: 20s }`)
  const ids = await asks(scene, 3)
  await scene.clock.advance(30_000)
  const files = await someFiles(folder, 1)
  const text = readFileSync(`${files[0]}`, 'utf8')
  t.match(files[0], /out\/generations\/2026\/01\/05\/12\/lake-20260105T1200\d{5}Z-000001\.jsonl$/)
  const lines = storedLines(Buffer.from(text))
  t.same(
    lines.map(({ id }) => id),
    ids,
  )
  const shown = (await (await scene.gateway.get(`/v1/generation?id=${ids[0]}`)).json()) as { data: unknown }
  t.same(lines[0], shown.data)
  t.notMatch(text, /fine/, 'no text of an answer')
  await eventually('three rows', async () => (await metric(scene, 'export_rows_total')) === 3)
  t.equal(await metric(scene, 'export_lag_rows'), 0)
})

for (const kind of ['s3', 'clickhouse'] as const)
  t.test(`${kind}: a destination that is down loses nothing and stops nothing; the batch comes again as it was`, async (t) => {
    const folder = t.testdir()
    const clock = new FakeClock()
    const store = await startObjectStore(kind, () => clock.now())
    t.teardown(() => store.close())
    const target =
      kind === 's3'
        ? `s3: { bucket: lake, region: us-east-1, endpoint: "${store.url}", prefix: "a (b)/", access_key_id: ${S3_KEY.id}, secret_access_key: ${S3_KEY.secret} }`.replace(
            'a (b)',
            "a=b'",
          )
        : `clickhouse: { url: "${store.url}", user: ${CLICKHOUSE_USER.user}, password: ${CLICKHOUSE_USER.password} }`
    const scene = await sceneWith(t, folder, `{ name: lake, ${target}, rows: 2, interval: 20s }`, clock)
    store.mode = 503
    const ids = await asks(scene, 3)
    await eventually('a failure', async () => {
      await clock.advance(2_000)
      return (await metric(scene, 'export_failed_batches_total')) >= 1
    })
    t.ok((await scene.ask()).ok, 'requests go on')
    t.ok((await metric(scene, 'export_lag_seconds')) >= 10)
    const line = scene.gateway.logs.find((each) => each.includes('generations are not exported'))
    t.match(line, kind === 's3' ? /status 503 SlowDown/ : /status 503, ClickHouse error 241/)
    await every(t, 'no secret in the log', async (t) => {
      for (const secret of [S3_KEY.secret, S3_KEY.id, CLICKHOUSE_USER.password]) t.notMatch(scene.gateway.logs.join('\n'), secret)
    })
    store.mode = 'take'
    const taken = () => store.delivered.filter(({ status }) => status === 200)
    await eventually('two batches', async () => {
      await clock.advance(2_000)
      return taken().length >= 2
    })
    const [failed, first] = [store.delivered[0], taken()[0]]
    t.same([first?.name, first?.token, first?.body], [failed?.name, failed?.token, failed?.body])
    const got = taken().flatMap(({ body }) => storedLines(body).map(({ id }) => id))
    t.same(got.slice(0, 3), ids)
    t.match(
      first?.name,
      kind === 's3'
        ? /^\/lake\/a=b'\/generations\/2026\/01\/05\/12\/lake-\S+-000001\.jsonl\.gz$/
        : 'INSERT INTO `default`.`generations` FORMAT JSONEachRow',
    )
    await eventually('the line', () => scene.gateway.logs.some((each) => each.includes('exported again')))
  })

t.test('an export goes on where it was after a restart, and reads what was settled late', async (t) => {
  const folder = t.testdir()
  const scene = await sceneWith(t, folder, `{ name: lake, file: { path: "${folder}/out" }, interval: 20s }`)
  const before = await asks(scene, 2)
  await scene.clock.advance(30_000)
  await someFiles(folder, 1)
  await scene.gateway.restart()
  const after = await asks(scene, 1)
  await scene.clock.advance(30_000)
  const files = await someFiles(folder, 2)
  const ids = files.map((file) => storedLines(readFileSync(file)).map(({ id }) => id))
  t.same(ids, [before, after])
})
