/** Tokens of Google from application default credentials, fetched anew each time: files are read again, so they may rotate. */
import type { JsonObject } from '../../../core/json.ts'
import type { ServiceConnections } from '../../connections/service-connections.ts'
import { fileText, identityAnswer, jsonObject } from '../identity-call.ts'
import { bearerGrant, readToken } from '../token-response.ts'
import { CredentialError, type Environment, type FetchGrant, type FetchToken, type ReadToken } from '../types.ts'
import { CLOUD, fromFile, type GoogleFetch, impersonated, impersonatedIdToken, serviceAccountIdToken } from './file-kinds.ts'
import { type GoogleSettings, googlePlace } from './place.ts'

const IAM = 'https://iamcredentials.googleapis.com'

export function googleGrants(settings: GoogleSettings, env: Environment, connections?: ServiceConnections): FetchGrant {
  const { scopes = [CLOUD], impersonate, delegates } = settings
  return async (signal, now) => {
    // The account behind an impersonated one calls IAM alone.
    const fetch: GoogleFetch = { scopes: impersonate === undefined ? scopes : [CLOUD], signal, now, connections }
    const found = await findPlace(settings, env)
    let token = await ownToken(found, fetch)
    if (impersonate !== undefined) {
      const url = accountUrl(settings, impersonate, 'generateAccessToken')
      token = await impersonated({ url, delegates: delegates ?? [], source: token.token }, { scopes, signal, now, connections })
    }
    const project = settings.quota_project ?? env.GOOGLE_CLOUD_QUOTA_PROJECT ?? found.content?.quota_project_id
    return bearerGrant(token, typeof project === 'string' && PROJECT.test(project) ? ['x-goog-user-project', project] : [])
  }
}

/** Tokens by which Google says to another service which account this is (OpenID Connect). @param settings with the audience, which that service checks. */
export function googleIdTokens(
  settings: Omit<GoogleSettings, 'scopes' | 'quota_project'> & { readonly audience: string },
  env: Environment,
  connections?: ServiceConnections,
): FetchToken {
  const { audience, impersonate, delegates } = settings
  return async (signal, now) => {
    const fetch: GoogleFetch = { scopes: [CLOUD], signal, now, connections }
    const found = await findPlace(settings, env)
    let token: string
    if (impersonate !== undefined) {
      const { token: source } = await ownToken(found, fetch)
      const url = accountUrl(settings, impersonate, 'generateIdToken')
      token = await impersonatedIdToken({ url, delegates: delegates ?? [], source }, audience, fetch)
    } else if ('metadata' in found) token = await metadataIdToken(found.metadata, audience, fetch)
    else if (found.content.type === 'service_account') token = await serviceAccountIdToken(found.content, audience, fetch)
    else throw new CredentialError('the credentials file gives no identity token by itself, expected impersonate with a service account')
    return readToken(token, now)
  }
}

/** An id of a project, or its number, perhaps with a domain before it. */
const PROJECT = /^[a-z0-9.:-]{1,64}$/

type FoundPlace = { readonly metadata: string; readonly content?: undefined } | { readonly content: JsonObject }

async function findPlace(settings: GoogleSettings, env: Environment): Promise<FoundPlace> {
  const place = googlePlace(settings, env)
  return 'metadata' in place ? place : { content: await fileContent(place.file) }
}

async function ownToken(found: FoundPlace, fetch: GoogleFetch): Promise<ReadToken> {
  return 'metadata' in found ? await fromMetadata(found.metadata, fetch) : await fromFile(found.content, fetch)
}

function accountUrl({ iam_url: iam = IAM }: GoogleSettings, account: string, operation: string): string {
  return `${iam.replace(/\/+$/, '')}/v1/projects/-/serviceAccounts/${encodeURIComponent(account)}:${operation}`
}

async function fileContent(file: string): Promise<JsonObject> {
  const content = jsonObject(await fileText(file, 'the credentials file'))
  if (!content) throw new CredentialError('the credentials file is no JSON object')
  return content
}

/** GET computeMetadata/v1/instance/service-accounts/default/token (gcp-metadata 8, google-auth-library 10.9.1 computeclient.js). */
async function fromMetadata(at: string, { scopes, signal, now, connections }: GoogleFetch): Promise<ReadToken> {
  return readToken(await metadata(at, { path: 'token', query: { scopes: scopes.join(',') } }, { signal, connections }), now)
}

/** As `fetchIdToken` of google-auth-library 10.9.1 (computeclient.js) has it: with the email of the account. */
async function metadataIdToken(at: string, audience: string, { signal, connections }: GoogleFetch): Promise<string> {
  return await metadata(at, { path: 'identity', query: { format: 'full', audience } }, { signal, connections })
}

/** The header keeps others from being sent there by an address alone; the same header in the reply shows who answers. */
async function metadata(
  at: string,
  { path, query }: { path: string; query: Readonly<Record<string, string>> },
  { signal, connections }: Pick<GoogleFetch, 'signal' | 'connections'>,
): Promise<string> {
  const url = new URL(`/computeMetadata/v1/instance/service-accounts/default/${path}`, at)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  const flavor = ['Metadata-Flavor', 'Google'] as const
  return await identityAnswer(
    { service: 'the metadata server', url, headers: Object.fromEntries([flavor]), proof: flavor, connections },
    signal,
  )
}
