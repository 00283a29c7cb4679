/** Logout tokens (OpenID Connect Back-Channel Logout 1.0) as an identity provider of the tests signs them, and as others forge them. */
import { randomUUID } from 'node:crypto'
import { importJWK, SignJWT } from 'jose'
import type { IdentityProvider } from './identity-provider.ts'

export const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} }

/** Undefined takes a claim away. */
export type LogoutChanges = Readonly<Record<string, unknown>>

/** @param changes to the claims of a good one, which has neither `sub` nor `sid`. */
export async function logoutToken(
  { url, key }: Pick<IdentityProvider, 'url' | 'key'>,
  changes: LogoutChanges,
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: url, aud: 'control-room', iat: now, exp: now + 120, jti: randomUUID(), events: EVENTS, ...changes }
  return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'first', typ: 'logout+jwt', ...header }).sign(await importJWK(key))
}

/** Sends one as the provider does. */
export const sendLogout = (admin: string, body: string | Record<string, string>, name = 'acme'): Promise<Response> =>
  fetch(`${admin}/control-room/sign-in/${name}/backchannel-logout`, { method: 'POST', body: new URLSearchParams(body) })
