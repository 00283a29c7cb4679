/**
 * Claude's own format on Amazon Bedrock: the Messages API by the operations `InvokeModel` and `InvokeModelWithResponseStream`, as
 * npm @anthropic-ai/bedrock-sdk 1.1.3 (`client.js`, `core/streaming.js`) and npm @ai-sdk/amazon-bedrock 5.0.101 (`anthropic/`) speak it.
 * The format itself is a dialect of its own; here is what the service changes about it.
 */
import { Fault } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import type { StreamEvent } from '../canon/events.ts'
import type { CanonicalRequest } from '../canon/request.ts'
import type { Encoded, PassWire, Target, UpstreamDialect } from '../types.ts'
import { asInvocation, TIER_HEADER } from './claude-body.ts'
import { ClaudePassStream, ClaudeStreamDecoder, claudeFraming } from './claude-stream.ts'
import { decodeFault } from './fault.ts'
import { listingOf } from './listing.ts'
import { bearer, decodeCount, operationPath } from './wire.ts'

/** The service passes on refusals of models behind these words (recordings test_multimodal_tool_returns). */
const OF_MODEL = /^The model returned the following errors: /

/** @param messages the dialect of Claude's format at its own provider. */
export function claudeOnBedrock(messages: UpstreamDialect): UpstreamDialect {
  // The version of the API stands in the body. There are no files and no search of the web (platform.claude.com, Claude on Amazon Bedrock).
  const { headers: _headers, files: _files, webSearch: _search, pass, ...format } = messages
  return {
    ...format,
    id: 'bedrock-anthropic',
    encodeRequest: (request, target) => invocationOf(messages, request, target),
    parameters: { ...messages.parameters, service_tier: { as: TIER_HEADER } },
    framing: claudeFraming,
    streamDecoder: (quirks) => new ClaudeStreamDecoder(messages.streamDecoder(quirks)),
    decodeResult(body, out, quirks): void {
      if (Array.isArray(body.content)) messages.decodeResult(body, out, quirks)
      else out.push({ type: 'fault', fault: decodeFault(200, body) } satisfies StreamEvent)
    },
    decodeFault: (status, body, headers) => faultOf(messages, decodeFault(status, body, headers), status),
    auth: bearer,
    listing: listingOf((name) => name.includes('anthropic.claude')),
    countTokens: { encode: (request, target) => countOf(messages, request, target), decode: decodeCount },
    ...(pass ? { pass: passOf(pass) } : {}),
  }
}

function invocationOf(messages: UpstreamDialect, request: CanonicalRequest, target: Target): Encoded {
  return asInvocation(messages.encodeRequest(request, target), target, request.serviceTier)
}

/** `CountTokens` with the body of an `InvokeModel` (`InvokeModelTokensRequest`, npm @aws-sdk/client-bedrock-runtime 3.1164.0). */
function countOf(messages: UpstreamDialect, request: CanonicalRequest, target: Target): Encoded {
  const { body, dropped } = invocationOf(messages, request, { ...target, stream: false })
  const written = Buffer.from(JSON.stringify(body)).toString('base64')
  return { path: operationPath(target.model, 'count-tokens'), body: { input: { invokeModel: { body: written } } }, dropped }
}

/** What the model itself refuses is worded as at its own provider: the field in front, and what is wrong behind it. */
function faultOf(messages: UpstreamDialect, fault: Fault, status: number): Fault {
  const { sentence, refusesReasoning, lacksRights, providerStatus } = fault
  if (fault.code !== 'upstream_rejected' || sentence === undefined) return fault
  const own = messages.decodeFault(status, { message: sentence.replace(OF_MODEL, '') })
  return new Fault(own.code, {
    message: own.message,
    metadata: { ...own.metadata, provider_code: fault.metadata?.provider_code ?? String(status) },
    sentence,
    providerStatus,
    refusesReasoning: refusesReasoning || own.refusesReasoning,
    lacksRights,
  })
}

/** Bodies and frames of callers of the format, in the envelopes of the service. */
function passOf(pass: PassWire): PassWire {
  return {
    ...pass,
    request: (body: JsonObject, target) => asInvocation(pass.request(body, target), target, body.service_tier),
    stream: (ctx) => new ClaudePassStream(pass.stream(ctx)),
  }
}
