/** Access tokens of Google from application default credentials, fetched anew each time: files are read again, so they may rotate. */
import type { JsonObject } from '../../../core/json.ts'
import type { ServiceConnections } from '../../connections/service-connections.ts'
import { fileText, identityAnswer, jsonObject } from '../identity-call.ts'
import { bearerGrant, type ReadToken, readToken } from '../token-response.ts'
import { CredentialError, type Environment, type FetchGrant } from '../types.ts'
import { CLOUD, fromFile, type GoogleFetch, impersonated } from './file-kinds.ts'
import { type GoogleSettings, googlePlace } from './place.ts'

const IAM = 'https://iamcredentials.googleapis.com'

export function googleGrants(settings: GoogleSettings, env: Environment, connections?: ServiceConnections): FetchGrant {
  const { scopes = [CLOUD], impersonate, delegates, iam_url: iam = IAM } = settings
  return async (signal, now) => {
    const place = googlePlace(settings, env)
    // The account behind an impersonated one calls IAM alone.
    const fetch: GoogleFetch = { scopes: impersonate === undefined ? scopes : [CLOUD], signal, now, connections }
    const content = 'file' in place ? await fileContent(place.file) : undefined
    let token: ReadToken = 'metadata' in place ? await fromMetadata(place.metadata, fetch) : await fromFile(content ?? {}, fetch)
    if (impersonate !== undefined) {
      const url = `${iam.replace(/\/+$/, '')}/v1/projects/-/serviceAccounts/${encodeURIComponent(impersonate)}:generateAccessToken`
      token = await impersonated({ url, delegates: delegates ?? [], source: token.token }, { scopes, signal, now, connections })
    }
    const project = settings.quota_project ?? env.GOOGLE_CLOUD_QUOTA_PROJECT ?? content?.quota_project_id
    return bearerGrant(token, typeof project === 'string' && PROJECT.test(project) ? ['x-goog-user-project', project] : [])
  }
}

/** An id of a project, or its number, perhaps with a domain before it. */
const PROJECT = /^[a-z0-9.:-]{1,64}$/

async function fileContent(file: string): Promise<JsonObject> {
  const content = jsonObject(await fileText(file, 'the credentials file'))
  if (!content) throw new CredentialError('the credentials file is no JSON object')
  return content
}

/**
 * GET computeMetadata/v1/instance/service-accounts/default/token (gcp-metadata 8, google-auth-library 10.9.1 computeclient.js). The
 * header keeps others from being sent there by an address alone; the same header in the reply shows who answers.
 */
async function fromMetadata(at: string, { scopes, signal, now, connections }: GoogleFetch): Promise<ReadToken> {
  const url = new URL('/computeMetadata/v1/instance/service-accounts/default/token', at)
  url.searchParams.set('scopes', scopes.join(','))
  const flavor = ['Metadata-Flavor', 'Google'] as const
  return readToken(
    await identityAnswer(
      { service: 'the metadata server', url, headers: Object.fromEntries([flavor]), proof: flavor, connections },
      signal,
    ),
    now,
  )
}
