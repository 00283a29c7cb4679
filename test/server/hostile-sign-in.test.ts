/** Attacks on the sign-in of people to the control room: each is refused, and opens no session. */
import { importJWK, SignJWT, UnsecuredJWT } from 'jose'
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { every } from '../support/every.ts'
import { startIdentityProvider, Walker } from '../support/identity-provider.ts'
import { begin, comeBack, entries, OWN, PEOPLE, registeredClient, type SignInPlace, session, startSignIn } from '../support/people.ts'

const FLOW_COOKIE = 'control-room-sign-in'

/** The page to which the callback leads the browser. */
const ended = async (walker: Walker, url: string, headers: Record<string, string> = {}): Promise<string | null> =>
  (await walker.visit(url, { headers })).headers.get('location')

const fresh = (place: SignInPlace): SignInPlace => ({ ...place, walker: new Walker() })

const changed = (url: string, change: (parameters: URLSearchParams) => void): string => {
  const next = new URL(url)
  change(next.searchParams)
  return next.href
}

t.test('a reply with another state, of another browser, or without a beginning ends nothing', async (t) => {
  const place = await startSignIn(t)
  const { walker, provider } = place
  const back = await comeBack(place)
  const tokens = provider.calls['/token'] ?? 0
  t.equal(await ended(new Walker(), back), '/control-room/#refused=stale', 'another browser: the sign-in of a stranger is not taken over')
  t.equal(
    await ended(
      walker,
      changed(back, (sent) => sent.set('state', 'x'.repeat(43))),
    ),
    '/control-room/#refused=stale',
  )
  t.equal(
    await ended(
      walker,
      changed(back, (sent) => sent.delete('state')),
    ),
    '/control-room/#refused=stale',
  )
  const other = fresh(place)
  await begin(other)
  t.equal(await ended(other.walker, back), '/control-room/#refused=stale', 'a browser that has begun one of its own')
  t.equal(await ended(walker, back, { 'sec-fetch-dest': 'image' }), '/control-room/#refused=stale', 'as an image of another page')
  t.equal(provider.calls['/token'] ?? 0, tokens, 'the issuer is not called')
  t.equal(await session(place), null)
  t.equal(await ended(walker, back), '/control-room/', 'what the strangers did has not ended it')
  t.match(await session(place), { name: 'ada@acme.example' })
})

t.test('a code opens one session, also where it is shown again', async (t) => {
  const place = await startSignIn(t)
  const { walker, gateway } = place
  const back = await comeBack(place)
  const flow = walker.cookie(gateway.admin, FLOW_COOKIE) ?? ''
  const thief = fresh(place)
  await thief.walker.visit(`${gateway.admin}/control-room/session`, { headers: OWN })
  thief.walker.setCookie(gateway.admin, FLOW_COOKIE, flow)
  t.equal(await ended(walker, back), '/control-room/')
  t.equal(await ended(walker, back), '/control-room/#refused=stale', 'the cookie is used up')
  t.equal(await ended(thief.walker, back), '/control-room/#refused=stale', 'also with a copy of the cookie')
  await gateway.restart()
  const elsewhere = back.replace(/^http:\/\/[^/]+/, gateway.admin)
  const reply = await fetch(elsewhere, { headers: { cookie: `${FLOW_COOKIE}=${flow}` }, redirect: 'manual' })
  t.equal(reply.headers.get('location'), '/control-room/#refused=unverified', 'a process that has not seen it is refused by the issuer')
})

t.test('a session from before the sign-in is not the one after it', async (t) => {
  const place = await startSignIn(t)
  const { walker, gateway } = place
  const back = await comeBack(place)
  walker.setCookie(gateway.admin, 'control-room', 'a'.repeat(43))
  await walker.visit(back)
  t.not(walker.cookie(gateway.admin, 'control-room'), 'a'.repeat(43))
  t.match(await session(place), { name: 'ada@acme.example' })
})

t.test('an address to return to is a page of the control room, or none', async (t) => {
  const place = await startSignIn(t)
  const elsewhere = [
    'https://evil.example/',
    '//evil.example/control-room/',
    '/\\evil.example/control-room/',
    '/control-room/../../evil',
    '/control-room/..//evil.example',
    'javascript:alert(1)',
    '/v1/keys',
    '/control-room',
    '/control-room/sign-in/acme/callback?code=1',
    'http://control.room.evil.example/control-room/',
    `/control-room/${'a'.repeat(600)}`,
    { toString: 'x' },
    7,
  ]
  await every(t, 'each leads to the first page', async (t) => {
    for (const page of elsewhere) {
      const own = fresh(place)
      t.equal(await ended(own.walker, await comeBack(own, page)), '/control-room/', JSON.stringify(page))
    }
  })
  const own = fresh(place)
  const back = await comeBack(own, '/control-room/keys')
  const cookie = own.walker.cookie(place.gateway.admin, FLOW_COOKIE) ?? ''
  const [seed, time] = cookie.split('.')
  own.walker.setCookie(place.gateway.admin, FLOW_COOKIE, [seed, time, Buffer.from('/control-room/ledger').toString('base64url')].join('.'))
  t.equal(await ended(own.walker, back), '/control-room/#refused=stale', 'a cookie that was edited')
  own.walker.setCookie(place.gateway.admin, FLOW_COOKIE, [seed, (Date.now() - 700_000).toString(36), cookie.split('.')[2]].join('.'))
  t.equal(await ended(own.walker, back), '/control-room/#refused=stale', 'or is late')
})

t.test('only a page of the control room begins a sign-in, and only a navigation ends it', async (t) => {
  const place = await startSignIn(t)
  const { gateway, walker } = place
  const path = `${gateway.admin}/control-room/sign-in/acme`
  const status = async (url: string, init: RequestInit): Promise<number> => (await walker.visit(url, init)).status
  t.equal(await status(path, { method: 'POST', headers: { ...OWN, 'sec-fetch-site': 'cross-site' }, body: '{}' }), 403)
  t.equal(await status(path, { method: 'POST', headers: { ...OWN, origin: 'https://evil.example' }, body: '{}' }), 403)
  t.equal(await status(path, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{}' }), 403, 'as a form sends it')
  t.equal(await status(path, {}), 405, 'no link begins one')
  const back = await comeBack(place)
  t.equal(await status(back, { method: 'POST', headers: { origin: 'https://evil.example' }, body: new URL(back).searchParams }), 405)
  t.equal(await status(`${gateway.admin}/control-room/sign-in/other`, { method: 'POST', headers: OWN, body: '{}' }), 404)
  t.equal(
    await status(`${gateway.admin}/control-room/sign-in/../session`, { method: 'POST', headers: OWN, body: '{}' }),
    400,
    'the path is what it says',
  )
  t.equal(await session(place), null)
})

t.test('the issuer of the reply has to be the one that was begun with', async (t) => {
  const evil = await startIdentityProvider(t, PEOPLE)
  const second = `
    - issuer: "${evil.url}"
      audiences: [ headgate ]
      sign_in: { client_id: control-room, name: evil }
      rules: [ { when: {} } ]`
  const place = await startSignIn(t, { more: second })
  const { gateway } = place
  const back = `${gateway.admin}/control-room/sign-in/evil/callback`
  evil.open([registeredClient(gateway, { redirect_uris: [back], client_secret: undefined, token_endpoint_auth_method: 'none' })])
  const honest = await comeBack(place)
  const calls = evil.calls['/token'] ?? 0
  t.equal(
    await ended(place.walker, honest.replace('/acme/callback', '/evil/callback')),
    '/control-room/#refused=stale',
    'at the address of the other',
  )
  t.equal(evil.calls['/token'] ?? 0, calls, 'the code of one is not sent to the other')
  for (const iss of [evil.url, `${place.provider.url}/`, '']) {
    const own = fresh(place)
    const reply = changed(await comeBack(own), (sent) => sent.set('iss', iss))
    t.equal(await ended(own.walker, reply), '/control-room/#refused=unverified', `iss=${iss}`)
  }
  const without = fresh(place)
  t.equal(
    await ended(
      without.walker,
      changed(await comeBack(without), (sent) => sent.delete('iss')),
    ),
    '/control-room/#refused=unverified',
  )
  const twice = fresh(place)
  t.equal(
    await ended(
      twice.walker,
      changed(await comeBack(twice), (sent) => sent.append('iss', place.provider.url)),
    ),
    '/control-room/#refused=unverified',
  )
})

t.test('a code of another client opens nothing', async (t) => {
  const place = await startSignIn(t)
  const { gateway, provider, walker } = place
  const uri = registeredClient(gateway) as { redirect_uris: string[] }
  provider.open([registeredClient(gateway), registeredClient(gateway, { client_id: 'other', redirect_uris: uri.redirect_uris })])
  const location = changed(await begin(place), (sent) => sent.set('client_id', 'other'))
  const back = await walker.walk(location, (url) => url.startsWith(gateway.admin))
  t.match(back, 'code=')
  t.equal(await ended(walker, back), '/control-room/#refused=unverified')
  const plain = fresh(place)
  const other = changed(await begin(plain), (sent) => sent.set('code_challenge', 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'))
  t.equal(
    await ended(plain.walker, await plain.walker.walk(other, (url) => url.startsWith(gateway.admin))),
    '/control-room/#refused=unverified',
    'a code of another challenge',
  )
})

t.test('an ID token that proves nothing opens nothing', async (t) => {
  const place = await startSignIn(t)
  const { provider } = place
  const key = await importJWK(provider.key, 'RS256')
  const stranger = await importJWK({ ...(await startIdentityProvider(t, {})).key, kid: 'first' }, 'RS256')
  const now = Math.floor(Date.now() / 1000)
  const sign = (claims: JsonObject, by = key): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'first' }).sign(by)
  const attacks: [name: string, make: (good: JsonObject) => Promise<string> | string][] = [
    ['another nonce', (good) => sign({ ...good, nonce: 'x'.repeat(43) })],
    ['no nonce', ({ nonce: _, ...good }) => sign(good)],
    ['no signature', (good) => new UnsecuredJWT(good).encode()],
    ['the key of a stranger', (good) => sign(good, stranger)],
    [
      'a secret that everybody knows',
      (good) => new SignJWT(good).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(String(provider.key.n))),
    ],
    ['expired', (good) => sign({ ...good, exp: now - 60, iat: now - 120 })],
    ['another audience', (good) => sign({ ...good, aud: 'other' })],
    ['two audiences and another party', (good) => sign({ ...good, aud: ['control-room', 'other'], azp: 'other' })],
    ['another issuer', (good) => sign({ ...good, iss: 'https://evil.example' })],
    ['no subject', ({ sub: _, ...good }) => sign(good)],
  ]
  let id = ''
  provider.intercept = (request, response) => {
    if (!request.url?.startsWith('/token')) return false
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ access_token: 'a', token_type: 'Bearer', expires_in: 60, ...(id === '' ? {} : { id_token: id }) }))
    return true
  }
  const attempt = async (make: (good: JsonObject) => Promise<string> | string): Promise<string | null> => {
    await place.gateway.running.reload()
    const own = fresh(place)
    const location = await begin(own)
    const nonce = new URL(location).searchParams.get('nonce') ?? ''
    const { ada } = PEOPLE
    id = await make({ iss: provider.url, sub: 'ada', aud: 'control-room', iat: now, exp: now + 300, nonce, ...ada })
    const end = await ended(own.walker, await own.walker.walk(location, (url) => url.startsWith(place.gateway.admin)))
    if (end !== '/control-room/') t.equal(await session(own), null)
    return end
  }
  t.equal(await attempt((good) => sign(good)), '/control-room/', 'a good one is taken')
  await every(t, 'each is refused', async (t) => {
    for (const [name, make] of attacks) t.equal(await attempt(make), '/control-room/#refused=unverified', name)
  })
  t.equal(attacks.length, 10)
  t.equal(await attempt(() => ''), '/control-room/#refused=too_many', 'ten failures in a row, and strangers wait')
  t.ok((await entries(place.gateway, 'session.refused')).length >= 10)
})

t.test('what the issuer says in an error is not shown, and a declined sign-in is', async (t) => {
  const place = await startSignIn(t)
  const { walker, gateway } = place
  walker.aborts = true
  const back = await comeBack(place)
  t.match(back, 'error=access_denied')
  t.equal(await ended(walker, back), '/control-room/#refused=declined')
  const own = fresh(place)
  const state = new URL(await begin(own)).searchParams.get('state')
  const iss = encodeURIComponent(place.provider.url)
  const url = `${gateway.admin}/control-room/sign-in/acme/callback?error=server_error&error_description=sk-secret&state=${state}&iss=${iss}`
  t.equal(await ended(own.walker, url), '/control-room/#refused=unverified')
  t.notMatch(gateway.logs.join(''), 'sk-secret')
  t.match(gateway.logs.join(''), 'server_error')
})

t.test('a credential of the control room is none from outside, and none after a minute', async (t) => {
  const { signTicket } = await import('../../src/core/person-ticket.ts')
  const place = await startSignIn(t)
  const { gateway, provider } = place
  const hash = gateway.running.runtime.config.operatorKey?.hash ?? ''
  const ticket = {
    issuer: provider.url,
    claims: { email: 'ada@acme.example', email_verified: true, groups: ['ops'] },
    until: Date.now() + 60_000,
  }
  const status = async (secret: string): Promise<number> => (await gateway.get('/v1/key', { authorization: `Bearer ${secret}` })).status
  const good = signTicket(ticket, hash, Date.now())
  t.equal(await status(good), 200)
  t.equal(await status(signTicket(ticket, hash, Date.now() - 61_000)), 401, 'an old one')
  t.equal(await status(signTicket(ticket, 'f'.repeat(64), Date.now())), 401, 'one of another key')
  t.equal(await status(signTicket({ ...ticket, until: Date.now() - 1 }, hash, Date.now())), 401, 'of a session that has ended')
  t.equal(await status(signTicket({ ...ticket, issuer: 'https://evil.example' }, hash, Date.now())), 401)
  const [prefix, , signed] = good.split('.')
  for (const text of ['', 'x', Buffer.from('null').toString('base64url')]) t.equal(await status(`${prefix}.${text}.${signed}`), 401)
})
