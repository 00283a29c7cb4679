/**
 * Constants and small functions that the files of this wire share. Reference: types of @aws-sdk/client-bedrock-runtime 3.1164.0
 * (`ConverseRequest`, `ConverseResponse`, `ConverseStreamOutput`).
 */
import type { JsonObject } from '../../core/json.ts'
import type { Quirks } from '../quirks.ts'

export const WIRE = 'bedrock-converse'

/** Marks reasoning that Claude has signed or encrypted: all its providers take it (platform.claude.com, Extended thinking, "Signatures"). */
export const CLAUDE_FORMAT = 'anthropic-claude-v1'

/** Marks reasoning that another model has encrypted: only this service knows what it is. */
export const OWN_FORMAT = 'amazon-bedrock-v1'

/** True for an endpoint whose model is requested to think as Claude is, and signs what it thinks. */
export function signsReasoning(quirks: Quirks): boolean {
  return quirks.thinking === undefined || quirks.thinking === 'budget' || quirks.thinking === 'adaptive'
}

/** Path of an operation on a model. Its name may be an ARN, whose slash must not part the path (github.com/vercel/ai/issues/17523). */
export function operationPath(model: string, operation: string): string {
  return `/model/${encodeURIComponent(model)}/${operation}`
}

/** Amazon Bedrock API keys (docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html). */
export function bearer(key: string): [name: string, value: string] {
  return ['authorization', `Bearer ${key}`]
}

/** The reply of `CountTokens`. @returns undefined where it holds no count. */
export function decodeCount({ inputTokens }: JsonObject): number | undefined {
  return typeof inputTokens === 'number' && Number.isSafeInteger(inputTokens) && inputTokens >= 0 ? inputTokens : undefined
}
