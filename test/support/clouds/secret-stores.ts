/**
 * Managers of secrets as the clouds have them, strict about what they are sent: AWS Secrets Manager and Systems Manager (AWS JSON 1.1;
 * npm @aws-sdk/client-secrets-manager 3.1164.0 and @aws-sdk/client-ssm 3.1169.0, models), and Google Secret Manager
 * (`google/cloud/secretmanager/v1` of npm @google-cloud/secret-manager 7.2.0, with its HTTP annotations).
 */
import type { Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Aws } from '../aws.ts'
import { type Answer, jsonAnswer, type Seen, startUpstream, type Upstream } from '../upstream.ts'
import type { GoogleCloud } from './google.ts'

/** Shown in messages of errors, as a service might quote what it has. */
export const HIDDEN = 'sk-hidden-in-a-message'

export interface AwsManager {
  readonly server: Upstream
  /** Replies by the name or the ARN that is asked for. */
  readonly secrets: Map<string, JsonObject>
  readonly parameters: Map<string, string>
  /** Names that the identity may not read. */
  readonly denied: Set<string>
  /** Answer to every call, if set. */
  down: Answer | undefined
  region: string
  /** Regions and services of the calls that were answered. */
  readonly calls: string[]
}

interface Operation {
  readonly service: string
  /** Required and optional fields of the input. */
  readonly fields: readonly string[]
  answer(input: JsonObject): Answer
}

const refused = (type: string, message: string): Answer =>
  jsonAnswer({ __type: type, Message: `${message} ${HIDDEN}` }, 400, { 'content-type': 'application/x-amz-json-1.1' })

export async function startAwsManager(t: Test, aws: Aws): Promise<AwsManager> {
  const operations: Record<string, Operation> = {
    'secretsmanager.GetSecretValue': {
      service: 'secretsmanager',
      fields: ['SecretId', 'VersionId', 'VersionStage'],
      answer: ({ SecretId: id }) => {
        if (typeof id !== 'string' || id === '') return refused('InvalidParameterException', 'SecretId')
        if (made.denied.has(id)) return refused('AccessDeniedException', 'is not authorized to perform: secretsmanager:GetSecretValue')
        const secret = made.secrets.get(id)
        if (!secret) return refused('ResourceNotFoundException', "Secrets Manager can't find the specified secret.")
        return jsonAnswer({
          ARN: `arn:aws:secretsmanager:x:1:secret:${id}`,
          Name: id,
          VersionId: 'v',
          VersionStages: ['AWSCURRENT'],
          ...secret,
        })
      },
    },
    'AmazonSSM.GetParameter': {
      service: 'ssm',
      fields: ['Name', 'WithDecryption'],
      answer: ({ Name: name, WithDecryption: decrypts }) => {
        const value = made.parameters.get(String(name))
        if (value === undefined) return refused('ParameterNotFound', '')
        // Without it a SecureString comes as it is stored.
        const Value = decrypts === true ? value : 'AQICAHh-encrypted'
        return jsonAnswer({ Parameter: { Name: name ?? '', Type: 'SecureString', Value, Version: 1, DataType: 'text' } })
      },
    },
  }
  const answer = (seen: Seen): Answer => {
    if (made.down) return made.down
    const operation = operations[`${seen.headers['x-amz-target']}`]
    if (seen.method !== 'POST' || seen.path !== '/' || seen.headers['content-type'] !== 'application/x-amz-json-1.1' || !operation)
      return refused('UnknownOperationException', '')
    const refusal = aws.refusalFor(seen, { service: operation.service, region: made.region })
    if (refusal) return refused(refusal.headers['x-amzn-errortype']?.replace(/:.*/, '') ?? '', JSON.stringify(refusal.body))
    const input = seen.json
    if (Object.keys(input).some((name) => !operation.fields.includes(name))) return refused('SerializationException', 'a field')
    made.calls.push(`${operation.service} ${made.region}`)
    return operation.answer(input)
  }
  const server = await startUpstream(answer)
  t.teardown(() => server.close())
  const made: AwsManager = {
    server,
    secrets: new Map(),
    parameters: new Map(),
    denied: new Set(),
    down: undefined,
    region: 'us-east-1',
    calls: [],
  }
  return made
}

export interface GoogleManager {
  readonly server: Upstream
  /** Secrets by the name of their version. */
  readonly versions: Map<string, Buffer>
  /** Accounts that may read them. */
  readonly readers: Set<string>
  /** Added to each checksum. */
  damage: number
  down: Answer | undefined
}

export async function startGoogleManager(t: Test, google: GoogleCloud): Promise<GoogleManager> {
  const failed = (code: number, status: string): Answer =>
    jsonAnswer({ error: { code, message: `${status} ${HIDDEN}`, status, details: [] } }, code)
  const server = await startUpstream((seen) => {
    if (made.down) return made.down
    const name = /^\/v1\/(projects\/[^/?]+(?:\/locations\/[^/?]+)?\/secrets\/[^/?]+\/versions\/[^/?:]+):access$/.exec(seen.path)?.[1]
    if (seen.method !== 'GET' || seen.body !== '' || name === undefined) return failed(404, 'NOT_FOUND')
    const caller = google.tokenCaller(seen)
    if (caller === undefined) return failed(401, 'UNAUTHENTICATED')
    const data = made.versions.get(name)
    if (!made.readers.has(caller)) return failed(403, 'PERMISSION_DENIED')
    if (!data) return failed(404, 'NOT_FOUND')
    return jsonAnswer({ name, payload: { data: data.toString('base64'), dataCrc32c: String(crc32c(data) + made.damage) } })
  })
  t.teardown(() => server.close())
  const made: GoogleManager = { server, versions: new Map(), readers: new Set(), damage: 0, down: undefined }
  return made
}

/** By a table, RFC 3720 appendix B.4: `123456789` gives 0xe3069283. */
export function crc32c(bytes: Buffer): number {
  let sum = 0xffffffff
  for (const byte of bytes) sum = (sum >>> 8) ^ (TABLE[(sum ^ byte) & 0xff] ?? 0)
  return (sum ^ 0xffffffff) >>> 0
}

const TABLE = Array.from({ length: 256 }, (_, byte) => {
  let entry = byte
  for (let bit = 0; bit < 8; bit++) entry = entry & 1 ? (entry >>> 1) ^ 0x82f63b78 : entry >>> 1
  return entry >>> 0
})
