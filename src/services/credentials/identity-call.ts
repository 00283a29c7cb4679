/**
 * One call of an identity service or of a manager of secrets: bounded, without redirects, and with errors that quote known words alone; and
 * a limit of time for what may not hear an abort signal everywhere.
 */
import type { IncomingHttpHeaders, IncomingMessage, RequestOptions } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Clock } from '../../core/clock.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { request as requestHttp } from '../../core/node-http.ts'
import { ConnectionFailure } from '../connections/connection-failure.ts'
import { type ServiceConnections, serviceConnections } from '../connections/service-connections.ts'
import { LONGEST } from './token-response.ts'
import { CredentialError } from './types.ts'

interface IdentityCall {
  /** Name of the service, for the log. */
  readonly service: string
  readonly url: string | URL
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Makes it a POST. */
  readonly form?: Readonly<Record<string, string>> | undefined
  /** Makes it a POST. */
  readonly json?: JsonObject | undefined
  /** Makes it a POST; its type is one of the headers. */
  readonly body?: string | undefined
  /** Header of the reply by which the service is known. */
  readonly proof?: readonly [name: string, value: string] | undefined
  /** Those of the provider that it is called for. */
  readonly connections?: ServiceConnections | undefined
  /** Bytes of the reply, at most; as many as a token may have where absent. */
  readonly longest?: number | undefined
}

/**
 * Words of errors that a log may show: RFC 6749 section 5.2, RFC 8693 section 2.2.2, `google.rpc.Code`, of Entra ID
 * `invalid_resource`, of Azure Key Vault (learn.microsoft.com/azure/key-vault/general/rest-error-codes), of Anthropic the types of errors (platform.claude.com, "Errors"), and of AWS the errors of reading secrets and parameters (npm @aws-sdk/client-secrets-manager 3.1164.0,
 * GetSecretValue; @aws-sdk/client-ssm 3.1169.0, GetParameter) and of KMS (@aws-sdk/client-kms 3.1164.0, Encrypt and Decrypt) beside those that all services have. Every other text may quote what was
 * sent.
 */
const WORDS = new Set(
  `invalid_request invalid_client invalid_grant unauthorized_client unsupported_grant_type invalid_scope invalid_target access_denied
  invalid_resource temporarily_unavailable server_error INVALID_ARGUMENT FAILED_PRECONDITION UNAUTHENTICATED PERMISSION_DENIED NOT_FOUND
  RESOURCE_EXHAUSTED UNAVAILABLE INTERNAL DecryptionFailure InternalServiceError InvalidParameterException InvalidRequestException
  ResourceNotFoundException InternalServerError InvalidKeyId DisabledException IncorrectKeyException InvalidCiphertextException InvalidKeyUsageException KeyUnavailableException
  KMSInternalException KMSInvalidStateException NotFoundException ParameterNotFound ParameterVersionNotFound AccessDeniedException
  ExpiredTokenException IncompleteSignatureException InvalidSignatureException MissingAuthenticationTokenException ThrottlingException
  UnrecognizedClientException ValidationException AccessDenied ExpiredToken InvalidClientTokenId SignatureDoesNotMatch Throttling
  OutboundWebIdentityFederationDisabledException invalid_request_error authentication_error permission_error not_found_error
  rate_limit_error api_error overloaded_error Forbidden KeyNotFound BadParameter Unauthorized Throttled`.split(/\s+/),
)

/** The body of a reply with status 200. */
export async function identityAnswer(call: IdentityCall, signal: AbortSignal): Promise<string> {
  const { service, headers, form, json, proof } = call
  const body = form ? new URLSearchParams(form).toString() : json ? JSON.stringify(json) : call.body
  const {
    status,
    headers: got,
    text,
  } = await exchange(
    call,
    {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json, text/plain;q=0.5',
        ...(form ? { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' } : {}),
        ...(json ? { 'content-type': 'application/json' } : {}),
        ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
        ...headers,
      },
      signal,
    },
    body,
  )
  if (status !== 200) throw new StatusError(`${service} replied with status ${status}${reasonIn(text)}`, status)
  if (proof && got[proof[0].toLowerCase()] !== proof[1]) throw new CredentialError(`${service} is not what answers there`)
  return text
}

/** A reply with another status than 200. */
export class StatusError extends CredentialError {
  readonly status: number | undefined

  constructor(message: string, status: number | undefined) {
    super(message)
    this.status = status
  }
}

export interface IdentityReply {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** The reply whatever its status is. @throws CredentialError where none comes, or one that is too long. */
export async function exchange(
  { service, url, connections = serviceConnections, longest = LONGEST }: Pick<IdentityCall, 'service' | 'url' | 'connections' | 'longest'>,
  options: RequestOptions,
  body: string | undefined,
): Promise<IdentityReply> {
  const target = new URL(url)
  const send = target.protocol === 'https:' ? requestHttps : requestHttp
  const reply = await new Promise<IncomingMessage>((resolve, reject) => {
    send(target, { ...options, agent: connections.agent(target.protocol) }, resolve)
      .on('error', reject)
      .end(body)
  }).catch((error: unknown) => {
    const { code, phase } = error as { code?: unknown; phase?: unknown }
    const known = error instanceof ConnectionFailure ? ` (${String(phase)}, ${String(code)})` : ''
    throw new CredentialError(`${service} cannot be reached${known}`)
  })
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of reply as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > longest) break
      chunks.push(chunk)
    }
  } catch {
    throw new CredentialError(`the reply of ${service} broke off`)
  }
  if (size > longest) throw new CredentialError(`the reply of ${service} is too long`)
  return { status: reply.statusCode, headers: reply.headers, text: Buffer.concat(chunks).toString('utf8') }
}

/** ` (invalid_client, AADSTS7000215)`, or nothing. */
function reasonIn(text: string): string {
  const body = jsonObject(text)
  // The query protocol of AWS has errors in XML.
  if (!body) return knownWord(/<Code>(\w{1,64})<\/Code>/.exec(text)?.[1])
  const { error, error_codes: codes, __type: type } = body
  // AWS may name the namespace of an error before it (Smithy, AWS JSON 1.1 protocol, "Operation error serialization").
  const word = typeof type === 'string' ? type.replace(/^.*#/, '') : isObject(error) ? (error.status ?? error.type ?? error.code) : error
  const words = typeof word === 'string' && WORDS.has(word) ? [word] : []
  const [code] = Array.isArray(codes) ? codes : []
  if (typeof code === 'number' && Number.isInteger(code) && code > 0 && code < 1e9) words.push(`AADSTS${code}`)
  return words.length > 0 ? ` (${words.join(', ')})` : ''
}

const knownWord = (word: string | undefined): string => (word !== undefined && WORDS.has(word) ? ` (${word})` : '')

/** Undefined for what is no object of JSON. */
export function jsonObject(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as Json
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The text of a file, such as a key or a projected token. @param what as the log names it. */
export async function fileText(path: string, what: string): Promise<string> {
  const { open } = await import('node:fs/promises')
  const handle = await open(path).catch(({ code }: NodeJS.ErrnoException) => {
    throw new CredentialError(`${what} cannot be read (${code ?? 'failed'})`)
  })
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(LONGEST + 1), 0, LONGEST + 1, 0)
    if (bytesRead > LONGEST) throw new CredentialError(`${what} is too long`)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}

interface TimeLimit {
  readonly clock: Clock
  readonly ms: number
  /** Error of the call when the time has passed. */
  late(): Error
}

/** Aborts the signal, and rejects, when the time has passed. */
export async function withinLimit<Result>({ clock, ms, late }: TimeLimit, run: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const controller = new AbortController()
  let expire = (): void => {}
  const expired = new Promise<never>((_, reject) => {
    expire = () => reject(late())
  })
  const timer = clock.after(ms, () => {
    expire()
    controller.abort()
  })
  try {
    return await Promise.race([run(controller.signal), expired])
  } finally {
    timer.cancel()
  }
}
