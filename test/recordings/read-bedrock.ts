/** Content of a recorded reply of Amazon Bedrock's Converse. */
import type { JsonObject } from '../../src/core/json.ts'
import { type Expected, type ExpectedEnd, type ExpectedUsage, list, nothing, number, object, parseArgs, text } from './expected.ts'

const ENDS: Readonly<Record<string, ExpectedEnd>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  guardrail_intervened: 'content_filter',
  content_filtered: 'content_filter',
}

/** Claude's own encrypted reasoning is base64 within the base64 of the service. */
const secretForms = (redacted: string): string[] => [redacted, Buffer.from(redacted, 'base64').toString('utf8')]

function addBlock(utterance: Expected, block: JsonObject): void {
  utterance.text += text(block.text)
  const { reasoningText, redactedContent } = object(block.reasoningContent)
  utterance.reasoning += text(object(reasoningText).text)
  for (const forms of [text(object(reasoningText).signature), text(redactedContent)].filter((secret) => secret !== ''))
    utterance.secrets.push(secretForms(forms))
  const { toolUseId, name, input, type } = object(block.toolUse)
  // What ran at the provider is no call of the caller's.
  if (block.toolUse !== undefined && type !== 'server_tool_use')
    utterance.calls.push({ id: text(toolUseId), name: text(name), args: parseArgs(input) })
}

function readUsage(usage: JsonObject): ExpectedUsage {
  const [cached, written] = [number(usage.cacheReadInputTokens), number(usage.cacheWriteInputTokens)]
  return { input: number(usage.inputTokens) + cached + written, output: number(usage.outputTokens), cached, written, reasoning: 0 }
}

export function readConverse(reply: JsonObject): Expected {
  const utterance = nothing()
  for (const block of list(object(object(reply.output).message).content)) addBlock(utterance, block)
  utterance.word = text(reply.stopReason)
  utterance.end = ENDS[utterance.word] ?? 'stop'
  utterance.usage = readUsage(object(reply.usage))
  return utterance
}

/** The messages of a binary stream with their types: lengths stand in their first eight bytes, the type in the first header. */
function messagesIn(stream: string): { type: string; data: JsonObject }[] {
  const bytes = Buffer.from(stream, 'latin1')
  const messages: { type: string; data: JsonObject }[] = []
  for (let at = 0; at < bytes.length; at += bytes.readUInt32BE(at)) {
    const headers = at + 12
    const payload = headers + bytes.readUInt32BE(at + 4)
    const [, type = ''] = /:event-type[^\w:]{3}(\w+)/.exec(bytes.toString('latin1', headers, payload)) ?? []
    messages.push({ type, data: JSON.parse(bytes.toString('utf8', payload, at + bytes.readUInt32BE(at) - 4)) as JsonObject })
  }
  return messages
}

/** Adds a delta to the block that it belongs to. */
function addDelta(block: JsonObject, delta: JsonObject): void {
  if (delta.text !== undefined) block.text = text(block.text) + text(delta.text)
  if (delta.toolUse !== undefined) {
    const call = object(block.toolUse)
    block.toolUse = { ...call, input: text(call.input) + text(object(delta.toolUse).input) }
  }
  const { text: thought, signature, redactedContent } = object(delta.reasoningContent)
  const before = object(block.reasoningContent)
  if (thought !== undefined || signature !== undefined) {
    const held = object(before.reasoningText)
    block.reasoningContent = { reasoningText: { text: text(held.text) + text(thought), signature: signature ?? held.signature } }
  } else if (redactedContent !== undefined) block.reasoningContent = { redactedContent }
}

export function readConverseStream(stream: string): Expected {
  const content: JsonObject[] = []
  let reply: JsonObject = {}
  const blockAt = (index: number): JsonObject => {
    content[index] ??= {}
    return content[index]
  }
  for (const { type, data } of messagesIn(stream)) {
    const index = number(data.contentBlockIndex)
    if (type === 'contentBlockStart') content[index] = { ...object(data.start) }
    else if (type === 'contentBlockDelta') addDelta(blockAt(index), object(data.delta))
    else if (type === 'messageStop' || type === 'metadata') reply = { ...reply, ...data }
  }
  return readConverse({ ...reply, output: { message: { content } } })
}
