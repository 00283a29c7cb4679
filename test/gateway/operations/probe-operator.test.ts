/** Guarantees for the operator: the admin port, reloads, and requests that cannot reach past the configuration. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { start } from '../../../src/app/start.ts'
import { adminFetch } from '../../support/admin.ts'
import { every } from '../../support/every.ts'
import { oneModel, startGateway } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { startUpstream } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

t.test('an error behind the admin port is logged', async (t) => {
  const gateway = await startGateway(
    `store: { url: "sqlite:${join(t.testdir(), 'admin.db')}" }\n${oneModel('http://127.0.0.1:9', 'openai-chat')}`,
  )
  t.teardown(() => gateway.close())
  gateway.running.store.close()
  const response = await adminFetch(`${gateway.admin}/ledger/verify`)
  t.equal(response.status, 500)
  t.match(await response.json(), { error: { code: 500, message: 'Internal Server Error' } })
  t.match(gateway.logs.join('\n'), /"unexpected"/)
})

t.test('the export of the ledger is streamed row by row as NDJSON', async (t) => {
  const { gateway } = await startScene(t)
  for (let i = 0; i < 3; i++) await (await gateway.post('/v1/responses', { model: 'acme/one', input: 'x' })).text()
  const response = await adminFetch(`${gateway.admin}/ledger/export`)
  t.equal(response.headers.get('content-type'), 'application/x-ndjson')
  t.equal(response.headers.get('content-length'), null, 'its length is not known before')
  const lines = (await response.text()).trimEnd().split('\n')
  t.match(
    lines.map((line) => JSON.parse(line) as object),
    [{ status: 'completed' }, { status: 'completed' }, { status: 'completed' }],
  )
})

t.test('a reload that would need a new random key keeps the key in use, and logs what to do', async (t) => {
  const upstream = await startUpstream(says({ text: ['fine'] }))
  const directory = t.testdir()
  const configFile = join(directory, 'headgate.yaml')
  const yaml = (key: string): string => `
server: { port: 0 }
admin: { port: 0 }
store: { url: "memory:" }
providers: { first: { dialect: openai-chat, base_url: "${upstream.url}/v1"${key} } }
models: { acme/one: { endpoints: [ { provider: first, model: upstream-model, price: free } ] } }
`
  writeFileSync(configFile, yaml(''))
  const logs: string[] = []
  const running = await start({ configFile, env: {}, log: (line) => logs.push(line) })
  t.teardown(async () => {
    await running.close()
    await upstream.close()
  })
  const ask = async (key: string): Promise<number> =>
    (
      await fetch(`${running.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'acme/one', input: 'x' }),
      })
    ).status
  t.equal(await ask('sk-router-v1-dev'), 200)
  writeFileSync(configFile, yaml(', key: "sk-a-real-provider-key"'))
  t.match(await running.reload(), { kind: 'applied' })
  t.equal(await ask('sk-router-v1-dev'), 200, 'the key that is in use stays')
  t.match(logs.join('\n'), /keys named in auth\.keys/, 'and the log says what to do')
  writeFileSync(configFile, `${yaml(', key: "sk-a-real-provider-key"')}auth: { keys: [ { name: mine, key: "sk-router-v1-mine" } ] }\n`)
  t.match(await running.reload(), { kind: 'applied' })
  t.same([await ask('sk-router-v1-dev'), await ask('sk-router-v1-mine')], [401, 200])
  t.notMatch(logs.join('\n'), /sk-router-v1-mine|sk-a-real/)
})

t.test('returns 400 for api_base, base_url, api_key and unknown presets in a body', async (t) => {
  const upstream = await startUpstream(says({ text: ['fine'] }))
  t.teardown(() => upstream.close())
  await every(t, 'every dialect', async (t) => {
    for (const dialect of ['openai-chat', 'openai-responses']) {
      const gateway = await startGateway(oneModel(upstream.url, dialect))
      t.teardown(() => gateway.close())
      for (const path of ['/v1/chat/completions', '/v1/responses'])
        for (const name of ['api_base', 'base_url', 'api_key', 'preset']) {
          const question = path.endsWith('responses') ? { input: 'x' } : { messages: [{ role: 'user', content: 'x' }] }
          const response = await gateway.post(path, { model: 'acme/one', ...question, [name]: 'http://127.0.0.1:9' })
          t.equal(response.status, 400, `${path} ${name}`)
          t.match(await response.json(), { error: { metadata: { field: name } } })
        }
    }
  })
  t.equal(upstream.requests.length, 0)
})
