/** Files and processes: workers share them, a killed one leaves no half file, and what was temporary goes with the owner. */
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { freePorts } from '../../support/crash/configuration.ts'
import { eventually } from '../../support/eventually.ts'
import { KEY } from '../../support/gateway.ts'
import { serveProgram } from '../../support/program.ts'
import { RawClient } from '../../support/raw.ts'
import { askOnce, inTurn } from '../../support/workers.ts'

/** Connections of which, dealt out by chance, every worker gets some. */
const MANY = 16
const EDGE = '--a\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'

async function configured(directory: string, store: string): Promise<string> {
  const file = join(directory, 'headgate.yaml')
  const [port, admin] = await freePorts(2)
  writeFileSync(
    file,
    `server: { host: 127.0.0.1, port: ${port} }
admin: { host: 127.0.0.1, port: ${admin} }
store: { url: "${store}" }
auth: { keys: [ { name: test, key: "${KEY}" } ] }
providers: { sim: { dialect: sim } }
models: { sim/echo: { context: 4096, endpoints: [ { provider: sim, model: echo } ] } }
`,
  )
  return file
}

/** One upload over a connection of its own. */
async function upload(url: string, text: string): Promise<string> {
  const body = `${EDGE}${text}\r\n--a--`
  const reply = await fetch(`${url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'multipart/form-data; boundary=a', connection: 'close' },
    body,
  })
  return String(((await reply.json()) as JsonObject).id)
}

async function listed(url: string): Promise<string[]> {
  const { text } = await askOnce(url, { key: KEY, path: '/v1/files?order=asc' })
  return (JSON.parse(text) as { data: { id: string }[] }).data.map(({ id }) => id)
}

/** An upload of which half has come. */
async function half(url: string): Promise<RawClient> {
  const client = await RawClient.open(url)
  const head = ['POST /v1/files HTTP/1.1', 'host: x', `authorization: Bearer ${KEY}`, 'content-type: multipart/form-data; boundary=a']
  return client.send(`${[...head, 'content-length: 100000'].join('\r\n')}\r\n\r\n${EDGE}${'x'.repeat(1000)}`)
}

const folderIn = (t: Test, temporary: string): string => {
  const [name, ...others] = readdirSync(temporary).filter((one) => one.startsWith('headgate-files-'))
  t.same(others, [], 'one directory for all')
  return join(temporary, name)
}

t.test('workers show each other what they have taken, and the owner cleans up', async (t) => {
  const directory = t.testdir({ temporary: {} })
  const temporary = join(directory, 'temporary')
  const file = await configured(directory, 'memory:')
  const workerPool = await serveProgram(['serve', '--config', file, '--workers', '2'], { env: { TMPDIR: temporary } })
  t.teardown(() => workerPool.child.kill('SIGKILL'))
  const ids = await inTurn(MANY, () => upload(workerPool.url, 'shared'))
  for (let i = 0; i < MANY; i++) t.same(await listed(workerPool.url), [...ids].sort(), 'whoever is asked')
  const contents = await Promise.all(ids.map((id) => askOnce(workerPool.url, { key: KEY, path: `/v1/files/${id}/content` })))
  t.ok(contents.every(({ status, text }) => status === 200 && text === 'shared'))
  t.equal(readdirSync(folderIn(t, temporary)).length, 1)
  workerPool.child.kill('SIGTERM')
  await once(workerPool.child, 'exit')
  t.same(
    readdirSync(temporary).filter((one) => one.startsWith('headgate-files-')),
    [],
  )
})

t.test('a process that is killed in the middle leaves no half file', async (t) => {
  const directory = t.testdir()
  const file = await configured(directory, `sqlite:${join(directory, 'headgate.db')}`)
  const first = await serveProgram(['serve', '--config', file])
  t.teardown(() => first.child.kill('SIGKILL'))
  const kept = await upload(first.url, 'kept')
  await half(first.url)
  const files = join(directory, 'files')
  await eventually('the half file', () => {
    const [folder] = readdirSync(files)
    return readdirSync(join(files, folder)).length === 3 ? true : undefined
  })
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  const second = await serveProgram(['serve', '--config', file])
  t.teardown(() => second.child.kill('SIGKILL'))
  t.same(await listed(second.url), [kept])
  t.equal((await askOnce(second.url, { key: KEY, path: `/v1/files/${kept}/content` })).text, 'kept')
  const next = await upload(second.url, 'next')
  t.same(await listed(second.url), [kept, next])
  second.child.kill('SIGTERM')
  await once(second.child, 'exit')
})
