/**
 * Tokens by which AWS says to another service which role this is: GetWebIdentityToken of STS, in the query protocol, as npm @aws-sdk/client-sts
 * 3.1177.0 sends it. The global address of STS does not have the operation (docs.aws.amazon.com/STS, API_GetWebIdentityToken).
 */
import { type ServiceConnections, serviceConnections } from '../../connections/service-connections.ts'
import { readToken } from '../token-response.ts'
import { CredentialError, type Environment, type FetchToken } from '../types.ts'
import { type AwsSettings, awsKeys } from './chain.ts'
import { awsAnswer, awsEndpoint } from './service-call.ts'

const STS = { title: 'AWS STS', service: 'sts', variable: 'AWS_ENDPOINT_URL_STS' } as const
/** Seconds: the default of the operation. The token is exchanged at once. */
const LIFE = 300

export type WebIdentitySettings = Omit<AwsSettings, 'service'> & {
  readonly audience: string
  readonly algorithm?: 'ES384' | 'RS256' | undefined
}

export function awsWebIdentity(settings: WebIdentitySettings, env: Environment, connections?: ServiceConnections): FetchToken {
  const { region, audience, algorithm = 'ES384' } = settings
  return async (signal, now) => {
    const keys = await awsKeys(settings, connections ?? serviceConnections)
    const body = new URLSearchParams({
      Action: 'GetWebIdentityToken',
      Version: '2011-06-15',
      'Audience.member.1': audience,
      SigningAlgorithm: algorithm,
      DurationSeconds: String(LIFE),
    }).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const url = awsEndpoint(region, STS, env)
    const answer = await awsAnswer({ service: STS, region, url, keys, headers, body, connections }, signal, now)
    // Letters of a JWT alone, which XML has no escapes for.
    const token = /<WebIdentityToken>\s*([\w.-]+)\s*<\/WebIdentityToken>/.exec(answer)?.[1]
    if (token === undefined) throw new CredentialError('the answer of AWS STS holds no token')
    return readToken(token, now)
  }
}
