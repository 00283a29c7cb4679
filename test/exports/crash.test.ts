/** A program that dies after a batch has come to its destination, and before it has written that down. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { freePorts } from '../support/crash/configuration.ts'
import { eventually } from '../support/eventually.ts'
import { S3_KEY, startObjectStore, storedLines } from '../support/object-store.ts'
import { runProgram } from '../support/program.ts'

t.setTimeout(280_000)

t.test(
  'kill -9 between delivery and position: the same object comes again with the same bytes, and then only new ones',
  { timeout: 120_000 },
  async (t) => {
    const folder = t.testdir()
    const store = await startObjectStore('s3')
    t.teardown(() => store.close())
    const [port, admin] = await freePorts(2)
    const file = join(folder, 'headgate.yaml')
    writeFileSync(
      file,
      `server: { host: 127.0.0.1, port: ${port} }
admin: { host: 127.0.0.1, port: ${admin} }
store: { url: "sqlite:${join(folder, 'headgate.db')}" }
exports: [ { name: lake, interval: 200ms, s3: { bucket: lake, region: us-east-1, endpoint: "${store.url}", access_key_id: ${S3_KEY.id}, secret_access_key: "${S3_KEY.secret}" } } ]
auth: { keys: [ { name: test, key: sk-router-v1-0123456789abcdef } ] }
providers: { sim: { dialect: sim } }
models: { acme/echo: { endpoints: [ { provider: sim, model: echo } ] } }
`,
    )
    const start = async () => {
      const program = runProgram(['serve', '--config', file])
      t.teardown(() => program.child.kill('SIGKILL'))
      await eventually('ready', async () => (await fetch(`http://127.0.0.1:${admin}/readyz`).catch(() => undefined))?.ok)
      return program
    }
    const ask = async (count: number): Promise<string[]> => {
      const ids: string[] = []
      for (let index = 0; index < count; index++) {
        const reply = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: 'Bearer sk-router-v1-0123456789abcdef', 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'acme/echo', messages: [{ role: 'user', content: 'Hello' }] }),
        })
        await reply.text()
        ids.push(reply.headers.get('x-generation-id') ?? '')
      }
      return ids
    }
    store.mode = 'stall'
    const first = await start()
    const before = await ask(5)
    await eventually('a batch', () => store.delivered.length > 0)
    first.child.kill('SIGKILL')
    await first.exited
    const sent = store.delivered.length
    store.mode = 'take'
    await start()
    const after = await ask(3)
    const idsSince = () => store.delivered.slice(sent).flatMap(({ body }) => storedLines(body).map(({ id }) => id))
    await eventually('all of them', () => [...before, ...after].every((id) => idsSince().includes(id)))
    const [lost, again] = [store.delivered[0], store.delivered[sent]]
    t.same([again?.name, again?.body], [lost?.name, lost?.body])
    t.equal(new Set(idsSince()).size, idsSince().length, 'nothing else comes twice')
  },
)
