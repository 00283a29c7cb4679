/** Claims of a JWT whose signature one of its issuer's keys has made. */
import type { CryptoKey, JWTPayload, JWTVerifyOptions } from 'jose'
import { FirstUse } from '../../core/first-use.ts'
import { RefusedToken, type TokenRefusal } from '../../core/token-refusals.ts'
import type { IssuerKeys } from './issuer-keys.ts'
import type { KeySet } from './known-keys.ts'
import type { Claims } from './types.ts'

/** Keys of one issuer that are tried where a token names none and several fit. */
const MAX_KEYS_TRIED = 4

export type JoseLibrary = typeof import('jose')

/** Loaded with the first token. */
export const joseLibrary = new FirstUse(() => import('jose'))

export interface Verification {
  readonly jose: JoseLibrary
  readonly keys: IssuerKeys<KeySet>
  readonly options: JWTVerifyOptions
  /** True where the keys are not fetched for this token. */
  readonly isSuspect: () => boolean
}

/** A token of a key that is not known causes one fetch of the keys. @throws an error of the library; RefusedToken; Fault 503. */
export async function signedClaims(token: string, { jose, keys, options, isSuspect }: Verification): Promise<Claims> {
  const set = await keys.current()
  const verify = async (by: KeySet | CryptoKey): Promise<Claims> => {
    // Two forms of one function, of which each takes one kind of key.
    const { payload } = typeof by === 'function' ? await jose.jwtVerify(token, by, options) : await jose.jwtVerify(token, by, options)
    return payload as JWTPayload as Claims
  }
  const withSet = (from: KeySet): Promise<Claims> =>
    verify(from).catch((thrown: unknown) => {
      if (thrown instanceof jose.errors.JWKSMultipleMatchingKeys) return verifyWithAny(thrown, verify, jose)
      throw thrown
    })
  return withSet(set).catch(async (thrown: unknown) => {
    if (!(thrown instanceof jose.errors.JWKSNoMatchingKey) || isSuspect()) throw thrown
    const newer = await keys.newer(set)
    if (!newer) throw thrown
    return withSet(newer)
  })
}

/** Tries the keys that fit a token without `kid`. */
async function verifyWithAny(
  several: AsyncIterable<CryptoKey>,
  verify: (key: CryptoKey) => Promise<Claims>,
  { errors }: JoseLibrary,
): Promise<Claims> {
  let tried = 0
  for await (const key of several) {
    if (++tried > MAX_KEYS_TRIED) break
    try {
      return await verify(key)
    } catch (thrown) {
      if (!(thrown instanceof errors.JWSSignatureVerificationFailed)) throw thrown
    }
  }
  throw new RefusedToken('token_signature')
}

const BY_CLAIM: Readonly<Record<string, TokenRefusal>> = { aud: 'token_audience', nbf: 'token_early', iss: 'token_issuer' }

/** An error of the library as the refusal that it means; others as they are. */
export function asRefusal(thrown: unknown, { errors }: JoseLibrary): unknown {
  if (thrown instanceof errors.JWTExpired) return new RefusedToken(thrown.claim === 'iat' ? 'token_old' : 'token_expired')
  if (thrown instanceof errors.JWTClaimValidationFailed) {
    if (thrown.claim === 'iat' && thrown.reason === 'check_failed') return new RefusedToken('token_early')
    return new RefusedToken(BY_CLAIM[thrown.claim] ?? 'token_claim')
  }
  if (thrown instanceof errors.JWKSNoMatchingKey) return new RefusedToken('token_unknown_key')
  if (thrown instanceof errors.JWSSignatureVerificationFailed) return new RefusedToken('token_signature')
  if (thrown instanceof errors.JOSEAlgNotAllowed) return new RefusedToken('token_algorithm')
  // WebCrypto cannot use the key for this algorithm.
  if (thrown instanceof DOMException) return new RefusedToken('token_unknown_key')
  if (thrown instanceof errors.JOSEError || thrown instanceof TypeError) return new RefusedToken('token_malformed')
  return thrown
}
