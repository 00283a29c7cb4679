/** `Utterance` as a server of Gemini's generateContent and streamGenerateContent writes it (types of @google/genai 3.1.0). */
import type { Json, JsonObject } from '../../src/core/json.ts'
import { type Utterance, utteranceEnd, utteranceUsage } from './wire.ts'

const ID = 'response-upstream'
const MODEL = 'upstream-model'

/** This wire has no stop reason of its own for tool calls, and none for a stop sequence. */
function finishReason(utterance: Utterance): string {
  if (utterance.refusal) return 'SAFETY'
  return { stop: 'STOP', length: 'MAX_TOKENS', tool_calls: 'STOP', content_filter: 'SAFETY' }[utteranceEnd(utterance)]
}

/** Tokens that were read from the cache are part of the prompt; thoughts are counted beside the candidates. */
function usage(utterance: Utterance): JsonObject {
  const { input, output, cached, reasoning } = utteranceUsage(utterance)
  return {
    promptTokenCount: input,
    ...(cached > 0 ? { cachedContentTokenCount: cached } : {}),
    candidatesTokenCount: output - reasoning,
    ...(reasoning > 0 ? { thoughtsTokenCount: reasoning } : {}),
    totalTokenCount: input + output,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
  }
}

/** Citations of the whole text; offsets are bytes of UTF-8. */
function grounding(utterance: Utterance): JsonObject | undefined {
  if (!utterance.citations) return undefined
  const text = utterance.text?.join('') ?? ''
  return {
    webSearchQueries: [...(utterance.searches ?? ['what was asked'])],
    groundingChunks: utterance.citations.map(({ url, title }) => ({ web: { uri: url, title } })),
    groundingSupports: [
      {
        segment: { startIndex: 0, endIndex: Buffer.byteLength(text), text },
        groundingChunkIndices: utterance.citations.map((_, index) => index),
      },
    ],
  }
}

/** Function calls come whole; the first of a turn carries the signature of the thoughts, or else the text does. */
function callParts(utterance: Utterance): JsonObject[] {
  return (utterance.calls ?? []).map((call, index) => ({
    functionCall: { id: call.id, name: call.name, args: JSON.parse(call.args.join('') || '{}') as Json },
    ...(index === 0 && utterance.signature !== undefined ? { thoughtSignature: utterance.signature } : {}),
  }))
}

function textPart(utterance: Utterance, text: string, last: boolean): JsonObject {
  const encrypted = last && utterance.signature !== undefined && !utterance.calls?.length
  return encrypted ? { text, thoughtSignature: utterance.signature } : { text }
}

function reply(utterance: Utterance, candidate: JsonObject): JsonObject {
  return {
    candidates: [{ ...candidate, index: 0 }],
    usageMetadata: usage(utterance),
    modelVersion: utterance.model ?? MODEL,
    responseId: ID,
  }
}

/** The members of a candidate that only its end has. */
function ending(utterance: Utterance): JsonObject {
  const grounds = grounding(utterance)
  return {
    finishReason: finishReason(utterance),
    ...(utterance.refusal ? { finishMessage: utterance.refusal.join('') } : {}),
    ...(grounds ? { groundingMetadata: grounds } : {}),
  }
}

export function geminiReply(utterance: Utterance): JsonObject {
  const parts: JsonObject[] = []
  if (utterance.reasoning) parts.push({ text: utterance.reasoning.join(''), thought: true })
  if (utterance.text) parts.push(textPart(utterance, utterance.text.join(''), true))
  parts.push(...callParts(utterance))
  const content = parts.length > 0 ? { content: { parts, role: 'model' } } : {}
  return reply(utterance, { ...content, ...ending(utterance) })
}

function frame(event: JsonObject): string {
  return `data: ${JSON.stringify(event)}\n\n`
}

/** One reply per part, each with the counts so far; the last one tells how it ended. There is no end mark. */
export function geminiFrames(utterance: Utterance): string[] {
  const parts: JsonObject[] = []
  for (const text of utterance.reasoning ?? []) parts.push({ text, thought: true })
  for (const [index, text] of (utterance.text ?? []).entries())
    parts.push(textPart(utterance, text, index === (utterance.text?.length ?? 0) - 1))
  parts.push(...callParts(utterance))
  const frames = parts.map((part) => frame(reply(utterance, { content: { parts: [part], role: 'model' } })))
  frames.push(frame(reply(utterance, { content: { parts: [{ text: '' }], role: 'model' }, ...ending(utterance) })))
  return frames
}

/** A prompt that was not answered at all. */
export function geminiBlocked(reason: string): JsonObject {
  return {
    promptFeedback: { blockReason: reason },
    usageMetadata: { promptTokenCount: 11, totalTokenCount: 11 },
    modelVersion: MODEL,
    responseId: ID,
  }
}

/** An error as this API reports it. */
export function geminiError(code: number, status: string, message: string): JsonObject {
  return { error: { code, message, status, details: [] } }
}
