/** The upstream half: a provider that speaks Messages. */
import type { UpstreamDialect } from '../types.ts'
import { countTokens } from './count-tokens.ts'
import { decodeResult } from './decode-result.ts'
import { MessagesStreamDecoder } from './decode-stream.ts'
import { encodeRequest } from './encode-request.ts'
import { decodeFault } from './fault.ts'
import { messagesCap } from './fit-target.ts'
import { LISTING_PATH, readListing } from './listing.ts'
import { anthropicParameters } from './parameters.ts'
import { messagesPass } from './pass.ts'
import { searchWire } from './web-search.ts'
import { UPSTREAM_ID, WIRE } from './wire.ts'

/** The version of the API, which every call has to name. */
const VERSION = '2023-06-01'

/** A provider that speaks Messages; its base URL ends before `/v1`. */
export const anthropicUpstream: UpstreamDialect = {
  id: UPSTREAM_ID,
  encodeRequest,
  streamDecoder: () => new MessagesStreamDecoder(),
  decodeResult,
  decodeFault,
  auth: (key) => ['x-api-key', key],
  headers: { 'anthropic-version': VERSION },
  parameters: anthropicParameters,
  cap: messagesCap,
  webSearch: searchWire,
  wire: WIRE,
  listing: { path: LISTING_PATH, read: readListing },
  countTokens,
  pass: messagesPass,
}
