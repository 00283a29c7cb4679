/** The discovery document of an issuer (OpenID Connect Discovery 1.0, 4). */
import type { JsonObject } from '../../core/json.ts'
import { CredentialError } from '../credentials/types.ts'
import type { IssuerClient } from './issuer-fetch.ts'

/** @throws CredentialError where it cannot be fetched, or is of another issuer. */
export async function discover(
  client: Pick<IssuerClient, 'call'>,
  issuer: string,
  headers?: Readonly<Record<string, string>>,
): Promise<JsonObject> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const found = await client.call({ what: 'the discovery document', url, headers })
  if (found.issuer !== issuer) throw new CredentialError('the discovery document names another issuer than the configuration')
  return found
}
