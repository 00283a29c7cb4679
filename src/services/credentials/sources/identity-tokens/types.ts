/** Tokens of an issuer that a provider trusts: they say who the gateway is, and are exchanged there for a credential. */
import type { Static, TSchema } from 'typebox'
import type { ServiceConnections } from '../../../connections/service-connections.ts'
import type { Cloud } from '../../machine.ts'
import type { Environment, FetchToken } from '../../types.ts'

/** One source: a file beside this one and a line in the list. Members of the same names mean what they mean in `CredentialSource`. */
export interface IdentityTokenSource<S extends TSchema = TSchema> {
  /** Its key in `identity_token`. */
  readonly name: string
  readonly settings: S
  /** True for tokens of OpenID Connect about an account (id tokens); other ones are JWTs for a service. */
  readonly isIdToken?: boolean
  describe(settings: Static<S>, env: Environment): string
  problem?(settings: Static<S>, env: Environment, belongsTo: (cloud: Cloud) => boolean): string | undefined
  open(settings: Static<S>, place: IdentityPlace): FetchToken | Promise<FetchToken>
}

export interface IdentityPlace {
  readonly env: Environment
  readonly connections: ServiceConnections
  /** The service that the token is for, where the settings name none. */
  readonly audience: string
}

/** Keeps the type of the settings while a source is written; the list has it without. */
export function identityTokenSource<S extends TSchema>(source: IdentityTokenSource<S>): IdentityTokenSource {
  return source as IdentityTokenSource
}
