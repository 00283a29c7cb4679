/**
 * The one table of providers' errors: what a status, a word for programs or a sentence means, on which wire, and where that is known
 * from. The first row that fits decides. `FAULTS` of `src/core/faults.ts` has for each kind who is to blame, whether another endpoint
 * is called, how it counts in the health of the endpoint, and what the caller reads.
 *
 * Patterns meet up to 3,000 characters of a stranger's text (`classify.ts`): their quantifiers are bounded.
 */
import type { FaultCode } from '../../core/faults.ts'

export type Wire = 'chat' | 'responses' | 'messages' | 'gemini' | 'bedrock' | 'embeddings'

/** Codes that an HTTP status alone decides, whatever the words are: for others the words come first. */
export const FIRM: ReadonlySet<number> = new Set([401, 402, 403, 404, 409, 413, 422, 429, 529])

/**
 * The HTTP status that a word for programs stands for. It decides for errors inside a good reply, and where the status of the reply is
 * not firm. Sources: the lists of errors of OpenAI, Anthropic, Groq and Mistral; `google.rpc.Code`; exceptions of Amazon Bedrock (npm
 * @aws-sdk/client-bedrock-runtime 3.1164.0), in any case of letters, since those of streams begin with a small one.
 */
export const STATUS_OF_WORD: readonly (readonly [RegExp, number])[] = [
  [/rate_limit|too_many_requests|RESOURCE_EXHAUSTED|throttling|servicequotaexceeded/i, 429],
  [
    /invalid_api_key|authentication|unauthenticated|unauthorized|unrecognizedclient|expiredtoken|signatureexception|^incompletesignature$|requestexpired/i,
    401,
  ],
  [/permission|forbidden|access_?denied|notauthorized|optinrequired/i, 403],
  [/^(?:model_|resource_)?not_found(?:_error)?$|resourcenotfound|unknownoperation/i, 404],
  [/^request_too_large$/i, 413],
  [/overloaded|slow_down|insufficient_system_resource|^UNAVAILABLE$|modelnotready|serviceunavailable/i, 529],
  [/^(?:request_|vector_store_)?timeout(?:_error)?$|DEADLINE_EXCEEDED|modeltimeout/i, 504],
  [/^ALREADY_EXISTS$|^conflict/i, 409],
  [
    /^(?:ABORTED|CANCELLED|INTERNAL|UNKNOWN|DATA_LOSS|UNIMPLEMENTED)$|^api_error$|^(?:modelerror|modelstreamerror|internalserver)exception$/i,
    500,
  ],
  [
    /bad_?request|^INVALID_ARGUMENT$|^OUT_OF_RANGE$|validationexception|^invalid_|^unsupported_|unknown_parameter|missing_required|^image_|^empty_image|^failed_to_download/i,
    400,
  ],
]

export interface Row {
  readonly kind: FaultCode
  /** All of them where absent. */
  readonly wires?: readonly Wire[]
  /** Absent: any. 0 is an error inside a good reply whose words stand for no status. */
  readonly status?: readonly number[]
  /** One of the words for programs. */
  readonly word?: RegExp
  /** The sentence; without what it quotes where the operator is to blame, since a caller may have written that. */
  readonly sentence?: RegExp
  /** The words and the sentence together. */
  readonly text?: RegExp
  /** The field at fault; a row with it fits an error that names none as well. */
  readonly field?: RegExp
  /** Source of the rule. */
  readonly source: string
}

/** Statuses by which a provider says that the request is wrong. */
const REFUSAL = [400, 422]
/** Statuses with which account trouble is reported. */
const ACCOUNT = [0, 400, 401, 402, 403, 412, 422, 429]
const SERVER = Array.from({ length: 100 }, (_, at) => 500 + at)

const OPERATORS: readonly Row[] = [
  {
    kind: 'upstream_limited',
    word: /^RESOURCE_EXHAUSTED$/,
    status: [0, 400, 429],
    source:
      "google.rpc.Code; Gemini's rate limit has the sentence of OpenAI's insufficient_quota (github.com/google-gemini/gemini-cli/issues/4300)",
  },
  {
    kind: 'upstream_credit',
    word: /^(?:insufficient_(?:user_)?quota|insufficient_balance|billing_(?:hard_limit_reached|not_active|error|disabled)|credit_balance_too_low|\w{1,30}_spend_limit_reached|spend_limit_reached|arrearage|exceeded_current_quota_error|payment_required)$/i,
    source:
      'OpenAI error codes; Anthropic error types and details.error_code of npm @anthropic-ai/sdk 1.14.0; DashScope error codes: Arrearage; Moonshot error types',
  },
  {
    kind: 'upstream_credit',
    wires: ['chat', 'messages'],
    word: /^111[23]$/,
    status: [0, 400, 401, 429],
    source: 'Z.AI error codes: account locked or in arrears',
  },
  {
    kind: 'upstream_account',
    word: /^(?:organi[sz]ation_(?:on_hold|suspended|disabled|deactivated)|cmek_\w{1,60}|account_(?:on_hold|suspended|disabled|deactivated|locked)|access_terminated)$/i,
    source: 'npm @anthropic-ai/sdk 1.14.0, details.error_code; OpenAI error codes',
  },
  {
    kind: 'upstream_account',
    status: [412],
    source: 'Fireworks: 412 for a suspended account; the gateway sends no preconditions (RFC 9110, 13.1)',
  },
  { kind: 'upstream_overloaded', status: [498], source: 'console.groq.com, API error codes: flex tier capacity exceeded' },
  {
    kind: 'upstream_quota',
    status: [413],
    text: /rate_limit_exceeded|tokens per (?:min|day)/i,
    source:
      'Groq: 413 rate_limit_exceeded "Request too large for model … on tokens per minute (TPM)" (github.com/zed-industries/zed/issues/38433)',
  },
  {
    kind: 'upstream_region',
    status: [401, 403, 451],
    word: /country|region|territor|location|geo/i,
    source: 'OpenAI: 403 unsupported_country_region_territory',
  },
  {
    kind: 'upstream_region',
    status: [400, 403, 451],
    sentence: /\blocation is not supported|country, region, or territory not supported|not available in your (?:country|region|location)/i,
    source: 'ai.google.dev, troubleshooting: FAILED_PRECONDITION; OpenAI: 403',
  },
  {
    kind: 'upstream_account',
    status: [400],
    word: /^FAILED_PRECONDITION$/,
    source: 'ai.google.dev, troubleshooting: billing that is missing',
  },
  {
    kind: 'upstream_credit',
    status: ACCOUNT,
    sentence:
      /credit balance|spend(?:ing)? (?:limit|cap)|\busage limits?\b.{0,80}\bregain access|reached your (?:\w{1,20} ){0,3}usage limits?|insufficient[ _](?:quota|balance|credits?|funds?)|(?:out of|no|more|used all available|monthly included) credits\b|exceeded your current quota|billing (?:hard )?limit|plan and billing|overdue|in arrears|unpaid invoice|past invoices/i,
    source:
      'Anthropic 400 "Your credit balance is too low", "You have reached your specified API usage limits. You will regain access on …"; DeepSeek 402; xAI "used all available credits or reached its monthly spending limit"; OpenRouter 402 "requires more credits"; Perplexity 401',
  },
  { kind: 'upstream_credit', status: [402], source: 'RFC 9110, 15.5.3, as DeepSeek, Together and OpenRouter use it' },
  { kind: 'upstream_credit', status: [400, 403], word: /BILLING/, source: 'google.rpc.ErrorInfo: BILLING_DISABLED' },
  {
    kind: 'upstream_account',
    status: [0, 400, 401, 403, 422],
    sentence:
      /\b(?:account|organi[sz]ation|workspace|team)\b.{0,60}\b(?:suspended|deactivated|on hold|locked|disabled|terminated)\b|account is in good standing/i,
    source:
      'Anthropic "This organization has been disabled."; Fireworks "Account … is suspended"; DashScope "make sure your account is in good standing"',
  },
]

/** Words of an open set that are about an account: what is not known of them is the operator's, who has the account. */
const OPERATORS_OWN: Row = {
  kind: 'upstream_account',
  status: [400, 403, 422],
  word: /(?:^|_)(?:billing|spend|spending|payment|balance|arrears?|account|organi[sz]ation|subscription|quota|cmek)(?:_|$)|^(?:Account|Billing|Organization|Quota|Subscription)[A-Z]/,
  source: 'details.error_code of npm @anthropic-ai/sdk 1.14.0 is open; Volcengine: AccountOverdueError',
}

/** Rights of the account, before the key itself: a caller chooses models and features, and could take keys out of use with them. */
const RIGHTS: readonly Row[] = [
  {
    kind: 'upstream_rejected',
    wires: ['bedrock'],
    status: [403],
    sentence: /unsupported model or your request did not allow prompt caching/i,
    source: 'github.com/BerriAI/litellm/pull/39210',
  },
  {
    kind: 'upstream_rights',
    status: [401, 403],
    text: /\baccess to\b|\bno access\b|insufficient[ _](?:permission|authentication scope)|missing scopes?|scope[ _](?:requirement|insufficient)|permission_?denied\b.{0,200}\bdata action|required data action|permission\b.{0,80}\bdenied on|iam_permission_denied|not (?:permitted|entitled|allowed) to|model_not_found/i,
    source:
      'OpenAI 403 model_not_found (github.com/Aider-AI/aider/issues/1903), 401 "Missing scopes" (github.com/microsoft/PowerToys/issues/32989); Anthropic "does not meet scope requirement" (github.com/can1357/oh-my-pi/issues/38); Google IAM_PERMISSION_DENIED (github.com/rhel-lightspeed/linux-mcp-server/pull/450); Azure 401 PermissionDenied (github.com/microsoft-foundry/foundry-samples/issues/155)',
  },
  {
    kind: 'upstream_rights',
    wires: ['bedrock'],
    status: [400, 403],
    sentence:
      /don.t have access to the model|operation not allowed|access to this model is not available|not authorized to (?:perform|invoke)/i,
    source: 'Amazon Bedrock: a model that the account does not have',
  },
  { kind: 'upstream_auth', status: [401], source: 'RFC 9110, 15.5.2' },
  {
    kind: 'upstream_auth',
    status: [403],
    text: /(?:invalid|incorrect|wrong|expired|revoked|unknown|leaked|disabled|suspended|blocked|deleted|malformed|missing|no)[ _](?:x-)?(?:api[ _-]?)?(?:key|token|credential)|(?:key|token|credentials?|consumer)\b.{0,60}\b(?:invalid|incorrect|not valid|not found|expired|revoked|leaked|disabled|suspended|blocked|deleted)\b|api key is valid|authenticat|authorization failed|request signature|signature expired|unrecognizedclient|expiredtoken|signatureexception|missingauthenticationtoken|API_KEY_|CONSUMER_SUSPENDED|ACCESS_TOKEN_(?:EXPIRED|TYPE)/i,
    source:
      'Anthropic "OAuth token has been revoked" (github.com/anthropics/claude-code/issues/9635); Google CONSUMER_SUSPENDED (github.com/continuedev/continue/issues/10902), API_KEY_SERVICE_BLOCKED (issues/12781 there), "reported as leaked" (issues/10513 there); Bedrock "make sure your API Key is valid" (github.com/anomalyco/opencode/issues/47073); NVIDIA "Authorization failed" (github.com/Alishahryar1/free-claude-code/issues/1242)',
  },
  {
    kind: 'upstream_auth',
    status: REFUSAL,
    sentence:
      /(?:incorrect|invalid) (?:x-)?api[ -]?key\b|\bapi[ -]?key (?:is )?(?:not valid|invalid|expired|not found)|please pass a valid api key/i,
    source: 'xAI: 400 "Incorrect API key provided" (github.com/BerriAI/litellm/issues/8165); Google: 400 "API key not valid"',
  },
  {
    kind: 'upstream_auth',
    status: [400],
    word: /^(?:API_KEY|ACCESS_TOKEN|CREDENTIALS|CONSUMER)/,
    source: 'google.rpc.ErrorInfo: a bad key is an invalid argument, and only the reason shows the difference',
  },
  { kind: 'upstream_rights', status: [400], word: /SERVICE_DISABLED/, source: 'google.rpc.ErrorInfo' },
]

const CALLERS: readonly Row[] = [
  {
    kind: 'upstream_context',
    status: [0, 400, 413, 422, 500],
    word: /^(?:context_(?:length|window)_exceeded|exceed_context_size_error|max_tokens_exceeded|token_limit_exceeded)$/i,
    source: 'OpenAI error codes; llama.cpp server (exceed_context_size_error)',
  },
  {
    kind: 'upstream_context',
    status: [0, 400, 422],
    word: /^string_(?:too_long|above_max_length)$/i,
    field: /^(?:input|messages|prompt)\b/,
    source: 'OpenAI error codes; the same code stands for names that are too long, where it names the field',
  },
  {
    kind: 'upstream_context',
    wires: ['chat', 'messages'],
    status: [0, 400],
    word: /^1261$/,
    source: 'Z.AI error codes: prompt exceeds max length',
  },
  {
    kind: 'upstream_context',
    status: [0, 400, 413, 422, 500],
    sentence:
      /context[ _](?:length|window|size|limit)|maximum (?:context|prompt|input)|prompt is too long|input is too long|input (?:is|length).{0,40}(?:too long|exceed)|too many (?:input )?tokens|maximum (?:allowed )?number of (?:input )?tokens|token count.{0,60}exceed|exceeded model token limit|range of input length|inputs?`? tokens \+|input \(\d{1,9} tokens\) is too large to process|exceeds? (?:the )?maximum context/i,
    source:
      'vLLM "This model\'s maximum context length is"; llama.cpp "exceeds the available context size", 500 "is too large to process"; Anthropic "prompt is too long", "exceed context limit"; Gemini "input token count … exceeds"; Bedrock "Input is too long"; Moonshot "exceeded model token limit"; DashScope "Range of input length should be"; Together 422 "`inputs` tokens + `max_new_tokens` must be <="',
  },
  {
    kind: 'upstream_context',
    wires: ['embeddings'],
    status: [400],
    sentence: /too long|(?:maximum|max|limit)[\w ]{0,40}tokens?|tokens?[\w ,]{0,60}(?:exceed|limit|maximum)/i,
    source: 'Cohere and Voyage: 400 for an input over the limit',
  },
  {
    kind: 'upstream_policy',
    status: [0, 400, 403, 422],
    word: /content_(?:policy|filter|management)|moderation|_policy(?:_violation)?$|data_?inspection_?failed/i,
    source:
      'OpenAI error codes (cyber_policy, bio_policy, misalignment_policy_violation of npm openai 7.59.0); DashScope error codes: DataInspectionFailed',
  },
  {
    kind: 'upstream_policy',
    wires: ['chat', 'messages'],
    status: [0, 400],
    word: /^1301$/,
    source: 'Z.AI error codes: unsafe or sensitive content',
  },
  {
    kind: 'upstream_policy',
    status: [400, 403, 422],
    sentence:
      /content[ _-]?(?:policy|filter|management)|\bmoderation\b|\bsafety\b|\bflagged\b|usage (?:polic|guideline)|blocked by (?:content|our|the) |data_inspection_failed|inappropriate content/i,
    source:
      'Azure "content management policy"; Anthropic "Output blocked by content filtering policy"; xAI 403 "Content violates usage guidelines"; OpenAI invalid_prompt "was flagged"; DashScope',
  },
  {
    kind: 'upstream_too_large',
    status: [400],
    sentence: /payload size exceeds|request (?:body )?(?:is )?too large|payload.{0,20}too large|size.{0,30}exceeds the maximum/i,
    source: 'Gemini and Amazon Bedrock: 400 for a body over the limit',
  },
  {
    kind: 'upstream_missing',
    status: REFUSAL,
    text: /model_not_found|\binvalid_model\b|^.{0,40}\bmodel not exist|\bmodel not found\b|^model \S{1,120} is not supported/i,
    source:
      'OpenAI and Groq: model_not_found; Mistral: invalid_model; DeepSeek: "Model Not Exist"; xAI: 400 "Model not found"; Voyage (recording test_embeddings)',
  },
  {
    kind: 'upstream_missing',
    wires: ['bedrock'],
    status: [400],
    sentence: /model identifier is invalid|on-demand throughput isn.t supported|model.{0,60}(?:end of its life|not found|isn.t available)/i,
    source: 'github.com/aider-ai/aider/issues/2750',
  },
  {
    kind: 'upstream_rights',
    status: REFUSAL,
    sentence: /\b(?:your|this) (?:account|organi[sz]ation|plan|subscription|workspace|team)\b/i,
    source:
      'Whom a provider calls "your organization" is the operator, as in OpenAI\'s 400 "Your organization must be verified to stream this model"',
  },
]

const SERVERS: readonly Row[] = [
  {
    kind: 'upstream_unfit',
    status: [500],
    sentence: /failed to parse tool call arguments|(?:image|audio|video|file) input is not supported|conversation roles must alternate/i,
    source: 'llama.cpp server, of the wheel xllamacpp 2026.10.11549: 500 for what the request has',
  },
  {
    kind: 'upstream_missing',
    status: [500],
    sentence: /does not support logits computation/i,
    source: 'llama.cpp server: a chat request at a server that was started for embeddings',
  },
  {
    kind: 'upstream_missing',
    status: [501],
    sentence: /does not support embeddings/i,
    source: 'llama.cpp server, of the wheel xllamacpp 2026.10.11549: embeddings at a server that was started without them',
  },
  { kind: 'upstream_overloaded', status: [429], word: /overload|capacity/i, source: 'Mistral and Moonshot: 429 with a word for overload' },
  {
    kind: 'upstream_overloaded',
    status: SERVER,
    text: /overload|no capacity|at capacity/i,
    source: 'OpenAI: 503 "The engine is currently overloaded"',
  },
  {
    kind: 'upstream_overloaded',
    status: SERVER,
    sentence: /^server busy, please try again/i,
    source: 'Ollama 0.17.4, server/sched.go, ErrMaxQueue: OLLAMA_MAX_QUEUE requests wait for a model to be loaded',
  },
  {
    kind: 'upstream_overloaded',
    wires: ['gemini', 'bedrock', 'embeddings'],
    status: [503],
    source: 'google.rpc.Code UNAVAILABLE; ServiceUnavailableException',
  },
]

/**
 * Rows by status alone, for replies that no row above recognises. 400, 409, 413 and 422 are about the request (RFC 9110, 15.5). Every other
 * status below 500 is about how the gateway calls, about its account, or unknown: never the caller's, and another endpoint may serve.
 */
const STATUSES: readonly Row[] = (
  [
    ['upstream_rejected', 400],
    ['upstream_conflict', 409],
    ['upstream_too_large', 413],
    ['upstream_unprocessable', 422],
    ['upstream_rights', 403],
    ['upstream_missing', 404],
    ['upstream_limited', 429],
    ['upstream_overloaded', 529],
    ['upstream_silent', 408],
    ['upstream_silent', 504],
    ['upstream_silent', 524],
  ] as const
).map(([kind, status]) => ({
  kind,
  status: [status],
  source: 'RFC 9110, 15.5 and 15.6; RFC 6585 for 429; 524 and 529 as Cloudflare and Anthropic use them',
}))

export const ROWS: readonly Row[] = [...OPERATORS, OPERATORS_OWN, ...RIGHTS, ...CALLERS, ...SERVERS, ...STATUSES]

/** Of an error that no row fits. */
export const OTHERWISE: FaultCode = 'upstream_error'
