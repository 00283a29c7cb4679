/** The Gemini dialect: a provider that speaks `generateContent`. */
import type { UpstreamDialect } from '../types.ts'
import { decodeCount, encodeCount } from './count-tokens.ts'
import { decodeResult } from './decode-result.ts'
import { GeminiStreamDecoder } from './decode-stream.ts'
import { encodeRequest } from './encode-request.ts'
import { decodeFault } from './fault.ts'
import { geminiCap } from './generation-config.ts'
import { LISTING_PATH, readListing } from './listing.ts'
import { geminiParameters } from './parameters.ts'
import { WIRE } from './wire.ts'

export const geminiUpstream: UpstreamDialect = {
  id: 'gemini',
  encodeRequest,
  streamDecoder: () => new GeminiStreamDecoder(),
  decodeResult,
  decodeFault,
  auth: (key) => ['x-goog-api-key', key],
  parameters: geminiParameters,
  cap: geminiCap,
  // It takes no domains, and most of its models no functions beside it.
  webSearch: { canExpress: ({ allowed, excluded }) => allowed.length + excluded.length === 0, isTool: true, besideFunctions: false },
  wire: WIRE,
  listing: { path: LISTING_PATH, read: readListing },
  countTokens: { encode: encodeCount, decode: decodeCount },
}
