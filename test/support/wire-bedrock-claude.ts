/**
 * `Utterance` as Amazon Bedrock's InvokeModelWithResponseStream writes it: each event of Claude's format in base64, in an event `chunk` (types
 * of @aws-sdk/client-bedrock-runtime 3.1164.0, `ResponseStream`; npm @anthropic-ai/bedrock-sdk 1.1.3, core/streaming.js). Whole replies are
 * those of Claude's format (recording test_mid_conversation_system_prompt_on_bedrock).
 */
import type { JsonObject } from '../../src/core/json.ts'
import { event } from './event-stream.ts'
import type { Utterance } from './wire.ts'
import { anthropicFrames } from './wire-anthropic.ts'

/** Numbers that the service puts into the last event. */
const METRICS = { inputTokenCount: 8, outputTokenCount: 7, invocationLatency: 900, firstByteLatency: 400, cacheReadInputTokenCount: 3 }

export function chunk(json: string): Buffer {
  return event('chunk', { bytes: Buffer.from(json).toString('base64') })
}

/** The events of Claude's format within the stream. */
export function claudeEvents(utterance: Utterance): JsonObject[] {
  return anthropicFrames(utterance).map((frame) => {
    const written = JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as JsonObject
    return { ...written, ...(written.type === 'message_stop' ? { 'amazon-bedrock-invocationMetrics': METRICS } : {}) }
  })
}

export function bedrockClaudeFrames(utterance: Utterance): string[] {
  return claudeEvents(utterance).map((written) => chunk(JSON.stringify(written)).toString('latin1'))
}
