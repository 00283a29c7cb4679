/** Settings of an identity provider, and what a token of it has proved. */
import type { Clock } from '../../core/clock.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'

/** Values that a claim must have; the reader of the configuration has checked their form. */
export type ClaimTests = Readonly<Record<string, unknown>>

export interface IssuerSettings {
  /** As the claim `iss` has it. */
  readonly issuer: string
  readonly audiences: readonly string[]
  readonly jwksUri?: string | undefined
  readonly jwksToken?: string | undefined
  /** PEM. */
  readonly ca?: string | undefined
  readonly algorithms: readonly string[]
  /** Milliseconds. */
  readonly leeway: number
  /** Milliseconds. */
  readonly maxAge?: number | undefined
  readonly requiredClaims: ClaimTests
  /** Claim that names the member. */
  readonly member: string
  /** Milliseconds. */
  readonly keysKept: number
  readonly introspection?: IntrospectionSettings | undefined
  readonly rules: readonly { readonly when: ClaimTests }[]
}

export interface IntrospectionSettings {
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  /** Milliseconds. */
  readonly cache: number
}

/** A token that was verified. */
export interface VerifiedToken {
  readonly issuer: string
  /** Value of the claim that names the caller. */
  readonly member: string
  /** Index of the first rule that maps it; undefined where none does. */
  readonly rule: number | undefined
  /** Milliseconds since the epoch: the end of the token, with the leeway. */
  readonly expiresAt: number
  /** Milliseconds since the epoch until which it need not be verified again. */
  readonly holdsUntil: number
}

export interface IssuerParts {
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'info'>
}

/** Claims of a token, as its issuer wrote them. */
export type Claims = JsonObject
