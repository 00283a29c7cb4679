/**
 * `${aws-kms:KEY#TEXT}`: a secret that a symmetric key of AWS KMS has encrypted. Operations and fields: npm @aws-sdk/client-kms 3.1164.0
 * (Encrypt, Decrypt), in the protocol AWS JSON 1.1.
 */
import type { JsonObject } from '../../core/json.ts'
import { awsKeys } from '../credentials/aws/chain.ts'
import { awsAnswer, awsEndpoint } from '../credentials/aws/service-call.ts'
import type { AwsKeys } from '../credentials/aws/sigv4.ts'
import { jsonObject } from '../credentials/identity-call.ts'
import { CredentialError } from '../credentials/types.ts'
import { secretRegion } from './aws.ts'
import { BOUND_TO, type KeyService } from './wrapped.ts'

const KMS = { title: 'AWS KMS', service: 'kms', variable: 'AWS_ENDPOINT_URL_KMS' } as const
/** Id, ARN, or alias of a key. */
const KEY = /^[A-Za-z0-9:/_-]{1,256}$/
const CONTEXT = { purpose: BOUND_TO }

export const awsKms: KeyService = {
  scheme: 'aws-kms',
  open: (place) => {
    const { env, clock } = place
    const keys = new Map<string, Promise<AwsKeys>>()
    const call = async (operation: string, key: string, input: JsonObject, signal: AbortSignal): Promise<JsonObject> => {
      if (!KEY.test(key)) throw new CredentialError('expected the ARN, the id or the alias of a key')
      const region = secretRegion(key, KMS, place)
      const known = keys.get(region) ?? awsKeys({ region })
      keys.set(region, known)
      const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `TrentService.${operation}` }
      const body = JSON.stringify({ KeyId: key, EncryptionContext: CONTEXT, ...input })
      const url = awsEndpoint(region, KMS, env)
      const answer = await awsAnswer({ service: KMS, region, url, keys: await known, headers, body }, signal, clock.now())
      return jsonObject(answer) ?? {}
    }
    return {
      decrypt: async (key, text, signal) => {
        const { Plaintext: secret } = await call('Decrypt', key, { CiphertextBlob: text.toString('base64') }, signal)
        return bytesIn(secret)
      },
      encrypt: async (key, secret, signal) => {
        const { CiphertextBlob: text } = await call('Encrypt', key, { Plaintext: secret.toString('base64') }, signal)
        return { key, text: bytesIn(text) }
      },
    }
  },
}

function bytesIn(field: unknown): Buffer {
  if (typeof field !== 'string' || field === '') throw new CredentialError('the answer of AWS KMS holds no text')
  return Buffer.from(field, 'base64')
}
