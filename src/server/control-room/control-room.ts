/**
 * The control room on the admin listener: its page and files, sign-in, and the API at the same origin.
 * The page itself and its files need no session, since they hold nothing of the gateway's.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  MAX_SESSION_MS,
  type RoomSession,
  RoomSessions,
  type RoomSessionsOptions,
  type SessionHolder,
  type SessionReply,
  type UntimedEntry,
} from '../../api/index.ts'
import type { Actor } from '../../core/audit-entries.ts'
import type { Clock } from '../../core/clock.ts'
import { asFault, Fault, faultReply } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { requestScheme } from '../../core/request-scheme.ts'
import { secretHash } from '../../core/secret.ts'
import { Attempts } from '../../pipeline/request/attempt-buckets.ts'
import { parseBody } from '../../pipeline/request/read.ts'
import type { AdminRoute } from '../admin-route.ts'
import { tokenCheck } from '../admin-token.ts'
import type { ClientAddresses } from '../client-address.ts'
import { OPERATOR } from '../origins.ts'
import { ControlRoomFiles, SAFE_HEADERS } from './files.ts'
import { PublicApi } from './public-api.ts'
import { RefusedSignIns } from './refused-sign-ins.ts'
import type { SignInLink } from './sign-in-link.ts'

const ROOT = '/control-room'
const SESSION_PATH = `${ROOT}/session`
const FILES = `${ROOT}/files/`
const API = '/v1/'
/** Value of the header for calls of models with the development key, which the page never sees. */
const SAMPLE = 'sample'

/** Sign-ins that fail, by address: ten at once, then one every ten seconds. */
const SIGN_IN_RATE = { burst: 10, perSecond: 0.1 }
/** Bytes and levels of a sign-in. */
const MAX_BYTES = 4096
const DEEPEST = 4
const MAX_KEY_LENGTH = 512

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
  /** Writes to the audit log in the background. */
  readonly note: (entry: UntimedEntry) => void
  readonly onError: (error: unknown) => void
}

/** True where a visitor has the role or one above it: the operator sees texts of callers as well. */
const reaches = ({ role }: RoomSession, needed: RoomSession['role']): boolean => role === 'operator' || role === needed

export class ControlRoom {
  private readonly options: ControlRoomOptions
  private readonly sessions: RoomSessions
  private readonly failures: Attempts
  private readonly refusedSignIns: RefusedSignIns
  private readonly api: PublicApi
  private readonly files = new ControlRoomFiles()
  private readonly isOperator: (authorization: string | undefined) => boolean

  constructor(options: ControlRoomOptions) {
    this.options = options
    this.sessions = new RoomSessions(options)
    this.failures = new Attempts(options.clock, SIGN_IN_RATE)
    this.refusedSignIns = new RefusedSignIns(options.clock, options.note)
    this.api = new PublicApi(options)
    this.isOperator = tokenCheck(options.token)
  }

  /** @returns false where the request is none of the control room's. */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    const isApi = path.startsWith(API)
    if (path !== ROOT && !path.startsWith(`${ROOT}/`) && !(isApi && sessionCookie(request.headers.cookie) !== undefined)) return false
    const answered = isApi ? this.forward(request, response) : this.own(path, request, response)
    answered.catch((thrown) => this.refuse(response, thrown))
    return true
  }

  /** True for a route of the operator's that this request's session opens. @throws Fault 403 for a page of another origin. */
  async opens(route: string, request: IncomingMessage): Promise<boolean> {
    const needed = this.options.routes.get(route)?.visitor
    const session = needed && (await this.requestSession(request))
    if (!session) return false
    checkOrigin(request)
    return reaches(session, needed) && (await this.isAlive(session, request))
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
    if (request.method !== 'GET' && request.method !== 'HEAD') throw new Fault('method_not_allowed', { headers: { Allow: 'GET' } })
    if (path.startsWith(FILES)) {
      if (!this.files.file(path.slice(FILES.length), request, response)) throw new Fault('not_found')
    } else if (path === ROOT) response.writeHead(308, { ...SAFE_HEADERS, Location: `${ROOT}/` }).end()
    else this.files.page(request, response)
  }

  private async signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkOrigin(request)
    const body = parseBody(await readBody(request), DEEPEST)
    const [name, secret] = secretIn(body)
    const address = this.options.addresses.of(request)
    const visitor = await this.knownVisitor(name, secret, request).catch((thrown: unknown) => {
      const { code } = asFault(thrown)
      // One that is refused for its number is not entered: the first ones were.
      if (REFUSALS.has(code)) this.refusedSignIns.enter({ address, code, means: name })
      throw thrown
    })
    await this.sessions.end(sessionCookie(request.headers.cookie))
    const { cookie, session } = await this.sessions.open(visitor, { actor: await this.holderActor(visitor), address })
    reply(response, 201, this.described(session), { 'Set-Cookie': setCookie(cookie, isSecure(request)) })
  }

  private async knownVisitor(name: 'key' | 'code', secret: string, request: IncomingMessage): Promise<SessionHolder> {
    return name === 'code' ? this.visitorOfLink(secret, request) : this.visitorWith(secret, request)
  }

  /** @throws Fault 401 for a code that opens nothing, or no more. */
  private visitorOfLink(code: string, request: IncomingMessage): SessionHolder {
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

  private operator(name: string): SessionHolder {
    return { role: 'operator', secret: this.options.operatorSecret, name }
  }

  /** @throws Fault 401 for a key that is unknown, 403 for one that manages nothing. */
  private async visitorWith(key: string, request: IncomingMessage): Promise<SessionHolder> {
    if (this.isOperator(`Bearer ${key}`)) return this.operator('admin token')
    const { status, body, isUnusable } = await this.api.ownKey(key, this.options.addresses.of(request))
    if (isUnusable) {
      this.countWrong(request)
      throw new Fault('invalid_key', { message: 'key: expected a management key or the admin token', metadata: { field: 'key' } })
    }
    if (status !== 200) throw new Fault('unavailable', { message: `The gateway cannot look the key up: it replies with ${status}` })
    const { data } = JSON.parse(body) as { data: { label: string; is_management_key: boolean } }
    if (!data.is_management_key) {
      this.countWrong(request)
      throw new Fault('management_only', {
        message: 'key: expected a management key, found one for completions',
        metadata: { field: 'key' },
      })
    }
    return { role: 'manager', secret: key, name: data.label }
  }

  /** A key of the configuration is in no store: its mask names it. */
  private async holderActor({ role, secret, name }: SessionHolder): Promise<Actor> {
    if (role === 'operator') return { ...OPERATOR, name }
    const key = await this.options.store().find(secretHash(secret))
    return { kind: 'management_key', id: key?.identity ?? null, name: key?.name ?? name }
  }

  private async signOut(request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkOrigin(request)
    const cookie = sessionCookie(request.headers.cookie)
    const session = await this.sessions.find(cookie)
    const address = this.options.addresses.of(request)
    await this.sessions.end(cookie, session && { actor: await this.holderActor(session), address })
    response.writeHead(204, { ...SAFE_HEADERS, 'Set-Cookie': setCookie('', isSecure(request)) }).end()
  }

  private async showSession(request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkOrigin(request)
    const session = await this.requestSession(request)
    const isOpen = session !== undefined && (await this.isAlive(session, request))
    const signedOutReply: SessionReply = { data: null, brand: this.options.brand() }
    reply(response, 200, isOpen ? this.described(session) : signedOutReply)
  }

  private described(session: RoomSession): SessionReply {
    const { brand, version, url } = this.options
    return {
      brand: brand(),
      data: {
        name: session.name,
        role: session.role,
        actions: this.actions(session),
        expires_at: new Date(session.expiresAt).toISOString(),
        version,
        api_url: url() ?? null,
      },
    }
  }

  /** Routes that the session opens, by method and path, and sample traffic, which costs nothing, since only the simulated provider is there. */
  private actions(session: RoomSession): string[] {
    const { routes, developmentKey } = this.options
    const opened = [...routes].filter(([, { visitor }]) => visitor && reaches(session, visitor)).map(([route]) => route)
    return developmentKey() === undefined ? opened : [...opened, SAMPLE]
  }

  private async forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkOrigin(request)
    const session = await this.requestSession(request)
    if (!session) throw signedOut()
    const { authorization } = request.headers
    const isSample = request.headers[OWN_HEADER] === SAMPLE
    const secret = isSample ? this.options.developmentKey() : session.secret
    if (secret === undefined) throw new Fault('forbidden', { message: 'The development key is not honoured here' })
    const own = authorization === undefined || isSample
    const status = await this.api.forward(request, response, {
      path: request.url ?? '',
      authorization: own ? `Bearer ${secret}` : authorization,
      address: this.options.addresses.of(request),
    })
    if ((status === 401 || status === 429) && own && !isSample) await this.isAlive(session, request)
  }

  private requestSession({ headers }: IncomingMessage): Promise<RoomSession | undefined> {
    return this.sessions.find(sessionCookie(headers.cookie))
  }

  /** A key that was revoked or has expired ends its sessions. @throws Fault 503 where that cannot be found out. */
  private async isAlive(session: RoomSession, request: IncomingMessage): Promise<boolean> {
    const { status, isUnusable } = await this.api.ownKey(session.secret, this.options.addresses.of(request))
    if (isUnusable) await this.sessions.end(sessionCookie(request.headers.cookie))
    return status === 200
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

/** Faults of sign-ins that are entered. */
const REFUSALS: ReadonlySet<string> = new Set(['invalid_key', 'management_only'])

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

function reply(response: ServerResponse, status: number, body: JsonObject, headers: Record<string, string> = {}): void {
  response.writeHead(status, { ...SAFE_HEADERS, ...headers, 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
  response.end(JSON.stringify(body))
}

/** A caller that only pretends gets a cookie that its browser does not keep. */
function isSecure(request: IncomingMessage): boolean {
  return requestScheme(request) === 'https'
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Fault('too_large', { message: `Request payload too large: at most ${MAX_BYTES} bytes are accepted` })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** A session is known by a random cookie, which is found by its digest in the store of keys. */
const COOKIE_NAME = 'control-room'
/** Browsers take a name with this prefix only from a secure page, for this host alone (RFC 6265bis section 4.1.3.2). */
const SECURE_COOKIE_NAME = `__Host-${COOKIE_NAME}`

/** The cookie of a `Cookie` header: of two with the name, the one of the secure page. */
function sessionCookie(header: string | undefined): string | undefined {
  const pairs = new Map((header ?? '').split(';').map((pair) => split(pair.trim())))
  const found = pairs.get(SECURE_COOKIE_NAME) ?? pairs.get(COOKIE_NAME)
  return found === undefined || found.length > 100 ? undefined : found
}

/**
 * @param cookie empty: the browser forgets it.
 * @param isSecure the page came over TLS. Otherwise the browser would not keep a cookie that says `Secure`.
 */
function setCookie(cookie: string, isSecure: boolean): string {
  const name = isSecure ? SECURE_COOKIE_NAME : COOKIE_NAME
  const age = cookie === '' ? 0 : MAX_SESSION_MS / 1000
  return `${name}=${cookie}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
}

function split(pair: string): [name: string, value: string] {
  const at = pair.indexOf('=')
  return at < 0 ? ['', pair] : [pair.slice(0, at), pair.slice(at + 1)]
}

/** A page of another origin cannot add it without a preflight, which no route here answers (Fetch standard, CORS-preflight fetch). */
const OWN_HEADER = 'x-control-room'

const SAFE_METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD'])

/**
 * `SameSite=Strict` keeps other sites from sending the cookie; other ports of this host are the same site, so that more is checked.
 * @throws Fault 403.
 */
function checkOrigin({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): void {
  const site = headers['sec-fetch-site']
  const isSafe = SAFE_METHODS.has(method)
  // `none`: the person has typed the address or used a bookmark.
  if (site !== undefined && site !== 'same-origin' && !(isSafe && site === 'none')) throw refused('sec-fetch-site')
  const { origin, host } = headers
  if (origin !== undefined && URL.parse(origin)?.host !== host) throw refused('origin')
  if (!isSafe && headers[OWN_HEADER] === undefined) throw refused(OWN_HEADER)
}

const refused = (header: string): Fault =>
  new Fault('forbidden', { message: `${header}: the request does not come from a page of the control room` })
