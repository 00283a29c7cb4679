/** Every reply has its id in the header that the SDKs show as the id of the request. */
import OpenAI from 'openai'
import t from 'tap'
import { every } from '../../support/every.ts'
import { KEY, startGateway } from '../../support/gateway.ts'

const BOSS = 'sk-router-v1-boss00123456789abcdef'
const gateway = await startGateway(`
auth: { keys: [ { name: app, key: "${KEY}" }, { name: boss, key: "${BOSS}", management: true } ] }
providers: { sim: { dialect: sim } }
models: { acme/one: { endpoints: [ { provider: sim, model: echo, price: free } ] } }
`)
t.teardown(() => gateway.close())
const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY, maxRetries: 0 })
const GET = { method: 'GET' }
const POST = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }

/** Method and path, key, and the status that is expected. */
const REPLIES: readonly (readonly [
  path: string,
  status: number,
  init: { method: string; headers?: Record<string, string> },
  key?: string,
])[] = [
  ['/v1/models', 200, GET],
  ['/v1/models', 200, { method: 'HEAD' }],
  ['/v1/models/acme/one', 200, GET],
  ['/v1/models/acme/none', 404, GET],
  ['/v1/files', 200, GET],
  ['/v1/files/file-none', 404, GET],
  ['/v1/key', 200, GET],
  ['/v1/keys', 403, GET],
  ['/v1/keys', 200, GET, BOSS],
  ['/v1/keys', 400, POST, BOSS],
  ['/v1/credits', 200, GET, BOSS],
  ['/v1/activity', 200, GET, BOSS],
  ['/v1/guardrails', 200, GET, BOSS],
  ['/v1/nothing', 404, GET],
  ['/v1/chat/completions', 405, GET],
  ['/v1/plan', 405, GET],
  ['/v1/models', 401, GET, 'sk-none'],
]

t.test('operations and refusals', async (t) => {
  const ids = new Set<string>()
  await every(t, 'each has an id of its own', async (t) => {
    for (const [path, status, init, key = KEY] of REPLIES) {
      const name = `${init.method} ${path} ${status}`
      const reply = await fetch(`${gateway.url}${path}`, { ...init, headers: { ...init.headers, authorization: `Bearer ${key}` } })
      await reply.text()
      t.equal(reply.status, status, name)
      t.match(reply.headers.get('x-request-id'), /^req-[\w-]{12}$/, name)
      t.equal(reply.headers.get('request-id'), null, name)
      ids.add(reply.headers.get('x-request-id') ?? '')
    }
  })
  t.equal(ids.size, REPLIES.length)
})

t.test('callers of Anthropic’s format read another header', async (t) => {
  const headers = { 'x-api-key': KEY, 'anthropic-version': '2023-06-01' }
  await every(t, 'each path', async (t) => {
    for (const path of ['/v1/models', '/v1/models/none', '/v1/files', '/v1/messages']) {
      const reply = await fetch(`${gateway.url}${path}`, { headers })
      await reply.text()
      t.match(reply.headers.get('request-id'), /^req-[\w-]{12}$/, path)
      t.equal(reply.headers.get('x-request-id'), null, path)
    }
  })
})

t.test('the SDK shows it', async (t) => {
  t.match((await openai.models.list().withResponse()).request_id, /^req-/)
  const failed = await openai.models.retrieve('acme/none').then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  t.match(failed, { status: 404, requestID: /^req-/ })
  const { _request_id: generation } = await openai.chat.completions.create({
    model: 'acme/one',
    messages: [{ role: 'user', content: 'Hello' }],
  })
  t.match(generation, /^gen-/, 'a generation keeps its own')
})
