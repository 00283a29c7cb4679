/**
 * Claude's own format on Amazon Bedrock: the Messages API by the operations `InvokeModel` and `InvokeModelWithResponseStream`, as
 * npm @anthropic-ai/bedrock-sdk 1.1.3 (`client.js`, `core/streaming.js`) and npm @ai-sdk/amazon-bedrock 5.0.101 (`anthropic/`) speak it.
 * The format itself is a dialect of its own; here is what the service changes about it.
 */

import type { Fault } from '../../core/faults.ts'
import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { StreamEvent } from '../canon/events.ts'
import type { CanonicalRequest } from '../canon/request.ts'
import { losesTier } from '../canon/request-fields.ts'
import type { Encoded, PassWire, Target, UpstreamDialect } from '../types.ts'
import { ClaudePassStream, ClaudeStreamDecoder, claudeFraming } from './claude-stream.ts'
import { decodeFault } from './fault.ts'
import { errorReply } from './fault-body.ts'
import { createListing } from './listing.ts'
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
    encodeRequest: (request, target) => encodeInvocation(messages, request, target),
    parameters: { ...messages.parameters, service_tier: { as: TIER_HEADER } },
    framing: claudeFraming,
    streamDecoder: (quirks) => new ClaudeStreamDecoder(messages.streamDecoder(quirks)),
    decodeResult(body, out, quirks): void {
      if (Array.isArray(body.content)) messages.decodeResult(body, out, quirks)
      else out.push({ type: 'fault', fault: decodeFault(200, body) } satisfies StreamEvent)
    },
    decodeFault: (status, body, headers) => adaptFault(messages, decodeFault(status, body, headers), status),
    errorReply,
    auth: bearer,
    listing: createListing((name) => name.includes('anthropic.claude')),
    countTokens: { encode: (request, target) => encodeCount(messages, request, target), decode: decodeCount },
    ...(pass ? { pass: adaptPass(pass) } : {}),
  }
}

function encodeInvocation(messages: UpstreamDialect, request: CanonicalRequest, target: Target): Encoded {
  return asInvocation(messages.encodeRequest(request, target), target, request.serviceTier)
}

/** `CountTokens` with the body of an `InvokeModel` (`InvokeModelTokensRequest`, npm @aws-sdk/client-bedrock-runtime 3.1164.0). */
function encodeCount(messages: UpstreamDialect, request: CanonicalRequest, target: Target): Encoded {
  const { body, dropped } = encodeInvocation(messages, request, { ...target, stream: false })
  const written = Buffer.from(JSON.stringify(body)).toString('base64')
  return { path: operationPath(target.model, 'count-tokens'), body: { input: { invokeModel: { body: written } } }, dropped }
}

/** Refusals of the model itself are worded as at its own provider: the field in front, and what is wrong behind it. */
function adaptFault(messages: UpstreamDialect, fault: Fault, status: number): Fault {
  const { sentence, refusesReasoning, providerStatus } = fault
  if (fault.code !== 'upstream_rejected' || sentence === undefined) return fault
  const own = messages.decodeFault(status, { message: sentence.replace(OF_MODEL, '') })
  return own.with({
    metadata: { ...own.metadata, provider_code: fault.metadata?.provider_code ?? String(status) },
    sentence,
    providerStatus,
    refusesReasoning: refusesReasoning || own.refusesReasoning,
  })
}

/** Bodies and frames of callers of the format, in the envelopes of the service. */
function adaptPass(pass: PassWire): PassWire {
  return {
    ...pass,
    request: (body: JsonObject, target) => asInvocation(pass.request(body, target), target, body.service_tier),
    stream: (ctx) => new ClaudePassStream(pass.stream(ctx)),
  }
}

/**
 * Models with a version in their ARN may refuse the newer one that the SDK sends by default (platform.claude.com, Claude on Amazon Bedrock
 * (Opus 4.6 and earlier), the warning; recording test_mid_conversation_system_prompt_on_bedrock).
 */
const VERSION = 'bedrock-2023-05-31'

/** `InvokeModelRequest.serviceTier` (npm @aws-sdk/client-bedrock-runtime 3.1164.0). */
const TIER_HEADER = 'x-amzn-bedrock-service-tier'

/** Settings of a guardrail, which the account pays for: they go with the headers that name it, which only the operator sets. */
const GUARDRAIL = 'amazon-bedrock-guardrailConfig'

/** In place of a member of each tool, which is refused (npm @ai-sdk/amazon-bedrock 5.0.101, transformRequestBody). */
const STREAMED_ARGUMENTS = 'fine-grained-tool-streaming-2025-05-14'

/**
 * @param requested the caller's word for a tier of service.
 * @returns the operation, with the caller's own objects as they are.
 */
function asInvocation({ body, headers = [], ...encoded }: Encoded, target: Target, requested: Json | undefined): Encoded {
  // What the path and the headers say in their place ("extraneous key [model] is not permitted": fumito-ito/AnthropicSwiftSDK issue 19).
  const { model: _model, stream: _stream, service_tier: tier, [GUARDRAIL]: guardrail, ...rest } = body
  const written: JsonObject = { anthropic_version: VERSION, ...rest }
  written.anthropic_version = VERSION
  const betas = new Set(betasIn(headers))
  if (streamsArguments(written)) betas.add(STREAMED_ARGUMENTS)
  if (betas.size > 0) written.anthropic_beta = [...betas]
  renameBinding(written)
  let { dropped } = encoded
  if (guardrail !== undefined) dropped = [...dropped, GUARDRAIL]
  // The format has no word for this tier; the service has.
  if (target.tier === 'flex' && !losesTier(requested, 'flex')) dropped = dropped.filter((name) => name !== 'service_tier')
  const sentTier = target.tier ?? (tier === 'standard_only' ? 'default' : undefined)
  return {
    ...encoded,
    path: operationPath(target.model, target.stream ? 'invoke-with-response-stream' : 'invoke'),
    body: written,
    dropped,
    ...(sentTier === undefined ? {} : { headers: [TIER_HEADER, sentTier] }),
  }
}

/** Names in the header by which the provider of the format takes them. */
function betasIn(headers: readonly string[]): string[] {
  const at = headers.indexOf('anthropic-beta')
  return at === -1 ? [] : (headers[at + 1]?.split(',') ?? [])
}

/** Takes `eager_input_streaming` out of tools. @returns true where one wants its arguments as they are written. */
function streamsArguments(body: JsonObject): boolean {
  const tools = asObjects(body.tools)
  if (tools.every((tool) => tool.eager_input_streaming === undefined)) return false
  body.tools = tools.map(({ eager_input_streaming: _, ...tool }) => tool)
  return tools.some((tool) => tool.eager_input_streaming === true)
}

/** The service has another name for it, and some of its regions do not know the first (npm @ai-sdk/amazon-bedrock 5.0.101). */
function renameBinding(body: JsonObject): void {
  const { thinking } = body
  if (!isObject(thinking) || !isObject(thinking.block_binding)) return
  const { prefix_mismatch_behavior: behavior, ...rest } = thinking.block_binding
  if (behavior !== undefined) body.thinking = { ...thinking, block_binding: { ...rest, mismatch_behavior: behavior } }
}
