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
  readonly rules: readonly { readonly when: ClaimTests; readonly disabled?: boolean | undefined }[]
  /** Present where people sign in to the control room. */
  readonly signIn?: SignInSettings | undefined
  /** Present where people log in on their machines. */
  readonly login?: LoginSettings | undefined
}

/** Public client with which people get tokens on their machines. */
export interface LoginSettings {
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly resource?: string | undefined
}

/** Client that the gateway is at an issuer where people sign in. */
export interface SignInSettings {
  readonly clientId: string
  /** Absent: a public client, which PKCE alone protects. */
  readonly clientSecret?: string | undefined
  readonly scopes: readonly string[]
  /** Name in the addresses of the sign-in; the host of the issuer where absent. */
  readonly name?: string | undefined
  /** As people read it; the host of the issuer where absent. */
  readonly label?: string | undefined
  /** Milliseconds that a session lasts at most. */
  readonly session: number
}

export interface IntrospectionSettings {
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  /** Milliseconds. */
  readonly cache: number
}

/** A member by the rules of the configuration. */
export interface MappedMember {
  /** Value of the claim that names the member. */
  readonly member: string
  /** Index of the first rule that maps it; undefined where none does. */
  readonly rule: number | undefined
}

/** A token that was verified. */
export interface VerifiedToken extends MappedMember {
  readonly issuer: string
  /** Milliseconds since the epoch: the end of the token, with the leeway. */
  readonly expiresAt: number
  /** Milliseconds since the epoch until which it need not be verified again. */
  readonly holdsUntil: number
  readonly claims: JsonObject
}

export interface IssuerParts {
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'info'>
}

/** Claims of a token, as its issuer wrote them. */
export type Claims = JsonObject
