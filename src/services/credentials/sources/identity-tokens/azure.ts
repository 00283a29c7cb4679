/** `identity_token: { azure: {...} }`: a token of Microsoft Entra ID about an identity of Azure. */
import { Type } from 'typebox'
import { closed } from '../../../../config/fields/scalars.ts'
import { type AzureSettings, azureProblem, describeAzure } from '../../azure/place.ts'
import { azureFields } from '../azure.ts'
import { identityTokenSource } from './types.ts'

const { scope: _scope, ...identity } = azureFields

const settings = closed('A token of Microsoft Entra ID about an application or a managed identity.', {
  ...identity,
  scope: Type.String({
    description:
      'Scope of the token: the application id URI of the registration that stands for the provider, and `/.default`. Entra ID makes tokens for registered audiences alone.',
    pattern: '^[\\x21-\\x7e]{1,256}$',
    expected: 'a scope such as api://11111111-2222-4333-8444-555555555555/.default',
  }),
})

export const azureIdentity = identityTokenSource({
  name: 'azure',
  settings,
  describe: (written, env) => `a token of Microsoft Entra ID, ${describeAzure(written as AzureSettings, env)}`,
  problem: (written, env, belongsTo) => azureProblem(written as AzureSettings, env, belongsTo('azure')),
  open: async (written, { env, connections }) => {
    const { azureTokens } = await import('../../azure/fetch.ts')
    return azureTokens(written as AzureSettings, env, connections)
  },
})
