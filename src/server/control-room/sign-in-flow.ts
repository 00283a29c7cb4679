/**
 * A sign-in at an identity provider that has begun. All of it is in one cookie of the browser, so that any gateway behind a balancer may end
 * what another has begun, and strangers who begin many fill nothing. `state`, `nonce` and the PKCE verifier are digests under the secret of
 * the cookie: another browser, another issuer, another time or another page to return to has others.
 */
import { createHmac, randomBytes } from 'node:crypto'
import type { SignInFlow } from './people.ts'

/** Milliseconds that a sign-in may take. */
export const FLOW_MS = 10 * 60_000
/** Name of its cookie. */
export const FLOW_COOKIE = 'control-room-sign-in'

const SEED_BYTES = 32
const ROOT = '/control-room/'
/** Characters of the page to return to. */
const MAX_PAGE_LENGTH = 512

export interface BegunSignIn extends SignInFlow {
  /** Page that is shown then: a path of the control room. */
  readonly page: string
}

/** @param choice name of the sign-in. @param page as the browser names it. @param now milliseconds since the epoch. */
export function beginFlow(choice: string, page: unknown, now: number): { cookie: string; flow: BegunSignIn } {
  const seed = randomBytes(SEED_BYTES).toString('base64url')
  const begun: Begun = { seed, at: Math.floor(now), page: ownPage(page) }
  const cookie = [seed, begun.at.toString(36), Buffer.from(begun.page).toString('base64url')].join('.')
  return { cookie, flow: flowFrom(choice, begun) }
}

/** The flow of a cookie; undefined where it has no form, is late, or is from the future. */
export function flowIn(cookie: string | undefined, choice: string, now: number): BegunSignIn | undefined {
  const [seed = '', time = '', page = ''] = (cookie ?? '').split('.')
  const at = Number.parseInt(time, 36)
  if (!/^[\w-]{43}$/.test(seed) || !(at <= now && now - at < FLOW_MS)) return undefined
  return flowFrom(choice, { seed, at, page: ownPage(Buffer.from(page, 'base64url').toString()) })
}

interface Begun {
  readonly seed: string
  readonly at: number
  readonly page: string
}

function flowFrom(choice: string, { seed, at, page }: Begun): BegunSignIn {
  const digest = (purpose: string): string => createHmac('sha256', seed).update([purpose, choice, at, page].join('\0')).digest('base64url')
  return { state: digest('state'), nonce: digest('nonce'), verifier: digest('verifier'), page }
}

/** The path where it is a page of the control room; else its first page, so that no address of others is ever gone to. */
function ownPage(page: unknown): string {
  if (typeof page !== 'string' || page.length > MAX_PAGE_LENGTH) return ROOT
  const url = URL.parse(page, 'http://control.room')
  if (url?.origin !== 'http://control.room' || !url.pathname.startsWith(ROOT) || url.pathname.startsWith(`${ROOT}sign-in/`)) return ROOT
  return url.pathname + url.search
}
