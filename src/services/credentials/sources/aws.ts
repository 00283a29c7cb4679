/** `credential: { aws: ... }`: keys of AWS from its standard chain, which sign each call (Signature Version 4). */
import { Type } from 'typebox'
import { asWritten, closed, line, secret } from '../../../config/fields/scalars.ts'
import { awsProblem, describeAws } from '../aws/place.ts'
import { credentialSource } from '../types.ts'

/** Settings of keys of AWS, of whatever they are for. */
export const awsFields = {
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
}

const settings = asWritten(
  closed(
    'Keys from the standard chain of AWS: the environment, a profile of the shared files (with SSO and `credential_process`), a web identity token (IRSA), the metadata of a container or of an instance.',
    awsFields,
  ),
)

export const aws = credentialSource({
  name: 'aws',
  settings,
  signsBody: true,
  describe: describeAws,
  problem: (written, env, belongsTo) => awsProblem(written, env, belongsTo('aws')),
  open: async (written, _env, connections) => {
    const { awsGrants } = await import('../aws/chain.ts')
    return awsGrants(written, connections)
  },
})
