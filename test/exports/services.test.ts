/**
 * Exports with what other projects make of the same protocols: the engine of ClickHouse (Python package chdb) takes the documented table
 * and the lines of a batch, and moto's S3 server checks the signature of an object. `HEADGATE_PYTHON` names a Python that has them; tested with chdb 4.4.0
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
import { CLICKHOUSE_USER, startObjectStore, storedLines } from '../support/object-store.ts'
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

/** Makes a bucket, and a user who may write to it and read it and do nothing else; from then on the server checks signatures. */
const PREPARE = `
import boto3, json, sys
at = dict(endpoint_url=sys.argv[1], region_name="us-east-1", aws_access_key_id="first", aws_secret_access_key="first")
boto3.client("s3", **at).create_bucket(Bucket="lake")
iam = boto3.client("iam", **at)
iam.create_user(UserName="gateway")
allowed = {"Effect": "Allow", "Action": ["s3:PutObject", "s3:GetObject"], "Resource": "arn:aws:s3:::lake/*"}
iam.put_user_policy(UserName="gateway", PolicyName="p", PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [allowed]}))
key = iam.create_access_key(UserName="gateway")["AccessKey"]
print(json.dumps([key["AccessKeyId"], key["SecretAccessKey"]]))
`
/** Calls of it. Its paths have no escapes, which moto leaves out of what it signs. */
const UNSIGNED = 4

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
  t.match(
    JSON.parse(out),
    [{ n: 6 }, { n: 3, id: storedLines(batch.body)[0]?.id }],
    'the repeated token brings no rows, and ids are unique',
  )
})

t.test("moto's S3 checks the signature of an object and takes it under its key", { skip: lacks('moto.server') }, async (t) => {
  const [port] = await freePorts(1)
  const url = `http://127.0.0.1:${port}`
  const env = { ...process.env, INITIAL_NO_AUTH_ACTION_COUNT: `${UNSIGNED}` }
  const server = spawn(`${python}`, ['-m', 'moto.server', '-p', `${port}`], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  t.teardown(() => server.kill())
  let log = ''
  server.stderr.on('data', (chunk: Buffer) => {
    log += chunk
  })
  await eventually('moto', async () => (await fetch(`${url}/moto-api/`).catch(() => undefined))?.ok)
  const [id = '', secret = ''] = JSON.parse(execFileSync(`${python}`, ['-c', PREPARE, url], { encoding: 'utf8' })) as string[]
  const target = (secret: string) =>
    `s3: { bucket: lake, region: us-east-1, endpoint: "${url}", prefix: "p-1/", access_key_id: ${id}, secret_access_key: "${secret}" }`
  const answered = async (clock: FakeClock, status: number) =>
    eventually(`a PUT with ${status}`, async () => {
      await clock.advance(2_000)
      return new RegExp(`"PUT /lake/(\\S+) HTTP/1.1" ${status} `).exec(log)?.[1]
    })
  const wrong = new FakeClock(1, Date.now())
  await scene(t, target('of-nobody'), wrong)
  await answered(wrong, 403)
  const clock = new FakeClock(1, Date.now())
  await scene(t, target(secret), clock)
  const key = decodeURIComponent((await answered(clock, 200)) ?? '')
  t.match(key, /^p-1\/generations\/\d{4}\/\d\d\/\d\d\/\d\d\/lake-\S+\.jsonl\.gz$/)
  const object = execFileSync(`${python}`, ['-c', READ, url, key, id, secret])
  t.equal(storedLines(object).length, 3)
})
