/**
 * The control room on the admin listener: its page and files, sign-in, and the API at the same origin.
 * The page itself and its files need no session, since they hold nothing of the gateway's.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { SessionReply } from '../../api/admin-replies.ts'
import { MAX_SESSION_MS, type RoomSession, RoomSessions, type RoomSessionsOptions, type SessionHolder } from '../../api/room-sessions.ts'
import type { Actor } from '../../core/audit-entries.ts'
import type { Clock } from '../../core/clock.ts'
import { asFault, Fault, faultReply } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { signTicket } from '../../core/person-ticket.ts'
import { isPermitted, MANAGEMENT_ROLES, mayCall, type Right, type RoleHolder, requireRight, type Visitors } from '../../core/roles.ts'
import { secretHash } from '../../core/secret.ts'
import { SIGN_IN_REFUSALS } from '../../core/sign-in-refusals.ts'
import { Attempts } from '../../pipeline/request/attempt-buckets.ts'
import type { UntimedEntry } from '../../store/audit-log.ts'
import type { AdminRoute } from '../admin-route.ts'
import { tokenCheck } from '../admin-token.ts'
import type { ClientAddresses } from '../client-address.ts'
import { operationsFor } from '../operations.ts'
import { OPERATOR } from '../origins.ts'
import { isSecure, readCookie, setCookie } from './cookies.ts'
import { ControlRoomFiles, SAFE_HEADERS } from './files.ts'
import { IdentitySignIn, memberActor, SIGN_IN_PATH } from './identity-sign-in.ts'
import { type KnownPerson, type People, personIn } from './people.ts'
import { PublicApi } from './public-api.ts'
import { RefusedSignIns } from './refused-sign-ins.ts'
import { readJson, reply } from './replies.ts'
import { rightsIn } from './rights.ts'
import { checkOrigin, OWN_HEADER } from './same-origin.ts'
import type { SignInLink } from './sign-in-link.ts'

const ROOT = '/control-room'
const SESSION_PATH = `${ROOT}/session`
const FILES = `${ROOT}/files/`
const API = '/v1/'
/** Value of the header for calls of models with the development key, which the page never sees. */
const SAMPLE = 'sample'

/** Sign-ins that fail, by address: ten at once, then one every ten seconds. */
const SIGN_IN_RATE = { burst: 10, perSecond: 0.1 }
const MAX_KEY_LENGTH = 512
/** A session is known by a random cookie, which is found by its digest in the store of keys. */
const COOKIE = 'control-room'

interface ControlRoomOptions extends RoomSessionsOptions {
  readonly clock: Clock
  readonly brand: () => string
  readonly version: string
  /** Address of the public listener, once it listens. */
  readonly url: () => string | undefined
  /** Path of a unix socket on which that listener is reached, where its port speaks TLS. */
  readonly socketPath?: string | undefined
  readonly sendsProxyHeader: () => boolean
  /** Routes of the admin listener, each with the role that opens it. */
  readonly routes: ReadonlyMap<string, AdminRoute>
  readonly addresses: Pick<ClientAddresses, 'of'>
  /** The published development key, where it is honoured. */
  readonly developmentKey: () => string | undefined
  /** Signs in the person at the terminal, where there is one. */
  readonly link: Pick<SignInLink, 'take'> | undefined
  /** Those who sign in at an identity provider. */
  readonly people: People
  readonly log: Pick<Log, 'warn' | 'info'>
  /** Writes to the audit log in the background. */
  readonly note: (entry: UntimedEntry) => void
  readonly onError: (error: unknown) => void
}

export class ControlRoom {
  private readonly options: ControlRoomOptions
  private readonly sessions: RoomSessions
  private readonly failures: Attempts
  private readonly refusedSignIns: RefusedSignIns
  private readonly api: PublicApi
  private readonly files = new ControlRoomFiles()
  private readonly isOperator: (authorization: string | undefined) => boolean
  private readonly identitySignIn: IdentitySignIn
  private readonly roomHash: string

  constructor(options: ControlRoomOptions) {
    this.options = options
    this.sessions = new RoomSessions(options)
    this.failures = new Attempts(options.clock, SIGN_IN_RATE)
    this.refusedSignIns = new RefusedSignIns(options.clock, options.note)
    this.api = new PublicApi(options)
    this.isOperator = tokenCheck(options.token)
    this.roomHash = secretHash(options.operatorSecret)
    const { sessions, api, failures, refusedSignIns, roomHash } = this
    this.identitySignIn = new IdentitySignIn({
      ...options,
      ...{ sessions, api, failures, refusedSignIns, roomHash },
      sessionCookie: (cookie, request) => sessionHeader(cookie, request),
      endSession: (request) => this.sessions.end(sessionCookie(request)),
    })
  }

  /** @returns false where the request is none of the control room's. */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    const isApi = path.startsWith(API)
    if (path !== ROOT && !path.startsWith(`${ROOT}/`) && !(isApi && sessionCookie(request) !== undefined)) return false
    const answered = isApi ? this.forward(request, response) : this.own(path, request, response)
    answered.catch((thrown) => this.refuse(response, thrown))
    return true
  }

  /**
   * True for a route of the operator's that this request's session opens. Texts of callers are for the operator alone.
   * @throws Fault 403 for a page of another origin, or where the session's key has not the role.
   */
  async opens(route: string, request: IncomingMessage): Promise<boolean> {
    const visitors = this.options.routes.get(route)?.visitors
    const session = visitors && (await this.requestSession(request))
    if (!session) return false
    checkOrigin(request)
    if (visitors === 'operator' && session.role !== 'operator') return false
    const holder = await this.rights(session, request)
    if (!holder) return false
    if (visitors !== 'operator') requireRight(holder, routeRight(visitors))
    return true
  }

  close(): void {
    this.api.close()
  }

  private async own(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (path === SESSION_PATH) {
      if (request.method === 'POST') await this.signIn(request, response)
      else if (request.method === 'DELETE') await this.signOut(request, response)
      else if (request.method === 'GET') await this.showSession(request, response)
      else throw new Fault('method_not_allowed', { headers: { Allow: 'GET, POST, DELETE' } })
      return
    }
    if (path.startsWith(SIGN_IN_PATH)) {
      await this.identitySignIn.handle(path.slice(SIGN_IN_PATH.length), request, response)
      return
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') throw new Fault('method_not_allowed', { headers: { Allow: 'GET' } })
    if (path.startsWith(FILES)) {
      if (!this.files.file(path.slice(FILES.length), request, response)) throw new Fault('not_found')
    } else if (path === ROOT) response.writeHead(308, { ...SAFE_HEADERS, Location: `${ROOT}/` }).end()
    else this.files.page(request, response)
  }

  private async signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkOrigin(request)
    const [name, secret] = secretIn(await readJson(request))
    const address = this.options.addresses.of(request)
    const visitor = await this.knownVisitor(name, secret, request).catch((thrown: unknown) => {
      const { code } = asFault(thrown)
      // One that is refused for its number is not entered: the first ones were.
      if (REFUSALS.has(code)) this.refusedSignIns.enter({ address, code, means: name })
      throw thrown
    })
    await this.sessions.end(sessionCookie(request))
    const { rights } = visitor
    const { cookie, session } = await this.sessions.open(visitor, { actor: await this.holderActor(visitor), address })
    reply(response, 201, await this.described(session, rights), { 'Set-Cookie': sessionHeader(cookie, request) })
  }

  private async knownVisitor(name: 'key' | 'code', secret: string, request: IncomingMessage): Promise<Visitor> {
    return name === 'code' ? this.visitorOfLink(secret, request) : this.visitorWith(secret, request)
  }

  /** @throws Fault 401 for a code that opens nothing, or no more. */
  private visitorOfLink(code: string, request: IncomingMessage): Visitor {
    if (this.options.link?.take(code, request)) return this.operator('link of the start')
    this.countWrong(request)
    throw new Fault('invalid_key', { message: LINK_USED, metadata: { field: 'code' } })
  }

  /** The right key is never refused: strangers may share the visitor's address, behind a proxy that is not named. @throws Fault 429. */
  private countWrong(request: IncomingMessage): void {
    const address = this.options.addresses.of(request)
    this.failures.check(address, 'Too many sign-ins failed from this address')
    this.failures.count(address)
  }

  private operator(name: string): Visitor {
    return { rights: { role: 'owner' }, role: 'operator', secret: this.options.operatorSecret, name }
  }

  /** @throws Fault 401 for a key that is unknown, 403 for one that manages nothing. */
  private async visitorWith(key: string, request: IncomingMessage): Promise<Visitor> {
    if (this.isOperator(`Bearer ${key}`)) return this.operator('admin token')
    const { status, body, isUnusable } = await this.api.ownKey(key, this.options.addresses.of(request))
    if (isUnusable) {
      this.countWrong(request)
      throw new Fault('invalid_key', { message: 'key: expected a management key or the admin token', metadata: { field: 'key' } })
    }
    if (status !== 200) throw new Fault('unavailable', { message: `The gateway cannot look the key up: it replies with ${status}` })
    const { data } = JSON.parse(body) as { data: JsonObject & { label: string } }
    const rights = rightsIn(data)
    if (!rights || !isPermitted(rights, MANAGEMENT_ROLES)) {
      this.countWrong(request)
      throw new Fault('management_only', {
        message: 'key: expected a management key, found one for completions',
        metadata: { field: 'key' },
      })
    }
    return { rights, role: 'manager', secret: key, name: data.label }
  }

  /** A key of the configuration is in no store: its mask names it. */
  private async holderActor({ role, secret, name }: SessionHolder): Promise<Actor> {
    if (role === 'operator') return { ...OPERATOR, name }
    if (role === 'person') {
      const known = this.knownPerson(secret)
      return known ? memberActor(known) : { kind: 'member', id: null, name }
    }
    const key = await this.options.store().find(secretHash(secret))
    return { kind: 'management_key', id: key?.identity ?? null, name: key?.name ?? name }
  }

  private async signOut(request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkOrigin(request)
    const cookie = sessionCookie(request)
    const session = await this.sessions.find(cookie)
    const address = this.options.addresses.of(request)
    await this.sessions.end(cookie, session && { actor: await this.holderActor(session), address })
    const headers = { 'Set-Cookie': sessionHeader('', request) }
    const location = session && (await this.signedOutElsewhere(session))
    // Before the browser goes there, the session of this gateway has ended.
    if (location !== undefined) reply(response, 200, { data: { location } }, headers)
    else response.writeHead(204, { ...SAFE_HEADERS, ...headers }).end()
  }

  /** The address at which a person signs out at the issuer as well. */
  private signedOutElsewhere({ role, secret }: RoomSession): Promise<string | undefined> | undefined {
    const person = role === 'person' ? personIn(secret) : undefined
    return person && this.options.people.endSession(person)
  }

  private async showSession(request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkOrigin(request)
    const session = await this.requestSession(request)
    const rights = session && (await this.rights(session, request))
    reply(response, 200, session && rights ? await this.described(session, rights) : { ...this.shown(), data: null })
  }

  /** Of everybody, also without a session. */
  private shown(): Pick<SessionReply, 'brand' | 'sign_in'> {
    const { brand, people } = this.options
    const issuers = people.choices().map(({ name, label }) => ({ name, label }))
    return { brand: brand(), sign_in: { issuers, refusals: issuers.length === 0 ? {} : { ...SIGN_IN_REFUSALS } } }
  }

  private async described(session: RoomSession, rights: RoleHolder): Promise<SessionReply> {
    const { version, url } = this.options
    const data = {
      name: session.name,
      role: session.role,
      key_role: rights.role,
      actions: [...this.actions(session, rights), ...(await operationsFor(rights))],
      expires_at: new Date(session.expiresAt).toISOString(),
      version,
      api_url: url() ?? null,
    }
    return { ...this.shown(), data }
  }

  /** Routes of the admin listener that the session opens, by method and path, and sample traffic, which costs nothing, since only the simulated provider is there. */
  private actions({ role }: RoomSession, rights: RoleHolder): string[] {
    const { routes, developmentKey } = this.options
    const opens = ({ visitors }: AdminRoute): boolean =>
      visitors !== undefined && (visitors === 'operator' ? role === 'operator' : mayCall(rights, routeRight(visitors)))
    const opened = [...routes].filter(([, route]) => opens(route)).map(([name]) => name)
    return developmentKey() === undefined ? opened : [...opened, SAMPLE]
  }

  private async forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkOrigin(request)
    const session = await this.requestSession(request)
    if (!session) throw signedOut()
    const { authorization } = request.headers
    const isSample = request.headers[OWN_HEADER] === SAMPLE
    const own = this.requestSecret(session)
    if (own === undefined) {
      await this.sessions.end(sessionCookie(request))
      throw signedOut()
    }
    const secret = isSample ? this.options.developmentKey() : own
    if (secret === undefined) throw new Fault('forbidden', { message: 'The development key is not honoured here' })
    const isOwn = authorization === undefined || isSample
    const status = await this.api.forward(request, response, {
      path: request.url ?? '',
      authorization: isOwn ? `Bearer ${secret}` : authorization,
      address: this.options.addresses.of(request),
    })
    if ((status === 401 || status === 429) && isOwn && !isSample) await this.rights(session, request)
  }

  private requestSession(request: IncomingMessage): Promise<RoomSession | undefined> {
    return this.sessions.find(sessionCookie(request))
  }

  /**
   * Rights that the key or the person of a session has now. A key that was revoked or has expired ends its sessions, and so does a
   * configuration that maps a person no more.
   * @returns undefined where the session opens nothing. @throws Fault 503 where that cannot be found out.
   */
  private async rights(session: RoomSession, request: IncomingMessage): Promise<RoleHolder | undefined> {
    const secret = this.requestSecret(session)
    const end = (): Promise<void> => this.sessions.end(sessionCookie(request))
    if (secret === undefined) {
      await end()
      return undefined
    }
    const { status, body, isUnusable } = await this.api.ownKey(secret, this.options.addresses.of(request))
    // Of a person the configuration of this process decides: that of a worker may be a moment older.
    if (isUnusable && session.role !== 'person') await end()
    if (status !== 200) return undefined
    const { data } = JSON.parse(body) as { data: JsonObject }
    return rightsIn(data)
  }

  /** Secret of a request to the API; undefined where a person is mapped no more. */
  private requestSecret({ role, secret, expiresAt }: RoomSession): string | undefined {
    if (role !== 'person') return secret
    const known = this.knownPerson(secret)
    return known && signTicket({ issuer: known.issuer, claims: known.claims, until: expiresAt }, this.roomHash, this.options.clock.now())
  }

  private knownPerson(secret: string): KnownPerson | undefined {
    const person = personIn(secret)
    return person && this.options.people.known(person)
  }

  private refuse(response: ServerResponse, thrown: unknown): void {
    const fault = asFault(thrown)
    if (fault.status === 500) this.options.onError(thrown)
    if (response.headersSent) {
      response.destroy()
      return
    }
    const { status, headers, json } = faultReply(fault)
    response.writeHead(status, { ...SAFE_HEADERS, ...headers, 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
    response.end(json)
  }
}

/** One who signs in, with the rights of the key that requests of the session are made with. */
type Visitor = SessionHolder & { readonly rights: RoleHolder }

/** Faults of sign-ins that are entered. */
const REFUSALS: ReadonlySet<string> = new Set(['invalid_key', 'management_only'])

/** Routes of the admin listener are about the whole gateway. No scope stands for one of them, so that a key with any opens none. */
const routeRight = (roles: Exclude<Visitors, 'operator'>): Right => ({ roles, reach: 'gateway', scope: null })

const signedOut = (): Fault => new Fault('missing_key', { message: 'The session has ended: sign in again' })

const LINK_USED =
  'code: the link of the start has been used, is older than five minutes, or came from another machine: sign in with the admin token'

/** @returns what a sign-in is made with: a key, or the code of the link that the start has printed. */
function secretIn(body: JsonObject): [name: 'key' | 'code', secret: string] {
  const { key, code } = isObject(body) ? body : {}
  const secret = code ?? key
  if (typeof secret !== 'string' || !/^[!-~]+$/.test(secret) || secret.length > MAX_KEY_LENGTH)
    throw new Fault('bad_request', { message: 'key: expected a management key or the admin token', metadata: { field: 'key' } })
  return [code === undefined ? 'key' : 'code', secret]
}

const sessionCookie = (request: IncomingMessage): string | undefined => readCookie(request, COOKIE)

/** @param cookie empty: the browser forgets it. */
function sessionHeader(cookie: string, request: IncomingMessage): string {
  return setCookie(COOKIE, cookie, { isSecure: isSecure(request), maxAge: cookie === '' ? 0 : MAX_SESSION_MS / 1000, sameSite: 'Strict' })
}
