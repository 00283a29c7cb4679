/** `credential: { aws: ... }`: keys of AWS from its standard chain, which sign each call (Signature Version 4). */
import { Type } from 'typebox'
import { asWritten, closed, line, secret } from '../../../config/fields/scalars.ts'
import { credentialSource } from '../types.ts'

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

export const aws = credentialSource({
  name: 'aws',
  settings,
  signsBody: true,
  describe: ({ region, profile, role }, env) => {
    const chain = profile === undefined ? linkOf(env) : `profile ${profile} of the shared files`
    return `aws in ${region}: ${role === undefined ? chain : `role ${role}, assumed with ${chain}`}`
  },
  open: async (written, _env, connections) => {
    const { awsGrants } = await import('../aws/chain.ts')
    return awsGrants(written, connections)
  },
})

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
