/**
 * The one error value and the one table it is made from.
 * A fault's `code` doubles as a metric label; `type` is the wire's `error_type`.
 */
import { type CodeForm, codeIn } from './error-codes.ts'
import type { JsonObject } from './json.ts'
import { retryHeaders } from './retry-after.ts'

export type Origin = 'client' | 'gateway' | 'upstream'
/**
 * never: return it; same: this endpoint may be called again after a pause; at once: this endpoint may be called again without
 * one; next: another endpoint may do better; elsewhere: an endpoint at another provider may do better.
 */
export type RetryClass = 'never' | 'same' | 'at once' | 'next' | 'elsewhere'
/** Party that can remedy the fault. `operator`: the gateway's account at the provider. */
type Blame = 'caller' | 'operator' | 'provider' | 'gateway'
/**
 * Effect of a fault on the health of its endpoint. no: none. key: it counts for the caller's key, and for others by the rules of
 * `src/routing/endpoint-record.ts`. all: it counts for every key at once, since the connection itself failed.
 */
type Counting = 'no' | 'key' | 'all'

interface FaultRow {
  status: number
  type: string
  message: string
  origin: Origin
  retry: RetryClass
  blame: Blame
  counts: Counting
}

/** @param more where it is not as usual: what is not retried is the caller's; every other fault of a provider is its own, and counts. */
function row(
  status: number,
  type: string,
  message: string,
  origin: Origin,
  retry: RetryClass,
  more: { blame?: Blame; counts?: Counting } = {},
): FaultRow {
  const usual = origin === 'client' ? 'caller' : origin === 'gateway' ? 'gateway' : retry === 'never' ? 'caller' : 'provider'
  const { blame = usual, counts = origin === 'upstream' && blame !== 'caller' ? 'key' : 'no' } = more
  return { status, type, message, origin, retry, blame, counts }
}

const OPERATOR = { blame: 'operator' } as const

export const FAULTS = {
  // the caller's request
  bad_request: row(400, 'invalid_request', 'Invalid request parameters', 'client', 'never'),
  context_length: row(400, 'context_length_exceeded', 'The request exceeds the context window of the model', 'client', 'never'),
  missing_key: row(401, 'authentication', 'Missing Authentication header', 'client', 'never'),
  invalid_key: row(401, 'authentication', 'Invalid API key', 'client', 'never'),
  no_credit: row(402, 'payment_required', 'Insufficient credits', 'client', 'never'),
  forbidden: row(403, 'permission_denied', 'This key may not do that', 'client', 'never'),
  management_only: row(403, 'permission_denied', 'Only management keys can perform this operation', 'client', 'never'),
  guardrail_blocked: row(403, 'permission_denied', 'Request blocked by guardrail', 'client', 'never'),
  not_found: row(404, 'not_found', 'Resource not found', 'client', 'never'),
  model_not_found: row(404, 'not_found', 'No such model', 'client', 'never'),
  no_endpoints: row(404, 'not_found', 'No endpoint can serve this request', 'client', 'never'),
  method_not_allowed: row(405, 'invalid_request', 'Method not allowed', 'client', 'never'),
  client_timeout: row(408, 'timeout', 'The request was not received in time', 'client', 'never'),
  deadline: row(408, 'timeout', 'Operation timed out', 'gateway', 'never'),
  conflict: row(409, 'invalid_request', 'Resource conflict', 'client', 'never'),
  too_large: row(413, 'payload_too_large', 'Request payload too large', 'client', 'never'),
  uri_too_long: row(414, 'invalid_request', 'Request target too long', 'client', 'never'),
  media_type: row(415, 'invalid_request', 'Unsupported media type', 'client', 'never'),
  unprocessable: row(422, 'unprocessable', 'Invalid argument', 'client', 'never'),
  upgrade_required: row(426, 'invalid_request', 'Upgrade required', 'client', 'never'),
  rate_limited: row(429, 'rate_limit_exceeded', 'Rate limit exceeded', 'client', 'never'),
  headers_too_large: row(431, 'invalid_request', 'Request headers too large', 'client', 'never'),
  // ourselves
  internal: row(500, 'server', 'Internal Server Error', 'gateway', 'never'),
  unavailable: row(503, 'provider_overloaded', 'Service temporarily unavailable', 'gateway', 'never'),
  exhausted: row(503, 'provider_overloaded', 'The gateway cannot open more connections', 'gateway', 'never'),
  shutdown: row(503, 'provider_overloaded', 'The gateway is shutting down', 'gateway', 'never'),
  client_gone: row(499, 'unmapped', 'The client closed the connection', 'client', 'never'),
  // a provider; its own sentence reaches the caller only through pipeline/refusal/callers-view.ts
  upstream_rejected: row(400, 'invalid_request', 'Provider rejected the request', 'upstream', 'never'),
  upstream_context: row(400, 'context_length_exceeded', 'The request exceeds the context window of the model', 'upstream', 'never'),
  upstream_policy: row(400, 'content_policy_violation', 'Provider refused the content', 'upstream', 'never'),
  upstream_conflict: row(409, 'invalid_request', 'Provider reports a conflict', 'upstream', 'never'),
  upstream_unprocessable: row(422, 'unprocessable', 'Provider rejected the request', 'upstream', 'never'),
  upstream_too_large: row(413, 'payload_too_large', 'Provider refused the payload as too large', 'upstream', 'never'),
  upstream_unfit: row(400, 'invalid_request', 'Provider rejected the request', 'upstream', 'elsewhere', { blame: 'caller' }),
  upstream_item_missing: row(404, 'not_found', 'Provider does not know an id of the request', 'upstream', 'next', { blame: 'caller' }),
  // the gateway's account at a provider; the caller reads its name in place of "the provider" (`accountFault`)
  upstream_auth: row(502, 'provider_unavailable', "The provider refused the gateway's key", 'upstream', 'next', OPERATOR),
  upstream_rights: row(
    502,
    'provider_unavailable',
    "The provider does not let the gateway's account do this",
    'upstream',
    'next',
    OPERATOR,
  ),
  upstream_credit: row(502, 'provider_unavailable', "The gateway's account at the provider is out of credit", 'upstream', 'next', OPERATOR),
  upstream_account: row(502, 'provider_unavailable', "The gateway's account at the provider cannot be used", 'upstream', 'next', OPERATOR),
  upstream_quota: row(
    502,
    'provider_unavailable',
    "The request is larger than the gateway's account at the provider may send in a minute",
    'upstream',
    'next',
    { ...OPERATOR, counts: 'no' },
  ),
  upstream_region: row(502, 'provider_unavailable', "The provider does not serve the gateway's region", 'upstream', 'next', {
    ...OPERATOR,
    counts: 'no',
  }),
  // a provider that fails
  upstream_missing: row(404, 'not_found', 'The model is not available at the provider', 'upstream', 'next'),
  upstream_limited: row(429, 'rate_limit_exceeded', 'Provider rate limit exceeded', 'upstream', 'next', { counts: 'no' }),
  upstream_error: row(502, 'provider_unavailable', 'Provider returned error', 'upstream', 'next'),
  upstream_connect: row(502, 'provider_unavailable', 'Provider could not be reached', 'upstream', 'same', { counts: 'all' }),
  upstream_dns: row(502, 'provider_unavailable', "The provider's name could not be resolved", 'upstream', 'next', { counts: 'all' }),
  upstream_tls: row(502, 'provider_unavailable', 'No secure connection to the provider could be made', 'upstream', 'next', {
    counts: 'all',
  }),
  upstream_proxy: row(502, 'provider_unavailable', 'The proxy in front of the provider refused the connection', 'upstream', 'next', {
    counts: 'all',
  }),
  upstream_cut: row(502, 'provider_unavailable', 'Provider closed the connection early', 'upstream', 'next'),
  upstream_garbled: row(502, 'provider_unavailable', 'Provider returned an unreadable answer', 'upstream', 'next'),
  upstream_empty: row(502, 'provider_unavailable', 'Provider returned an empty answer', 'upstream', 'next'),
  upstream_silent: row(524, 'timeout', 'Request timed out: the provider did not answer in time', 'upstream', 'next'),
  // the credential that the gateway fetches for a provider: another endpoint may serve, so the request goes on as after its faults
  credential_unavailable: row(500, 'server', 'The gateway has no valid credential for the provider', 'upstream', 'next', { counts: 'no' }),
  credential_refused: row(502, 'provider_unavailable', "The provider refused the gateway's credential", 'upstream', 'next', OPERATOR),
  // limits of the operator's on a reply that still arrives: the provider has not failed
  upstream_overlong: row(524, 'timeout', 'Request timed out: the answer took longer than is allowed', 'upstream', 'next', { counts: 'no' }),
  upstream_oversized: row(502, 'provider_unavailable', 'Provider returned an answer larger than is allowed', 'upstream', 'next', {
    counts: 'no',
  }),
  upstream_overloaded: row(529, 'provider_overloaded', 'Provider returned error', 'upstream', 'next'),
} as const satisfies Record<string, FaultRow>

export type FaultCode = keyof typeof FAULTS

export interface FaultOptions {
  message?: string | undefined
  metadata?: JsonObject | undefined
  /** Additive object of the wire: why nothing could serve (docs/contract.md#errors). */
  availability?: JsonObject | undefined
  /** Seconds the caller should wait. */
  retryAfter?: number | undefined
  /** HTTP status that the provider's error body states, where that is not the status of its reply. */
  providerStatus?: number | undefined
  /** The provider refuses reasoning of earlier turns that is sent back to it: without it the request may do. */
  refusesReasoning?: boolean | undefined
  /** The provider's own sentence, as it came. */
  sentence?: string | undefined
  /** The words of it that decided the code, where these are not the caller's to answer for. */
  evidence?: string | undefined
  /** The evidence stands in the request itself: it is held against nothing. */
  isEchoed?: boolean | undefined
  /** Reads the error again without a passage of its sentence. */
  without?: ((passage: string) => Fault) | undefined
  headers?: Readonly<Record<string, string>> | undefined
  /** Of a connection: one word for why it failed, such as `untrusted_authority`. Not for callers. */
  reason?: string | undefined
  /** In place of the one that the table has for the code. */
  retry?: RetryClass
  cause?: unknown
}

export class Fault extends Error {
  readonly code: FaultCode
  readonly status: number
  readonly type: string
  readonly origin: Origin
  readonly retry: RetryClass
  metadata: JsonObject | undefined
  readonly availability: JsonObject | undefined
  readonly retryAfter: number | undefined
  readonly providerStatus: number | undefined
  readonly refusesReasoning: boolean
  readonly isEchoed: boolean
  /** Private, so that nothing which writes down an error's members has them. */
  readonly #sentence: string | undefined
  readonly #evidence: string | undefined
  readonly #without: FaultOptions['without']
  headers: Readonly<Record<string, string>> | undefined
  readonly reason: string | undefined

  constructor(code: FaultCode, options: FaultOptions = {}) {
    super(options.message ?? FAULTS[code].message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.status = FAULTS[code].status
    this.type = FAULTS[code].type
    this.origin = FAULTS[code].origin
    this.retry = options.retry ?? FAULTS[code].retry
    this.metadata = options.metadata
    this.availability = options.availability && { ...options.availability, docs_url: options.availability.docs_url ?? DOCS_URL }
    this.retryAfter = options.retryAfter
    this.providerStatus = options.providerStatus
    this.refusesReasoning = options.refusesReasoning === true
    this.isEchoed = options.isEchoed === true
    this.#sentence = options.sentence
    this.#evidence = options.evidence
    this.#without = options.without
    this.headers = options.headers
    this.reason = options.reason
  }

  /** The provider's own sentence, unchanged: it may contain keys, and text that does not belong to the caller. */
  get sentence(): string | undefined {
    return this.#sentence
  }

  /** The words of the sentence that say who is to blame; undefined where the caller is, or where no words of a sentence decided. */
  get evidence(): string | undefined {
    return this.#evidence
  }

  /** The error as it reads without a passage of its sentence. */
  without(passage: string): Fault | undefined {
    return this.#without?.(passage)
  }

  /** The same fault with other facts. */
  with(changes: FaultOptions): Fault {
    const { message, metadata, availability, retryAfter, providerStatus, refusesReasoning, headers, reason, retry, cause, isEchoed } = this
    const kept = { message, metadata, availability, retryAfter, providerStatus, refusesReasoning, headers, reason, retry, cause, isEchoed }
    return new Fault(this.code, { ...kept, sentence: this.#sentence, evidence: this.#evidence, without: this.#without, ...changes })
  }
}

/** True where a provider refuses a request as wrong: it has done nothing for it, and has not failed. */
export function isRejection({ code, origin }: Fault): boolean {
  return origin === 'upstream' && FAULTS[code].blame === 'caller'
}

/** True where a provider refuses the gateway's own account there: another request of the kind is refused as well. */
export function isAccountFault({ code }: Fault): boolean {
  return FAULTS[code].blame === 'operator'
}

/**
 * Fault that the caller reads where a provider refuses the gateway's account: it names the provider and the party that can remedy it. The
 * provider's own sentence is for the operator.
 * @returns undefined where the account is not at fault.
 */
export function accountFault(fault: Fault, provider: string): Fault | undefined {
  if (!isAccountFault(fault)) return undefined
  const { code, metadata, retryAfter, providerStatus, headers, isEchoed } = fault
  const message = FAULTS[code].message.replace(/\bthe provider\b/i, () => provider)
  return new Fault(code, { message, metadata, retryAfter, providerStatus, headers, isEchoed })
}

/** `docs_url` of every `availability` that names no page of its own: the gateway's page that explains the codes. `absoluteDocs` puts the address in front. */
const DOCS_URL = '/docs/schemas#Error'

/** Makes the link of a fault to the documents absolute. @param publicUrl the origin and path that callers know, where it is configured. */
export function absoluteDocs(fault: Fault, publicUrl: string | undefined): Fault {
  const { availability } = fault
  if (publicUrl !== undefined && availability?.docs_url === DOCS_URL) availability.docs_url = publicUrl + DOCS_URL
  return fault
}

/** A model slug, or a preset within one, that names nothing. @param near slugs that may have been meant. */
export function unknownModel(slug: string, near: readonly string[] = [], message = noSuchModel(slug, near)): Fault {
  return new Fault('model_not_found', {
    message,
    metadata: { field: 'model' },
    availability: { code: 'model_not_found', retryable: false, requested_models: [slug] },
  })
}

function noSuchModel(slug: string, near: readonly string[]): string {
  return `No such model: ${slug}${near.length === 0 ? '' : `; expected one such as ${near.join(', ')}`}`
}

/** The usual 400: names the field and what was expected there. */
export function badField(path: string, expected: string): Fault {
  return new Fault('bad_request', { message: `${path}: ${expected}`, metadata: { field: path } })
}

/** Anything thrown, as a fault; what is not one becomes a generic 500 that keeps its cause for the log. */
export function asFault(thrown: unknown): Fault {
  return thrown instanceof Fault ? thrown : new Fault('internal', { cause: thrown })
}

/**
 * A provider's reply that cannot be read. A RangeError says that it passes a limit on size or depth: ours on the length of an
 * event, V8's on the length of a string and, where a deeply nested value is written again, on the stack.
 */
export function unreadable(cause: unknown): Fault {
  if (cause instanceof Fault) return cause
  return new Fault(cause instanceof RangeError ? 'upstream_oversized' : 'upstream_garbled', { cause })
}

/**
 * `error.type` in OpenAI's words, which its SDKs show as `APIError.type` (OpenAI's guide "Error codes"; `src/core/error.ts` of the
 * package openai 7.55.0). What is not found has the type of other wrong requests there (recording `test_model_name_suggestions`).
 */
const OPENAI_TYPES: ReadonlyMap<string, string> = new Map([
  ['authentication', 'authentication_error'],
  ['payment_required', 'insufficient_quota'],
  ['permission_denied', 'permission_error'],
  ['rate_limit_exceeded', 'rate_limit_error'],
  ['provider_overloaded', 'service_unavailable_error'],
  ['provider_unavailable', 'server_error'],
  ['timeout', 'server_error'],
  ['server', 'server_error'],
  ['unmapped', 'server_error'],
])

/** @param type `error_type` of the wire. */
export function openAiType(type: string | undefined): string {
  return OPENAI_TYPES.get(type ?? '') ?? 'invalid_request_error'
}

/** Metadata that callers read: with the true pause in seconds, of which `Retry-After` shows 60 at most. */
export function shownMetadata({ metadata, retryAfter }: Fault): JsonObject | undefined {
  return retryAfter === undefined ? metadata : { ...metadata, retry_after: retryAfter }
}

interface BodyFacts {
  readonly routerMetadata?: { key: string; value: JsonObject } | undefined
  /** Of `error.code` in OpenAI's formats. */
  readonly codeForm?: CodeForm | undefined
}

/**
 * The standard error body (docs/contract.md#errors); `param` is the path of the field at fault.
 */
export function faultBody(fault: Fault, { routerMetadata, codeForm }: BodyFacts = {}): JsonObject {
  const metadata: JsonObject = { error_type: fault.type, ...shownMetadata(fault) }
  const { field } = metadata
  const error: JsonObject = {
    code: codeIn(codeForm, fault),
    message: fault.message,
    type: openAiType(fault.type),
    param: typeof field === 'string' ? field : null,
    metadata,
  }
  if (fault.availability) error.availability = fault.availability
  const body: JsonObject = { error }
  if (routerMetadata) body[routerMetadata.key] = routerMetadata.value
  return body
}

/** Members of an error body beside the fault. */
export interface FaultFacts extends BodyFacts {
  /** `gen-…`; absent where no exchange was opened. */
  id?: string | undefined
}

interface FaultExtras extends FaultFacts {
  headers?: Record<string, string>
  /** The caller's dialect has an error body of its own. */
  body?: ((fault: Fault, facts: FaultFacts) => JsonObject) | undefined
}

/** A fault as it leaves: status, headers and JSON text, for every path that answers with one. */
export function faultReply(
  fault: Fault,
  extras: FaultExtras = {},
): {
  status: number
  headers: Record<string, string>
  json: string
} {
  const headers = { ...extras.headers, ...retryHeaders(fault.retryAfter), ...fault.headers }
  const { body, id, routerMetadata, codeForm } = extras
  return {
    status: fault.status,
    headers,
    json: JSON.stringify(body ? body(fault, { id, routerMetadata, codeForm }) : faultBody(fault, { routerMetadata, codeForm })),
  }
}
