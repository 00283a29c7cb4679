/** Sessions of the control room: kept by this process, found by the digest of a random cookie. */
import { createHash, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../core/clock.ts'
import type { Visitor } from './access.ts'

/** Milliseconds that a session lasts at most, and without a request. */
const LONGEST = 12 * 3600_000
const IDLE = 60 * 60_000
/** Of more, the one that was used longest ago ends. */
const MOST_SESSIONS = 1000
const COOKIE_BYTES = 32

export const COOKIE_NAME = 'control-room'
/** Browsers take a name with this prefix only from a secure page, for this host alone (RFC 6265bis section 4.1.3.2). */
export const SECURE_COOKIE_NAME = `__Host-${COOKIE_NAME}`

export interface Session extends Visitor {
  /** What requests to the API are made with. It never leaves the process but on the way to the gateway's own listener. */
  readonly secret: string
  /** As pages show it. */
  readonly name: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

interface Kept extends Session {
  usedAt: number
}

export class Sessions {
  private readonly clock: Pick<Clock, 'now'>
  private readonly kept = new LRUCache<string, Kept>({ max: MOST_SESSIONS })

  constructor(clock: Pick<Clock, 'now'>) {
    this.clock = clock
  }

  /** @returns the text of the cookie. */
  open(visitor: Omit<Session, 'expiresAt'>): { cookie: string; session: Session } {
    const cookie = randomBytes(COOKIE_BYTES).toString('base64url')
    const now = this.clock.now()
    const session = { ...visitor, expiresAt: now + LONGEST, usedAt: now }
    this.kept.set(digestOf(cookie), session)
    return { cookie, session }
  }

  find(cookie: string | undefined): Session | undefined {
    if (cookie === undefined) return undefined
    const digest = digestOf(cookie)
    const found = this.kept.get(digest)
    if (!found) return undefined
    const now = this.clock.now()
    if (now >= found.expiresAt || now - found.usedAt >= IDLE) {
      this.kept.delete(digest)
      return undefined
    }
    found.usedAt = now
    return found
  }

  end(cookie: string | undefined): void {
    if (cookie !== undefined) this.kept.delete(digestOf(cookie))
  }
}

/** The cookie of a `Cookie` header: of two with the name, the one of the secure page. */
export function cookieOf(header: string | undefined): string | undefined {
  const pairs = new Map((header ?? '').split(';').map((pair) => split(pair.trim())))
  const found = pairs.get(SECURE_COOKIE_NAME) ?? pairs.get(COOKIE_NAME)
  return found === undefined || found.length > 100 ? undefined : found
}

/**
 * @param cookie empty: the browser forgets it.
 * @param isSecure the page came over TLS. Otherwise the browser would not keep a cookie that says `Secure`.
 */
export function setCookie(cookie: string, isSecure: boolean): string {
  const name = isSecure ? SECURE_COOKIE_NAME : COOKIE_NAME
  const age = cookie === '' ? 0 : LONGEST / 1000
  return `${name}=${cookie}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
}

function split(pair: string): [name: string, value: string] {
  const at = pair.indexOf('=')
  return at < 0 ? ['', pair] : [pair.slice(0, at), pair.slice(at + 1)]
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64')
