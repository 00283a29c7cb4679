/** The Gemini dialect: a provider that speaks `generateContent`. */

import { asObjects, asString, type Json, type JsonObject, present } from '../../core/json.ts'
import type { CanonicalRequest } from '../canon/request.ts'
import type { Encoded, Target, UpstreamDialect } from '../types.ts'
import { decodeResult } from './decode-result.ts'
import { GeminiStreamDecoder } from './decode-stream.ts'
import { encodeRequest } from './encode-request.ts'
import { decodeFault } from './fault.ts'
import { errorReply } from './fault-body.ts'
import { geminiCap, MAX_STOPS } from './generation-config.ts'
import { outsideInput } from './outside-input.ts'
import { geminiFields, geminiParameters } from './parameters.ts'
import { modelResource, operationPath, WIRE } from './wire.ts'

/** One page holds them all. */
const LISTING_PATH = '/models?pageSize=1000'

/**
 * The provider's list of models (`models.list`) in the form that the catalogue reads.
 * Models that generate content or embed it, by their name without the collection.
 */
function readListing(body: JsonObject): JsonObject {
  const data: JsonObject[] = []
  for (const model of asObjects(body.models)) {
    const name = asString(model.name)
    const methods = model.supportedGenerationMethods
    const kind = Array.isArray(methods) ? modelKind(methods) : 'generate'
    if (name === undefined || kind === undefined) continue
    const entry: JsonObject = { id: name.replace(/^models\//, ''), ...(kind === 'embedding' ? { kind } : {}) }
    if (typeof model.inputTokenLimit === 'number') entry.context_length = model.inputTokenLimit
    data.push(entry)
  }
  return { data }
}

function modelKind(methods: readonly Json[]): 'generate' | 'embedding' | undefined {
  if (methods.includes('generateContent')) return 'generate'
  return methods.includes('embedContent') || methods.includes('batchEmbedContents') ? 'embedding' : undefined
}

export const geminiUpstream: UpstreamDialect = {
  id: 'gemini',
  encodeRequest,
  streamDecoder: () => new GeminiStreamDecoder(),
  decodeResult,
  decodeFault,
  errorReply,
  auth: (key) => ['x-goog-api-key', key],
  parameters: geminiParameters,
  fields: geminiFields,
  cap: geminiCap,
  bindsReasoning: () => true,
  // FunctionDeclaration.name: "Must start with a letter or an underscore", 128 at most (types of @google/genai 3.3.0).
  toolNames: { most: 128, beginsWithLetter: true },
  // It takes no domains, and most of its models no functions beside it.
  webSearch: () => ({
    canExpress: ({ allowed, excluded }) => allowed.length + excluded.length === 0,
    isTool: true,
    besideFunctions: false,
  }),
  outside: outsideInput,
  wire: WIRE,
  mostStops: MAX_STOPS,
  listing: { paths: [LISTING_PATH], read: readListing },
  countTokens: { encode: encodeCount, decode: decodeCount, sees: (kind, model) => kind === 'media' || !isBare(model) },
}

/**
 * Counting the tokens of a request at the provider (`countTokens`).
 * Everything that costs tokens on the way in. Models of a publisher take it as it is; others within a request of their own,
 * since beside bare contents they count neither instructions nor tools.
 */
function encodeCount(request: CanonicalRequest, target: Target): Encoded {
  const { body, dropped } = encodeRequest(request, { ...target, stream: false })
  const counted = present({ contents: body.contents, systemInstruction: body.systemInstruction, tools: body.tools })
  const { cachedContent } = body
  return {
    path: operationPath(target.model, 'countTokens'),
    body: isBare(target.model)
      ? counted
      : { generateContentRequest: present({ model: modelResource(target.model), ...counted, cachedContent }) },
    dropped,
  }
}

/** True for a model of a publisher: its count takes the contents without a request around them, and no cached content. */
function isBare(name: string): boolean {
  const model = modelResource(name)
  return model.startsWith('publishers/') || model.startsWith('projects/')
}

function decodeCount(body: JsonObject): number | undefined {
  const total = countIn(body.totalTokens)
  const cached = countIn(body.cachedContentTokenCount) ?? 0
  // The total has the cached part in it (Gemini API, `CountTokensResponse`); one that cannot have is without it.
  return total !== undefined && total < cached ? total + cached : total
}

const countIn = (count: Json | undefined): number | undefined =>
  typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined
