/**
 * Sessions of the control room. They stand in the store of keys, under a name that no secret can have, as codes of sign-in do: it is
 * what all gateways of one store see, what ends for all of them at once, and what outlives a restart. A row holds the key that it
 * stands for encrypted with the text of the cookie, which is nowhere but in the browser: a copy of the store opens nothing.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { GATEWAY_ORIGIN, type Origin } from '../core/audit-entries.ts'
import type { Clock } from '../core/clock.ts'
import { secretHash } from '../core/secret.ts'
import type { PersonSignIn } from '../store/key-policy.ts'
import { type AttributedKeys, isSession, OPENS_NOTHING, type SessionKey, sessionName } from '../store/keys.ts'

/** Milliseconds that a session lasts at most, and without a request. */
export const MAX_SESSION_MS = 12 * 3600_000
const IDLE = 3600_000
/** The end is moved no more often than this. */
const RENEW_AFTER = 5 * 60_000
/** Of one key, or of the admin token; of more, the one that would end first ends. */
const MAX_SESSIONS = 100
/** Sessions that are read at once where all of them are looked through. */
const READ_AT_ONCE = 500
/** Milliseconds by which the clocks of an identity provider's own machines may differ. */
const PROVIDER_SKEW = 5_000
/** Sessions that are looked at for late ones whenever one is made. Each place is as likely as any other, so that none stays for long. */
const SWEPT = 16

const COOKIE_BYTES = 32
const CIPHER = 'aes-256-gcm'
const NONCE = 12
const TAG = 16

export interface SessionHolder {
  /**
   * The admin token; a management key, whose own role says what it may; or a person who has signed in at an identity provider, whose rule
   * does.
   */
  readonly role: 'operator' | 'manager' | 'person'
  /** Secret that the session's requests to the API are made with; of a person the claims that they are made from. */
  readonly secret: string
  /** As pages show it. */
  readonly name: string
}

export interface NewSession extends SessionHolder {
  /** Of a person: the identity by which the sessions are found. */
  readonly identity?: string
  /** Of a person. */
  readonly signIn?: PersonSignIn
  /** Milliseconds; at most `MAX_SESSION_MS`, which is the default. */
  readonly lastsMs?: number
}

/** A sign-out at an identity provider. */
export interface ProviderSignOut {
  /** Identity by which sessions of the person are found; absent where the provider names a session alone. */
  readonly identity: string | undefined
  /** Digest of a session there; absent: all of the person's. */
  readonly session: string | undefined
  /** Milliseconds since the epoch, by the clock of the provider. */
  readonly issuedAt: number
}

export interface RoomSession extends SessionHolder {
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

export interface RoomSessionsOptions {
  readonly clock: Pick<Clock, 'now'>
  /** As it stands now. */
  readonly store: () => AttributedKeys
  /** The admin token: sessions that were opened with it hold at every gateway that has the same. */
  readonly token: string | undefined
  /** Secret that the operator's requests at this gateway are made with. */
  readonly operatorSecret: string
}

export class RoomSessions {
  private readonly options: RoomSessionsOptions

  constructor(options: RoomSessionsOptions) {
    this.options = options
  }

  /** @returns the text of the cookie. @throws Fault `unavailable`, also where the audit log cannot be written. */
  async open(made: NewSession, origin: Origin): Promise<{ cookie: string; session: RoomSession }> {
    const store = this.options.store()
    const now = Math.floor(this.options.clock.now())
    const { identity, signIn, lastsMs = MAX_SESSION_MS, ...holder } = made
    // By which a key or a person finds its sessions.
    const by = holder.role === 'operator' ? 'control room' : (identity ?? secretHash(holder.secret))
    await makeRoom(store, by, now)
    const cookie = randomBytes(COOKIE_BYTES).toString('base64url')
    const hash = sessionName(secretHash(cookie))
    const until = now + Math.min(lastsMs, MAX_SESSION_MS)
    const row = {
      ...OPENS_NOTHING,
      identity: hash,
      hash,
      name: holder.name,
      limit: null,
      limitReset: null,
      expiresAt: Math.min(now + IDLE, until),
      consent: { by, session: { until, role: holder.role, encrypted: this.encrypted(holder, cookie), ...(signIn && { signIn }) } },
    }
    await store.put(row, origin)
    await sweep(store, hash, now)
    return { cookie, session: { ...holder, expiresAt: until } }
  }

  /** A call of it moves the end of a session without requests. @throws Fault `unavailable`. */
  async find(cookie: string | undefined): Promise<RoomSession | undefined> {
    if (cookie === undefined) return undefined
    const store = this.options.store()
    const found = await store.find(sessionName(secretHash(cookie)), true)
    if (!found || !isSession(found)) return undefined
    const now = Math.floor(this.options.clock.now())
    const { until } = found.consent.session
    if (isLate(found, now)) {
      await store.remove(found.hash, GATEWAY_ORIGIN)
      return undefined
    }
    const secret = this.opened(found, cookie)
    if (secret === undefined) return undefined
    const end = Math.min(now + IDLE, until)
    if (end - (found.expiresAt ?? 0) >= RENEW_AFTER) await store.change(found.hash, (key) => ({ ...key, expiresAt: end }), GATEWAY_ORIGIN)
    return { role: found.consent.session.role, name: found.name, secret, expiresAt: until }
  }

  /** At all gateways of the store. @param origin the visitor who signs out; by default it ends with its key. */
  async end(cookie: string | undefined, origin: Origin = GATEWAY_ORIGIN): Promise<void> {
    if (cookie !== undefined) await this.options.store().remove(sessionName(secretHash(cookie)), origin)
  }

  /**
   * Ends the sessions of a sign-in that has ended at the identity provider, at all gateways of the store.
   * @param address of the provider. @returns their number. @throws Fault `unavailable`.
   */
  async endSignedOut(signOut: ProviderSignOut, address: string): Promise<number> {
    const store = this.options.store()
    let ended = 0
    for await (const { hash, name, consent } of foundSessions(store, signOut.identity, Math.floor(this.options.clock.now()))) {
      const { signIn } = consent.session
      if (!signIn || !isEnded(signIn, signOut)) continue
      if (await store.remove(hash, { actor: { kind: 'member', id: signIn.member, name }, address })) ended++
    }
    return ended
  }

  /** Of the operator a proof of the admin token, since each gateway has a key of its own for the requests. */
  private encrypted({ role, secret }: SessionHolder, cookie: string): string {
    if (role === 'operator') return tokenProof(this.options.token ?? '', cookie)
    const nonce = randomBytes(NONCE)
    const cipher = createCipheriv(CIPHER, cookieKey(cookie), nonce, { authTagLength: TAG })
    return Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url')
  }

  private opened({ consent: { session } }: SessionKey, cookie: string): string | undefined {
    const { token, operatorSecret } = this.options
    if (session.role === 'operator')
      return token !== undefined && isSame(session.encrypted, tokenProof(token, cookie)) ? operatorSecret : undefined
    const bytes = Buffer.from(session.encrypted, 'base64url')
    try {
      const decipher = createDecipheriv(CIPHER, cookieKey(cookie), bytes.subarray(0, NONCE), { authTagLength: TAG })
      decipher.setAuthTag(bytes.subarray(-TAG))
      return decipher.update(bytes.subarray(NONCE, -TAG), undefined, 'utf8') + decipher.final('utf8')
    } catch {
      // The row was written by something else.
      return undefined
    }
  }
}

/** The cookie is random enough to need no salt. */
const cookieKey = (cookie: string): Buffer => Buffer.from(hkdfSync('sha256', cookie, '', 'headgate control room session', 32))

const tokenProof = (token: string, cookie: string): string =>
  createHmac('sha256', token).update(`control room ${cookie}`).digest('base64url')

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}

async function makeRoom(store: AttributedKeys, by: string, now: number): Promise<void> {
  const open = (await store.issuedBy(by, now)).filter(isSession)
  const first = open.sort((a, b) => (a.expiresAt ?? 0) - (b.expiresAt ?? 0))
  for (const { hash } of first.slice(0, Math.max(0, first.length - MAX_SESSIONS + 1))) await store.remove(hash, GATEWAY_ORIGIN)
}

/** Removes late sessions of any key among the few behind one that has just been made, where need be from the first one on. */
async function sweep(store: AttributedKeys, name: string, now: number): Promise<void> {
  const behind = (await store.listAfter(name, SWEPT)).filter(isSession)
  const rest = SWEPT - behind.length
  for (const key of rest > 0 ? [...behind, ...(await store.listAfter(sessionName(''), rest))] : behind)
    if (isSession(key) && isLate(key, now)) await store.remove(key.hash, GATEWAY_ORIGIN)
}

const isLate = (key: SessionKey, now: number): boolean => now >= key.consent.session.until || now >= (key.expiresAt ?? 0)

/** Those of a person by an index; without one all of them, so many at once. */
async function* foundSessions(store: AttributedKeys, identity: string | undefined, now: number): AsyncGenerator<SessionKey> {
  if (identity !== undefined) {
    yield* (await store.issuedBy(identity, now)).filter(isSession)
    return
  }
  const first = sessionName('')
  for (let after = first; after.startsWith(first); ) {
    const keys = await store.listAfter(after, READ_AT_ONCE)
    yield* keys.filter(isSession)
    after = keys.at(-1)?.hash ?? ''
  }
}

/** True for a sign-in that the sign-out ends; of one that names no session of the provider the person alone decides. */
export function isEnded(signIn: Pick<PersonSignIn, 'session' | 'issuedAt'>, { identity, session, issuedAt }: ProviderSignOut): boolean {
  // A sign-out that is shown again later ends no sign-in after it.
  if (signIn.issuedAt > issuedAt + PROVIDER_SKEW) return false
  if (session === undefined) return true
  return signIn.session === undefined ? identity !== undefined : signIn.session === session
}
