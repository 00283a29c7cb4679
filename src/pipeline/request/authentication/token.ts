/** A caller shows a token of an identity provider: a JWT, or an opaque one that its issuer verifies. */
import type { IncomingHttpHeaders } from 'node:http'
import type { ApiKey } from '../../../plugin-api/key.ts'
import type { AuthenticationMethod, AuthenticationParts } from './method.ts'
import { headerSecret, MAX_SECRET_LENGTH, secretDigest } from './secret-key.ts'

/** Characters of a token. */
export const MAX_TOKEN_LENGTH = 16 * 1024

/** Form of the secrets that the gateway makes. */
const MADE = /^sk-[a-z][a-z0-9]{0,31}-v\d/

/** `{`, with which a header of JSON begins, as base64url; then three parts. What it has of them is looked at when it is verified. */
function isJwtForm(secret: string): boolean {
  if (secret.charCodeAt(0) !== 0x65) return false
  const first = secret.indexOf('.')
  const second = secret.indexOf('.', first + 1)
  return first > 0 && second > 0 && secret.indexOf('.', second + 1) < 0
}

/** Undefined without issuers: no request is looked at then. */
export function token({ keys, tokens }: AuthenticationParts): AuthenticationMethod | undefined {
  if (!tokens) return undefined
  // Keys of the file have any form, and come first.
  const atHand = (digest: string): ApiKey | undefined => keys.written.get(digest) ?? tokens.atHand(digest)
  const find = async (secret: string, digest: string, isSuspect: () => boolean): Promise<ApiKey> => {
    const isJwt = isJwtForm(secret)
    // Imported keys of the store have any form, too.
    const key = isJwt || secret.length > MAX_SECRET_LENGTH ? undefined : await keys.find(digest, isSuspect())
    return key ?? tokens.find(secret, digest, { isJwt, isSuspect })
  }
  return {
    shows: ({ headers }) => {
      const secret = shownSecret(headers)
      if (secret === undefined) return false
      return isJwtForm(secret) || secret.length > MAX_SECRET_LENGTH || (tokens.takesOpaque && !MADE.test(secret))
    },
    atHand: (caller) => {
      const secret = headerSecret(caller.headers, MAX_TOKEN_LENGTH)
      return atHand(secretDigest(secret, caller))
    },
    find(caller, isSuspect) {
      const secret = headerSecret(caller.headers, Number.POSITIVE_INFINITY)
      if (secret.length > MAX_TOKEN_LENGTH) tokens.refuse('token_too_long')
      const digest = secretDigest(secret, caller)
      return atHand(digest) ?? find(secret, digest, () => isSuspect(caller))
    },
    renew: (key) => (key.token ? key : undefined),
  }
}

/** Undefined where the head has none, or two. */
function shownSecret(headers: IncomingHttpHeaders): string | undefined {
  try {
    return headerSecret(headers, Number.POSITIVE_INFINITY)
  } catch {
    return undefined
  }
}
