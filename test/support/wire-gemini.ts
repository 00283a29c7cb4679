/** `Said` as a server of Gemini's generateContent and streamGenerateContent writes it (types of @google/genai 3.1.0). */
import type { Json, JsonObject } from '../../src/core/json.ts'
import { endOf, type Said, usageOf } from './wire.ts'

const ID = 'response-upstream'
const MODEL = 'upstream-model'

/** This wire has no stop reason of its own for tool calls, and none for a stop sequence. */
function finishReason(said: Said): string {
  if (said.refusal) return 'SAFETY'
  return { stop: 'STOP', length: 'MAX_TOKENS', tool_calls: 'STOP', content_filter: 'SAFETY' }[endOf(said)]
}

/** What was read from the cache is part of the prompt; thoughts are counted beside the candidates. */
function usage(said: Said): JsonObject {
  const { input, output, cached, reasoning } = usageOf(said)
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
function grounding(said: Said): JsonObject | undefined {
  if (!said.citations) return undefined
  const text = said.text?.join('') ?? ''
  return {
    webSearchQueries: [...(said.searches ?? ['what was asked'])],
    groundingChunks: said.citations.map(({ url, title }) => ({ web: { uri: url, title } })),
    groundingSupports: [
      {
        segment: { startIndex: 0, endIndex: Buffer.byteLength(text), text },
        groundingChunkIndices: said.citations.map((_, index) => index),
      },
    ],
  }
}

/** Function calls come whole; the first of a turn carries the signature of the thoughts, or else the text does. */
function callParts(said: Said): JsonObject[] {
  return (said.calls ?? []).map((call, index) => ({
    functionCall: { id: call.id, name: call.name, args: JSON.parse(call.args.join('') || '{}') as Json },
    ...(index === 0 && said.signature !== undefined ? { thoughtSignature: said.signature } : {}),
  }))
}

function textPart(said: Said, text: string, last: boolean): JsonObject {
  const encrypted = last && said.signature !== undefined && !said.calls?.length
  return encrypted ? { text, thoughtSignature: said.signature } : { text }
}

function reply(said: Said, candidate: JsonObject): JsonObject {
  return { candidates: [{ ...candidate, index: 0 }], usageMetadata: usage(said), modelVersion: said.model ?? MODEL, responseId: ID }
}

/** The members of a candidate that only its end has. */
function ending(said: Said): JsonObject {
  const grounds = grounding(said)
  return {
    finishReason: finishReason(said),
    ...(said.refusal ? { finishMessage: said.refusal.join('') } : {}),
    ...(grounds ? { groundingMetadata: grounds } : {}),
  }
}

export function geminiReply(said: Said): JsonObject {
  const parts: JsonObject[] = []
  if (said.reasoning) parts.push({ text: said.reasoning.join(''), thought: true })
  if (said.text) parts.push(textPart(said, said.text.join(''), true))
  parts.push(...callParts(said))
  const content = parts.length > 0 ? { content: { parts, role: 'model' } } : {}
  return reply(said, { ...content, ...ending(said) })
}

function frame(event: JsonObject): string {
  return `data: ${JSON.stringify(event)}\n\n`
}

/** One reply per part, each with the counts so far; the last one tells how it ended. There is no end mark. */
export function geminiFrames(said: Said): string[] {
  const parts: JsonObject[] = []
  for (const text of said.reasoning ?? []) parts.push({ text, thought: true })
  for (const [index, text] of (said.text ?? []).entries()) parts.push(textPart(said, text, index === (said.text?.length ?? 0) - 1))
  parts.push(...callParts(said))
  const frames = parts.map((part) => frame(reply(said, { content: { parts: [part], role: 'model' } })))
  frames.push(frame(reply(said, { content: { parts: [{ text: '' }], role: 'model' }, ...ending(said) })))
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
