/** The cookie that a session of the control room is known by: random, and found by its digest in the store of keys. */
import { LONGEST_SESSION } from '../../api/index.ts'

export const COOKIE_NAME = 'control-room'
/** Browsers take a name with this prefix only from a secure page, for this host alone (RFC 6265bis section 4.1.3.2). */
export const SECURE_COOKIE_NAME = `__Host-${COOKIE_NAME}`

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
  const age = cookie === '' ? 0 : LONGEST_SESSION / 1000
  return `${name}=${cookie}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
}

function split(pair: string): [name: string, value: string] {
  const at = pair.indexOf('=')
  return at < 0 ? ['', pair] : [pair.slice(0, at), pair.slice(at + 1)]
}
