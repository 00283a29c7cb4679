/** Reasons for which a token of an identity provider opens nothing, each with the sentence that its caller reads. */
import { Fault } from './faults.ts'

/** None of them repeats a value of the token. */
const SENTENCES = {
  token_malformed: 'The token cannot be read',
  token_too_long: 'The token is longer than is allowed',
  token_type: 'The token is of a type that opens no API',
  token_algorithm: 'The token is signed by an algorithm that is not accepted',
  token_issuer: 'The token is of an issuer that is not accepted',
  token_unknown_key: 'The token is signed by a key that its issuer does not list',
  token_signature: 'The signature of the token is wrong',
  token_audience: 'The token is for another audience',
  token_expired: 'The token has expired',
  token_early: 'The token is not valid yet',
  token_old: 'The token was issued too long ago',
  token_claim: 'The token lacks a claim that is required, or has another value there',
  token_inactive: 'The token is not active',
} as const

export type TokenRefusal = keyof typeof SENTENCES

export const TOKEN_REFUSALS = Object.keys(SENTENCES) as readonly TokenRefusal[]

/** Message and challenge of a 401 for a token (RFC 6750, 3.1). */
export function tokenRefusal(why: TokenRefusal): { message: string; headers: Record<string, string> } {
  const message = SENTENCES[why]
  return { message, headers: { 'WWW-Authenticate': `Bearer error="invalid_token", error_description="${message}"` } }
}

/** A token that opens nothing. */
export class RefusedToken extends Fault {
  readonly why: TokenRefusal

  constructor(why: TokenRefusal) {
    super('invalid_key', tokenRefusal(why))
    this.why = why
  }
}
