/** Reads the token and its end from the response of a source: JSON (RFC 6749 section 5.1), a JWT, or the token alone. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { CredentialError, type FetchGrant, type FetchToken, type Grant, type ReadToken } from './types.ts'

/** Characters of a response; a token of an identity service has a few thousand. */
export const LONGEST = 64 * 1024
/** Form of a token: characters that a header may hold (RFC 9110 section 5.5), without spaces. */
export const TOKEN = /^[\x21-\x7e]{1,16384}$/
/** Seconds since the epoch are less than this until the year 5138; milliseconds have been more since 1973. */
const MAX_SECONDS = 100_000_000_000

/** Grants of tokens that are sent where the dialect has keys. */
export function keyGrants(fetch: FetchToken): FetchGrant {
  return async (signal, now) => keyGrant(await fetch(signal, now))
}

export function keyGrant({ token, expiresAt }: ReadToken): Grant {
  return { expiresAt, secrets: [token], headers: ({ keyHeader }) => keyHeader(token) }
}

/**
 * A token that is sent as `Authorization: Bearer` whatever the dialect has for keys (RFC 6750 section 2.1).
 * @param more further headers of each call: name, value, name, value.
 */
export function bearerGrant({ token, expiresAt }: ReadToken, more: readonly string[] = []): Grant {
  const headers = ['authorization', `Bearer ${token}`, ...more]
  return { expiresAt, secrets: [token], headers: () => headers }
}

/**
 * The token is `access_token` or `token` of an object, else the text itself. Its end is `expires_at` (seconds or milliseconds since the
 * epoch, or a date), `expires_in` (seconds, RFC 6749 section 5.1), or the `exp` of a JWT (RFC 7519 section 4.1.4). Google's
 * generateAccessToken names them `accessToken` and `expireTime`, the managed identities of Azure the end `expires_on`.
 * @param now milliseconds since the epoch.
 */
export function readToken(answer: string, now: number): ReadToken {
  const text = answer.trim()
  const fields = text.startsWith('{') ? parsed(text) : undefined
  const token = fields ? (fields.access_token ?? fields.accessToken ?? fields.token) : text
  if (typeof token !== 'string' || token === '') throw new CredentialError('the answer holds no token')
  if (!TOKEN.test(token)) throw new CredentialError('the token is no visible ASCII text without spaces')
  return { token, expiresAt: (fields && statedEnd(fields, now)) ?? jwtEnd(token) }
}

function parsed(text: string): JsonObject {
  try {
    const value = JSON.parse(text) as Json
    if (isObject(value)) return value
  } catch {
    // Reported below: the message of the parser quotes the text.
  }
  throw new CredentialError('the answer begins like a JSON object and is none')
}

function statedEnd(fields: JsonObject, now: number): number | undefined {
  const { expires_in: seconds } = fields
  const at = fields.expires_at ?? fields.expireTime ?? fields.expires_on
  if (at !== undefined && at !== null) {
    const number = asNumber(at)
    const end = number === undefined ? Date.parse(String(at)) : number < MAX_SECONDS ? number * 1000 : number
    if (Number.isNaN(end)) throw new CredentialError('expires_at is neither a number nor a date')
    return end
  }
  if (seconds === undefined || seconds === null) return undefined
  const life = asNumber(seconds)
  if (life === undefined) throw new CredentialError('expires_in is no number of seconds')
  return now + life * 1000
}

function asNumber(value: Json): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^\d{1,15}(\.\d{1,6})?$/.test(value) ? Number(value) : undefined
}

/** Undefined for what is no JWT, and for one without an end. The signature is the provider's to check. */
function jwtEnd(token: string): number | undefined {
  const [head, payload, signature, ...rest] = token.split('.')
  if (head === undefined || payload === undefined || signature === undefined || rest.length > 0) return undefined
  try {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Json
    return isObject(claims) && typeof claims.exp === 'number' ? claims.exp * 1000 : undefined
  } catch {
    return undefined
  }
}
