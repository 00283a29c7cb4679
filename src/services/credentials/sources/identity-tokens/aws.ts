/** `identity_token: { aws: {...} }`: a token of AWS about the role that this gateway has (outbound web identity federation). */
import { Type } from 'typebox'
import { choiceField, closed } from '../../../../config/fields/scalars.ts'
import { awsProblem, describeAws } from '../../aws/place.ts'
import { awsFields } from '../aws.ts'
import { audienceField } from './audience.ts'
import { identityTokenSource } from './types.ts'

const { service: _service, region, ...chain } = awsFields

const settings = closed('A token of AWS STS (`GetWebIdentityToken`) about the role that the standard chain of AWS leads to.', {
  region: { ...region, description: 'Region whose STS is called; the global address of STS does not have the operation.' },
  ...chain,
  audience: audienceField(),
  algorithm: Type.Optional(choiceField('Algorithm of its signature. If unset: `ES384`.', ['ES384', 'RS256'])),
})

export const awsIdentity = identityTokenSource({
  name: 'aws',
  settings,
  describe: (written, env) => `a token of AWS STS, ${describeAws(written, env)}`,
  problem: (written, env, belongsTo) => awsProblem(written, env, belongsTo('aws')),
  open: async (written, { env, connections, audience }) => {
    const { awsWebIdentity } = await import('../../aws/web-identity.ts')
    return awsWebIdentity({ audience, ...written }, env, connections)
  },
})
