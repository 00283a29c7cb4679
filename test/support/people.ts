/** A gateway with an identity provider at which people sign in to the control room. */
import { join } from 'node:path'
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { type Gateway, KEY, startGateway } from './gateway.ts'
import { type IdentityProvider, startIdentityProvider, Walker } from './identity-provider.ts'

/** Headers of the page's own requests. */
export const OWN = { 'x-control-room': '1', 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' }
export const SECRET = 'control-room-secret-0123456789'
/** Claims by login. */
export const PEOPLE = {
  ada: { email: 'ada@acme.example', email_verified: true, groups: ['ops', 'all'] },
  bob: { email: 'bob@acme.example', email_verified: true, groups: ['all'] },
  eve: { email: 'eve@acme.example', email_verified: true, groups: ['former', 'secret-group'] },
  mallory: { email: 'mallory@acme.example', email_verified: false, groups: ['ops'] },
}
const RULES = '[ { when: { groups: ops }, name: ops, role: owner }, { when: { groups: all }, limit: "5.00", limit_reset: monthly } ]'

export interface SignInPlace {
  readonly gateway: Gateway
  readonly provider: IdentityProvider
  readonly walker: Walker
  readonly config: (changes?: Changes) => string
}

interface Changes {
  readonly rules?: string
  readonly signIn?: string
  readonly more?: string
}

const issuerYaml = (url: string, { rules = RULES, signIn = '', more = '' }: Changes): string => `
    - issuer: "${url}"
      audiences: [ headgate ]
      member: email
      required_claims: { email_verified: true }
      sign_in: { client_id: control-room, client_secret: "${SECRET}", name: acme, label: Acme ${signIn} }
      rules: ${rules}${more}`

/** The redirect URI. */
export const callback = (gateway: Pick<Gateway, 'admin'>, name = 'acme'): string => `${gateway.admin}/control-room/sign-in/${name}/callback`

/** The control room as the provider knows it. */
export const registeredClient = (gateway: Pick<Gateway, 'admin'>, more: object = {}): object => ({
  client_id: 'control-room',
  client_secret: SECRET,
  redirect_uris: [callback(gateway)],
  grant_types: ['authorization_code'],
  response_types: ['code'],
  ...more,
})

export async function startSignIn(t: Test, changes: Changes = {}, configuration?: Record<string, unknown>): Promise<SignInPlace> {
  const provider = await startIdentityProvider(t, PEOPLE)
  const folder = t.testdir()
  const config = (more: Changes = {}): string => `store: { url: "sqlite:${join(folder, 'headgate.db')}" }
auth:
  keys: [ { name: test, key: "${KEY}" } ]
  issuers: ${issuerYaml(provider.url, { ...changes, ...more })}
providers: { local: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: local, model: echo } ] } }
`
  const gateway = await startGateway(config(), { directory: folder })
  t.teardown(() => gateway.close())
  provider.open([registeredClient(gateway)], configuration)
  return { gateway, provider, walker: new Walker(), config }
}

/** Begins as the page does. @returns the address of the provider. */
export async function begin(
  { gateway, walker }: { readonly gateway: Pick<Gateway, 'admin'>; readonly walker: Walker },
  returnTo?: unknown,
  name = 'acme',
): Promise<string> {
  const body = JSON.stringify({ return_to: returnTo })
  const reply = await walker.visit(`${gateway.admin}/control-room/sign-in/${name}`, { method: 'POST', headers: OWN, body })
  const { data } = (await reply.json()) as { data: { location: string } }
  return data.location
}

/** The address at which the provider sends the browser back; it is not visited yet. */
export const comeBack = async (place: Pick<SignInPlace, 'gateway' | 'walker'>, returnTo?: unknown): Promise<string> =>
  place.walker.walk(await begin(place, returnTo), (url) => url.startsWith(place.gateway.admin))

/** Shown to the page. */
export async function session({ gateway, walker }: Pick<SignInPlace, 'gateway' | 'walker'>): Promise<JsonObject | null> {
  const reply = await walker.visit(`${gateway.admin}/control-room/session`, { headers: OWN })
  return ((await reply.json()) as { data: JsonObject | null }).data
}

/** Entries of the audit log. */
export async function entries(gateway: Gateway, action: string): Promise<JsonObject[]> {
  const rows = await gateway.running.store.auditLog.page({ after: 0, limit: 1_000, action })
  return rows.map(({ entry }) => JSON.parse(entry) as JsonObject)
}
