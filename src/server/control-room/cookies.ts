/** Cookies of the control room: one for the session, one for a sign-in that has begun. */
import type { IncomingMessage } from 'node:http'
import { requestScheme } from '../../core/request-scheme.ts'

/** Characters of a value that is looked at. */
const MAX_VALUE_LENGTH = 1024
/** Browsers take a name with this prefix only from a secure page, for this host alone (RFC 6265bis section 4.1.3.2). */
const SECURE_PREFIX = '__Host-'

interface CookieFields {
  /** The page came over TLS. Otherwise the browser would not keep a cookie that says `Secure`. */
  readonly isSecure: boolean
  /** Seconds; 0: the browser forgets it. */
  readonly maxAge: number
  /** `Lax`: the browser also sends it when another site leads it here, as an identity provider does. */
  readonly sameSite: 'Strict' | 'Lax'
}

/** The value of a cookie that `setCookie` set. Over TLS that is the name with the prefix alone: the bare one may be of a neighbouring host. */
export function readCookie(request: Pick<IncomingMessage, 'headers' | 'socket'>, name: string): string | undefined {
  const pairs = new Map((request.headers.cookie ?? '').split(';').map((pair) => split(pair.trim())))
  const found = pairs.get(ownName(name, isSecure(request)))
  return found === undefined || found === '' || found.length > MAX_VALUE_LENGTH ? undefined : found
}

/** A `Set-Cookie` header. */
export function setCookie(name: string, value: string, { isSecure, maxAge, sameSite }: CookieFields): string {
  return `${ownName(name, isSecure)}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=${sameSite}${isSecure ? '; Secure' : ''}`
}

/** A caller that only pretends gets a cookie that its browser does not keep. */
export function isSecure(request: Pick<IncomingMessage, 'headers' | 'socket'>): boolean {
  return requestScheme(request) === 'https'
}

function ownName(name: string, isSecure: boolean): string {
  return isSecure ? SECURE_PREFIX + name : name
}

function split(pair: string): [name: string, value: string] {
  const at = pair.indexOf('=')
  return at < 0 ? ['', pair] : [pair.slice(0, at), pair.slice(at + 1)]
}
