/** Access tokens of Microsoft Entra ID, fetched anew each time: certificates and projected tokens are read again, so they may rotate. */
import { randomUUID, X509Certificate } from 'node:crypto'
import type { ServiceConnections } from '../../connections/service-connections.ts'
import { fileText, identityAnswer } from '../identity-call.ts'
import { rsaKey, signedJwt } from '../signed-jwt.ts'
import { bearerGrant, readToken } from '../token-response.ts'
import { CredentialError, type Environment, type FetchGrant, type FetchToken } from '../types.ts'
import { type AzureApplication, type AzureMachine, type AzureSettings, azurePlace } from './place.ts'

/** Of Azure OpenAI and the other services of Microsoft Foundry. */
const SCOPE = 'https://cognitiveservices.azure.com/.default'
/** Seconds for which an assertion holds (@azure/msal-node 5.6.0, ClientAssertion). */
const ASSERTION_LIFE = 600

export function azureGrants(settings: AzureSettings, env: Environment, connections?: ServiceConnections): FetchGrant {
  const fetch = azureTokens(settings, env, connections)
  return async (signal, now) => bearerGrant(await fetch(signal, now))
}

export function azureTokens(settings: AzureSettings, env: Environment, connections?: ServiceConnections): FetchToken {
  const { scope = SCOPE } = settings
  const place = azurePlace(settings, env)
  return async (signal, now) => {
    if ('missing' in place) throw new CredentialError(place.missing)
    const fetch: AzureFetch = { scope, signal, now, connections }
    const answer = 'service' in place ? ofMachine(place, fetch) : ofApplication(place, fetch)
    return readToken(await answer, now)
  }
}

interface AzureFetch {
  readonly scope: string
  readonly signal: AbortSignal
  readonly now: number
  readonly connections: ServiceConnections | undefined
}

/** The client credentials grant (learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow). */
async function ofApplication(place: AzureApplication, { scope, signal, now, connections }: AzureFetch): Promise<string> {
  const { authority, tenant, client, proof } = place
  const url = `${authority}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`
  const form: Record<string, string> = { grant_type: 'client_credentials', client_id: client, scope }
  if ('secret' in proof) form.client_secret = proof.secret
  else {
    form.client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
    form.client_assertion =
      'token' in proof
        ? (await fileText(proof.token, 'the file of the federated token')).trim()
        : assertion(await fileText(proof.certificate, 'the certificate'), proof.password, { client, audience: url, now })
  }
  return await identityAnswer({ service: 'Microsoft Entra ID', url, form, connections }, signal)
}

/**
 * An assertion that the key of a certificate signs, as learn.microsoft.com/entra/identity-platform/certificate-credentials has it.
 * @param pem the certificate and its key.
 */
function assertion(
  pem: string,
  password: string | undefined,
  { client, audience, now }: { client: string; audience: string; now: number },
): string {
  const key = rsaKey(pem, 'the file of the certificate', password)
  const seconds = Math.floor(now / 1000)
  return signedJwt(
    { alg: 'PS256', 'x5t#S256': thumbprint(pem) },
    { aud: audience, iss: client, sub: client, jti: randomUUID(), nbf: seconds, iat: seconds, exp: seconds + ASSERTION_LIFE },
    key,
  )
}

/** SHA-256 of the first certificate's DER form. */
function thumbprint(pem: string): string {
  const text = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.exec(pem)?.[0]
  try {
    if (text !== undefined) return Buffer.from(new X509Certificate(text).fingerprint256.replaceAll(':', ''), 'hex').toString('base64url')
  } catch {
    // Reported below.
  }
  throw new CredentialError('the file of the certificate holds none in PEM form')
}

/** A managed identity. Its services know resources in place of scopes. */
async function ofMachine(
  { service, url: at, header, version, client }: AzureMachine,
  { scope, signal, connections }: AzureFetch,
): Promise<string> {
  const url = new URL(at)
  url.searchParams.set('api-version', version)
  url.searchParams.set('resource', scope.replace(/\/\.default$/, ''))
  if (client) url.searchParams.set('client_id', client)
  const name = service === 'imds' ? 'the instance metadata service' : 'the identity endpoint'
  return await identityAnswer({ service: name, url, headers: Object.fromEntries([header]), connections }, signal)
}
