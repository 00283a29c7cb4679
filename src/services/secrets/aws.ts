/**
 * `${aws-secretsmanager:NAME#FIELD}` and `${aws-parameterstore:NAME#FIELD}`: a secret of AWS Secrets Manager and a parameter of Systems
 * Manager, by name or ARN, with the keys of AWS's standard chain. The names before the colon are those of Spring Cloud AWS 3
 * (`SecretsManagerConfigDataLocationResolver`, `ParameterStoreConfigDataLocationResolver`). Operations and fields: npm
 * @aws-sdk/client-secrets-manager 3.1164.0 (GetSecretValue), @aws-sdk/client-ssm 3.1169.0 (GetParameter), in the protocol AWS JSON 1.1.
 */
import { asString, isObject, type JsonObject } from '../../core/json.ts'
import { awsKeys } from '../credentials/aws/chain.ts'
import { type AwsService, awsAnswer, awsEndpoint, REGION } from '../credentials/aws/service-call.ts'
import type { AwsKeys } from '../credentials/aws/sigv4.ts'
import { jsonObject } from '../credentials/identity-call.ts'
import { CredentialError } from '../credentials/types.ts'
import { MAX_REPLY_LENGTH, nameAndField, secretPart, withinTime } from './cloud.ts'
import type { SecretPlace, SecretSource } from './types.ts'

interface SecretService extends AwsService {
  readonly target: string
  input(name: string): JsonObject
  /** Undefined where the reply holds no text. */
  textIn(reply: JsonObject): string | undefined
}

export const awsSecrets = createSource('aws-secretsmanager', {
  title: 'AWS Secrets Manager',
  service: 'secretsmanager',
  variable: 'AWS_ENDPOINT_URL_SECRETS_MANAGER',
  target: 'secretsmanager.GetSecretValue',
  input: (name) => ({ SecretId: name }),
  textIn: ({ SecretString: text, SecretBinary: bytes }) =>
    asString(text) ?? (typeof bytes === 'string' ? Buffer.from(bytes, 'base64').toString('utf8') : undefined),
})

export const awsParameters = createSource('aws-parameterstore', {
  title: 'AWS Systems Manager',
  service: 'ssm',
  variable: 'AWS_ENDPOINT_URL_SSM',
  target: 'AmazonSSM.GetParameter',
  input: (name) => ({ Name: name, WithDecryption: true }),
  textIn: ({ Parameter: parameter }) => (isObject(parameter) ? asString(parameter.Value) : undefined),
})

function createSource(scheme: string, service: SecretService): SecretSource {
  return {
    scheme,
    open: (place) => {
      const keys = new Map<string, Promise<AwsKeys>>()
      const keysFor = (region: string): Promise<AwsKeys> => {
        const known = keys.get(region) ?? awsKeys({ region })
        keys.set(region, known)
        return known
      }
      return async (reference) => {
        const { name, field } = nameAndField(reference)
        const region = secretRegion(name, service, place)
        const url = awsEndpoint(region, service, place.env)
        const text = await withinTime(
          place,
          async (signal) => await fetchSecret(service, { name, region, url, keys: await keysFor(region), signal, place }),
        )
        if (text === undefined) throw new Error('there is no text in it')
        return secretPart(text, field)
      }
    },
  }
}

interface Call {
  readonly name: string
  readonly region: string
  readonly url: string
  readonly keys: AwsKeys
  readonly signal: AbortSignal
  readonly place: SecretPlace
}

async function fetchSecret(service: SecretService, { name, region, url, keys, signal, place }: Call): Promise<string | undefined> {
  const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': service.target }
  const body = JSON.stringify(service.input(name))
  const call = { service, region, url, keys, headers, body, longest: MAX_REPLY_LENGTH }
  const reply = jsonObject(await awsAnswer(call, signal, place.clock.now()))
  return reply && service.textIn(reply)
}

/** An ARN is `arn:PARTITION:SERVICE:REGION:ACCOUNT:…`. */
export function secretRegion(name: string, { service }: Pick<AwsService, 'service'>, { env }: Pick<SecretPlace, 'env'>): string {
  if (name === '') throw new CredentialError('expected a name or an ARN')
  if (name.startsWith('arn:')) {
    const [, , its, region] = name.split(':')
    if (its !== service || !region || !REGION.test(region)) throw new CredentialError(`expected an ARN of ${service} with its region`)
    return region
  }
  const region = env.AWS_REGION || env.AWS_DEFAULT_REGION
  if (!region) throw new CredentialError('neither AWS_REGION nor the ARN names a region')
  if (!REGION.test(region)) throw new CredentialError('AWS_REGION is no region such as us-east-1')
  return region
}
