/**
 * `Utterance` as Amazon Bedrock's Converse and ConverseStream write it (types of @aws-sdk/client-bedrock-runtime 3.1164.0; recordings
 * test_bedrock). Frames are binary: one character for each byte.
 */
import type { Json, JsonObject } from '../../src/core/json.ts'
import { event, exception } from './event-stream.ts'
import { type Utterance, utteranceEnd, utteranceUsage } from './wire.ts'

function stopReason(utterance: Utterance): string {
  if (utterance.refusal) return 'content_filtered'
  if (utterance.sequence !== undefined) return 'stop_sequence'
  return { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use', content_filter: 'content_filtered' }[utteranceEnd(utterance)]
}

/** `inputTokens` counts neither what was read from the cache nor what was written to it. */
function usage(utterance: Utterance): JsonObject {
  const { input, output, cached, written, writtenLong } = utteranceUsage(utterance)
  return {
    inputTokens: input - cached - written,
    outputTokens: output,
    totalTokens: input + output,
    cacheReadInputTokens: cached,
    cacheWriteInputTokens: written,
    ...(writtenLong > 0 ? { cacheDetails: [{ ttl: '1h', inputTokens: writtenLong }] } : {}),
    serverToolUsage: {},
  }
}

const stopFields = ({ sequence }: Utterance): JsonObject =>
  sequence === undefined ? {} : { additionalModelResponseFields: { stop_sequence: sequence } }

const citation = ({ url, title }: { url: string; title: string }): JsonObject => ({
  title,
  source: url,
  sourceContent: [{ text: 'cited' }],
  location: { web: { url, domain: 'example.com' } },
})

function text(utterance: Utterance): JsonObject | undefined {
  const pieces = utterance.text ?? utterance.refusal
  if (!pieces) return undefined
  const whole = { text: pieces.join('') }
  return utterance.citations ? { citationsContent: { content: [whole], citations: utterance.citations.map(citation) } } : whole
}

function reasoning(utterance: Utterance): JsonObject | undefined {
  if (!utterance.reasoning && utterance.signature === undefined) return undefined
  const signature = utterance.signature === undefined ? {} : { signature: utterance.signature }
  return { reasoningContent: { reasoningText: { text: utterance.reasoning?.join('') ?? '', ...signature } } }
}

export function bedrockReply(utterance: Utterance): JsonObject {
  const calls = (utterance.calls ?? []).map(({ id, name, args }) => ({
    toolUse: { toolUseId: id, name, input: JSON.parse(args.join('') || '{}') as Json, type: 'tool_use' },
  }))
  const content = [reasoning(utterance), text(utterance), ...calls].filter((block) => block !== undefined)
  return {
    metrics: { latencyMs: 7 },
    output: { message: { role: 'assistant', content } },
    stopReason: stopReason(utterance),
    usage: usage(utterance),
    ...stopFields(utterance),
  }
}

/** The deltas of each block; a call begins with a message of its own, all others with their first piece. */
function blocks(utterance: Utterance): { start?: JsonObject; deltas: JsonObject[] }[] {
  const all: { start?: JsonObject; deltas: JsonObject[] }[] = []
  if (utterance.reasoning || utterance.signature !== undefined) {
    const signed = utterance.signature === undefined ? [] : [{ reasoningContent: { signature: utterance.signature } }]
    all.push({ deltas: [...(utterance.reasoning ?? []).map((piece) => ({ reasoningContent: { text: piece } })), ...signed] })
  }
  const pieces = utterance.text ?? utterance.refusal
  if (pieces)
    all.push({
      deltas: [...pieces.map((piece) => ({ text: piece })), ...(utterance.citations ?? []).map((each) => ({ citation: citation(each) }))],
    })
  for (const { id, name, args } of utterance.calls ?? [])
    all.push({ start: { toolUse: { toolUseId: id, name, type: 'tool_use' } }, deltas: args.map((input) => ({ toolUse: { input } })) })
  return all
}

export function bedrockFrames(utterance: Utterance): string[] {
  const messages = [event('messageStart', { role: 'assistant' })]
  for (const [contentBlockIndex, { start, deltas }] of blocks(utterance).entries()) {
    if (start) messages.push(event('contentBlockStart', { contentBlockIndex, start }))
    for (const delta of deltas) messages.push(event('contentBlockDelta', { contentBlockIndex, delta }))
    messages.push(event('contentBlockStop', { contentBlockIndex }))
  }
  messages.push(event('messageStop', { stopReason: stopReason(utterance), ...stopFields(utterance) }))
  messages.push(event('metadata', { usage: usage(utterance), metrics: { latencyMs: 7 } }))
  return messages.map((bytes) => bytes.toString('latin1'))
}

export function bedrockError(message: string): JsonObject {
  return { message }
}

export function bedrockBroken(message: string): string {
  return exception('internalServerException', message).toString('latin1')
}
