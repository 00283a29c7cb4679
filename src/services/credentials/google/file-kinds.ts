/**
 * The kinds of credentials files that Google's own libraries write and read (google-auth-library 10.9.1, build/src/auth), and tokens of
 * other service accounts that these lead to.
 */
import { asString, isObject, type Json, type JsonObject, present } from '../../../core/json.ts'
import type { ServiceConnections } from '../../connections/service-connections.ts'
import { fileText, identityAnswer, jsonObject } from '../identity-call.ts'
import { rsaKey, signedJwt } from '../signed-jwt.ts'
import { readToken } from '../token-response.ts'
import { CredentialError, type ReadToken } from '../types.ts'

const TOKEN_URL = 'https://oauth2.googleapis.com/token'
/** Seconds: the longest that an assertion may hold. */
const ASSERTION_LIFE = 3600

type Kind = (content: JsonObject, fetch: GoogleFetch) => Promise<ReadToken>

const KINDS: Readonly<Record<string, Kind>> = {
  service_account: serviceAccount,
  authorized_user: person,
  external_account: federated,
  impersonated_service_account: impersonatedAccount,
}

export async function fromFile(content: JsonObject, fetch: GoogleFetch): Promise<ReadToken> {
  const kind = typeof content.type === 'string' && Object.hasOwn(KINDS, content.type) ? KINDS[content.type] : undefined
  if (!kind) throw new CredentialError(`the type of the credentials file is not supported, expected ${Object.keys(KINDS).join(', ')}`)
  return await kind(content, fetch)
}

async function serviceAccount(content: JsonObject, fetch: GoogleFetch): Promise<ReadToken> {
  return readToken(await withAssertion(content, { scope: fetch.scopes.join(' ') }, fetch), fetch.now)
}

/** A token for another service, which says who the account is (google-auth-library 10.9.1, auth/jwtclient.js, `fetchIdToken`). */
export async function serviceAccountIdToken(content: JsonObject, audience: string, fetch: GoogleFetch): Promise<string> {
  return idTokenIn(await withAssertion(content, { target_audience: audience }, fetch), 'id_token')
}

/** @param field of the reply. @throws CredentialError where it is not there. */
function idTokenIn(answer: string, field: string): string {
  const token = asString(jsonObject(answer)?.[field])
  if (!token) throw new CredentialError(`the answer holds no ${field}`)
  return token
}

/**
 * The reply to a JWT that the account's own key signs (RFC 7523; developers.google.com/identity/protocols/oauth2/service-account).
 * @param claims that say what is wanted.
 */
async function withAssertion(content: JsonObject, claims: JsonObject, { signal, now, connections }: GoogleFetch): Promise<string> {
  const url = asString(content.token_uri) ?? TOKEN_URL
  const key = rsaKey(requireText(content, 'private_key'), 'private_key of the credentials file')
  const seconds = Math.floor(now / 1000)
  const assertion = signedJwt(
    { alg: 'RS256', ...present({ kid: asString(content.private_key_id) }) },
    { iss: requireText(content, 'client_email'), ...claims, aud: url, iat: seconds, exp: seconds + ASSERTION_LIFE },
    key,
  )
  const form = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion }
  return await identityAnswer({ service: 'the token service', url, form, connections }, signal)
}

/** File that `gcloud auth application-default login` has written. Its scopes were fixed at the sign-in. */
async function person(content: JsonObject, { signal, now, connections }: GoogleFetch): Promise<ReadToken> {
  const form = {
    grant_type: 'refresh_token',
    client_id: requireText(content, 'client_id'),
    client_secret: requireText(content, 'client_secret'),
    refresh_token: requireText(content, 'refresh_token'),
  }
  const url = asString(content.token_uri) ?? TOKEN_URL
  return readToken(await identityAnswer({ service: 'the token service', url, form, connections }, signal), now)
}

/** Workload identity federation: a token of another issuer for one of Google (RFC 8693), and perhaps that for a service account's. */
async function federated(content: JsonObject, fetch: GoogleFetch): Promise<ReadToken> {
  const { signal, now, scopes, connections } = fetch
  const target = asString(content.service_account_impersonation_url)
  const { client_id: id, client_secret: secret, workforce_pool_user_project: project } = content
  const form = {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    audience: requireText(content, 'audience'),
    scope: target === undefined ? scopes.join(' ') : CLOUD,
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    subject_token: await subjectToken(content.credential_source ?? null, fetch),
    subject_token_type: requireText(content, 'subject_token_type'),
    ...(typeof project === 'string' && id === undefined ? { options: JSON.stringify({ userProject: project }) } : {}),
  }
  const pair = typeof id === 'string' && `${encodeURIComponent(id)}:${encodeURIComponent(asString(secret) ?? '')}`
  const headers = pair ? { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } : undefined
  const url = requireText(content, 'token_url')
  const own = readToken(await identityAnswer({ service: 'the token service', url, headers, form, connections }, signal), now)
  if (target === undefined) return own
  const { token_lifetime_seconds: life } = isObject(content.service_account_impersonation) ? content.service_account_impersonation : {}
  return await impersonated({ url: target, source: own.token, life: typeof life === 'number' ? life : undefined }, fetch)
}

/** The other issuer's token, from a file or a service of the machine. */
async function subjectToken(source: Json, { signal, connections }: GoogleFetch): Promise<string> {
  const { file, url, headers, format } = isObject(source) ? source : {}
  const { type, subject_token_field_name: field } = isObject(format) ? format : {}
  let text: string
  if (typeof file === 'string') text = await fileText(file, 'the file of the subject token')
  else if (typeof url === 'string')
    text = await identityAnswer({ service: 'the service of the subject token', url, headers: textsIn(headers), connections }, signal)
  else throw new CredentialError('credential_source of the credentials file is not supported, expected a file or a url')
  const token = type === 'json' && typeof field === 'string' ? asString(jsonObject(text)?.[field]) : text.trim()
  if (!token) throw new CredentialError('the source of the subject token holds none')
  return token
}

/** File that `gcloud auth application-default login --impersonate-service-account` has written. */
async function impersonatedAccount(content: JsonObject, fetch: GoogleFetch): Promise<ReadToken> {
  const { source_credentials: inner, delegates } = content
  const url = requireText(content, 'service_account_impersonation_url')
  if (!isObject(inner) || inner.type === content.type) throw new CredentialError('the credentials file has no source_credentials')
  const { token } = await fromFile(inner, { ...fetch, scopes: [CLOUD] })
  const between = Array.isArray(delegates) ? delegates.filter((each) => typeof each === 'string') : []
  return await impersonated({ url, source: token, delegates: between }, fetch)
}

function requireText(content: JsonObject, name: string): string {
  const value = asString(content[name])
  if (!value) throw new CredentialError(`the credentials file has no ${name}`)
  return value
}

function textsIn(value: Json | undefined): Record<string, string> {
  const pairs = Object.entries(isObject(value) ? value : {})
  return Object.fromEntries(pairs.filter((pair): pair is [string, string] => typeof pair[1] === 'string'))
}

/** Inputs of one fetch. */
export interface GoogleFetch {
  readonly scopes: readonly string[]
  readonly signal: AbortSignal
  readonly now: number
  readonly connections: ServiceConnections | undefined
}

/** All of Google Cloud; IAM decides what the account may do. */
export const CLOUD = 'https://www.googleapis.com/auth/cloud-platform'

/** Seconds: the longest that needs no policy of the organisation (google-auth-library 10.9.1, auth/impersonated.js). */
const LIFE = 3600

interface Impersonation {
  /** Of the account, with the operation. */
  readonly url: string
  /** Token of the account that acts as the other one. */
  readonly source: string
  readonly delegates?: readonly string[] | undefined
  /** Seconds. */
  readonly life?: number | undefined
}

/** A token of another service account (IAM Credentials API, generateAccessToken). */
export async function impersonated(
  { url, source, delegates = [], life = LIFE }: Impersonation,
  { scopes, signal, now, connections }: GoogleFetch,
): Promise<ReadToken> {
  const json: JsonObject = { scope: [...scopes], lifetime: `${life}s`, ...(delegates.length > 0 ? { delegates: [...delegates] } : {}) }
  const headers = { authorization: `Bearer ${source}` }
  return readToken(await identityAnswer({ service: 'the IAM service', url, headers, json, connections }, signal), now)
}

/** A token of another service account for another service (IAM Credentials API, generateIdToken). */
export async function impersonatedIdToken(
  { url, source, delegates = [] }: Omit<Impersonation, 'life'>,
  audience: string,
  { signal, connections }: GoogleFetch,
): Promise<string> {
  const json: JsonObject = { audience, includeEmail: true, ...(delegates.length > 0 ? { delegates: [...delegates] } : {}) }
  const headers = { authorization: `Bearer ${source}` }
  return idTokenIn(await identityAnswer({ service: 'the IAM service', url, headers, json, connections }, signal), 'token')
}
