/** Cookies of the control room that a neighbouring host plants, and sessions that a browser had before another sign-in. */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { Walker } from '../support/identity-provider.ts'
import { begin, callback, comeBack, OWN, registeredClient, type SignInPlace, session, startSignIn } from '../support/people.ts'

const TLS = { 'x-forwarded-proto': 'https' }
const SESSION = 'control-room'
const FLOW = 'control-room-sign-in'

/** Signs in as a person. @returns the value of the session's cookie. */
async function signedIn(place: SignInPlace): Promise<string> {
  await place.walker.visit(await comeBack(place))
  return place.walker.cookie(place.gateway.admin, SESSION) ?? ''
}

/** The session that a request with this cookie has. */
async function shownFor({ gateway }: SignInPlace, cookie: string, more: Record<string, string> = {}): Promise<JsonObject | null> {
  const reply = await fetch(`${gateway.admin}/control-room/session`, { headers: { ...OWN, ...more, cookie } })
  return ((await reply.json()) as { data: JsonObject | null }).data
}

t.test('behind TLS a session under the bare name opens nothing', async (t) => {
  const place = await startSignIn(t)
  const { gateway } = place
  const planted = await signedIn(place)
  t.match(planted, /^[\w-]{43}$/)
  t.match(await shownFor(place, `${SESSION}=${planted}`), { name: 'ada@acme.example' }, 'without TLS it is the name of the cookie')
  t.equal(await shownFor(place, `${SESSION}=${planted}`, TLS), null)
  t.equal(await shownFor(place, `__Host-${SESSION}=; ${SESSION}=${planted}`, TLS), null, 'nor beside an empty one')
  t.match(await shownFor(place, `__Host-${SESSION}=${planted}`, TLS), { name: 'ada@acme.example' })
  t.equal(await shownFor(place, `__Host-${SESSION}=${planted}`), null, 'a browser sends that name over TLS alone')
  const status = async (cookie: string): Promise<number> =>
    (await fetch(`${gateway.admin}/v1/keys`, { headers: { ...OWN, ...TLS, cookie } })).status
  t.equal(await status(`__Host-${SESSION}=${planted}`), 200)
  t.not(await status(`${SESSION}=${planted}`), 200, 'the API of the page neither')
})

t.test('behind TLS a begun sign-in under the bare name ends nothing', async (t) => {
  const { gateway, provider } = await startSignIn(t)
  const secure = callback(gateway).replace('http:', 'https:')
  provider.open([registeredClient(gateway, { redirect_uris: [secure] })])
  const begun = await fetch(`${gateway.admin}/control-room/sign-in/acme`, { method: 'POST', headers: { ...OWN, ...TLS }, body: '{}' })
  const [own = ''] = begun.headers.getSetCookie()[0]?.split(';') ?? []
  const { data } = (await begun.json()) as { data: { location: string } }
  const back = await new Walker().walk(data.location, (url) => url.startsWith(secure))
  const ended = (cookie: string): Promise<Response> =>
    fetch(back.replace('https:', 'http:'), { headers: { ...TLS, cookie }, redirect: 'manual' })
  t.match(own, `__Host-${FLOW}=`)
  const victim = await ended(own.replace('__Host-', ''))
  t.equal(victim.headers.get('location'), '/control-room/#refused=stale')
  t.same(victim.headers.getSetCookie(), [], 'the victim is not signed in as the one who planted it')
  t.equal((await ended(own)).headers.get('location'), '/control-room/', 'the browser that has begun it goes on')
})

t.test('the sign-in of a person ends the session that the browser had', async (t) => {
  const place = await startSignIn(t)
  const { walker, gateway } = place
  const first = await signedIn(place)
  await begin(place)
  t.equal(await shownFor(place, `${SESSION}=${first}`), null, 'from its beginning, since strict cookies do not come back with the browser')
  const second = await signedIn(place)
  t.not(second, first)
  t.match(await session(place), { name: 'ada@acme.example' })
  const other = { ...place, walker: new Walker() }
  const back = await comeBack(other)
  other.walker.setCookie(gateway.admin, SESSION, second)
  await other.walker.visit(back)
  t.match(await session(other), { name: 'ada@acme.example' })
  t.equal(await session({ gateway, walker }), null, 'also one that came meanwhile')
})
