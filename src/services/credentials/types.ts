/** A source of credentials, and its results for the frame that refreshes, shares and retries (`credential.ts`). */
import type { Static, TSchema } from 'typebox'
import type { ServiceConnections } from '../connections/service-connections.ts'

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
  /** Headers of one call: name, value, name, value. @param now milliseconds since the epoch. */
  headers(call: CredentialedCall, now: number): readonly string[]
}

/**
 * Fetches a grant anew, past any cache. Rejects where that fails; the log gets the message of a `CredentialError` only.
 * @param signal aborts when the time limit has passed. @param now milliseconds since the epoch.
 */
export type FetchGrant = (signal: AbortSignal, now: number) => Promise<Grant>

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
  /** Source of the credential, for `headgate check`: no secret, and no call. */
  describe(settings: Static<S>, env: Environment): string
  /** @param connections those that its services are called over. */
  open(settings: Static<S>, env: Environment, connections: ServiceConnections): FetchGrant | Promise<FetchGrant>
}

/** A fetch that failed, in words that a log may show: never with what the source said. */
export class CredentialError extends Error {}

/** Keeps the type of the settings while a source is written; the list has it without. */
export function credentialSource<S extends TSchema>(source: CredentialSource<S>): CredentialSource {
  return source as CredentialSource
}
