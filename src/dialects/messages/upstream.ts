/** The upstream half: a provider that speaks Messages. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { MAX_COUNT } from '../../core/parameters.ts'
import type { CountedKind } from '../canon/outside-input.ts'
import type { CanonicalRequest } from '../canon/request.ts'
import type { ClientDialect, Encoded, Target, UpstreamDialect } from '../types.ts'
import { nameVersion, USUAL_VERSION, VERSION_HEADER } from './api-version.ts'
import { check } from './check.ts'
import { messagesClient } from './client.ts'
import { decodeResult } from './decode-result.ts'
import { MessagesStreamDecoder } from './decode-stream.ts'
import { encodeRequest } from './encode-request.ts'
import { decodeFault } from './fault.ts'
import { faultBody } from './fault-body.ts'
import { messagesCap, placed } from './fit-request.ts'
import { outsideInput } from './outside-input.ts'
import { anthropicParameters, messagesFields } from './parameters.ts'
import { messagesPass } from './pass.ts'
import { searchWire } from './web-search.ts'
import { UPSTREAM_ID, WIRE } from './wire.ts'

/** The most that one page holds. */
const LISTING_PATH = '/v1/models?limit=1000'

function entry(model: Json): JsonObject[] {
  if (!isObject(model) || typeof model.id !== 'string') return []
  const created = typeof model.created_at === 'string' ? Math.floor(Date.parse(model.created_at) / 1000) : Number.NaN
  return [
    {
      id: model.id,
      ...(created > 0 ? { created } : {}),
      ...(typeof model.max_input_tokens === 'number' ? { context_length: model.max_input_tokens } : {}),
      // Of servers that speak this wire beside OpenAI's, with the list of that (vLLM, llama.cpp).
      ...(model.max_model_len === undefined ? {} : { max_model_len: model.max_model_len }),
      ...(model.meta === undefined ? {} : { meta: model.meta }),
    },
  ]
}

/**
 * The provider's list of models, in the OpenAI form.
 * @param body `{ data: [{ id, created_at, display_name }] }`.
 */
function readListing(body: JsonObject): JsonObject {
  return { data: Array.isArray(body.data) ? body.data.flatMap(entry) : [] }
}

/** A count has no output, so a request for one needs no cap. */
const NO_CAP = { max_tokens: MAX_COUNT }

/** POST /v1/messages/count_tokens: the same request, answered with the size of its input. */
export const messagesCounting: ClientDialect = {
  ...messagesClient,
  fillsCache: () => false,
  check: (body: JsonObject) => check(body.max_tokens === undefined ? { ...body, ...NO_CAP } : body),
  countBody: ({ tokens, estimated }) => (estimated ? { input_tokens: tokens, estimated } : { input_tokens: tokens }),
}

/** Fields that the count takes; those of an answer it refuses. */
const COUNTED = [
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'cache_control',
  'context_management',
  'compaction',
  'mcp_servers',
  'speed',
] as const

const countTokens = {
  /** The request as it would be sent, without what belongs to its answer. */
  encode(request: CanonicalRequest, target: Target): Encoded {
    const encoded = encodeRequest(request, { ...target, stream: false })
    const body: JsonObject = { model: target.model }
    for (const field of COUNTED) if (encoded.body[field] !== undefined) body[field] = encoded.body[field]
    if (target.quirks.raw_predict === true) return plainCount(encoded, body, target)
    return { ...encoded, path: placed(body, target, 'count_tokens'), body }
  },

  /** @returns undefined where the reply holds no count. */
  decode(body: JsonObject): number | undefined {
    const tokens = body.input_tokens
    return typeof tokens === 'number' && Number.isFinite(tokens) && tokens >= 0 ? Math.floor(tokens) : undefined
  },

  // "The token counting endpoint accepts the same structured list of inputs", images and PDFs among them (platform.claude.com, Token counting).
  sees: (kind: CountedKind): boolean => kind === 'media',
}

/** The count on Vertex AI takes no betas (github.com/anthropics/claude-code/issues/11154), nor what one allows. */
function plainCount({ dropped }: Encoded, body: JsonObject, target: Target): Encoded {
  const { thinking } = body
  if (isObject(thinking) && thinking.block_binding !== undefined) {
    const { block_binding: _, ...rest } = thinking
    body.thinking = rest
  }
  return { path: placed(body, target, 'count_tokens'), body, dropped }
}

/** The version of the API, which every call has to name; on Vertex AI it stands in the body alone (npm @anthropic-ai/vertex-sdk 1.1.3, client.js). */
const VERSION = { [VERSION_HEADER]: USUAL_VERSION } as const

/** A provider that speaks Messages; its base URL ends before `/v1`. */
export const anthropicUpstream: UpstreamDialect = {
  id: UPSTREAM_ID,
  encodeRequest,
  streamDecoder: () => new MessagesStreamDecoder(),
  decodeResult,
  decodeFault,
  rateForm: 'times',
  errorReply: (fault) => ({ body: faultBody(fault, {}) }),
  auth: (key) => ['x-api-key', key],
  headers: ({ raw_predict: isInBody }) => (isInBody === true ? {} : VERSION),
  versionHeader: VERSION_HEADER,
  nameVersion,
  parameters: anthropicParameters,
  fields: messagesFields,
  cap: messagesCap,
  bindsReasoning: (quirks) => quirks.signatures === 'account',
  files: { family: 'messages', kinds: ['file', 'image'] },
  webSearch: () => searchWire,
  outside: outsideInput,
  wire: WIRE,
  listing: { paths: [LISTING_PATH], read: readListing, ofServers: true },
  countTokens,
  pass: messagesPass,
}
