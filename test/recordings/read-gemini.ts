/** Content of a recorded reply of Gemini's `generateContent`. */
import type { JsonObject } from '../../src/core/json.ts'
import {
  type Expected,
  type ExpectedEnd,
  type ExpectedUsage,
  eventsIn,
  list,
  nothing,
  number,
  object,
  parseArgs,
  text,
} from './expected.ts'

/** Ends by a filter: `FinishReason` and `BlockedReason` of the API reference; MODEL_ARMOR is Vertex AI's. */
const FILTERED = new Set(['SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'IMAGE_SAFETY', 'MODEL_ARMOR', 'LANGUAGE'])

/** Ends because the model called a tool that it cannot call, or wrote a call that cannot be read. */
const WENT_WRONG = new Set(['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS', 'OTHER'])

function geminiEnd(utterance: Expected): ExpectedEnd {
  if (utterance.word === 'MAX_TOKENS') return 'length'
  if (FILTERED.has(utterance.word)) return 'content_filter'
  if (WENT_WRONG.has(utterance.word)) return 'error'
  return utterance.calls.length > 0 ? 'tool_calls' : 'stop'
}

function addPart(utterance: Expected, part: JsonObject): void {
  if (part.thought === true) utterance.reasoning += text(part.text)
  else utterance.text += text(part.text)
  if (text(part.thoughtSignature) !== '') utterance.secrets.push([text(part.thoughtSignature)])
  if (text(part.thoughtSignature) !== '' && part.functionCall === undefined) utterance.ofText.add(text(part.thoughtSignature))
  if (part.functionCall !== undefined) {
    const { id, name, args } = object(part.functionCall)
    utterance.calls.push({ id: text(id), name: text(name), args: parseArgs(args) })
  }
}

/** A chunk is cited once for each passage that it supports. */
function addGrounding(utterance: Expected, grounding: JsonObject): void {
  const chunks = list(grounding.groundingChunks)
  for (const support of list(grounding.groundingSupports))
    for (const index of Array.isArray(support.groundingChunkIndices) ? support.groundingChunkIndices : []) {
      const chunk = chunks[number(index)] ?? {}
      const { uri, title } = object(chunk.web ?? chunk.retrievedContext)
      if (text(uri) !== '' || text(title) !== '') utterance.citations.push({ url: text(uri), title: text(title) })
    }
}

/** Thoughts are counted beside the candidates, results of tools beside the prompt (`UsageMetadata` of the API reference). */
function readUsage(usage: JsonObject): ExpectedUsage {
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
  const utterance = nothing()
  let grounding: JsonObject = {}
  let usage: JsonObject = {}
  for (const reply of replies) {
    const [candidate = {}] = list(reply.candidates)
    for (const part of list(object(candidate.content).parts)) addPart(utterance, part)
    utterance.word = text(candidate.finishReason) || text(object(reply.promptFeedback).blockReason) || utterance.word
    grounding = { ...grounding, ...object(candidate.groundingMetadata) }
    usage = { ...usage, ...object(reply.usageMetadata) }
  }
  addGrounding(utterance, grounding)
  utterance.end = geminiEnd(utterance)
  if (usage.promptTokenCount !== undefined) utterance.usage = readUsage(usage)
  return utterance
}

export const readGeminiStream = (stream: string): Expected => readGemini(eventsIn(stream))
