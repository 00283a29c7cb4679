/** The clients with which people log in for tokens of a gateway, as it shows them to everybody (RFC 9728). */
import type { Clock } from '../../core/clock.ts'
import { asObjects, isObject, type JsonObject } from '../../core/json.ts'
import { LOGIN_MEMBER, type LoginIssuer, METADATA_PATH } from '../../core/resource-metadata.ts'
import { jsonObject } from '../../services/credentials/identity-call.ts'
import { CredentialError } from '../../services/credentials/types.ts'
import { IssuerClient, isTrustworthy } from '../../services/issuers/issuer-fetch.ts'

/** Characters of clients and scopes (RFC 6749, A.1 and A.4), and of addresses. */
const PRINTABLE = /^[ -~]*$/

/** The address of a gateway without a slash or `/v1` at its end. @throws Error for one that is no https address. */
export function gatewayAddress(text: string): string {
  const url = URL.parse(text.includes('://') ? text : `https://${text}`)
  if (!url || !isTrustworthy(url.href) || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '')
    throw new Error(`${text}: expected the https address of a gateway, such as https://llm.example.com (http on this machine alone)`)
  return url.href.replace(/\/+$/, '').replace(/\/v1$/, '')
}

/** @param wanted the issuer, where the person has named one. @throws Error that says what is missing. */
export async function loginIssuer(gateway: string, wanted: string | undefined, clock: Clock): Promise<LoginIssuer> {
  const issuers = await loginIssuers(gateway, clock)
  const named = wanted === undefined ? issuers : issuers.filter(({ issuer }) => issuer === wanted || URL.parse(issuer)?.host === wanted)
  const [found, ...more] = named
  const list = issuers.map(({ issuer }) => issuer).join(', ')
  if (!found) throw new Error(`${gateway} has no issuer ${wanted}, expected one of: ${list}`)
  if (more.length > 0) throw new Error(`${gateway} has several issuers, name one with --issuer: ${list}`)
  return found
}

async function loginIssuers(gateway: string, clock: Clock): Promise<LoginIssuer[]> {
  const client = new IssuerClient(clock, undefined)
  const url = gateway + METADATA_PATH
  const reply = await client.reply({ what: gateway, url, method: 'GET', headers: { accept: 'application/json' }, body: undefined })
  const document = reply.status === 200 ? jsonObject(reply.text) : undefined
  const issuers = asObjects(document?.[LOGIN_MEMBER]).flatMap((each) => loginEntry(each, gateway) ?? [])
  if (!document || issuers.length === 0)
    throw new Error(`${gateway} names no issuer for headgate login (status ${reply.status}): its configuration needs auth.issuers[].login`)
  // RFC 9728, 3.3: metadata of another resource is not to be used.
  if (document.resource !== gateway) throw new Error(`${gateway} calls itself ${String(document.resource)}: use that address`)
  return issuers
}

/** @throws Error for one that no honest gateway shows. */
function loginEntry(value: JsonObject, gateway: string): LoginIssuer | undefined {
  const { issuer, client_id: client, scopes, resource = null } = value
  if (!isObject(value) || typeof issuer !== 'string' || typeof client !== 'string' || !Array.isArray(scopes)) return undefined
  const texts = Object.entries({ issuer, client_id: client, scopes: scopes.join(' '), resource: String(resource) })
  for (const [name, text] of texts)
    if (!PRINTABLE.test(text))
      throw new Error(`${gateway} names ${name} with characters that are not printable ASCII: it is not to be trusted`)
  if (resource !== null && isForeign(String(resource), gateway))
    throw new Error(
      `${gateway} names the resource ${String(resource)}, for which its tokens would be: expected ${gateway} or a name that is no web address (auth.issuers[].login.resource)`,
    )
  return { issuer, client_id: client, scopes: scopes.map(String), resource: resource === null ? null : String(resource) }
}

/** True for the address of another host: a token for it would open that host to those who run this one (RFC 9728, 3.3). */
function isForeign(resource: string, gateway: string): boolean {
  const url = URL.parse(resource)
  return (url?.protocol === 'https:' || url?.protocol === 'http:') && url.origin !== URL.parse(gateway)?.origin
}

/** Looks whether the gateway takes a token. @returns the name of its caller. @throws Error with the gateway's sentence. */
export async function callerName(gateway: string, token: string, clock: Clock): Promise<string> {
  const client = new IssuerClient(clock, undefined)
  const headers = { accept: 'application/json', authorization: `Bearer ${token}` }
  const { status, text } = await client.reply({ what: gateway, url: `${gateway}/v1/key`, method: 'GET', headers, body: undefined })
  const { data, error } = jsonObject(text) ?? {}
  if (status === 200 && isObject(data)) return String(data.name)
  const said = isObject(error) ? String(error.message) : `status ${status}`
  throw new CredentialError(`${gateway} does not take the token of the issuer: ${said}`)
}
