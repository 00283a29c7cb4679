/** The server part of the control room, from outside: sign-in, sessions, and which requests a session's cookie opens. */
import t, { type Test } from 'tap'
import { ADMIN_TOKEN, adminFetch } from '../support/admin.ts'
import { every } from '../support/every.ts'
import { type Gateway, KEY } from '../support/gateway.ts'
import { startScene } from '../support/scene.ts'
import { jsonAnswer } from '../support/upstream.ts'

const MANAGER = 'sk-router-v1-fedcba9876543210fedcba9876543210'
const YAML = `
auth: { keys: [ { name: test, key: "${KEY}" }, { name: boss, key: "${MANAGER}", management: true } ] }
`
const OWN = { 'x-control-room': '1' }

const signIn = (gateway: Gateway, key: unknown, headers: Record<string, string> = OWN): Promise<Response> =>
  fetch(`${gateway.admin}/control-room/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ key }),
  })

const cookieIn = (reply: Response): string => reply.headers.get('set-cookie')?.split(';')[0] ?? ''

async function session(gateway: Gateway, key: string): Promise<{ cookie: string }> {
  const reply = await signIn(gateway, key)
  if (reply.status !== 201) throw new Error(`the sign-in was answered with ${reply.status}: ${await reply.text()}`)
  return { cookie: cookieIn(reply) }
}

async function started(t: Test): Promise<Gateway> {
  const { gateway } = await startScene(t, { yaml: YAML })
  return gateway
}

t.test('signs in with the admin token or a management key', async (t) => {
  const gateway = await started(t)
  for (const [key, role] of [
    [ADMIN_TOKEN, 'operator'],
    [MANAGER, 'manager'],
  ] as const) {
    const reply = await signIn(gateway, key)
    t.equal(reply.status, 201)
    t.match(reply.headers.get('set-cookie'), /^control-room=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/)
    const body = await reply.text()
    t.equal((JSON.parse(body) as { data: { role: string } }).data.role, role)
    t.notOk(body.includes(key), 'the reply does not have the key')
    const headers = { cookie: cookieIn(reply) }
    t.equal((await fetch(`${gateway.admin}/v1/keys`, { headers })).status, 200, `${role}: the management API`)
    t.equal((await fetch(`${gateway.admin}/ledger/verify`, { headers })).status, 200, `${role}: the ledger`)
  }
  const listed = await gateway.get('/v1/keys', { authorization: `Bearer ${MANAGER}` })
  const { data } = (await listed.json()) as { data: { name: string }[] }
  t.same(data.map(({ name }) => name).sort(), ['boss', 'test'], "the control room's own key is not listed")
  const secure = await signIn(gateway, ADMIN_TOKEN, { ...OWN, 'x-forwarded-proto': 'https' })
  t.match(secure.headers.get('set-cookie'), /^__Host-control-room=[\w-]{43}; .*; Secure$/, 'behind TLS the cookie is secure')
  t.notOk(
    gateway.logs.some((line) => line.includes(MANAGER) || line.includes(ADMIN_TOKEN)),
    'no log line has a key',
  )
})

t.test('refuses other keys, and limits attempts by address', async (t) => {
  const gateway = await started(t)
  const cases: [key: unknown, status: number, text: RegExp][] = [
    ['sk-router-v1-wrong', 401, /^key: expected a management key or the admin token/],
    [KEY, 403, /^key: expected a management key, found one for completions/],
    [undefined, 400, /^key: expected/],
    [5, 400, /^key: expected/],
    ['with blanks in it', 400, /^key: expected/],
  ]
  await every(t, 'every key', async (t) => {
    for (const [key, status, text] of cases) {
      const reply = await signIn(gateway, key)
      t.equal(reply.status, status, String(key))
      t.match(((await reply.json()) as { error: { message: string } }).error.message, text)
      t.equal(reply.headers.get('set-cookie'), null)
    }
  })
  const rest = await Promise.all(Array.from({ length: 12 }, () => signIn(gateway, 'sk-router-v1-wrong')))
  const refused = rest.filter(({ status }) => status === 429)
  t.ok(refused.length >= 2, 'more than ten attempts at once are refused')
  t.ok(Number(refused[0]?.headers.get('retry-after')) >= 1)
  for (const key of [ADMIN_TOKEN, MANAGER])
    t.equal((await signIn(gateway, key)).status, 201, 'the right one is not refused: another visitor of the same proxy has tried')
})

const BEHIND_PROXY = `${YAML}
server: { host: 127.0.0.1, port: 0, auth_failures: { burst: 3, per_minute: 1 }, trusted_proxies: ["127.0.0.1"] }`

const withWrongKey = (gateway: Gateway, headers: Record<string, string> = {}): Promise<Response> =>
  gateway.get('/v1/key', { authorization: 'Bearer sk-router-v1-wrong', ...headers })

t.test('sign-ins that fail count for the address of their visitor, not for this machine', async (t) => {
  const { gateway } = await startScene(t, { yaml: BEHIND_PROXY })
  const visitor = { 'x-forwarded-for': '192.0.2.7' }
  for (let i = 0; i < 4; i++) t.equal((await signIn(gateway, 'sk-router-v1-wrong', { ...OWN, ...visitor })).status, 401)
  t.equal((await withWrongKey(gateway)).status, 401, 'a program on this machine has its three')
  t.equal((await withWrongKey(gateway, visitor)).status, 429, 'the visitor had them')
  t.equal((await withWrongKey(gateway, { 'x-control-room-visitor': `192.0.2.8 ${ADMIN_TOKEN}`, ...visitor })).status, 429, 'forged')
})

t.test('a provider of the pass-through does not see the visitor', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    answer: () => jsonAnswer({ data: [] }),
    config: (url) => `
auth: { keys: [ { name: test, key: "${KEY}", pass_through: true }, { name: boss, key: "${MANAGER}", management: true } ] }
providers: { first: { dialect: openai-chat, base_url: "${url}/v1", key: sk-provider, pass_through: { price: "0.001" } } }
models: { acme/one: { endpoints: [ { provider: first, model: m, price: free } ] } }
`,
  })
  const { cookie } = await session(gateway, MANAGER)
  const reply = await fetch(`${gateway.admin}/v1/passage/first/models`, { headers: { cookie, ...OWN, authorization: `Bearer ${KEY}` } })
  t.equal(reply.status, 200, await reply.text())
  t.equal(upstream.requests.length, 1)
  t.equal(upstream.requests[0]?.headers['x-control-room-visitor'], undefined)
})

t.test('a session whose key was disabled ends where this machine has sent many wrong keys', async (t) => {
  const { gateway } = await startScene(t, { yaml: BEHIND_PROXY })
  const command = async (body: object): Promise<{ key: string; data: { hash: string } }> => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    return (await adminFetch(`${gateway.admin}/keys/command`, init)).json() as Promise<{ key: string; data: { hash: string } }>
  }
  const made = await command({ verb: 'create', fields: { name: 'second' }, management: true })
  const headers = await session(gateway, made.key)
  for (let i = 0; i < 4; i++) await withWrongKey(gateway)
  t.equal((await withWrongKey(gateway)).status, 429)
  await command({ verb: 'disable', key: made.data.hash })
  t.equal((await fetch(`${gateway.admin}/v1/keys`, { headers })).status, 429, 'the key is refused like any other')
  const next = await fetch(`${gateway.admin}/v1/keys`, { headers })
  t.equal(next.status, 401)
  t.match(await next.text(), 'The session has ended: sign in again')
  t.equal((await signIn(gateway, made.key)).status, 401, 'the sign-in says why, too')
})

t.test('a session opens nothing for pages of other origins', async (t) => {
  const gateway = await started(t)
  const { cookie } = await session(gateway, ADMIN_TOKEN)
  const { host } = new URL(gateway.admin)
  const cases: [name: string, method: string, headers: Record<string, string>, status: number][] = [
    ['a read of its own page', 'GET', { 'sec-fetch-site': 'same-origin' }, 200],
    ['an address that was typed', 'GET', { 'sec-fetch-site': 'none' }, 200],
    ['a read of another port', 'GET', { 'sec-fetch-site': 'same-site' }, 403],
    ['a read of another site', 'GET', { 'sec-fetch-site': 'cross-site' }, 403],
    ['a write without the header', 'POST', {}, 403],
    ['a write of another origin', 'POST', { ...OWN, origin: 'http://evil.example' }, 403],
    ['a write of an opaque origin', 'POST', { ...OWN, origin: 'null' }, 403],
    ['a write of another site', 'POST', { ...OWN, 'sec-fetch-site': 'cross-site' }, 403],
    ['a typed write', 'POST', { ...OWN, 'sec-fetch-site': 'none' }, 403],
    ['a write of its own page', 'POST', { ...OWN, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }, 201],
  ]
  await every(t, 'every request', async (t) => {
    for (const [name, method, headers, status] of cases) {
      const body = method === 'POST' ? { body: '{"name":"made"}' } : {}
      const reply = await fetch(`${gateway.admin}/v1/keys`, {
        method,
        headers: { cookie, 'content-type': 'application/json', ...headers },
        ...body,
      })
      t.equal(reply.status, status, name)
    }
  })
  t.equal((await fetch(`${gateway.admin}/ledger/rebuild`, { method: 'POST', headers: { cookie } })).status, 403, 'routes of the ledger too')
  t.equal((await signIn(gateway, ADMIN_TOKEN, {})).status, 403, 'and the sign-in itself')
})

t.test('a session opens the routes of its pages alone', async (t) => {
  const gateway = await started(t)
  const { cookie } = await session(gateway, MANAGER)
  const call = (path: string, method = 'GET'): Promise<Response> =>
    fetch(`${gateway.admin}${path}`, { method, headers: { cookie, ...OWN } })
  await every(t, 'every route', async (t) => {
    for (const path of ['/keys/command', '/compaction/command', '/sessions/command', '/nothing'])
      t.equal((await call(path, 'POST')).status, 401, path)
  })
  t.equal((await fetch(`${gateway.admin}/v1/keys`)).status, 401, 'without a session the API is not served here')
  t.equal((await fetch(`${gateway.admin}/v1/keys`, { headers: { cookie: 'control-room=forged' } })).status, 401)
  const chat = { model: 'acme/one', messages: [{ role: 'user', content: 'hi' }] }
  const ask = (headers: Record<string, string>): Promise<Response> =>
    fetch(`${gateway.admin}/v1/chat/completions`, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(chat),
    })
  t.equal((await ask(OWN)).status, 403, 'a management key calls no model')
  t.equal((await ask({ ...OWN, authorization: `Bearer ${KEY}` })).status, 200, 'a key of the request does, through the same origin')
  t.equal((await ask({ 'x-control-room': 'sample' })).status, 403, 'no sample traffic where there is no simulation')
})

t.test('a session ends', async (t) => {
  const { gateway, clock } = await startScene(t, { yaml: YAML })
  const status = async (cookie: string): Promise<number> => (await fetch(`${gateway.admin}/v1/keys`, { headers: { cookie } })).status

  const command = async (body: object): Promise<{ key: string; data: { hash: string } }> => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    return (await adminFetch(`${gateway.admin}/keys/command`, init)).json() as Promise<{ key: string; data: { hash: string } }>
  }
  const made = await command({ verb: 'create', fields: { name: 'second' }, management: true })
  const removed = await session(gateway, made.key)
  t.equal(await status(removed.cookie), 200)
  await command({ verb: 'disable', key: made.data.hash })
  t.equal((await fetch(`${gateway.admin}/ledger/verify`, { headers: removed })).status, 401, 'with its key, which was disabled')
  t.equal(await status(removed.cookie), 401)

  const { cookie } = await session(gateway, ADMIN_TOKEN)
  const out = await fetch(`${gateway.admin}/control-room/session`, { method: 'DELETE', headers: { cookie, ...OWN } })
  t.equal(out.status, 204, 'with the sign-out')
  t.match(out.headers.get('set-cookie'), /^control-room=; .*Max-Age=0/)
  t.equal(await status(cookie), 401)

  const idle = await session(gateway, ADMIN_TOKEN)
  await clock.advance(59 * 60_000)
  t.equal(await status(idle.cookie), 200)
  await clock.advance(61 * 60_000)
  t.equal(await status(idle.cookie), 401, 'after an hour without a request')

  const long = await session(gateway, ADMIN_TOKEN)
  for (let minutes = 0; minutes < 12 * 60 - 50; minutes += 50) {
    await clock.advance(50 * 60_000)
    await status(long.cookie)
  }
  await clock.advance(50 * 60_000)
  t.equal(await status(long.cookie), 401, 'after twelve hours in any case')
})

t.test('the page may load nothing from elsewhere', async (t) => {
  const gateway = await started(t)
  const reply = await fetch(`${gateway.admin}/control-room/requests?model=x`)
  t.ok([200, 503].includes(reply.status), 'the page, or how to build it')
  const policy = reply.headers.get('content-security-policy') ?? ''
  t.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; /)
  t.match(policy, /frame-ancestors 'none'/)
  t.equal(reply.headers.get('x-content-type-options'), 'nosniff')
  t.equal(reply.headers.get('referrer-policy'), 'no-referrer')
  t.notOk(/<script(?![^>]* src=)|<style| on\w+=| style=/.test(await reply.text()), 'no script or style in the page')
  const outside = await fetch(`${gateway.admin}/control-room/files/..%2f..%2fpackage.json`)
  t.equal(outside.status, 404, 'only files of the build are served')
  t.equal((await fetch(`${gateway.url}/control-room/`)).status, 404, 'not on the public listener')
})

t.test('reaches a public listener that expects the PROXY protocol', async (t) => {
  const { gateway } = await startScene(t, {
    yaml: `${YAML}\nserver: { host: 127.0.0.1, port: 0, proxy_protocol: true, trusted_proxies: ["127.0.0.1"] }`,
  })
  const { cookie } = await session(gateway, MANAGER)
  t.equal((await fetch(`${gateway.admin}/v1/keys`, { headers: { cookie } })).status, 200)
})
