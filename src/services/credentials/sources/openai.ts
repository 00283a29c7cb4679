/**
 * `credential: { openai: {...} }`: access tokens of OpenAI for an identity that it trusts. Fields and address: npm openai 7.59.0
 * (src/auth/workload-identity-auth.ts), developers.openai.com "Workload identity token exchange" (RFC 8693).
 */
import { Type } from 'typebox'
import { asWritten, closed } from '../../../config/fields/scalars.ts'
import type { JsonObject } from '../../../core/json.ts'
import { bearerGrant } from '../token-response.ts'
import { credentialSource } from '../types.ts'
import { aboutIdentity, exchangeUrlField, idField, openIdentity } from './federated.ts'
import { identityTokenField } from './identity-tokens/index.ts'

const TOKEN_URL = 'https://auth.openai.com/oauth/token'
/** As the SDK has it for tokens of Google (src/auth/subject-token-providers.ts, `gcpIDTokenProvider`). */
const AUDIENCE = 'https://api.openai.com/v1'

const settings = asWritten(
  closed('Workload identity federation: the token of an issuer that your organisation at OpenAI trusts, exchanged for an access token.', {
    identity_provider_id: idField('Id of the identity provider, as OpenAI gave it.', 'idp_abc123'),
    service_account_id: idField('Id of the service account that the token is for.', 'user-abc123'),
    client_id: Type.Optional(idField('Id of an OAuth client, where the identity provider expects one.', 'app_abc123')),
    identity_token: identityTokenField,
    token_url: exchangeUrlField(TOKEN_URL),
  }),
)

export const openai = credentialSource({
  name: 'openai',
  settings,
  takesKeys: true,
  ...aboutIdentity('OpenAI'),
  open: async (written, env, connections) => {
    const { identity_token: token, identity_provider_id: provider, service_account_id: account, client_id: client } = written
    const { federatedGrants } = await import('../federation.ts')
    const { source, fetch } = await openIdentity(token as JsonObject, { env, connections, audience: AUDIENCE })
    const exchange = {
      service: 'OpenAI',
      url: written.token_url ?? TOKEN_URL,
      connections,
      body: (subject: string): JsonObject => ({
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: subject,
        subject_token_type: `urn:ietf:params:oauth:token-type:${source.isIdToken === true ? 'id_token' : 'jwt'}`,
        identity_provider_id: provider,
        service_account_id: account,
        ...(client === undefined ? {} : { client_id: client }),
      }),
      grant: bearerGrant,
    }
    return federatedGrants(exchange, fetch)
  },
})
