/** Sign-in of people at an identity provider: the two requests of a browser with which it begins and ends. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { RoomSessions } from '../../api/room-sessions.ts'
import type { Actor } from '../../core/audit-entries.ts'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { signTicket } from '../../core/person-ticket.ts'
import { plainName } from '../../core/plain-name.ts'
import { SignInRefusal } from '../../core/sign-in-refusals.ts'
import type { Attempts } from '../../pipeline/request/attempt-buckets.ts'
import { isSecure, readCookie, setCookie } from './cookies.ts'
import { SAFE_HEADERS } from './files.ts'
import { type KnownPerson, type People, type Person, personSecret, type SignInChoice } from './people.ts'
import { ProviderSignOuts } from './provider-sign-out.ts'
import type { PublicApi } from './public-api.ts'
import type { RefusedSignIns } from './refused-sign-ins.ts'
import { readJson, reply } from './replies.ts'
import { checkOrigin } from './same-origin.ts'
import { type BegunSignIn, beginFlow, FLOW_COOKIE, FLOW_MS, flowIn } from './sign-in-flow.ts'

/** Path of the sign-ins; behind it stands the name of one. */
export const SIGN_IN_PATH = '/control-room/sign-in/'
const CALLBACK = '/callback'
const SIGN_OUT = '/backchannel-logout'

/** Sign-ins that have ended and are remembered, so that none ends twice at this process; the issuer takes each code once anyway. */
const MAX_USED = 10_000
/** Characters of an ID token, and of claims as JSON, that a session keeps. */
const MAX_TOKEN_LENGTH = 8 * 1024
const MAX_CLAIMS_LENGTH = 16 * 1024

export interface IdentitySignInOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly people: People
  readonly sessions: RoomSessions
  readonly api: Pick<PublicApi, 'ownKey'>
  /** Digest of the control room's own key. */
  readonly roomHash: string
  readonly failures: Attempts
  readonly refusedSignIns: RefusedSignIns
  readonly addresses: { of(request: IncomingMessage): string }
  readonly log: Pick<Log, 'warn' | 'info'>
  /** `Set-Cookie` of a session. */
  readonly sessionCookie: (cookie: string, request: IncomingMessage) => string
  /** Ends the session that a browser shows, if there is one. */
  readonly endSession: (request: IncomingMessage) => Promise<void>
}

export const memberActor = ({ identity, member }: Pick<KnownPerson, 'identity' | 'member'>): Actor => ({
  kind: 'member',
  id: identity,
  name: plainName(member),
})

export class IdentitySignIn {
  private readonly options: IdentitySignInOptions
  /** Made with the first one. */
  private used: LRUCache<string, true> | undefined
  private readonly signOuts: ProviderSignOuts

  constructor(options: IdentitySignInOptions) {
    this.options = options
    this.signOuts = new ProviderSignOuts(options)
  }

  /** @param path below `SIGN_IN_PATH`. @throws Fault 403, 404, 405, 503. */
  async handle(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const end = [CALLBACK, SIGN_OUT].find((each) => path.endsWith(each))
    const name = end === undefined ? path : path.slice(0, -end.length)
    const choice = this.options.people.choices().find((each) => each.name === name)
    if (!choice) throw new Fault('not_found')
    const method = end === CALLBACK ? 'GET' : 'POST'
    if (request.method !== method) throw new Fault('method_not_allowed', { headers: { Allow: method } })
    if (end === SIGN_OUT) await this.signOuts.handle(name, request, response)
    else if (end === CALLBACK) await this.end(choice, request, response)
    else await this.begin(choice, request, response)
  }

  /** A page of ours begins it, so that no other site signs a browser in: it is no link that could be followed. */
  private async begin({ name, label }: SignInChoice, request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkOrigin(request)
    const body = await readJson(request)
    const { clock, people, addresses, endSession } = this.options
    const { cookie, flow } = beginFlow(name, isObject(body) ? body.return_to : undefined, clock.now())
    const location = await people.location(name, flow, redirectUri(name, request)).catch((thrown: unknown) => {
      if (!(thrown instanceof SignInRefusal)) throw thrown
      this.report(name, thrown, addresses.of(request))
      throw new Fault('unavailable', { message: `${label}: ${thrown.message}`, retryAfter: 5 })
    })
    // Here already: a browser that comes from the issuer's page keeps a strict cookie back (RFC 6265bis section 5.2).
    await endSession(request)
    reply(response, 200, { data: { location } }, { 'Set-Cookie': flowCookie(cookie, request) })
  }

  private async end(choice: SignInChoice, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { addresses, failures, sessionCookie } = this.options
    const address = addresses.of(request)
    const headers = { ...SAFE_HEADERS, 'Cache-Control': 'no-store' }
    const gone = flowCookie('', request)
    try {
      const { cookie, page } = await this.opened(choice, request, address)
      response.writeHead(303, { ...headers, 'Set-Cookie': [gone, sessionCookie(cookie, request)], Location: page }).end()
    } catch (thrown) {
      if (!(thrown instanceof SignInRefusal)) throw thrown
      const { code } = thrown
      // Those alone for which the issuer was called, so that no page of others uses up what this address has.
      if (code !== 'unavailable' && code !== 'stale' && code !== 'too_many') failures.count(address)
      // One that is refused for its number is not entered: the first ones were.
      if (code !== 'too_many') this.report(choice.name, thrown, address)
      // A page of others that leads a browser here does not end the sign-in which that browser has begun.
      const cookies = code === 'stale' ? {} : { 'Set-Cookie': gone }
      response.writeHead(303, { ...headers, ...cookies, Location: `/control-room/#refused=${code}` }).end()
    }
  }

  /** Strangers decide how many there are: the audit log has as many of a minute as of other sign-ins, and the log no more. */
  private report(issuer: string, { code, problem, member }: SignInRefusal, address: string): void {
    const { refusedSignIns, log } = this.options
    const who = member === undefined ? {} : { member: plainName(member) }
    const isEntered = refusedSignIns.enter({ address, code, means: 'identity_provider', more: { issuer, ...who } })
    if (isEntered) log.warn({ issuer, reason: code, problem, address }, 'sign-in refused')
  }

  /** @throws SignInRefusal */
  private async opened(choice: SignInChoice, request: IncomingMessage, address: string): Promise<{ cookie: string; page: string }> {
    const { people, sessions, failures, endSession } = this.options
    if (failures.isEmpty(address)) throw new SignInRefusal('too_many')
    const { flow, url } = this.begun(choice, request)
    const person = keptPerson(await people.finish(choice.name, url, flow))
    const known = people.known(person)
    if (!known) throw new SignInRefusal('not_mapped')
    await this.checkAtApi(known, address)
    const holder = {
      role: 'person' as const,
      secret: personSecret(person),
      name: plainName(known.member),
      identity: known.subject,
      signIn: { member: known.identity, session: known.session, issuedAt: known.issuedAt },
      lastsMs: known.sessionMs,
    }
    await endSession(request)
    const { cookie } = await sessions.open(holder, { actor: memberActor(known), address })
    if (this.signOuts.hasEnded(known)) {
      await sessions.end(cookie, { actor: memberActor(known), address })
      throw new SignInRefusal('stale', { member: known.member, problem: 'signed out at the issuer meanwhile' })
    }
    return { cookie, page: flow.page }
  }

  /** The flow that the browser has begun, and the address at which it came back. It is used up. @throws SignInRefusal */
  private begun({ name }: SignInChoice, request: IncomingMessage): { flow: BegunSignIn; url: URL } {
    const dest = request.headers['sec-fetch-dest']
    // The browser itself goes there; no page of others loads it as an image or a script.
    if (dest !== undefined && dest !== 'document') throw new SignInRefusal('stale', { problem: 'not a navigation' })
    const flow = flowIn(readCookie(request, FLOW_COOKIE), name, this.options.clock.now())
    if (!flow) throw new SignInRefusal('stale', { problem: 'no sign-in was begun in this browser' })
    const url = new URL(redirectUri(name, request))
    url.search = URL.parse(request.url ?? '', 'http://control.room')?.search ?? ''
    // Before the issuer is called: of all that comes without the right state nothing goes out.
    if (url.searchParams.get('state') !== flow.state) throw new SignInRefusal('stale', { problem: 'another state' })
    if (this.used?.has(flow.state)) throw new SignInRefusal('stale', { problem: 'used already' })
    this.used ??= new LRUCache({ max: MAX_USED })
    this.used.set(flow.state, true)
    return { flow, url }
  }

  /** The public listener decides in the end. @throws SignInRefusal */
  private async checkAtApi(known: KnownPerson, address: string): Promise<void> {
    const { api, roomHash, clock } = this.options
    const now = clock.now()
    const { issuer, claims, sessionMs, member } = known
    const { status, isUnusable } = await api.ownKey(signTicket({ issuer, claims, until: now + sessionMs }, roomHash, now), address)
    if (isUnusable) throw new SignInRefusal('not_mapped', { member })
    if (status !== 200) throw new SignInRefusal('unavailable', { member, problem: `the gateway replies with ${status}` })
  }
}

/** Without what would make the row of a session long. */
function keptPerson({ issuer, claims, idToken }: Person): Person {
  if (JSON.stringify(claims).length > MAX_CLAIMS_LENGTH) throw new SignInRefusal('unverified', { problem: 'the claims are too long' })
  return { issuer, claims: claims as JsonObject, ...(idToken !== undefined && idToken.length <= MAX_TOKEN_LENGTH ? { idToken } : {}) }
}

/** The issuer compares it with those that are registered, character by character (RFC 9700, 2.1). */
function redirectUri(name: string, request: IncomingMessage): string {
  const { host } = request.headers
  if (host === undefined) throw new Fault('bad_request', { message: 'host: expected the name of this listener' })
  return `${isSecure(request) ? 'https' : 'http'}://${host}${SIGN_IN_PATH}${name}${CALLBACK}`
}

function flowCookie(value: string, request: IncomingMessage): string {
  return setCookie(FLOW_COOKIE, value, { isSecure: isSecure(request), maxAge: value === '' ? 0 : FLOW_MS / 1000, sameSite: 'Lax' })
}
