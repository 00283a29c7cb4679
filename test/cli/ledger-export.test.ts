/** `headgate ledger export --to …`: a past range to a folder, an export of the configuration or S3, and going on after a stop. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { ADMIN_TOKEN } from '../support/admin.ts'
import { freePorts } from '../support/crash/configuration.ts'
import { S3_KEY, startObjectStore, storedLines } from '../support/object-store.ts'
import { runProgram } from '../support/program.ts'
import { simulated } from '../support/simulated.ts'

t.setTimeout(240_000)
const SECRET = 'sk-router-v1-0123456789abcdef'

const folderFiles = (folder: string): string[] =>
  (existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : [])
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()

t.test('a range goes to a folder, to a named export and to S3, and a run goes on where it stopped', async (t) => {
  const home = t.testdir()
  const file = join(home, 'headgate.yaml')
  const [port, admin] = await freePorts(2)
  const store = await startObjectStore('s3')
  t.teardown(() => store.close())
  writeFileSync(
    file,
    `server: { host: 127.0.0.1, port: ${port} }
admin: { host: 127.0.0.1, port: ${admin}, token: ${ADMIN_TOKEN} }
store: { url: "sqlite:${join(home, 'ledger.db')}" }
auth: { keys: [ { name: app, key: "${SECRET}" } ] }
exports: [ { name: lake, file: { path: "${join(home, 'lake')}" }, path: "{name}/{batch}", compression: none, rows: 2, interval: 1h, since: 2100-01-01T00:00:00Z } ]
${simulated()}`,
  )
  const program = runProgram(['--config', file])
  t.teardown(() => program.child.kill('SIGKILL'))
  await program.until(/listens on/)
  const ask = async (): Promise<string> => {
    const reply = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim/echo', messages: [{ role: 'user', content: 'a secret word' }] }),
    })
    await reply.text()
    return reply.headers.get('x-generation-id') ?? ''
  }
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.push(await ask())
  const run = async (words: readonly string[], env: Record<string, string> = {}) => {
    const command = runProgram(['ledger', 'export', ...words, '--config', file], { env })
    const { code } = await command.exited
    return { code, utterance: command.err(), out: command.out() }
  }
  const idsIn = (bytes: Buffer): unknown[] => storedLines(bytes).map(({ id }) => id)

  const folder = join(home, 'out')
  const whole = await run(['--to', folder])
  t.equal(whole.code, 0, whole.utterance)
  t.match(whole.utterance, /exported 5 generations to /)
  t.equal(whole.out, '')
  const [only = ''] = folderFiles(folder)
  t.same(folderFiles(folder).length, 1)
  t.same(idsIn(readFileSync(only)), ids)
  const reply = await fetch(`http://127.0.0.1:${port}/v1/generation?id=${ids[0]}`, { headers: { authorization: `Bearer ${SECRET}` } })
  t.same(storedLines(readFileSync(only))[0], ((await reply.json()) as JsonObject).data, 'a line is the record')
  t.notMatch(readFileSync(only, 'utf8'), /secret word/)
  t.match(await run(['--to', folder, '--until', '1h']), {
    code: 0,
    utterance: /^nothing was written: no settled generation was admitted until \S+\n$/,
  })

  const named = await run(['--to', 'lake', '--since', '1h'])
  t.equal(named.code, 0, named.utterance)
  const batches = folderFiles(join(home, 'lake'))
  t.same(
    batches.map((name) => idsIn(readFileSync(name))),
    [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)],
  )
  const elsewhere = await run(['--to', 'lake', '--since', '1h', '--url', `http://127.0.0.1:${admin}`], {
    HEADGATE_ADMIN_TOKEN: ADMIN_TOKEN,
  })
  t.match(elsewhere, { code: 0, utterance: /exported 5 generations to / }, 'an address names the gateway, the file the export')
  const [position = ''] = /(?<=--after )\S+/.exec(named.utterance) ?? []
  const [, second = '', third = ''] = batches
  const before = [second, third].map((name) => readFileSync(name, 'utf8'))
  for (const name of [second, third]) rmSync(name)
  const rest = await run(['--to', 'lake', '--since', '1h', '--after', position])
  t.match(rest, { code: 0, utterance: /exported 3 generations/ })
  t.same(
    [second, third].map((name) => readFileSync(name, 'utf8')),
    before,
    'the same names and bytes',
  )

  const aws = {
    AWS_REGION: 'us-east-1',
    AWS_ENDPOINT_URL_S3: store.url,
    AWS_ACCESS_KEY_ID: S3_KEY.id,
    AWS_SECRET_ACCESS_KEY: S3_KEY.secret,
  }
  const sent = await run(['--to', 's3://my-lake/some/folder/'], aws)
  t.match(sent, { code: 0, utterance: /exported 5 generations to s3:\/\/my-lake\/some\/folder\// })
  const [object] = store.delivered
  t.match(object?.name, /^\/my-lake\/some\/folder\/generations-\w+-000001\.jsonl\.gz$/)
  t.same(object && idsIn(object.body), ids)

  store.mode = 503
  const again = runProgram(['ledger', 'export', '--to', 's3://my-lake/folder', '--config', file], { env: aws })
  await again.until(/s3:\/\/my-lake\/folder\/ took no batch: status 503 SlowDown; another try in 1 s/)
  store.mode = 'take'
  t.match(await again.exited, { code: 0 }, 'it waits for the next try')
  t.match(again.err(), /exported 5 generations/)
  t.match(store.delivered.at(-1)?.name, /^\/my-lake\/folder\/generations-\w+-000001/, 'a prefix is a folder')
  store.mode = 403
  t.match(await run(['--to', 's3://my-lake'], aws), {
    code: 1,
    utterance: /the export has stopped: status 403 \w+\nthe same command with --after/,
  })
  const { length } = store.delivered
  store.mode = 'take'
  t.match(await run(['--to', 's3://my-lake', '--since', '2020-01-01T00:00:00Z', '--until', '2020-02-01T00:00:00Z'], aws), {
    code: 0,
    utterance: /^nothing was written: no settled generation was admitted from 2020-01-01T00:00:00.000Z to 2020-02-01T00:00:00.000Z\n$/,
  })
  t.equal(store.delivered.length, length)

  const wrong: [string[], RegExp][] = [
    [['--to', 'nothing-like-that'], /expected the name of an export of \S+headgate\.yaml \(--config/],
    [['--to', 's3://Bad_Bucket/x'], /s3:\/\/BUCKET/],
    [['--to', 's3://my-lake/x'], /AWS_REGION/],
    [['--to', folder, '--since', 'yesterday'], /--since: expected a time/],
    [['--to', folder, '--since', '1h', '--until', '2h'], /before --until/],
    [['--to', folder, '--after', 'forged'], /--after: expected/],
  ]
  for (const [words, utterance] of wrong) t.match(await run(words), { code: 1, utterance }, words.join(' '))

  program.child.kill('SIGTERM')
  await program.exited
  rmSync(folder, { recursive: true })
  t.match(await run(['--to', folder]), { code: 0, utterance: /exported 5 generations/ }, 'without a gateway it reads the store')
  t.match(program.out(), /generations are read for an export on demand/, 'the log has it')
})

t.test('a store that is not there is no empty one', async (t) => {
  const home = t.testdir({ 'headgate.yaml': `store: { url: "sqlite:./data/ledger.db" }\nadmin: { port: 1 }\n${simulated()}` })
  for (const words of [
    ['ledger', 'export', '--to', './out'],
    ['ledger', 'export'],
    ['ledger', 'verify'],
    ['generations', 'show', 'gen-none'],
    ['refusals'],
  ]) {
    const command = runProgram([...words, '--config', 'headgate.yaml'], { cwd: home })
    t.match(await command.exited, { code: 1 }, words.join(' '))
    t.match(
      command.err(),
      `no gateway listens at http://127.0.0.1:1 (--url names another address), and its store ./data/ledger.db is not there: its path is relative to the directory of the gateway, and this is ${home}`,
    )
  }
  t.same(readdirSync(home), ['headgate.yaml'], 'none was made')
})
