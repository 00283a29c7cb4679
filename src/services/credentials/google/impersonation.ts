/** A token of another service account (IAM Credentials API, generateAccessToken). */
import type { JsonObject } from '../../../core/json.ts'
import { identityAnswer } from '../identity-call.ts'
import { type ReadToken, readToken } from '../token-answer.ts'

/** What one fetch needs to know. */
export interface GoogleFetch {
  readonly scopes: readonly string[]
  readonly signal: AbortSignal
  readonly now: number
}

/** All of Google Cloud; IAM decides what the account may do. */
export const CLOUD = 'https://www.googleapis.com/auth/cloud-platform'

/** Seconds: the longest that needs no policy of the organisation (google-auth-library 10.9.1, auth/impersonated.js). */
const LIFE = 3600

export interface Impersonation {
  readonly url: string
  /** Token of the account that acts as the other one. */
  readonly source: string
  readonly delegates?: readonly string[] | undefined
  /** Seconds. */
  readonly life?: number | undefined
}

export async function impersonated(
  { url, source, delegates = [], life = LIFE }: Impersonation,
  { scopes, signal, now }: GoogleFetch,
): Promise<ReadToken> {
  const json: JsonObject = { scope: [...scopes], lifetime: `${life}s`, ...(delegates.length > 0 ? { delegates: [...delegates] } : {}) }
  const headers = { authorization: `Bearer ${source}` }
  return readToken(await identityAnswer({ service: 'the IAM service', url, headers, json }, signal), now)
}
