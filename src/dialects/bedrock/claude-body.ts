/** A body of the Messages API as one of `InvokeModel`. */
import { isObject, type Json, type JsonObject, objectsOf } from '../../core/json.ts'
import { losesTier } from '../canon/provider-fields.ts'
import type { Encoded, Target } from '../types.ts'
import { operationPath } from './wire.ts'

/**
 * Models with a version in their ARN may refuse the newer one that the SDK sends by default (platform.claude.com, Claude on Amazon Bedrock
 * (Opus 4.6 and earlier), the warning; recording test_mid_conversation_system_prompt_on_bedrock).
 */
const VERSION = 'bedrock-2023-05-31'

/** `InvokeModelRequest.serviceTier` (npm @aws-sdk/client-bedrock-runtime 3.1164.0). */
export const TIER_HEADER = 'x-amzn-bedrock-service-tier'

/** Settings of a guardrail, which the account pays for: they go with the headers that name it, which only the operator sets. */
const GUARDRAIL = 'amazon-bedrock-guardrailConfig'

/** In place of a member of each tool, which is refused (npm @ai-sdk/amazon-bedrock 5.0.101, transformRequestBody). */
const STREAMED_ARGUMENTS = 'fine-grained-tool-streaming-2025-05-14'

/**
 * @param requested the caller's word for a tier of service.
 * @returns the operation, with the caller's own objects as they are.
 */
export function asInvocation({ body, headers = [], ...encoded }: Encoded, target: Target, requested: Json | undefined): Encoded {
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
  const tools = objectsOf(body.tools)
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
