/** Sign-out that an identity provider says by itself: the sessions that it ends, and what ends none. */
import { createPublicKey, type JsonWebKeyInput } from 'node:crypto'
import { decodeJwt, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import t, { type Test } from 'tap'
import { Walker } from '../support/identity-provider.ts'
import { EVENTS, logoutToken, sendLogout } from '../support/logout-tokens.ts'
import { comeBack, entries, PEOPLE, registeredClient, type SignInPlace, session, startSignIn } from '../support/people.ts'

/** The provider calls the gateway. */
const CALLS = { features: { backchannelLogout: { enabled: true } } }

interface SignedIn extends SignInPlace {
  readonly login: string
  /** Session at the provider. */
  readonly sid: string
}

/** @param required the provider names the session in its tokens. */
async function start(t: Test, required = true): Promise<SignInPlace> {
  const place = await startSignIn(t)
  const { gateway, provider } = place
  const more = { backchannel_logout_uri: `${gateway.admin}/control-room/sign-in/acme/backchannel-logout` }
  provider.open([registeredClient(gateway, { ...more, backchannel_logout_session_required: required })], CALLS)
  return place
}

/** In a browser of its own. */
async function signIn(place: SignInPlace, login = 'ada'): Promise<SignedIn> {
  const walker = new Walker()
  walker.login = login
  const own = { ...place, walker }
  const reply = await walker.visit(await comeBack(own))
  if (reply.headers.get('location') !== '/control-room/') throw new Error(`no session: ${reply.headers.get('location')}`)
  const { sid } = decodeJwt(place.provider.idTokens.at(-1) ?? '')
  return { ...own, login, sid: String(sid) }
}

const isOpen = async (signed: SignedIn): Promise<boolean> => (await session(signed)) !== null

/** As the person does at the provider, with no page of the gateway. */
async function signOutAtProvider({ walker, provider }: SignedIn): Promise<void> {
  const page = await (await walker.visit(`${provider.url}/session/end?client_id=control-room`)).text()
  const [, action = '', xsrf = ''] = /action="([^"]+)"><input type="hidden" name="xsrf" value="([^"]+)"/.exec(page) ?? []
  const body = new URLSearchParams({ xsrf, logout: 'yes' })
  await walker.visit(action, { method: 'POST', body })
}

t.test('a sign-out at the provider ends the session of that browser alone', async (t) => {
  const place = await start(t)
  const [here, elsewhere, bob] = [await signIn(place), await signIn(place), await signIn(place, 'bob')]
  t.not(here.sid, elsewhere.sid)
  await signOutAtProvider(here)
  t.notOk(await isOpen(here))
  t.ok(await isOpen(elsewhere), 'another browser of the same person')
  t.ok(await isOpen(bob), 'another person')
  const ada = { kind: 'member', id: /^[0-9a-f]{64}$/, name: 'ada@acme.example' }
  t.match(await entries(place.gateway, 'session.ended'), [{ actor: ada, address: '127.0.0.1', subject: 'person' }])
  t.equal(place.gateway.logs.filter((line) => line.includes('sessions ended at the identity provider')).length, 1)
  t.notMatch(place.gateway.logs.join(''), here.sid)
})

t.test('a provider that names no session ends all of the person', async (t) => {
  const place = await start(t, false)
  const [one, two, bob] = [await signIn(place), await signIn(place), await signIn(place, 'bob')]
  t.equal(one.sid, 'undefined', 'its ID tokens name none either')
  await signOutAtProvider(one)
  t.notOk(await isOpen(one))
  t.notOk(await isOpen(two))
  t.ok(await isOpen(bob))
})

t.test('a token names a session, a person, or both', async (t) => {
  const place = await start(t)
  const { gateway, provider } = place
  const [one, two, bob] = [await signIn(place), await signIn(place), await signIn(place, 'bob')]
  const send = async (claims: object): Promise<number> =>
    (await sendLogout(gateway.admin, { logout_token: await logoutToken(provider, { ...claims }) })).status
  t.equal(await send({ sub: 'bob', sid: one.sid }), 200, 'the session of another person')
  t.equal(await send({ sid: 'another' }), 200)
  t.equal(await send({ sub: 'zoe' }), 200)
  t.same(await Promise.all([one, two, bob].map(isOpen)), [true, true, true])
  t.equal(await send({ sid: one.sid }), 200, 'the session alone')
  t.same(await Promise.all([one, two, bob].map(isOpen)), [false, true, true])
  t.equal(await send({ sub: 'ada' }), 200, 'the person alone')
  t.same(await Promise.all([one, two, bob].map(isOpen)), [false, false, true])
  t.equal(await send({ sub: 'bob', sid: bob.sid, exp: undefined }), 200, 'versions before the end was required')
  t.notOk(await isOpen(bob))
})

t.test('a session without the name of one is found among many others', async (t) => {
  const place = await start(t)
  const { gateway, provider } = place
  const all: SignedIn[] = []
  for (const login of ['ada', 'bob', 'ada', 'bob', 'ada']) all.push(await signIn(place, login))
  const [, , third] = all
  t.equal((await sendLogout(gateway.admin, { logout_token: await logoutToken(provider, { sid: third?.sid }) })).status, 200)
  t.same(await Promise.all(all.map(isOpen)), [true, true, false, true, true])
})

t.test('a token that proves nothing ends nothing', async (t) => {
  const place = await start(t)
  const { gateway, provider } = place
  const ada = await signIn(place)
  const who = { sub: 'ada', sid: ada.sid }
  const now = Math.floor(Date.now() / 1000)
  const good = { iss: provider.url, aud: 'control-room', iat: now, jti: 'forged', events: EVENTS, ...who }
  const { privateKey: foreign } = await generateKeyPair('RS256')
  const pem = createPublicKey({ key: provider.key, format: 'jwk' } as JsonWebKeyInput).export({ type: 'spki', format: 'pem' })
  const changed = (changes: object, header = {}): Promise<string> => logoutToken(provider, { ...who, ...changes }, header)
  const tokens: Record<string, string> = {
    'no signature': new UnsecuredJWT(good).encode(),
    'a shared secret, which is the public key': await new SignJWT(good)
      .setProtectedHeader({ alg: 'HS256', typ: 'logout+jwt' })
      .sign(Buffer.from(pem)),
    'a key of others': await new SignJWT(good).setProtectedHeader({ alg: 'RS256', kid: 'first', typ: 'logout+jwt' }).sign(foreign),
    'a key that is not listed': await changed({}, { kid: 'second' }),
    'the type of an access token': await changed({}, { typ: 'at+jwt' }),
    'another issuer': await changed({ iss: 'https://other.example' }),
    'another audience': await changed({ aud: 'headgate' }),
    'an end that has passed': await changed({ iat: now - 200, exp: now - 60 }),
    'an age of ten minutes': await changed({ iat: now - 600, exp: now + 600 }),
    'a time to come': await changed({ iat: now + 600, exp: now + 700 }),
    'no time': await changed({ iat: undefined }),
    'no id': await changed({ jti: undefined }),
    'no events': await changed({ events: undefined }),
    'other events': await changed({ events: { 'http://schemas.openid.net/event/other': {} } }),
    'an event that is no object': await changed({ events: { 'http://schemas.openid.net/event/backchannel-logout': true } }),
    'a nonce': await changed({ nonce: 'any' }),
    'neither person nor session': await changed({ sub: undefined, sid: undefined }),
    'a person that is no text': await changed({ sub: 7 }),
    'a session that is no text': await changed({ sid: [ada.sid] }),
    'an ID token': provider.idTokens.at(-1) ?? '',
    'no token': 'none',
    nothing: '',
  }
  for (const [name, logout_token] of Object.entries(tokens)) {
    const reply = await sendLogout(gateway.admin, { logout_token })
    t.equal(reply.status, 400, name)
    t.equal(reply.headers.get('cache-control'), 'no-store')
    const { error, error_description: text } = (await reply.json()) as { error: string; error_description: string }
    t.equal(error, 'invalid_request', name)
    t.match(text, /token/, name)
  }
  const token = await changed({})
  const admin = `${gateway.admin}/control-room/sign-in/acme/backchannel-logout`
  t.equal((await sendLogout(gateway.admin, `logout_token=${token}&logout_token=${token}`)).status, 400, 'two of them')
  t.equal((await sendLogout(gateway.admin, { logout: token })).status, 400, 'under another name')
  t.equal((await sendLogout(gateway.admin, { logout_token: token }, 'other')).status, 404, 'no such sign-in')
  t.equal((await fetch(`${admin}?logout_token=${token}`)).status, 405)
  t.equal((await fetch(`${admin}?logout_token=${token}`, { method: 'POST' })).status, 400, 'in the address')
  t.equal((await sendLogout(gateway.admin, { logout_token: token, more: 'x'.repeat(20_000) })).status, 413)
  t.ok(await isOpen(ada), 'nothing of it has ended the session')
  t.equal((await sendLogout(gateway.admin, { logout_token: token })).status, 200)
  t.notOk(await isOpen(ada))
  const again = await sendLogout(gateway.admin, { logout_token: token })
  t.equal(again.status, 400, 'a second time')
  t.match(gateway.logs.join(''), /logout token refused/)
  t.notMatch(gateway.logs.join(''), token)
})

t.test('an older sign-out ends no newer sign-in, at processes that have not seen it either', async (t) => {
  const place = await start(t)
  const { gateway, provider } = place
  const ada = await signIn(place)
  const token = await logoutToken(provider, { sub: 'ada', iat: Math.floor(Date.now() / 1000) - 60 })
  t.equal((await sendLogout(gateway.admin, { logout_token: token })).status, 200)
  t.equal((await sendLogout(gateway.admin, { logout_token: token })).status, 400)
  t.ok(await isOpen(ada))
})

t.test('a sign-out that comes while the gateway makes the session ends it', async (t) => {
  const place = await startSignIn(t, {}, { conformIdTokenClaims: true })
  const { gateway, provider, walker } = place
  const back = await comeBack(place)
  // The ID token has been issued then, and no session is written yet.
  provider.intercept = (request, response) => {
    if (request.url !== '/me') return false
    void logoutToken(provider, { sub: 'ada' })
      .then((token) => sendLogout(gateway.admin, { logout_token: token }))
      .then(({ status }) => {
        t.equal(status, 200)
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ sub: 'ada', ...PEOPLE.ada }))
      })
    return true
  }
  t.equal((await walker.visit(back)).headers.get('location'), '/control-room/#refused=stale')
  t.equal(await session(place), null)
})

t.test('a call is refused with Retry-After while the keys of the provider cannot be fetched', async (t) => {
  const place = await start(t)
  const { gateway, provider } = place
  const ada = await signIn(place)
  const token = await logoutToken(provider, { sub: 'ada' })
  let isDown = true
  provider.intercept = (request, response) => {
    if (!isDown || request.url !== '/jwks') return false
    response.writeHead(500).end()
    return true
  }
  const reply = await sendLogout(gateway.admin, { logout_token: token })
  t.equal(reply.status, 503)
  t.ok(Number(reply.headers.get('retry-after')) > 0)
  t.ok(await isOpen(ada))
  isDown = false
  await new Promise((resolve) => setTimeout(resolve, 5_100))
  t.equal((await sendLogout(gateway.admin, { logout_token: token })).status, 200, 'the same token')
  t.notOk(await isOpen(ada))
})
