/** Keys of AWS from its standard chain, fetched anew each time. The SDK reads the variables and files of the process itself. */
import { type ServiceConnections, serviceConnections } from '../../connections/service-connections.ts'
import { CredentialError, type FetchGrant, type Grant } from '../types.ts'
import { type AwsKeys, type AwsScope, Sigv4Signer } from './sigv4.ts'

export interface AwsSettings {
  /** Of the calls that are signed, and where a role is assumed. */
  readonly region: string
  readonly service?: string | undefined
  readonly profile?: string | undefined
  readonly role?: string | undefined
  readonly external_id?: string | undefined
  readonly session_name?: string | undefined
}

interface AwsIdentity extends AwsKeys {
  readonly expiration?: Date | undefined
}

/** The clients of the chain have a logger that writes to the console. */
const QUIET = { trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** @throws CredentialError */
export async function awsKeys(settings: AwsSettings, connections = serviceConnections): Promise<AwsIdentity> {
  const { fromNodeProviderChain, fromTemporaryCredentials } = await import('@aws-sdk/credential-providers')
  const { region, profile, role, external_id: externalId, session_name: session = 'headgate' } = settings
  // Options of `NodeHttpHandler` (npm @smithy/node-http-handler 4, `create`). Metadata of containers and instances is fetched past it, directly.
  const requestHandler = { httpAgent: connections.agent('http:'), httpsAgent: connections.agent('https:') }
  const client = { region, logger: QUIET, requestHandler }
  // The client of SSO takes the connections of `clientConfig` alone, whose region would come before that of a profile's SSO session (npm
  // @aws-sdk/credential-provider-sso 3.972.97, `resolveSSOCredentials`).
  const clients = { clientConfig: { logger: QUIET, requestHandler }, parentClientConfig: client }
  const terms = { ...(profile === undefined ? {} : { profile }), ...clients, logger: QUIET, ignoreCache: true }
  const chain = async () => fromNodeProviderChain(terms)({ forceRefresh: true })
  const params =
    role === undefined
      ? undefined
      : { RoleArn: role, RoleSessionName: session, ...(externalId === undefined ? {} : { ExternalId: externalId }) }
  const identity = params ? fromTemporaryCredentials({ masterCredentials: chain, params, clientConfig: client, logger: QUIET })() : chain()
  return await identity.catch((error: unknown) => {
    throw new CredentialError(errorReason(error))
  })
}

export function awsGrants(settings: AwsSettings, connections?: ServiceConnections): FetchGrant {
  const scope: AwsScope = { region: settings.region, service: settings.service ?? 'bedrock' }
  return async () => {
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = await awsKeys(settings, connections)
    const signer = new Sigv4Signer({ accessKeyId, secretAccessKey, sessionToken }, scope)
    return {
      expiresAt: expiration?.getTime(),
      secrets: [secretAccessKey, ...(sessionToken === undefined ? [] : [sessionToken])],
      headers: (call, now) => signer.headers(call, now),
    } satisfies Grant
  }
}

/** Characters of a message that the log gets. */
const MAX_REASON_LENGTH = 200
/** Pattern of a possible key or token. */
const OPAQUE = /[\w+/=.-]{30,}/g

/** The kind of an error of the SDK and its first line: further lines of a wrong signature quote the request with its session token. */
function errorReason(error: unknown): string {
  if (!(error instanceof Error)) return 'the chain failed'
  const [first = ''] = error.message.split('\n')
  return `${error.name}: ${first.replaceAll(OPAQUE, '…').slice(0, MAX_REASON_LENGTH)}`
}
