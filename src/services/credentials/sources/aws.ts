/** `credential: { aws: ... }`: keys of AWS from its standard chain, which sign each call (Signature Version 4). */
import { Type } from 'typebox'
import { asWritten, closed, line, secret } from '../../../config/fields/scalars.ts'
import { CredentialError, credentialSource, type FetchGrant, type Grant } from '../types.ts'

const settings = asWritten(
  closed(
    'Keys from the standard chain of AWS: the environment, a profile of the shared files (with SSO and `credential_process`), a web identity token (IRSA), the metadata of a container or of an instance.',
    {
      region: Type.String({
        description: 'Region of the endpoint, such as `us-east-1`: part of every signature, and where a role is assumed.',
        pattern: '^[a-z]{2}(-[a-z]+)+-[0-9]{1,2}$',
        expected: 'a region such as us-east-1',
      }),
      service: Type.Optional(
        Type.String({
          description: 'Service that signatures name. If unset: `bedrock`.',
          pattern: '^[a-z0-9-]{2,64}$',
          expected: 'the name of a service such as bedrock',
        }),
      ),
      profile: Type.Optional(line('Profile of the shared files. If unset: `AWS_PROFILE`, else `default`.', 256)),
      role: Type.Optional(
        Type.String({
          description: 'ARN of a role that is assumed with the keys of the chain.',
          pattern: '^arn:aws[a-z-]*:iam::[0-9]{12}:role/[\\w+=,.@/-]{1,512}$',
          expected: 'the ARN of a role such as arn:aws:iam::123456789012:role/headgate',
        }),
      ),
      external_id: Type.Optional(secret('External id that the trust policy of the role requires.', 2)),
      session_name: Type.Optional(
        Type.String({
          description: 'Name of the session, as CloudTrail shows it. If unset: `headgate`.',
          pattern: '^[\\w+=,.@-]{2,64}$',
          expected: '2 to 64 letters, digits and any of _+=,.@-',
        }),
      ),
    },
  ),
)

interface AwsIdentity {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
  readonly expiration?: Date | undefined
}

export const aws = credentialSource({
  name: 'aws',
  settings,
  signsBody: true,
  describe: ({ region, profile, role }, env) => {
    const chain = profile === undefined ? linkOf(env) : `profile ${profile} of the shared files`
    return `aws in ${region}: ${role === undefined ? chain : `role ${role}, assumed with ${chain}`}`
  },
  open: async ({
    region,
    service = 'bedrock',
    profile,
    role,
    external_id: externalId,
    session_name: session = 'headgate',
  }): Promise<FetchGrant> => {
    const { fromNodeProviderChain, fromTemporaryCredentials } = await import('@aws-sdk/credential-providers')
    const { Sigv4Signer } = await import('../aws/sigv4.ts')
    // The clients of the chain have a logger that writes to the console.
    const quiet = { trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
    const terms = {
      ...(profile === undefined ? {} : { profile }),
      clientConfig: { region, logger: quiet },
      logger: quiet,
      ignoreCache: true,
    }
    const chain = async () => fromNodeProviderChain(terms)({ forceRefresh: true })
    const fetchIdentity = (): Promise<AwsIdentity> =>
      role === undefined
        ? chain()
        : fromTemporaryCredentials({
            masterCredentials: chain,
            params: { RoleArn: role, RoleSessionName: session, ...(externalId === undefined ? {} : { ExternalId: externalId }) },
            clientConfig: { region, logger: quiet },
            logger: quiet,
          })()
    return async () => {
      const { accessKeyId, secretAccessKey, sessionToken, expiration } = await fetchIdentity().catch((error: unknown) => {
        throw new CredentialError(reasonOf(error))
      })
      const signer = new Sigv4Signer({ accessKeyId, secretAccessKey, sessionToken }, { region, service })
      return {
        expiresAt: expiration?.getTime(),
        secrets: [secretAccessKey, ...(sessionToken === undefined ? [] : [sessionToken])],
        headers: (call, now) => signer.headers(call, now),
      } satisfies Grant
    }
  },
})

/** Characters of a message that the log gets. */
const LONGEST_REASON = 200
/** What might be a key or a token. */
const OPAQUE = /[\w+/=.-]{30,}/g

/** The kind of an error of the SDK and its first line: further lines of a wrong signature quote the request with its session token. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'the chain failed'
  const [first = ''] = error.message.split('\n')
  return `${error.name}: ${first.replaceAll(OPAQUE, '…').slice(0, LONGEST_REASON)}`
}

/** The link of the chain that comes first with these variables, in the order of `@aws-sdk/credential-provider-node` 3.972.98. */
function linkOf(env: Readonly<Record<string, string | undefined>>): string {
  if (env.AWS_PROFILE) return `profile ${env.AWS_PROFILE} of the shared files (AWS_PROFILE)`
  if (env.AWS_ACCESS_KEY_ID && env.AWS_SECRET_ACCESS_KEY) return 'AWS_ACCESS_KEY_ID of the environment'
  const then = laterLink(env)
  return `profile default of the shared files, or else ${then}`
}

function laterLink(env: Readonly<Record<string, string | undefined>>): string {
  if (env.AWS_WEB_IDENTITY_TOKEN_FILE && env.AWS_ROLE_ARN) return `the web identity token for ${env.AWS_ROLE_ARN}`
  if (env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI || env.AWS_CONTAINER_CREDENTIALS_FULL_URI) return 'the metadata of the container'
  if (env.AWS_EC2_METADATA_DISABLED && env.AWS_EC2_METADATA_DISABLED !== 'false')
    return 'none: the metadata of the instance is switched off'
  return 'the metadata of the instance'
}
