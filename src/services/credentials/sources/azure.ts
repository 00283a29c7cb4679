/** `credential: { azure: {...} }`: access tokens of Microsoft Entra ID. */
import { Type } from 'typebox'
import { url as address, asWritten, closed, flag, secret } from '../../../config/fields/scalars.ts'
import { type AzureSettings, azureProblem, describeAzure } from '../azure/place.ts'
import { credentialSource } from '../types.ts'

const path = (description: string) => Type.String({ description, pattern: '^/[^\\x00-\\x1f]{1,4095}$', expected: 'an absolute path' })

/** Settings of an identity of Microsoft Entra ID, of whatever it is for. */
export const azureFields = {
  tenant: Type.Optional(
    Type.String({
      description: 'Id or domain of the tenant. If unset: `AZURE_TENANT_ID`.',
      pattern: '^[A-Za-z0-9.-]{1,128}$',
      expected: 'the id or the domain of a tenant',
    }),
  ),
  client_id: Type.Optional(
    Type.String({
      description: 'Id of the application, or of a user-assigned managed identity. If unset: `AZURE_CLIENT_ID`.',
      pattern: '^[A-Za-z0-9-]{1,64}$',
      expected: 'the id of an application',
    }),
  ),
  client_secret: Type.Optional(secret('Secret of the application. If unset: `AZURE_CLIENT_SECRET`.')),
  certificate: Type.Optional(
    path('Absolute path of a PEM file with the certificate of the application and its RSA key. If unset: `AZURE_CLIENT_CERTIFICATE_PATH`.'),
  ),
  certificate_password: Type.Optional(
    secret('Password of the key. If unset beside a certificate of the environment: `AZURE_CLIENT_CERTIFICATE_PASSWORD`.'),
  ),
  token_file: Type.Optional(
    path(
      'Absolute path of a token of another issuer that the application trusts (workload identity). If unset: `AZURE_FEDERATED_TOKEN_FILE`.',
    ),
  ),
  managed_identity: Type.Optional(flag('True: the identity of the machine, whatever the variables say.')),
  authority: Type.Optional(
    address('Address of the sign-in service of the cloud. If unset: `AZURE_AUTHORITY_HOST`, else `https://login.microsoftonline.com`.'),
  ),
  scope: Type.Optional(
    Type.String({
      description: 'Scope of the token. If unset: `https://cognitiveservices.azure.com/.default`.',
      pattern: '^[\\x21-\\x7e]{1,256}$',
      expected: 'a scope without spaces',
    }),
  ),
}

const settings = asWritten(
  closed(
    'An identity of Microsoft Entra ID: an application with a secret, a certificate or a federated token, else the managed identity of the machine. What is not set here is taken from the variables of the Azure libraries.',
    azureFields,
  ),
)

export const azure = credentialSource({
  name: 'azure',
  settings,
  describe: (written, env) => describeAzure(written as AzureSettings, env),
  problem: (written, env, belongsTo) => azureProblem(written as AzureSettings, env, belongsTo('azure')),
  open: async (written, env, connections) => {
    const { azureGrants } = await import('../azure/fetch.ts')
    return azureGrants(written as AzureSettings, env, connections)
  },
})
