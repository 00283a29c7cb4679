/**
 * Key management services of the clouds, which encrypt for real and take what their SDKs send alone: AWS KMS (npm @aws-sdk/client-kms 3.1164.0),
 * Google Cloud KMS (npm @google-cloud/kms 6.3.0, its HTTP annotations) and Azure Key Vault (npm @azure/keyvault-keys 4.10.2).
 */
import { constants, createCipheriv, createDecipheriv, generateKeyPairSync, privateDecrypt, publicEncrypt, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Clock } from '../../../src/core/clock.ts'
import { startAws, USER, withVariables } from '../aws.ts'
import { type Answer, jsonAnswer, type Seen, startUpstream } from '../upstream.ts'
import { Azure, CLIENT, TENANT } from './azure.ts'
import { GoogleCloud } from './google.ts'
import { crc32c, HIDDEN } from './secret-stores.ts'

export interface KeyServiceStandIn {
  /** Two keys, as references name them. */
  readonly keys: readonly [one: string, two: string]
  /** Variables by which the gateway finds it and its identity. */
  readonly env: Record<string, string>
  /** Operations that were done. */
  readonly done: string[]
  /** Answer to every call, if set. */
  down: Answer | undefined
  /** Keys that the identity may not use. */
  readonly denied: Set<string>
  /** The word by which it denies that. */
  readonly denial: string
}

/** AES-256-GCM with the nonce in front. */
class Vault {
  private readonly keys = new Map<string, Buffer>()

  encrypt(key: string, plain: Buffer, bound: string): Buffer {
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', this.keyFor(key), nonce).setAAD(Buffer.from(bound))
    const text = Buffer.concat([cipher.update(plain), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), text])
  }

  /** Undefined where it was encrypted otherwise. */
  decrypt(key: string, text: Buffer, bound: string): Buffer | undefined {
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.keyFor(key), text.subarray(0, 12)).setAAD(Buffer.from(bound))
      decipher.setAuthTag(text.subarray(12, 28))
      return Buffer.concat([decipher.update(text.subarray(28)), decipher.final()])
    } catch {
      return undefined
    }
  }

  private keyFor(name: string): Buffer {
    const key = this.keys.get(name) ?? randomBytes(32)
    this.keys.set(name, key)
    return key
  }
}

const onlyHas = (seen: Seen, ...fields: string[]): boolean =>
  JSON.stringify(Object.keys(seen.json).sort()) === JSON.stringify([...fields].sort())
const bytes = (field: unknown): Buffer => Buffer.from(String(field), 'base64')

const ARN = 'arn:aws:kms:us-east-1:123456789012:key/'

export async function startAwsKms(t: Test, clock: Clock): Promise<KeyServiceStandIn> {
  const aws = await startAws(
    () => clock.now(),
    () => ({ status: 404 }),
  )
  withVariables(t, { AWS_ACCESS_KEY_ID: USER.accessKeyId, AWS_SECRET_ACCESS_KEY: USER.secretAccessKey })
  const vault = new Vault()
  const refused = (type: string): Answer =>
    jsonAnswer({ __type: type, message: HIDDEN }, 400, { 'content-type': 'application/x-amz-json-1.1' })
  const server = await startUpstream((seen) => {
    if (made.down) return made.down
    const operation = /^TrentService\.(Encrypt|Decrypt)$/.exec(String(seen.headers['x-amz-target']))?.[1]
    if (seen.method !== 'POST' || seen.path !== '/' || seen.headers['content-type'] !== 'application/x-amz-json-1.1' || !operation)
      return refused('UnknownOperationException')
    const refusal = aws.refusalFor(seen, { service: 'kms', region: 'us-east-1' })
    if (refusal) return refused(refusal.headers['x-amzn-errortype']?.replace(/:.*/, '') ?? '')
    const { KeyId: key, EncryptionContext: context, Plaintext: plain, CiphertextBlob: blob } = seen.json
    if (!onlyHas(seen, 'KeyId', 'EncryptionContext', operation === 'Encrypt' ? 'Plaintext' : 'CiphertextBlob'))
      return refused('SerializationException')
    if (made.denied.has(`aws-kms:${key}`)) return refused('AccessDeniedException')
    const bound = JSON.stringify(context)
    made.done.push(operation.toLowerCase())
    if (operation === 'Encrypt') {
      const text = vault.encrypt(String(key), bytes(plain), bound)
      return jsonAnswer({ CiphertextBlob: text.toString('base64'), KeyId: `${key}`, EncryptionAlgorithm: 'SYMMETRIC_DEFAULT' })
    }
    const opened = vault.decrypt(String(key), bytes(blob), bound)
    if (!opened) return refused('InvalidCiphertextException')
    return jsonAnswer({ Plaintext: opened.toString('base64'), KeyId: `${key}`, EncryptionAlgorithm: 'SYMMETRIC_DEFAULT' })
  })
  t.teardown(() => Promise.all([aws.close(), server.close()]))
  const made: KeyServiceStandIn = {
    keys: [`aws-kms:${ARN}1234abcd-12ab-34cd-56ef-1234567890ab`, `aws-kms:${ARN}4321abcd-12ab-34cd-56ef-1234567890ab`],
    env: { AWS_ENDPOINT_URL_KMS: server.url },
    done: [],
    down: undefined,
    denied: new Set(),
    denial: 'AWS KMS replied with status 400 (AccessDeniedException)',
  }
  return made
}

const RING = 'projects/acme/locations/europe-west3/keyRings/gateway/cryptoKeys/'

export async function startGoogleKms(t: Test, clock: Clock, directory: string): Promise<KeyServiceStandIn> {
  const google = await GoogleCloud.start(clock)
  const file = join(directory, 'account.json')
  writeFileSync(file, JSON.stringify(google.keyFile()))
  const vault = new Vault()
  const failed = (code: number, status: string): Answer => jsonAnswer({ error: { code, message: HIDDEN, status } }, code)
  const server = await startUpstream((seen) => {
    if (made.down) return made.down
    const [, key = '', operation] =
      /^\/v1\/(projects\/[^?:]+):(encrypt|decrypt)(?:\?\$alt=json%3Benum-encoding=int)?$/.exec(seen.path) ?? []
    if (seen.method !== 'POST' || operation === undefined) return failed(404, 'NOT_FOUND')
    if (google.tokenCaller(seen) === undefined) return failed(401, 'UNAUTHENTICATED')
    if (made.denied.has(`google-kms:${key}`)) return failed(403, 'PERMISSION_DENIED')
    const field = operation === 'encrypt' ? 'plaintext' : 'ciphertext'
    if (!onlyHas(seen, field, `${field}Crc32c`, 'additionalAuthenticatedData')) return failed(400, 'INVALID_ARGUMENT')
    const given = bytes(seen.json[field])
    if (seen.json[`${field}Crc32c`] !== String(crc32c(given))) return failed(400, 'INVALID_ARGUMENT')
    const bound = bytes(seen.json.additionalAuthenticatedData).toString()
    made.done.push(operation)
    if (operation === 'encrypt') {
      const text = vault.encrypt(key, given, bound)
      const sums = { ciphertextCrc32c: String(crc32c(text)), verifiedPlaintextCrc32c: true }
      return jsonAnswer({ name: `${key}/cryptoKeyVersions/1`, ciphertext: text.toString('base64'), ...sums, protectionLevel: 'SOFTWARE' })
    }
    const opened = vault.decrypt(key, given, bound)
    if (!opened) return failed(400, 'INVALID_ARGUMENT')
    return jsonAnswer({ plaintext: opened.toString('base64'), plaintextCrc32c: String(crc32c(opened)), usedPrimary: true })
  })
  t.teardown(() => Promise.all([google.server.close(), server.close()]))
  const made: KeyServiceStandIn = {
    keys: [`google-kms:${RING}one`, `google-kms:${RING}two`],
    env: { GOOGLE_APPLICATION_CREDENTIALS: file, CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS: `${server.url}/` },
    done: [],
    down: undefined,
    denied: new Set(),
    denial: 'Google Cloud KMS replied with status 403 (PERMISSION_DENIED)',
  }
  return made
}

export async function startAzureKeyVault(t: Test, clock: Clock): Promise<KeyServiceStandIn> {
  const azure = await Azure.start(clock)
  azure.resource = 'https://vault.azure.net'
  const pairs = Object.fromEntries(['one', 'two'].map((name) => [name, generateKeyPairSync('rsa', { modulusLength: 2048 })]))
  const padding = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }
  const failed = (status: number, code: string): Answer => jsonAnswer({ error: { code, message: HIDDEN } }, status)
  const server = await startUpstream((seen) => {
    if (made.down) return made.down
    const [, name = '', version, operation] =
      /^\/keys\/(\w+)(\/v1)?\/(wrapkey|unwrapkey)\?api-version=2025-07-01$/.exec(decodeURIComponent(seen.path)) ?? []
    const pair = pairs[name]
    if (seen.method !== 'POST' || !pair || (operation === 'unwrapkey' && version === undefined)) return failed(404, 'KeyNotFound')
    if (!azure.holds(String(seen.headers.authorization).replace('Bearer ', ''))) return failed(401, 'Unauthorized')
    const kid = `${server.url}/keys/${name}/v1`
    if (made.denied.has(`azure-keyvault-key:${kid}`)) return failed(403, 'Forbidden')
    if (!onlyHas(seen, 'alg', 'value') || seen.json.alg !== 'RSA-OAEP-256') return failed(400, 'BadParameter')
    const given = Buffer.from(String(seen.json.value), 'base64url')
    made.done.push(operation === 'wrapkey' ? 'encrypt' : 'decrypt')
    try {
      const value =
        operation === 'wrapkey'
          ? publicEncrypt({ key: pair.publicKey, ...padding }, given)
          : privateDecrypt({ key: pair.privateKey, ...padding }, given)
      return jsonAnswer({ kid, value: value.toString('base64url') })
    } catch {
      return failed(400, 'BadParameter')
    }
  })
  t.teardown(() => Promise.all([azure.server.close(), server.close()]))
  const { secret: AZURE_CLIENT_SECRET, url: AZURE_AUTHORITY_HOST } = azure
  const made: KeyServiceStandIn = {
    keys: [`azure-keyvault-key:${server.url}/keys/one/v1`, `azure-keyvault-key:${server.url}/keys/two/v1`],
    env: { AZURE_TENANT_ID: TENANT, AZURE_CLIENT_ID: CLIENT, AZURE_CLIENT_SECRET, AZURE_AUTHORITY_HOST },
    done: [],
    down: undefined,
    denied: new Set(),
    denial: 'Azure Key Vault replied with status 403 (Forbidden)',
  }
  return made
}
