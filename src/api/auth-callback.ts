/** Callback addresses: where the browser is sent with a code, at the application that requested it. */
import { badField } from '../core/faults.ts'

/** Characters. */
export const MAX_CALLBACK_LENGTH = 2048

const SECURE = 'expected an address that begins with https://, or with http:// of this very machine (localhost, 127.0.0.1)'
/** A parser of addresses drops or turns some of these, so that people and programs would read different ones. */
const UNCLEAR = /[\s\\\p{C}]/u

/** `auth.sign_in` of the configuration. */
export interface SignInPolicy {
  /** Addresses of applications; one that ends in `/*` stands for every path below. */
  readonly callbacks: readonly string[]
  /** True: programs on the browser's own machine need not be named (RFC 8252 section 7.3). */
  readonly loopback: boolean
  /** `required`: only with a proof by S256 (RFC 9700 section 2.1.1). */
  readonly pkce: 'required' | 'optional'
}

/** @throws Fault 400 for an address that a code must not be sent to. */
export function parseCallback(text: string, policy: SignInPolicy): URL {
  if (text.length > MAX_CALLBACK_LENGTH) throw badField('callback_url', `must be at most ${MAX_CALLBACK_LENGTH} characters`)
  const url = UNCLEAR.test(text) ? null : URL.parse(text)
  if (!url || !(url.protocol === 'https:' || (url.protocol === 'http:' && isOwnMachine(url.hostname))))
    throw badField('callback_url', SECURE)
  if (url.username !== '' || url.password !== '') throw badField('callback_url', 'must hold no user name and no password')
  if (text.includes('#')) throw badField('callback_url', 'must have no fragment')
  for (const name of ['code', 'error'])
    if (url.searchParams.has(name)) throw badField('callback_url', `must not hold the parameter ${name}, which the answer adds`)
  if (!isAllowed(url, policy)) throw badField('callback_url', 'is not among the callbacks that auth.sign_in of the gateway allows')
  return url
}

function isAllowed(callback: URL, { callbacks, loopback }: SignInPolicy): boolean {
  if (loopback && isOwnMachine(callback.hostname)) return true
  return callbacks.some((entry) => matches(callback, entry))
}

/** Origin and path; the query is the application's own. A server may read an encoded slash as a way out of the folder. */
function matches({ origin, pathname }: URL, entry: string): boolean {
  const allowed = URL.parse(entry)
  if (!allowed || allowed.origin !== origin) return false
  if (!allowed.pathname.endsWith('/*')) return allowed.pathname === pathname
  return pathname.startsWith(allowed.pathname.slice(0, -1)) && !/%2f|%5c/i.test(pathname)
}

/** Loopback: what is sent there leaves the machine of the browser in no way (RFC 8252 section 7.3). */
export function isOwnMachine(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

/** The callback with these parameters behind its own, which stay as they were written. @throws Fault 400 where a name is taken. */
export function answerTo(callback: URL, answer: Readonly<Record<string, string>>): string {
  for (const name of Object.keys(answer))
    if (callback.searchParams.has(name)) throw badField('callback_url', `must not hold the parameter ${name}, which the answer adds`)
  const added = new URLSearchParams(answer).toString()
  const between = callback.href.includes('?') ? (callback.search === '' ? '' : '&') : '?'
  return `${callback.href}${between}${added}`
}
