/** Common part of sources at which the token of another issuer is exchanged. */
import { Type } from 'typebox'
import type { Json } from '../../../core/json.ts'
import type { Cloud } from '../machine.ts'
import { CredentialError, type CredentialSource, type Environment, type FetchToken } from '../types.ts'
import { identityTokenIn } from './identity-tokens/index.ts'
import type { IdentityPlace, IdentityTokenSource } from './identity-tokens/types.ts'

/** An id that the provider gave. */
export const idField = (description: string, example: string) =>
  Type.String({ description, pattern: '^[A-Za-z0-9._:-]{1,128}$', expected: `an id such as ${example}` })

/** Tokens go over TLS, or do not leave the machine. @param usual the address of the provider. */
export const exchangeUrlField = (usual: string) =>
  Type.Optional(
    Type.String({
      description: `Address of the exchange. If unset: \`${usual}\`.`,
      pattern: '^(https://|http://(127\\.0\\.0\\.1|localhost|\\[::1\\])[:/])',
      scalar: 'url',
      expected: 'an https address, or an http address of this machine',
    }),
  )

interface Federated {
  readonly identity_token: Json
}

/** The members of a source that speak of the identity token. @param provider for people. */
export function aboutIdentity(provider: string): Pick<CredentialSource, 'describe' | 'problem'> {
  return {
    describe: ({ identity_token: written }: Federated, env: Environment) => {
      const found = identityTokenIn(written)
      return `a token of ${provider} for ${found ? found.source.describe(found.settings, env) : 'no identity token'}`
    },
    problem: ({ identity_token: written }: Federated, env: Environment, belongsTo: (cloud: Cloud) => boolean) => {
      const found = identityTokenIn(written)
      return found?.source.problem?.(found.settings, env, belongsTo)
    },
  } as Pick<CredentialSource, 'describe' | 'problem'>
}

export async function openIdentity(written: Json, place: IdentityPlace): Promise<{ source: IdentityTokenSource; fetch: FetchToken }> {
  const found = identityTokenIn(written)
  if (!found) throw new CredentialError('no identity token is configured')
  return { source: found.source, fetch: await found.source.open(found.settings, place) }
}
