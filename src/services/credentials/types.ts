/** Credentials as calls see them, their sources, and the grants that sources return to `credential-refresh.ts`. */
import type { Static, TSchema } from 'typebox'
import type { ServiceConnections } from '../connections/service-connections.ts'
import type { Cloud } from './machine.ts'

/** One call of a provider, as far as its credential needs to know it. */
export interface CredentialedCall {
  readonly method: string
  /** Scheme, host and port. */
  readonly origin: string
  /** Path and query as they are sent. */
  readonly path: string
  readonly body: string | Buffer
  /** The other headers of the call: name, value, name, value. */
  readonly headers?: readonly string[] | undefined
  /** Header in which the provider is sent a key: by its `auth`, or as its dialect has it. */
  keyHeader(key: string): readonly [name: string, value: string]
}

/** Result of a source: a token, or keys that sign each call. */
export interface Grant {
  /** Milliseconds since the epoch; undefined where the answer states no end. */
  readonly expiresAt: number | undefined
  /** Texts that no log and no error may show. */
  readonly secrets: readonly string[]
  /**
   * Headers of one call: name, value, name, value. One that the call has already is replaced, so that a list holds its members too.
   * @param now milliseconds since the epoch.
   */
  headers(call: CredentialedCall, now: number): readonly string[]
}

/** A credential of one provider or endpoint, as its calls see it. */
export interface Credential {
  /** True while it can be used. @param now milliseconds since the epoch. */
  ready(now: number): boolean
  /** Credential of one call, as a key of a pool. @param conversation the name of what it belongs to; undefined where it has none. */
  forCall(conversation?: string): Credential
  /** Of a pool: one that can still be used, after calls with these have failed; undefined where none is left. */
  another?(tried: readonly Credential[], conversation?: string): Credential | undefined
  /** The provider's rate limit is reached, for as many seconds as it says. Present where others may be used meanwhile. */
  limited?(wait: number | undefined): void
  /** Fetches it, once for all who wait. Rejects with the fault `credential_unavailable`. */
  refresh(): Promise<void>
  /** Credential in use: handed back to `renew` where the provider refuses it. */
  readonly grant: Grant | undefined
  /**
   * Fetches another credential where the provider has refused one that should hold, at most every 30 s.
   * @returns true if there is another one now.
   */
  renew(refused: Grant | undefined): Promise<boolean>
  /** Headers of one call: name, value, name, value. @throws Fault where there is none. */
  headers(call: CredentialedCall): readonly string[]
  /** True where calls may carry a key of the provider in its place. */
  readonly takesKeys?: boolean | undefined
  /** True for the key of a team, whose provider's words its callers may read. */
  readonly isOwn?: boolean | undefined
  /** True for a text that shows the credential. */
  isIn(text: string): boolean
  /** Stands for the settings of its source, and shows nothing of them. */
  readonly fingerprint: string
  /** The fingerprint: facts of a provider are compared as JSON. */
  toJSON(): string
}

/**
 * Fetches a grant anew, past any cache. Rejects where that fails; the log gets the message of a `CredentialError` only.
 * @param signal aborts when the time limit has passed. @param now milliseconds since the epoch.
 */
export type FetchGrant = (signal: AbortSignal, now: number) => Promise<Grant>

/** A token, and its end. */
export interface ReadToken {
  readonly token: string
  /** Milliseconds since the epoch; undefined where nothing states it. */
  readonly expiresAt: number | undefined
}

/** Fetches a token anew, as `FetchGrant` fetches a grant. */
export type FetchToken = (signal: AbortSignal, now: number) => Promise<ReadToken>

/** Variables of the process. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * One source: a file in `sources/` and a line in its list. The configuration loads that file for its settings, so that libraries are
 * imported by `open` alone.
 */
export interface CredentialSource<S extends TSchema = TSchema> {
  /** Its key in `providers.NAME.credential`. */
  readonly name: string
  /** Schema of what stands under that key, which the source reads as it is written. */
  readonly settings: S
  /** True where the headers depend on the body of a call, so that the pass-through cannot stream one. */
  readonly signsBody?: boolean
  /** True where calls may carry a key of the provider as well, so that teams can bring theirs. */
  readonly takesKeys?: boolean
  /** Source of the credential, for `headgate check`: no secret, and no call. */
  describe(settings: Static<S>, env: Environment): string
  /**
   * The variable or file that this environment lacks for it, in words, for `headgate check`; undefined where none is seen
   * to be missing. No secret, and no call. @param belongsTo true for the cloud of this machine, whose metadata may have credentials.
   */
  problem?(settings: Static<S>, env: Environment, belongsTo: (cloud: Cloud) => boolean): string | undefined
  /** @param connections those that its services are called over. */
  open(settings: Static<S>, env: Environment, connections: ServiceConnections): FetchGrant | Promise<FetchGrant>
}

/** A fetch that failed, in words that a log may show: never with the text of the source. */
export class CredentialError extends Error {}

/** The provider itself refuses to give a credential: that is for its operator to mend, as where it refuses a key. */
export class RefusedIdentity extends CredentialError {}

/** Keeps the type of the settings while a source is written; the list has it without. */
export function credentialSource<S extends TSchema>(source: CredentialSource<S>): CredentialSource {
  return source as CredentialSource
}
