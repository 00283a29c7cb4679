/** A caller shows the secret of a key. It is found by its digest: comparing digests reveals nothing of the secret. */
import type { IncomingHttpHeaders } from 'node:http'
import { Fault } from '../../../core/faults.ts'
import { hasWrongChecksum, secretHash } from '../../../core/secret.ts'
import type { AuthenticationMethod, AuthenticationParts, Caller } from './method.ts'

/** Characters of a key. */
export const MAX_SECRET_LENGTH = 512

/** Headers beside `Authorization` that carry a key: as Anthropic's clients and as Google's send it. */
const KEY_HEADERS = ['x-api-key', 'x-goog-api-key']

/**
 * The secret of a request: `Authorization: Bearer` (RFC 6750, 2.1), `x-api-key` or `x-goog-api-key`.
 * @param maxLength characters.
 * @throws Fault 401 without one, and for a longer one; 400 where two differ.
 */
export function headerSecret(headers: IncomingHttpHeaders, maxLength = MAX_SECRET_LENGTH): string {
  const { authorization } = headers
  let secret: string | undefined
  let first = 'authorization'
  if (authorization !== undefined) {
    secret = bearer(authorization)
  }
  for (const name of KEY_HEADERS) {
    const apiKey = headers[name]
    if (typeof apiKey !== 'string' || apiKey === '') continue
    if (secret !== undefined && secret !== apiKey) {
      throw new Fault('bad_request', { message: `${first}: names another key than ${name}`, metadata: { field: first } })
    }
    if (secret === undefined) first = name
    secret = apiKey
  }
  if (secret === undefined) throw new Fault('missing_key')
  if (secret.length > maxLength) throw new Fault('invalid_key')
  return secret
}

function bearer(authorization: string): string {
  // What every client sends; anything else is read with care.
  if (authorization.startsWith('Bearer ') && authorization.charCodeAt(7) > 0x20) return authorization.slice(7)
  const [, token] = /^bearer +([!-~]+)$/i.exec(authorization) ?? []
  if (token === undefined) throw new Fault(authorization.trim() === '' ? 'missing_key' : 'invalid_key')
  return token
}

/** SHA-256 of what a caller shows, hex; a connection remembers its last one. */
export const secretDigest = (secret: string, { connection }: Caller): string => connection.digest?.(secret) ?? secretHash(secret)

/** The last method: a caller that shows nothing at all gets the refusal for a missing key. */
export function secretKey({ keys }: AuthenticationParts): AuthenticationMethod {
  return {
    atHand(caller) {
      const digest = secretDigest(headerSecret(caller.headers), caller)
      return keys.written.get(digest) ?? keys.atHand(digest)
    },
    find(caller, isSuspect) {
      const secret = headerSecret(caller.headers)
      const digest = secretDigest(secret, caller)
      const found = keys.written.get(digest) ?? keys.atHand(digest)
      if (found) return found
      return hasWrongChecksum(secret) ? undefined : keys.find(digest, isSuspect(caller))
    },
    renew: ({ hash, shown = hash }) => keys.written.get(shown) ?? keys.find(shown),
  }
}
