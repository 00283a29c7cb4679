/**
 * Exports with what other projects make of the same protocols: the engine of ClickHouse (Python package chdb) takes the documented table
 * and the lines of a batch, and moto's S3 server takes an object. `HEADGATE_PYTHON` names a Python that has them; tested with chdb 4.4.0
 * (ClickHouse 26.9.2.1) and moto 5.2.5.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { FakeClock } from '../support/clock.ts'
import { freePorts } from '../support/crash/configuration.ts'
import { eventually } from '../support/eventually.ts'
import { CLICKHOUSE_USER, linesOf, S3_KEY, startObjectStore } from '../support/object-store.ts'
import { startScene } from '../support/scene.ts'

t.setTimeout(280_000)

const python = process.env.HEADGATE_PYTHON
const lacks = (module: string): string | false => {
  if (python !== undefined && spawnSync(python, ['-c', `import ${module}`]).status === 0) return false
  process.stderr.write(`\n*** HEADGATE_PYTHON has no ${module}: its test is SKIPPED ***\n\n`)
  return `HEADGATE_PYTHON has no ${module}`
}

async function scene(t: Test, target: string, clock: FakeClock) {
  const folder = t.testdir()
  const made = await startScene(t, {
    clock,
    yaml: `store: { url: "sqlite:${join(folder, 'headgate.db')}" }\nexports: [ { name: lake, ${target}, interval: 10s } ]`,
  })
  for (let index = 0; index < 3; index++) await (await made.ask()).text()
  return { folder, ...made }
}

const INSERT = `
import json, sys
from chdb import session
given = json.load(open(sys.argv[1]))
s = session.Session(sys.argv[2])
s.query("CREATE DATABASE d"); s.query("USE d"); s.query(given["table"])
for token in ["one", "one", "two"]:
    s.query("INSERT INTO generations SETTINGS %s, insert_deduplication_token='%s' FORMAT JSONEachRow %s" % (given["settings"], token, given["lines"]))
print(json.dumps([json.loads(str(s.query("SELECT count() AS n, min(id) AS id FROM generations %s" % final, "JSONEachRow"))) for final in ["", "FINAL"]]))
`

/** With Amazon's own client. */
const READ = `
import boto3, sys
s3 = boto3.client("s3", endpoint_url=sys.argv[1], aws_access_key_id=sys.argv[3], aws_secret_access_key=sys.argv[4], region_name="us-east-1")
sys.stdout.buffer.write(s3.get_object(Bucket="lake", Key=sys.argv[2])["Body"].read())
`

t.test('the engine of ClickHouse takes the documented table and a batch, and drops the same batch', { skip: lacks('chdb') }, async (t) => {
  const clock = new FakeClock()
  const store = await startObjectStore('clickhouse', () => clock.now())
  t.teardown(() => store.close())
  const target = `clickhouse: { url: "${store.url}", user: ${CLICKHOUSE_USER.user}, password: ${CLICKHOUSE_USER.password} }`
  const { folder } = await scene(t, target, clock)
  await eventually('a batch', async () => {
    await clock.advance(2_000)
    return store.delivered.length > 0
  })
  const [batch] = store.delivered
  if (!batch) throw new Error('expected a batch')
  const document = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'exports.md'), 'utf8')
  const given = {
    table: /```sql\n(CREATE TABLE generations[\s\S]*?)```/.exec(document)?.[1],
    lines: gunzipSync(batch.body).toString('utf8'),
    settings: batch.settings.map(([name, value]) => `${name}='${value}'`).join(', '),
  }
  writeFileSync(join(folder, 'given.json'), JSON.stringify(given))
  const out = execFileSync(`${python}`, ['-c', INSERT, join(folder, 'given.json'), join(folder, 'engine')], { encoding: 'utf8' })
  t.match(JSON.parse(out), [{ n: 6 }, { n: 3, id: linesOf(batch.body)[0]?.id }], 'the repeated token brings no rows, and ids are unique')
})

t.test("moto's S3 takes an object under its key", { skip: lacks('moto.server') }, async (t) => {
  const [port] = await freePorts(1)
  const url = `http://127.0.0.1:${port}`
  const server = spawn(`${python}`, ['-m', 'moto.server', '-p', `${port}`], { stdio: 'ignore' })
  t.teardown(() => server.kill())
  await eventually('moto', async () => (await fetch(`${url}/moto-api/`).catch(() => undefined))?.ok)
  await fetch(`${url}/lake`, { method: 'PUT' })
  const clock = new FakeClock(1, Date.now())
  const target = `s3: { bucket: lake, region: us-east-1, endpoint: "${url}", prefix: "p=1/", access_key_id: ${S3_KEY.id}, secret_access_key: ${S3_KEY.secret} }`
  await scene(t, target, clock)
  const key = await eventually('an object', async () => {
    await clock.advance(2_000)
    const listed = await (await fetch(`${url}/lake?list-type=2`)).text()
    return /<Key>([^<]+)<\/Key>/.exec(listed)?.[1]
  })
  t.match(key, /^p=1\/generations\/\d{4}\/\d\d\/\d\d\/\d\d\/lake-\S+\.jsonl\.gz$/)
  const object = execFileSync(`${python}`, ['-c', READ, url, `${key}`, S3_KEY.id, S3_KEY.secret])
  t.equal(linesOf(object).length, 3)
})
