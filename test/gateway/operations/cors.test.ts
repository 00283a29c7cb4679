/** Pages of other origins (Fetch standard, "CORS protocol"): off by default, by `server.cors` for the listed ones. */
import t, { type Test } from 'tap'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

const APP = 'https://app.example.com'
const OTHER = 'https://other.example.com'
const QUESTION = { model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] }
const PREFLIGHT = {
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type,x-stainless-lang',
}

function withServer(t: Test, server: string) {
  return startScene(t, {
    yaml: `
server: { host: 127.0.0.1, port: 0${server} }
auth: { keys: [ { name: test, key: sk-router-v1-0123456789abcdef, pass_through: true } ] }
`,
    provider: 'pass_through: { price: "0.001" }',
  })
}

const options = (gateway: Gateway, path: string, origin: string, headers: Record<string, string> = PREFLIGHT): Promise<Response> =>
  fetch(`${gateway.url}${path}`, { method: 'OPTIONS', headers: { origin, ...headers } })

const allowed = (response: Response): (string | null)[] =>
  ['access-control-allow-origin', 'access-control-allow-headers', 'access-control-expose-headers'].map((name) => response.headers.get(name))

t.test('without the setting no reply says anything of it', async (t) => {
  const { gateway } = await withServer(t, '')
  const preflight = await options(gateway, '/v1/chat/completions', APP)
  t.equal(preflight.status, 405)
  t.same(allowed(preflight), [null, null, null])
  const reply = await gateway.post('/v1/chat/completions', QUESTION, { origin: APP })
  t.same([reply.status, ...allowed(reply), reply.headers.get('vary')], [200, null, null, null, null])
})

t.test('listed origins', async (t) => {
  const { gateway, upstream } = await withServer(t, `, cors: { origins: [ "${APP}", "http://localhost:3000" ] }`)
  await every(t, 'every preflight', async (t) => {
    for (const origin of [APP, 'http://localhost:3000'])
      for (const path of ['/v1/chat/completions', '/v1/models', '/v1/models/acme/one', '/v1/responses/', '/v1/keys']) {
        const preflight = await options(gateway, path, origin)
        t.equal(preflight.status, 204, path)
        t.same(allowed(preflight), [origin, PREFLIGHT['access-control-request-headers'], null], path)
        t.match(preflight.headers.get('access-control-allow-methods'), /POST/)
        t.equal(preflight.headers.get('vary'), 'Origin')
        t.equal(preflight.headers.get('access-control-allow-credentials'), null, 'cookies are never allowed')
      }
    for (const [origin, path] of [
      [OTHER, '/v1/chat/completions'],
      [`${APP}.evil.example`, '/v1/models'],
      ['null', '/v1/models'],
      [APP.toUpperCase(), '/v1/models'],
    ] as const) {
      const preflight = await options(gateway, path, origin)
      t.equal(preflight.status, 405, origin)
      t.same(allowed(preflight), [null, null, null], origin)
      t.equal(preflight.headers.get('vary'), 'Origin')
    }
  })
  t.equal(upstream.requests.length, 0)
  const strange = await options(gateway, '/v1/models', APP, { ...PREFLIGHT, 'access-control-request-headers': 'a;b\tc' })
  t.same([strange.status, strange.headers.get('access-control-allow-headers')], [204, null], 'only names are sent back')
  const plain = await fetch(`${gateway.url}/v1/models`, { method: 'OPTIONS', headers: { origin: APP } })
  t.equal(plain.status, 405, 'no preflight')

  const asked: readonly (readonly [string, (headers: Record<string, string>) => Promise<Response>, number])[] = [
    ['a reply', (headers) => gateway.post('/v1/chat/completions', QUESTION, headers), 200],
    ['a stream', (headers) => gateway.post('/v1/chat/completions', { ...QUESTION, stream: true }, headers), 200],
    ['vectors of no model', (headers) => gateway.post('/v1/embeddings', { model: 'acme/none', input: 'x' }, headers), 404],
    ['a list', (headers) => gateway.get('/v1/models', headers), 200],
    ['no key', (headers) => fetch(`${gateway.url}/v1/models`, { headers }), 401],
    ['a wrong path', (headers) => gateway.get('/v1/nothing', headers), 404],
    ['the pass-through', (headers) => gateway.post('/v1/passage/first/any', {}, headers), 200],
  ]
  await every(t, 'every reply', async (t) => {
    upstream.script = (seen, index) =>
      seen.path.endsWith('/any')
        ? jsonAnswer({}, 200, { 'access-control-allow-origin': '*', vary: 'accept-encoding' })
        : says({ text: ['fine'] })(seen, index)
    for (const [what, ask, status] of asked) {
      const reply = await ask({ origin: APP })
      t.equal(reply.status, status, what)
      t.match(allowed(reply), [APP, null, /X-Request-Id.*Request-Id.*X-Generation-Id.*Retry-After/], what)
      t.match(reply.headers.get('vary'), /Origin/, what)
      await reply.text()
      const other = await ask({ origin: OTHER })
      t.same(allowed(other), [null, null, null], `${what} for another page`)
      await other.text()
    }
  })
})

t.test('any origin', async (t) => {
  const { gateway } = await withServer(t, ', cors: { origins: [ "*" ] }')
  t.equal((await options(gateway, '/v1/models', OTHER)).headers.get('access-control-allow-origin'), '*')
  const reply = await gateway.get('/v1/models', { origin: OTHER })
  t.same([reply.headers.get('access-control-allow-origin'), reply.headers.get('vary')], ['*', null])
})

t.test('an invalid origin is an error of the configuration', async (t) => {
  await every(t, 'every text', async (t) => {
    for (const origin of ['https://app.example.com/', 'app.example.com', 'https://*.example.com', 'HTTPS://app.example.com', ''])
      await t.rejects(startGateway(`server: { port: 0, cors: { origins: [ "${origin}" ] } }`), /origins/, origin)
  })
})
