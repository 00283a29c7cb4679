/**
 * `${google-kms:KEY#TEXT}`: a secret that a symmetric key of Google Cloud KMS has encrypted. Operations and fields: npm @google-cloud/kms 6.3.0
 * (Encrypt and Decrypt of `google/cloud/kms/v1/service.proto`, with its HTTP annotations).
 */
import type { JsonObject } from '../../core/json.ts'
import { googleGrants } from '../credentials/google/fetch.ts'
import { identityAnswer, jsonObject } from '../credentials/identity-call.ts'
import { CredentialError, type Grant } from '../credentials/types.ts'
import { crc32c } from './crc32c.ts'
import { grantHeaders } from './google.ts'
import { BOUND_TO, type KeyService } from './wrapped.ts'

const KEY = /^projects\/[a-z0-9.:-]{1,64}\/locations\/[a-z0-9-]{1,40}\/keyRings\/[A-Za-z0-9_-]{1,63}\/cryptoKeys\/[A-Za-z0-9_-]{1,63}$/
const VARIABLE = 'CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS'

export const googleKms: KeyService = {
  scheme: 'google-kms',
  open: ({ env, clock }) => {
    let grant: Promise<Grant> | undefined
    const call = async (operation: string, key: string, input: JsonObject, signal: AbortSignal): Promise<JsonObject> => {
      if (!KEY.test(key)) throw new CredentialError('expected a key as projects/P/locations/L/keyRings/R/cryptoKeys/K')
      const base = env[VARIABLE] || 'https://cloudkms.googleapis.com'
      const url = URL.parse(`${base.replace(/\/+$/, '')}/v1/${key}:${operation}`)
      if (!url) throw new CredentialError(`${VARIABLE} is no address`)
      grant ??= googleGrants({}, env)(signal, clock.now())
      const headers = grantHeaders(await grant, url, clock.now())
      const json = { additionalAuthenticatedData: Buffer.from(BOUND_TO).toString('base64'), ...input }
      return jsonObject(await identityAnswer({ service: 'Google Cloud KMS', url, headers, json }, signal)) ?? {}
    }
    return {
      decrypt: async (key, text, signal) => {
        const input = { ciphertext: text.toString('base64'), ciphertextCrc32c: String(crc32c(text)) }
        const { plaintext, plaintextCrc32c: sum } = await call('decrypt', key, input, signal)
        return checkedBytes(plaintext, sum)
      },
      encrypt: async (key, secret, signal) => {
        const input = { plaintext: secret.toString('base64'), plaintextCrc32c: String(crc32c(secret)) }
        const { ciphertext, ciphertextCrc32c: sum, verifiedPlaintextCrc32c: isWhole } = await call('encrypt', key, input, signal)
        if (isWhole !== true) throw new CredentialError('the secret reached Google Cloud KMS damaged')
        return { key, text: checkedBytes(ciphertext, sum) }
      },
    }
  },
}

/** @param sum a 64-bit number, which JSON has as a text. */
function checkedBytes(field: unknown, sum: unknown): Buffer {
  if (typeof field !== 'string' || field === '') throw new CredentialError('the answer of Google Cloud KMS holds no text')
  const bytes = Buffer.from(field, 'base64')
  if (sum !== undefined && String(sum) !== String(crc32c(bytes)))
    throw new CredentialError('the answer of Google Cloud KMS came damaged: its checksum differs')
  return bytes
}
