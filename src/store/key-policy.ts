/** The terms of a key that no query filters by: one JSON text beside its columns. */
import type { ApiKey } from '../plugin-api/key.ts'

/** A key that another one consented to, the code that waits to be exchanged for it, or a session of the control room. */
export interface Consent {
  /** Identity of the key that consented. */
  readonly by: string
  /** SHA-256 of its secret at that time, hex; absent for keys of earlier versions. */
  readonly hash?: string
  /** Of a code: what its exchange requires. */
  readonly code?: {
    /** Milliseconds since the epoch. */
    readonly until: number
    /** Hash of the key that consented: a new secret, and the code is worth nothing. */
    readonly hash: string
    /** RFC 7636; absent where the application named no challenge. */
    readonly method?: 'S256' | 'plain'
    readonly challenge?: string
  }
  /** Of a session of the control room. */
  readonly session?: {
    /** Milliseconds since the epoch: it ends then, whatever comes. */
    readonly until: number
    readonly role: 'operator' | 'manager' | 'person'
    /** The key that it stands for, or the claims of a person, encrypted with the text of the cookie; of the operator the proof of the admin token. */
    readonly encrypted: string
    /** Of a person: the sign-in at the identity provider, by which that ends it. Absent for sessions of earlier versions. */
    readonly signIn?: PersonSignIn
  }
}

/** A sign-in at an identity provider as a session is found by it. */
export interface PersonSignIn {
  /** Identity of the member (`memberIdentity`). */
  readonly member: string
  /** Digest of the session there, hex; absent where the provider names none. */
  readonly session?: string | undefined
  /** Milliseconds since the epoch, by the clock of the provider. */
  readonly issuedAt: number
}

type Policy = Pick<
  ApiKey,
  | 'allowedModels'
  | 'provider'
  | 'limits'
  | 'passThrough'
  | 'providerIds'
  | 'parent'
  | 'previous'
  | 'defaultMaxOutput'
  | 'errorCode'
  | 'captureContent'
  | 'tags'
> & { readonly consent?: Consent }

// Stores of every version name the permission `passage`.
export function policyText(key: Policy): string {
  const { allowedModels, provider, limits, passThrough: passage, consent, providerIds, parent, previous } = key
  const ids = providerIds?.length ? providerIds : undefined
  const { defaultMaxOutput, errorCode, tags } = key
  const captureContent = key.captureContent || undefined
  const known = { allowedModels, provider, limits, passage, consent, providerIds: ids, parent }
  // Programs of the schema before know none of these, and drop them with any change of the key.
  return JSON.stringify({ ...known, previous, defaultMaxOutput, errorCode, captureContent, tags })
}

export function policyFrom(text: string): Policy {
  const { passage, consent, providerIds, ...policy } = JSON.parse(text) as Omit<Policy, 'passThrough'> & { passage: boolean }
  const { allowedModels, provider, limits, parent, previous, defaultMaxOutput, errorCode, captureContent, tags } = policy
  return {
    ...{ allowedModels, provider, limits, passThrough: passage },
    ...(consent ? { consent } : {}),
    ...(providerIds ? { providerIds } : {}),
    ...(parent === undefined ? {} : { parent }),
    ...(previous ? { previous } : {}),
    ...(defaultMaxOutput === undefined ? {} : { defaultMaxOutput }),
    ...(errorCode === undefined ? {} : { errorCode }),
    ...(captureContent ? { captureContent } : {}),
    ...(tags ? { tags } : {}),
  }
}
