/**
 * `Said` as Amazon Bedrock's Converse and ConverseStream write it (types of @aws-sdk/client-bedrock-runtime 3.1164.0; recordings
 * test_bedrock). Frames are binary: one character for each byte.
 */
import type { Json, JsonObject } from '../../src/core/json.ts'
import { event, exception } from './event-stream.ts'
import { endOf, type Said, usageOf } from './wire.ts'

function stopReason(said: Said): string {
  if (said.refusal) return 'content_filtered'
  if (said.sequence !== undefined) return 'stop_sequence'
  return { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use', content_filter: 'content_filtered' }[endOf(said)]
}

/** `inputTokens` counts neither what was read from the cache nor what was written to it. */
function usage(said: Said): JsonObject {
  const { input, output, cached, written, writtenLong } = usageOf(said)
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

const stopFields = ({ sequence }: Said): JsonObject =>
  sequence === undefined ? {} : { additionalModelResponseFields: { stop_sequence: sequence } }

const citation = ({ url, title }: { url: string; title: string }): JsonObject => ({
  title,
  source: url,
  sourceContent: [{ text: 'cited' }],
  location: { web: { url, domain: 'example.com' } },
})

function text(said: Said): JsonObject | undefined {
  const pieces = said.text ?? said.refusal
  if (!pieces) return undefined
  const whole = { text: pieces.join('') }
  return said.citations ? { citationsContent: { content: [whole], citations: said.citations.map(citation) } } : whole
}

function reasoning(said: Said): JsonObject | undefined {
  if (!said.reasoning && said.signature === undefined) return undefined
  const signature = said.signature === undefined ? {} : { signature: said.signature }
  return { reasoningContent: { reasoningText: { text: said.reasoning?.join('') ?? '', ...signature } } }
}

export function bedrockReply(said: Said): JsonObject {
  const calls = (said.calls ?? []).map(({ id, name, args }) => ({
    toolUse: { toolUseId: id, name, input: JSON.parse(args.join('') || '{}') as Json, type: 'tool_use' },
  }))
  const content = [reasoning(said), text(said), ...calls].filter((block) => block !== undefined)
  return {
    metrics: { latencyMs: 7 },
    output: { message: { role: 'assistant', content } },
    stopReason: stopReason(said),
    usage: usage(said),
    ...stopFields(said),
  }
}

/** The deltas of each block; a call begins with a message of its own, all others with their first piece. */
function blocks(said: Said): { start?: JsonObject; deltas: JsonObject[] }[] {
  const all: { start?: JsonObject; deltas: JsonObject[] }[] = []
  if (said.reasoning || said.signature !== undefined) {
    const signed = said.signature === undefined ? [] : [{ reasoningContent: { signature: said.signature } }]
    all.push({ deltas: [...(said.reasoning ?? []).map((piece) => ({ reasoningContent: { text: piece } })), ...signed] })
  }
  const pieces = said.text ?? said.refusal
  if (pieces)
    all.push({
      deltas: [...pieces.map((piece) => ({ text: piece })), ...(said.citations ?? []).map((each) => ({ citation: citation(each) }))],
    })
  for (const { id, name, args } of said.calls ?? [])
    all.push({ start: { toolUse: { toolUseId: id, name, type: 'tool_use' } }, deltas: args.map((input) => ({ toolUse: { input } })) })
  return all
}

export function bedrockFrames(said: Said): string[] {
  const messages = [event('messageStart', { role: 'assistant' })]
  for (const [contentBlockIndex, { start, deltas }] of blocks(said).entries()) {
    if (start) messages.push(event('contentBlockStart', { contentBlockIndex, start }))
    for (const delta of deltas) messages.push(event('contentBlockDelta', { contentBlockIndex, delta }))
    messages.push(event('contentBlockStop', { contentBlockIndex }))
  }
  messages.push(event('messageStop', { stopReason: stopReason(said), ...stopFields(said) }))
  messages.push(event('metadata', { usage: usage(said), metrics: { latencyMs: 7 } }))
  return messages.map((bytes) => bytes.toString('latin1'))
}

export function bedrockError(message: string): JsonObject {
  return { message }
}

export function bedrockBroken(message: string): string {
  return exception('internalServerException', message).toString('latin1')
}
