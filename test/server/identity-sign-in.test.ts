/** Sign-in of people to the control room at a real identity provider: what opens a session, what ends it, and what is written down. */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { eventually } from '../support/eventually.ts'
import { Walker } from '../support/identity-provider.ts'
import { begin, callback, comeBack, entries, OWN, registeredClient, SECRET, session, startSignIn } from '../support/people.ts'

const redirected = (reply: Response): string | null => reply.headers.get('location')

t.test('a person signs in at the issuer, and out at both', async (t) => {
  const place = await startSignIn(t)
  const { gateway, walker, provider } = place
  const leads = await begin(place, '/control-room/keys?sort=name')
  const sent = new URL(leads).searchParams
  t.equal(sent.get('redirect_uri'), callback(gateway))
  t.equal(sent.get('code_challenge_method'), 'S256')
  t.equal(sent.get('response_type'), 'code')
  for (const name of ['state', 'nonce', 'code_challenge']) t.match(sent.get(name), /^[\w-]{43}$/, name)
  t.equal(new Set(['state', 'nonce', 'code_challenge'].map((name) => sent.get(name))).size, 3)
  const back = await walker.walk(leads, (url) => url.startsWith(gateway.admin))
  t.equal(new URL(back).searchParams.get('iss'), provider.url)
  const reply = await walker.visit(back, { headers: { 'sec-fetch-dest': 'document', 'sec-fetch-site': 'cross-site' } })
  t.equal(reply.status, 303)
  t.equal(reply.headers.get('location'), '/control-room/keys?sort=name')
  const cookies = reply.headers.getSetCookie()
  t.match(
    cookies.find((line) => line.startsWith('control-room=')),
    /HttpOnly; SameSite=Strict$/,
  )
  t.match(
    cookies.find((line) => line.startsWith('control-room-sign-in=')),
    /Max-Age=0/,
  )
  t.match(await session(place), { name: 'ada@acme.example' })
  const out = await walker.visit(`${gateway.admin}/control-room/session`, { method: 'DELETE', headers: OWN })
  const { data } = (await out.json()) as { data: { location: string } }
  t.match(data.location, `${provider.url}/session/end?`)
  t.match(new URL(data.location).searchParams.get('id_token_hint'), /^ey/)
  t.equal(await session(place), null)
  t.equal((await walker.visit(data.location)).status, 200, 'the provider shows its own page')
  const person = { kind: 'member', id: /^[0-9a-f]{64}$/, name: 'ada@acme.example' }
  t.match(await entries(gateway, 'session.opened'), [{ actor: person, address: '127.0.0.1', subject: 'person' }])
  t.match(await entries(gateway, 'session.ended'), [{ actor: person, address: '127.0.0.1' }])
  const written = [...gateway.logs, JSON.stringify(await gateway.running.store.auditLog.page({ after: 0, limit: 100 }))].join('')
  for (const secret of [
    new URL(back).searchParams.get('code'),
    sent.get('nonce'),
    SECRET,
    new URL(data.location).searchParams.get('id_token_hint'),
  ])
    t.notMatch(written, String(secret))
})

t.test('behind TLS the redirect URI is https, and no cookie leaves it', async (t) => {
  const place = await startSignIn(t)
  const { gateway, provider } = place
  const tls = { 'x-forwarded-proto': 'https' }
  const secure = callback(gateway).replace('http:', 'https:')
  provider.open([registeredClient(gateway, { redirect_uris: [secure] })])
  const begun = await fetch(`${gateway.admin}/control-room/sign-in/acme`, { method: 'POST', headers: { ...OWN, ...tls }, body: '{}' })
  const [flow = ''] = begun.headers.getSetCookie()
  t.match(flow, /^__Host-control-room-sign-in=[\w.-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/)
  const { data } = (await begun.json()) as { data: { location: string } }
  t.equal(new URL(data.location).searchParams.get('redirect_uri'), secure)
  const back = await place.walker.walk(data.location, (url) => url.startsWith(secure))
  const cookie = flow.split(';')[0] ?? ''
  const ended = await fetch(back.replace('https:', 'http:'), { headers: { ...tls, cookie }, redirect: 'manual' })
  t.equal(redirected(ended), '/control-room/')
  t.match(
    ended.headers.getSetCookie().find((line) => line.startsWith('__Host-control-room=')),
    /; HttpOnly; SameSite=Strict; Secure$/,
  )
})

t.test('claims that stand at the userinfo endpoint alone are read there', async (t) => {
  const place = await startSignIn(t, {}, { conformIdTokenClaims: true })
  t.equal(redirected(await place.walker.visit(await comeBack(place))), '/control-room/')
  t.match(await session(place), { name: 'ada@acme.example' })
  t.equal(place.provider.calls['/me'], 1)
})

t.test('a public client signs in by PKCE alone', async (t) => {
  const place = await startSignIn(t)
  place.provider.open([registeredClient(place.gateway, { client_secret: undefined, token_endpoint_auth_method: 'none' })])
  await place.gateway.reconfigure(place.config().replace(`, client_secret: "${SECRET}"`, ''))
  await comeBack(place).then((back) => place.walker.visit(back))
  t.match(await session(place), { name: 'ada@acme.example' })
})

t.test('a person whose rule gives no role that manages sees its own spending alone', async (t) => {
  const place = await startSignIn(t)
  const { gateway, walker } = place
  walker.login = 'bob'
  await walker.visit(await comeBack(place))
  t.match(await session(place), { name: 'bob@acme.example', role: 'person', key_role: 'member' })
  const status = async (path: string): Promise<number> => (await walker.visit(gateway.admin + path, { headers: OWN })).status
  t.equal(await status('/v1/key'), 200)
  t.equal(await status('/v1/keys'), 403)
  t.equal(await status('/ledger/verify'), 403)
  const { data } = (await (await walker.visit(`${gateway.admin}/v1/key`, { headers: OWN })).json()) as { data: JsonObject }
  t.match(data, { limit: 5, is_management_key: false, name: 'bob@acme.example (127.0.0.1' })
})

t.test('the role of the rule opens pages, and changes are entered with the person', async (t) => {
  const place = await startSignIn(t)
  const { gateway, walker, config } = place
  await walker.visit(await comeBack(place))
  t.match(await session(place), { role: 'person', key_role: 'owner' })
  const visit = (path: string, init: RequestInit = {}) => walker.visit(gateway.admin + path, { headers: OWN, ...init })
  t.equal((await visit('/v1/keys')).status, 200)
  t.equal((await visit('/ledger/verify')).status, 200)
  t.equal((await visit('/guardrails/command', { method: 'POST', body: '{"verb":"audit"}' })).status, 401, 'findings are for the operator')
  t.equal((await visit('/v1/keys', { method: 'POST', body: '{"name":"made"}' })).status, 201)
  t.match(await entries(gateway, 'key.created'), [{ actor: { kind: 'member', id: /^[0-9a-f]{64}$/, name: 'ada@acme.example (ops)' } }])
  await gateway.reconfigure(config({ rules: '[ { when: { groups: ops }, role: viewer } ]' }))
  t.match(await session(place), { key_role: 'viewer' })
  t.equal((await visit('/v1/keys')).status, 200)
  t.equal((await visit('/v1/keys', { method: 'POST', body: '{"name":"more"}' })).status, 403)
})

t.test('people that no rule is for, and those without a required claim, get a page that says so', async (t) => {
  const place = await startSignIn(t)
  const { gateway, walker } = place
  const cases = { eve: 'not_mapped', mallory: 'claim_missing' }
  for (const [login, code] of Object.entries(cases)) {
    const own = { ...place, walker: new Walker() }
    own.walker.login = login
    t.equal(redirected(await own.walker.visit(await comeBack(own))), `/control-room/#refused=${code}`)
    t.equal(await session(own), null)
  }
  const shown = (await (await walker.visit(`${gateway.admin}/control-room/session`, { headers: OWN })).json()) as { sign_in: JsonObject }
  t.match(shown.sign_in, { issuers: [{ name: 'acme', label: 'Acme' }], refusals: { not_mapped: /no rule of this gateway/ } })
  await eventually('both', async () => (await entries(gateway, 'session.refused')).length === 2)
  t.match(await entries(gateway, 'session.refused'), [
    {
      actor: { kind: 'visitor' },
      address: '127.0.0.1',
      after: { means: 'identity_provider', error: 'not_mapped', member: 'eve@acme.example' },
    },
    { after: { error: 'claim_missing', member: 'mallory@acme.example' } },
  ])
  t.equal(gateway.logs.filter((line) => line.includes('sign-in refused')).length, 2)
})

t.test('a reload that maps a person no more ends the session, and one of another rule changes what it opens', async (t) => {
  const place = await startSignIn(t)
  const { gateway, config } = place
  await place.walker.visit(await comeBack(place))
  t.match(await session(place), { name: 'ada@acme.example' })
  t.equal((await gateway.reconfigure(config({ rules: '[ { when: { groups: all } } ]' }))).kind, 'applied')
  t.match(await session(place), { role: 'person', key_role: 'member' })
  t.equal((await gateway.reconfigure(config({ rules: '[ { when: { groups: others } } ]' }))).kind, 'applied')
  t.equal(await session(place), null)
  t.equal((await gateway.reconfigure(config())).kind, 'applied')
  t.equal(await session(place), null, 'it has ended for ever')
  const other = { ...place, walker: new Walker() }
  await other.walker.visit(await comeBack(other))
  const disabled = '[ { when: { groups: ops }, disabled: true }, { when: { groups: all } } ]'
  t.equal((await gateway.reconfigure(config({ rules: disabled }))).kind, 'applied')
  t.equal(await session(other), null, 'a rule that is disabled')
})

t.test('a session outlives a restart, and ends by its time', async (t) => {
  const place = await startSignIn(t, { signIn: ', session: 1h' })
  await place.walker.visit(await comeBack(place))
  const { expires_at: end } = (await session(place)) ?? {}
  t.ok(Date.parse(String(end)) - Date.now() <= 3600_000)
  const cookie = place.walker.cookie(place.gateway.admin, 'control-room') ?? ''
  await place.gateway.restart()
  const reply = await fetch(`${place.gateway.admin}/control-room/session`, { headers: { ...OWN, cookie: `control-room=${cookie}` } })
  t.match(await reply.json(), { data: { name: 'ada@acme.example' } })
})

t.test('an issuer that cannot be reached is named as such, and called again after a pause', async (t) => {
  const place = await startSignIn(t)
  place.provider.intercept = (_request, response) => {
    response.writeHead(500).end()
    return true
  }
  const open = () => place.walker.visit(`${place.gateway.admin}/control-room/sign-in/acme`, { method: 'POST', headers: OWN, body: '{}' })
  const reply = await open()
  t.equal(reply.status, 503)
  t.match(await reply.json(), { error: { message: /^Acme: The identity provider cannot be reached now/ } })
  await open()
  t.equal(place.provider.calls['/.well-known/openid-configuration'], 1)
})
