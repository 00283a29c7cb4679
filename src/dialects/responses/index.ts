/** The two dialects of the Responses wire, and the pass wire between them. */

import type { ClientDialect, UpstreamDialect } from '../types.ts'
import { addedNativeTools } from './added-tools.ts'
import { checkRequest } from './check.ts'
import { isClientTool } from './client-tools.ts'
import { checkCompact, encodeCompacted, withTrigger } from './compact-operation.ts'
import { responsesCompaction } from './compaction.ts'
import { countTokens } from './count-tokens.ts'
import { decodeRequest } from './decode-request.ts'
import { decodeResult } from './decode-result.ts'
import { ResponsesStreamDecoder } from './decode-stream.ts'
import { encodeRequest } from './encode-request.ts'
import { encodeResult } from './encode-result.ts'
import { debugEvent, openStream, ResponsesStreamEncoder } from './encode-stream.ts'
import { decodeFault } from './fault.ts'
import { responsesCap } from './fit-request.ts'
import { flatten, nameClash } from './functions-only.ts'
import { outsideInput } from './outside-input.ts'
import { responsesFields, responsesParameters } from './parameters.ts'
import { responsesPass } from './pass.ts'
import { withPreset } from './preset.ts'
import { withPrompt } from './prompt.ts'
import { socketFormat } from './socket-messages.ts'
import { searchWire } from './web-search.ts'
import { WIRE } from './wire.ts'

/** POST /v1/responses. */
const overHttp: ClientDialect = {
  id: WIRE,
  files: 'openai',
  fields: responsesFields,
  capFields: ['max_output_tokens'],
  nativeTools: addedNativeTools,
  // As OpenAI answers (github.com/openai/codex, codex-rs/codex-api/src/sse/responses.rs, test context_window_error_is_fatal): Codex
  // compacts on the event, and takes a 400 for the end of its turn.
  overflowInStream: true,
  clientTools: { areKnown: (quirks) => quirks.functions_only !== true, has: isClientTool, flatten, clash: nameClash },
  expand: withPrompt,
  withPreset,
  check: checkRequest,
  decodeRequest,
  compaction: responsesCompaction,
  open: openStream,
  debug: debugEvent,
  streamEncoder: (ctx) => new ResponsesStreamEncoder(ctx),
  encodeResult,
}

/** The same with its form over a WebSocket. */
export const responsesClient: ClientDialect = { ...overHttp, socket: socketFormat(overHttp) }

/** POST /v1/responses/compact: as a request that ends with a trigger, but that the reply is one object of its own. */
export const compactClient: ClientDialect = {
  ...overHttp,
  compaction: { ...responsesCompaction, isOperation: true },
  expand: (body, prompts) => withTrigger(withPrompt(body, prompts)),
  check: checkCompact,
  encodeResult: encodeCompacted,
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
  fields: responsesFields,
  cap: responsesCap,
  bindsReasoning: () => true,
  // FunctionDefinition.name: "with a maximum length of 64" (types of openai 7.55.0, resources/shared).
  toolNames: { most: 64 },
  files: { family: 'openai', kinds: ['file', 'image'] },
  webSearch: () => searchWire,
  outside: outsideInput,
  wire: WIRE,
  countTokens,
  pass: responsesPass,
}
