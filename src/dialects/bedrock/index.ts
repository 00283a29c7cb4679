/** Amazon Bedrock's Converse: one format for the models of many makers, streamed in a binary framing. */
import type { JsonObject } from '../../core/json.ts'
import type { CanonicalRequest } from '../canon/request.ts'
import type { Encoded, Target, UpstreamDialect } from '../types.ts'
import { decodeResult } from './decode-result.ts'
import { ConverseStreamDecoder } from './decode-stream.ts'
import { bedrockCap, encodeRequest } from './encode-request.ts'
import { EventStreamReader, STREAM_TYPE } from './event-stream.ts'
import { decodeFault } from './fault.ts'
import { errorReply } from './fault-body.ts'
import { createListing } from './listing.ts'
import { bedrockFields, bedrockParameters } from './parameters.ts'
import { bearer, decodeCount, operationPath, signsReasoning, WIRE } from './wire.ts'

export const bedrockConverse: UpstreamDialect = {
  id: 'bedrock-converse',
  encodeRequest,
  framing: { type: STREAM_TYPE, reader: (onFrame) => new EventStreamReader(onFrame) },
  streamDecoder: (quirks) => new ConverseStreamDecoder(quirks),
  decodeResult,
  decodeFault,
  errorReply,
  auth: bearer,
  parameters: bedrockParameters,
  fields: bedrockFields,
  cap: bedrockCap,
  // Claude's signatures hold at all its providers; what other models have encrypted is their account's.
  bindsReasoning: (quirks) => !signsReasoning(quirks),
  // ToolSpecification.name: 1 to 64 of `[a-zA-Z0-9_-]`.
  toolNames: { most: 64 },
  wire: WIRE,
  listing: createListing(() => true),
  countTokens: { encode: encodeCount, decode: decodeCount },
}

/** `CountTokens` with a Converse request (recordings test_bedrock_count_tokens_tool_config, …_additional_model_requests_fields). */
function encodeCount(request: CanonicalRequest, target: Target): Encoded {
  const { body, dropped } = encodeRequest(request, { ...target, stream: false })
  const converse: JsonObject = {}
  for (const field of ['messages', 'system', 'toolConfig', 'additionalModelRequestFields'])
    if (body[field] !== undefined) converse[field] = body[field]
  return { path: operationPath(target.model, 'count-tokens'), body: { input: { converse } }, dropped }
}
