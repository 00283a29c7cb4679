/** Which identity of Microsoft Entra ID is used, in the order of DefaultAzureCredential (@azure/identity 4.13.1), without its tries. */
import { isReadable } from '../../../core/local-files.ts'
import type { Environment } from '../types.ts'

export interface AzureSettings {
  readonly tenant?: string
  readonly client_id?: string
  readonly client_secret?: string
  readonly certificate?: string
  readonly certificate_password?: string
  readonly token_file?: string
  readonly managed_identity?: boolean
  readonly authority?: string
  readonly scope?: string
}

/** An application of a tenant, and how it proves itself. */
export interface AzureApplication {
  readonly tenant: string
  readonly client: string
  readonly authority: string
  readonly proof:
    | { readonly secret: string }
    | { readonly certificate: string; readonly password?: string | undefined }
    | { readonly token: string }
  /** Name of it, for people. */
  readonly by: string
}

/** The identity of the machine. @property client of an identity that the user made; the machine's own where there is none. */
export interface AzureMachine {
  readonly service: 'imds' | 'app-service'
  readonly url: string
  readonly header: readonly [name: string, value: string]
  readonly version: string
  readonly client: string | undefined
}

/** In words where something is missing. */
export type AzurePlace = AzureApplication | AzureMachine | { readonly missing: string }

export const PUBLIC_CLOUD = 'https://login.microsoftonline.com'

export function azurePlace(settings: AzureSettings, env: Environment): AzurePlace {
  const proof = chooseProof(settings, env)
  const client = settings.client_id ?? env.AZURE_CLIENT_ID
  if (!proof) return machine(env, client)
  if ('missing' in proof) return proof
  const tenant = settings.tenant ?? env.AZURE_TENANT_ID
  if (!tenant) return { missing: 'the tenant is missing, expected azure.tenant or AZURE_TENANT_ID' }
  if (!client) return { missing: 'the application is missing, expected azure.client_id or AZURE_CLIENT_ID' }
  // As the libraries of Azure take it, the host may stand without a scheme.
  const host = settings.authority ?? env.AZURE_AUTHORITY_HOST ?? PUBLIC_CLOUD
  const authority = (/^https?:\/\//.test(host) ? host : `https://${host}`).replace(/\/+$/, '')
  return { ...proof, tenant, client, authority }
}

type Proof = Pick<AzureApplication, 'proof' | 'by'> | { readonly missing: string } | undefined

function chooseProof(settings: AzureSettings, env: Environment): Proof {
  const { client_secret: secret, certificate, certificate_password: password, token_file: token, managed_identity: isMachine } = settings
  const stated = [secret, certificate, token, isMachine === true ? '' : undefined].filter((each) => each !== undefined)
  if (stated.length > 1) return { missing: 'expected one of azure.client_secret, certificate, token_file and managed_identity' }
  if (secret !== undefined) return { proof: { secret }, by: 'azure.client_secret' }
  if (certificate !== undefined) return { proof: { certificate, password }, by: 'azure.certificate' }
  if (token !== undefined) return { proof: { token }, by: 'azure.token_file' }
  return isMachine === true ? undefined : proofIn(env)
}

/** EnvironmentCredential and WorkloadIdentityCredential; an empty variable counts as unset. */
function proofIn(env: Environment): Proof {
  const { AZURE_CLIENT_SECRET: secret, AZURE_CLIENT_CERTIFICATE_PATH: certificate, AZURE_FEDERATED_TOKEN_FILE: token } = env
  if (secret) return { proof: { secret }, by: 'AZURE_CLIENT_SECRET' }
  if (certificate) return { proof: { certificate, password: env.AZURE_CLIENT_CERTIFICATE_PASSWORD }, by: 'AZURE_CLIENT_CERTIFICATE_PATH' }
  return token ? { proof: { token }, by: 'AZURE_FEDERATED_TOKEN_FILE' } : undefined
}

/** Addresses, headers and versions of @azure/msal-node 5.6.0 (ManagedIdentitySources/AppService and Imds). */
function machine(env: Environment, client: string | undefined): AzurePlace {
  const { IDENTITY_ENDPOINT: endpoint, IDENTITY_HEADER: key, IDENTITY_SERVER_THUMBPRINT: thumbprint } = env
  if (endpoint && thumbprint) return { missing: 'managed identities of Service Fabric are not supported' }
  if (endpoint && key) return { service: 'app-service', url: endpoint, header: ['X-IDENTITY-HEADER', key], version: '2019-08-01', client }
  if (endpoint) return { missing: 'managed identities of Azure Arc are not supported, expected IDENTITY_HEADER beside IDENTITY_ENDPOINT' }
  const host = (env.AZURE_POD_IDENTITY_AUTHORITY_HOST || 'http://169.254.169.254').replace(/\/+$/, '')
  return { service: 'imds', url: `${host}/metadata/identity/oauth2/token`, header: ['Metadata', 'true'], version: '2018-02-01', client }
}

/** @returns why there is no identity here, as far as that is seen without a call. */
export function azureProblem(settings: AzureSettings, env: Environment, isOwnMachine: boolean): string | undefined {
  const place = azurePlace(settings, env)
  if ('missing' in place) return place.missing
  if ('service' in place) {
    if (isOwnMachine || place.service === 'app-service' || env.AZURE_POD_IDENTITY_AUTHORITY_HOST) return undefined
    return 'nothing names an application, and this machine is none of Azure, expected AZURE_TENANT_ID and AZURE_CLIENT_ID with AZURE_CLIENT_SECRET, AZURE_CLIENT_CERTIFICATE_PATH or AZURE_FEDERATED_TOKEN_FILE'
  }
  const { proof, by } = place
  const file = 'certificate' in proof ? proof.certificate : 'token' in proof ? proof.token : undefined
  return file === undefined || isReadable(file) ? undefined : `the file ${file} cannot be read (${by})`
}

/** For `headgate check`. */
export function describeAzure(settings: AzureSettings, env: Environment): string {
  const place = azurePlace(settings, env)
  if ('missing' in place) return place.missing
  if ('service' in place) {
    const where = place.service === 'imds' ? 'this machine' : 'this App Service or container app'
    return `the managed identity ${place.client === undefined ? '' : `${place.client} `}of ${where}`
  }
  const { proof } = place
  const what =
    'secret' in proof ? 'a client secret' : 'certificate' in proof ? `the certificate ${proof.certificate}` : `the token in ${proof.token}`
  return `application ${place.client} of tenant ${place.tenant} at ${place.authority}, by ${what} (${place.by})`
}
