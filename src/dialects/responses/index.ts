/** The two dialects of the Responses wire, and the pass wire between them. */
import type { ClientDialect, UpstreamDialect } from '../types.ts'
import { addedNativeTools } from './added-tools.ts'
import { checkRequest } from './check.ts'
import { decodeRequest } from './decode-request.ts'
import { decodeResult } from './decode-result.ts'
import { ResponsesStreamDecoder } from './decode-stream.ts'
import { encodeRequest } from './encode-request.ts'
import { encodeResult } from './encode-result.ts'
import { debugEvent, openStream, ResponsesStreamEncoder } from './encode-stream.ts'
import { decodeFault } from './fault.ts'
import { responsesParameters } from './parameters.ts'
import { responsesPass } from './pass.ts'
import { withPreset } from './preset.ts'
import { withPrompt } from './prompt.ts'
import { responsesCap } from './target.ts'
import { searchWire } from './web-search.ts'
import { WIRE } from './wire.ts'

/** POST /v1/responses. */
export const responsesClient: ClientDialect = {
  id: WIRE,
  capFields: ['max_output_tokens'],
  nativeTools: addedNativeTools,
  expand: withPrompt,
  withPreset,
  check: checkRequest,
  decodeRequest,
  open: openStream,
  debug: debugEvent,
  streamEncoder: (ctx) => new ResponsesStreamEncoder(ctx),
  encodeResult,
}

/** A provider that speaks Responses. */
export const openaiResponses: UpstreamDialect = {
  id: 'openai-responses',
  encodeRequest,
  streamDecoder: () => new ResponsesStreamDecoder(),
  decodeResult,
  decodeFault,
  auth: (key) => ['authorization', `Bearer ${key}`],
  parameters: responsesParameters,
  cap: responsesCap,
  webSearch: searchWire,
  wire: WIRE,
  pass: responsesPass,
}
