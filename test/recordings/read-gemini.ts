/** What a recorded reply of Gemini's `generateContent` holds. */
import type { JsonObject } from '../../src/core/json.ts'
import { argsOf, type Expected, type ExpectedEnd, type ExpectedUsage, eventsIn, list, nothing, number, object, text } from './expected.ts'

/** Ends by a filter: `FinishReason` and `BlockedReason` of the API reference; MODEL_ARMOR is Vertex AI's. */
const FILTERED = new Set(['SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'IMAGE_SAFETY', 'MODEL_ARMOR', 'LANGUAGE'])

/** Ends because the model called a tool that it cannot call, or wrote a call that cannot be read. */
const WENT_WRONG = new Set(['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS', 'OTHER'])

function endOf(said: Expected): ExpectedEnd {
  if (said.word === 'MAX_TOKENS') return 'length'
  if (FILTERED.has(said.word)) return 'content_filter'
  if (WENT_WRONG.has(said.word)) return 'error'
  return said.calls.length > 0 ? 'tool_calls' : 'stop'
}

function addPart(said: Expected, part: JsonObject): void {
  if (part.thought === true) said.reasoning += text(part.text)
  else said.text += text(part.text)
  if (text(part.thoughtSignature) !== '') said.secrets.push([text(part.thoughtSignature)])
  if (text(part.thoughtSignature) !== '' && part.functionCall === undefined) said.ofText.add(text(part.thoughtSignature))
  if (part.functionCall !== undefined) {
    const { id, name, args } = object(part.functionCall)
    said.calls.push({ id: text(id), name: text(name), args: argsOf(args) })
  }
}

/** A chunk is cited once for each passage that it supports. */
function addGrounding(said: Expected, grounding: JsonObject): void {
  const chunks = list(grounding.groundingChunks)
  for (const support of list(grounding.groundingSupports))
    for (const index of Array.isArray(support.groundingChunkIndices) ? support.groundingChunkIndices : []) {
      const chunk = chunks[number(index)] ?? {}
      const { uri, title } = object(chunk.web ?? chunk.retrievedContext)
      if (text(uri) !== '' || text(title) !== '') said.citations.push({ url: text(uri), title: text(title) })
    }
}

/** Thoughts are counted beside the candidates, results of tools beside the prompt (`UsageMetadata` of the API reference). */
function usageOf(usage: JsonObject): ExpectedUsage {
  return {
    input: number(usage.promptTokenCount) + number(usage.toolUsePromptTokenCount),
    output: number(usage.candidatesTokenCount) + number(usage.thoughtsTokenCount),
    cached: number(usage.cachedContentTokenCount),
    written: 0,
    reasoning: number(usage.thoughtsTokenCount),
  }
}

/** One reply, or the replies of one stream in their order. */
export function readGemini(replies: readonly JsonObject[]): Expected {
  const said = nothing()
  let grounding: JsonObject = {}
  let usage: JsonObject = {}
  for (const reply of replies) {
    const [candidate = {}] = list(reply.candidates)
    for (const part of list(object(candidate.content).parts)) addPart(said, part)
    said.word = text(candidate.finishReason) || text(object(reply.promptFeedback).blockReason) || said.word
    grounding = { ...grounding, ...object(candidate.groundingMetadata) }
    usage = { ...usage, ...object(reply.usageMetadata) }
  }
  addGrounding(said, grounding)
  said.end = endOf(said)
  if (usage.promptTokenCount !== undefined) said.usage = usageOf(usage)
  return said
}

export const readGeminiStream = (stream: string): Expected => readGemini(eventsIn(stream))
