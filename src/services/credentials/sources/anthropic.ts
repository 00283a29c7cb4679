/**
 * `credential: { anthropic: {...} }`: access tokens of Anthropic for an identity that it trusts. Fields, headers and address: npm
 * @anthropic-ai/sdk 1.14.0 (src/lib/credentials/oidc-federation.ts and types.ts), platform.claude.com "WIF reference" (RFC 7523).
 */
import { Type } from 'typebox'
import { asWritten, closed } from '../../../config/fields/scalars.ts'
import type { JsonObject } from '../../../core/json.ts'
import { CredentialError, type CredentialedCall, credentialSource, type Grant, type ReadToken } from '../types.ts'
import { aboutIdentity, exchangeUrlField, idField, openIdentity } from './federated.ts'
import { identityTokenField } from './identity-tokens/index.ts'

const TOKEN_URL = 'https://api.anthropic.com/v1/oauth/token'
/** As the provider's guides for clouds have it. */
const AUDIENCE = 'https://api.anthropic.com'
/** `OAUTH_API_BETA_HEADER` of the SDK, which every call with such a token has. */
const OAUTH_BETA = 'oauth-2025-04-20'
/** `FEDERATION_BETA_HEADER` of the SDK: for the exchange alone. */
const FEDERATION_BETA = 'oidc-federation-2026-04-01'
const BETA_HEADER = 'anthropic-beta'

const settings = asWritten(
  closed(
    'Workload identity federation: the token of an issuer that your organisation at Anthropic trusts, exchanged for an access token by a federation rule.',
    {
      federation_rule_id: idField('Id of the federation rule.', 'fdrl_abc123'),
      organization_id: idField('Id of the organisation, a UUID.', '11111111-2222-4333-8444-555555555555'),
      service_account_id: idField('Id of the service account that the token is for.', 'svac_abc123'),
      workspace_id: Type.Optional(
        idField('Id of the workspace that the token is for, or `default`. Needed where the rule covers more than one.', 'wrkspc_abc123'),
      ),
      identity_token: identityTokenField,
      token_url: exchangeUrlField(TOKEN_URL),
    },
  ),
)

export const anthropic = credentialSource({
  name: 'anthropic',
  settings,
  takesKeys: true,
  ...aboutIdentity('Anthropic'),
  open: async (written, env, connections) => {
    const { identity_token: token, federation_rule_id, organization_id, service_account_id, workspace_id } = written
    const { federatedGrants } = await import('../federation.ts')
    const { fetch } = await openIdentity(token as JsonObject, { env, connections, audience: AUDIENCE })
    const exchange = {
      service: 'Anthropic',
      url: written.token_url ?? TOKEN_URL,
      headers: { [BETA_HEADER]: `${OAUTH_BETA},${FEDERATION_BETA}` },
      connections,
      body: (assertion: string): JsonObject => ({
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion,
        federation_rule_id,
        organization_id,
        service_account_id,
        ...(workspace_id === undefined ? {} : { workspace_id }),
      }),
      grant: oauthGrant,
    }
    return federatedGrants(exchange, fetch)
  },
})

/** The SDK takes no token without an end. */
function oauthGrant({ token, expiresAt }: ReadToken): Grant {
  if (expiresAt === undefined) throw new CredentialError('Anthropic states no end of the token')
  const authorization = ['authorization', `Bearer ${token}`]
  return { expiresAt, secrets: [token], headers: (call) => [...authorization, BETA_HEADER, withBeta(call)] }
}

/** The names that the call has already, and the one for tokens. */
function withBeta({ headers = [] }: CredentialedCall): string {
  const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === BETA_HEADER)
  const names = at === -1 ? [] : `${headers[at + 1]}`.split(',').map((name) => name.trim())
  return [...new Set([...names.filter((name) => name !== ''), OAUTH_BETA])].join(',')
}
