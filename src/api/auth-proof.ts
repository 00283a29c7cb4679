/** Proof keys of the code exchange (RFC 7636): only the application that requested the code gets the key. */
import { hash, timingSafeEqual } from 'node:crypto'
import { badField } from '../core/faults.ts'

export type ProofMethod = 'S256' | 'plain'

export const PROOF_METHODS: readonly ProofMethod[] = ['S256', 'plain']

export interface Challenge {
  readonly method: ProofMethod
  /** SHA-256 of the verifier, base64url; of both methods, so that a plain one is not kept in clear. */
  readonly challenge: string
}

/** Sections 4.1 and 4.2: unreserved characters, as many of a verifier as of a plain challenge. */
const PLAIN = /^[A-Za-z0-9._~-]{43,128}$/
/** 32 bytes as base64url without padding. */
const DIGEST = /^[A-Za-z0-9_-]{43}$/

/**
 * @param method without one the challenge is plain (section 4.3).
 * @param isRequired true: only S256 will do, since a plain challenge can be read where the code can (RFC 9700 section 2.1.1).
 * @returns undefined where the application proves nothing. @throws Fault 400 naming the field.
 */
export function checkedChallenge(
  challenge: string | undefined,
  method: ProofMethod | undefined,
  isRequired: boolean,
): Challenge | undefined {
  if (isRequired && challenge === undefined)
    throw badField('code_challenge', 'is required: the SHA-256 of a secret of the application (RFC 7636)')
  if (isRequired && method !== 'S256') throw badField('code_challenge_method', 'expected S256')
  if (challenge === undefined) {
    if (method !== undefined) throw badField('code_challenge', 'is required where code_challenge_method is given')
    return undefined
  }
  if (method === 'S256') {
    if (!DIGEST.test(challenge)) throw badField('code_challenge', 'expected a SHA-256 digest as 43 characters of base64url')
    return { method, challenge }
  }
  if (!PLAIN.test(challenge)) throw badField('code_challenge', 'expected 43 to 128 letters, digits or any of - . _ ~')
  return { method: 'plain', challenge: proofDigest(challenge) }
}

/** True where the verifier is the one that the challenge was made of. */
export function proves(verifier: string, challenge: string): boolean {
  return PLAIN.test(verifier) && timingSafeEqual(Buffer.from(proofDigest(verifier)), Buffer.from(challenge))
}

function proofDigest(text: string): string {
  return hash('sha256', text, 'base64url')
}
