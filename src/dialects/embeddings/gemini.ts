/**
 * Embeddings as Google's Gemini API gives them.
 * Sources: ai.google.dev/api/embeddings (`batchEmbedContents`, `TaskType`, `EmbeddingUsageMetadata`) and
 * ai.google.dev/gemini-api/docs/embeddings (media); at most 100 inputs a call (vercel/ai pull request 16575).
 * The provider silently truncates longer inputs. Numbers come as text only.
 */

import { Fault } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { count, statedCount } from '../canon/counts.ts'
import type { Part } from '../canon/request.ts'
import { type InputKind, type InputSplit, noUsage } from '../canon/usage.ts'
import type { Embedded, EmbeddingAsk, EmbeddingInput, EmbeddingLack, EmbeddingTarget, Encoded } from '../types.ts'
import { parseDataUrl } from './data-url.ts'
import { inputPurpose, type Purpose } from './input-types.ts'
import { type EmbeddingFormat, isDropped, lackingDimensions, lackingInput, leaveOut, splitFrom } from './provider-body.ts'

export const geminiFormat: EmbeddingFormat = {
  fields: new Map([
    ['input', ['requests']],
    ['dimensions', ['requests.outputDimensionality']],
    ['input_type', ['requests.taskType']],
  ]),
  most: { inputs: 100 },
  longInput: 'truncates',
  keys: new Set(['values']),
  lacks,
  encode,
  decode,
}

const TASKS: Readonly<Record<Purpose, string>> = {
  query: 'RETRIEVAL_QUERY',
  document: 'RETRIEVAL_DOCUMENT',
  classification: 'CLASSIFICATION',
  clustering: 'CLUSTERING',
  similarity: 'SEMANTIC_SIMILARITY',
  code: 'CODE_RETRIEVAL_QUERY',
  question: 'QUESTION_ANSWERING',
  fact: 'FACT_VERIFICATION',
}

function lacks(ask: EmbeddingAsk, target: EmbeddingTarget): EmbeddingLack | undefined {
  const tokens = (input: EmbeddingInput) => (input.kind === 'tokens' ? 'takes no token ids' : undefined)
  const media = (part: Media) => (encodeBlob(part) ? undefined : `takes ${part.media} as base64 only`)
  return lackingInput(ask.inputs, tokens, media) ?? lackingDimensions(ask, target)
}

type Media = Extract<Part, { kind: 'media' }>

function encode({ inputs, settings }: EmbeddingAsk, target: EmbeddingTarget): Encoded {
  const dropped: string[] = []
  const model = target.model.includes('/') ? target.model : `models/${target.model}`
  const purpose = isDropped(target, 'input_type') ? undefined : inputPurpose(settings.inputType)
  if (settings.inputType !== undefined && purpose === undefined) dropped.push('input_type')
  if (settings.user !== undefined) dropped.push('user')
  const requests = inputs.map((input) => {
    const request: JsonObject = { model, content: { parts: encodeParts(input) } }
    if (purpose !== undefined) request.taskType = TASKS[purpose]
    if (settings.dimensions !== undefined) request.outputDimensionality = settings.dimensions
    return request
  })
  const path = `/${model.split('/').map(encodeURIComponent).join('/')}:batchEmbedContents`
  return { path, body: leaveOut({ requests }, target, dropped), dropped }
}

function encodeParts(input: EmbeddingInput): JsonObject[] {
  if (input.kind === 'text') return [{ text: input.text }]
  if (input.kind === 'tokens') return []
  return input.parts.flatMap((part): JsonObject[] => {
    if (part.kind === 'text') return [{ text: part.text }]
    const blob = part.kind === 'media' ? encodeBlob(part) : undefined
    return blob ? [{ inlineData: { ...blob } }] : []
  })
}

function encodeBlob(part: Media): { mimeType: string; data: string } | undefined {
  return part.media === 'audio' && part.data !== undefined ? { mimeType: `audio/${part.format}`, data: part.data } : parseDataUrl(part.url)
}

function decode({ embeddings, usageMetadata }: JsonObject): Embedded {
  if (!Array.isArray(embeddings)) throw new Fault('upstream_garbled')
  const vectors = embeddings.map((each) => {
    if (!isObject(each) || typeof each.values !== 'number') throw new Fault('upstream_garbled')
    return each.values
  })
  const counts = isObject(usageMetadata) ? usageMetadata : {}
  const { promptTokenCount: tokens } = counts
  if (statedCount(tokens) === undefined) return { vectors }
  const inputSplit = decodeSplit(counts.promptTokenDetails ?? counts.promptTokensDetails)
  const audioInput = inputSplit?.audio ?? 0
  return { vectors, usage: { ...noUsage(), input: count(tokens), audioInput, ...(inputSplit ? { inputSplit } : {}) } }
}

/** `Modality` of `ModalityTokenCount`. */
const KINDS: Readonly<Record<string, InputKind>> = { TEXT: 'text', IMAGE: 'image', AUDIO: 'audio', VIDEO: 'video', DOCUMENT: 'file' }

function decodeSplit(details: Json | undefined): InputSplit | undefined {
  if (!Array.isArray(details)) return undefined
  const tokens = new Map<InputKind, number>()
  for (const each of details) {
    const kind = isObject(each) && typeof each.modality === 'string' ? KINDS[each.modality] : undefined
    if (kind !== undefined && isObject(each)) tokens.set(kind, (tokens.get(kind) ?? 0) + count(each.tokenCount))
  }
  return splitFrom((kind) => tokens.get(kind))
}
