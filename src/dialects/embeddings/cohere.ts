/**
 * Embeddings as Cohere gives them: `POST /v2/embed`.
 * Source: docs.cohere.com/reference/embed (version 2; `V2EmbedRequest` of its TypeScript SDK): `input_type` is required,
 * `inputs` hold text and images, at most 96 of either a call; images as data URIs; longer inputs by `truncate`.
 */

import { Fault } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { count, statedCount } from '../canon/counts.ts'
import { shapeBody } from '../canon/quirks.ts'
import type { Part } from '../canon/request.ts'
import { noUsage } from '../canon/usage.ts'
import type { Embedded, EmbeddingAsk, EmbeddingInput, EmbeddingLack, EmbeddingTarget, EmbeddingWire, Encoded } from '../types.ts'
import { parseDataUrl } from './data-url.ts'
import { inputPurpose, type Purpose } from './input-types.ts'
import { lackingDimensions, lackingInput, leaveOut, splitFrom } from './provider-body.ts'
import { decodeFault } from './provider-fault.ts'

export const cohereEmbedding: EmbeddingWire = {
  id: 'cohere',
  auth: (key) => ['authorization', `Bearer ${key}`],
  decodeFault,
  fields: new Map([
    ['input', ['texts', 'inputs']],
    ['dimensions', ['output_dimension']],
    ['encoding_format', ['embedding_types']],
  ]),
  most: { inputs: 96 },
  longInput: 'configurable',
  keys: new Set(['float', 'base64']),
  lacks,
  encode,
  decode,
}

const TYPES: Partial<Record<Purpose, string>> = {
  query: 'search_query',
  document: 'search_document',
  classification: 'classification',
  clustering: 'clustering',
}
/** Type for texts to be found, where the caller names none. */
const USUAL = 'search_document'

function lacks(ask: EmbeddingAsk, target: EmbeddingTarget): EmbeddingLack | undefined {
  const tokens = (input: EmbeddingInput) => (input.kind === 'tokens' ? 'takes no token ids' : undefined)
  return lackingInput(ask.inputs, tokens, lackingImage) ?? lackingDimensions(ask, target)
}

function lackingImage({ media, url }: Extract<Part, { kind: 'media' }>): string | undefined {
  if (media !== 'image') return `takes no ${media} in this format`
  return parseDataUrl(url) ? undefined : 'takes images as data URLs only'
}

function encode({ inputs, settings }: EmbeddingAsk, target: EmbeddingTarget): Encoded {
  const dropped: string[] = []
  const purpose = inputPurpose(settings.inputType)
  const type = purpose === undefined ? undefined : TYPES[purpose]
  if (settings.inputType !== undefined && type === undefined) dropped.push('input_type')
  if (settings.user !== undefined) dropped.push('user')
  const body: JsonObject = {
    model: target.model,
    input_type: type ?? USUAL,
    embedding_types: [settings.form],
    ...encodeContent(inputs),
  }
  if (settings.dimensions !== undefined) body.output_dimension = settings.dimensions
  if (target.longInput !== undefined) body.truncate = target.longInput === 'reject' ? 'NONE' : 'END'
  return { path: '/embed', body: shapeBody(leaveOut(body, target, dropped), target.quirks), dropped }
}

function encodeContent(inputs: readonly EmbeddingInput[]): JsonObject {
  const texts = inputs.flatMap((input) => (input.kind === 'text' ? [input.text] : []))
  if (texts.length === inputs.length) return { texts }
  return { inputs: inputs.map((input) => ({ content: encodeParts(input) })) }
}

function encodeParts(input: EmbeddingInput): Json[] {
  if (input.kind === 'text') return [{ type: 'text', text: input.text }]
  if (input.kind === 'tokens') return []
  return input.parts.flatMap((part): Json[] => {
    if (part.kind === 'text') return [{ type: 'text', text: part.text }]
    return part.kind === 'media' ? [{ type: 'image_url', image_url: { url: part.url ?? '' } }] : []
  })
}

function decode({ embeddings, meta }: JsonObject): Embedded {
  const found = isObject(embeddings) ? (embeddings.float ?? embeddings.base64) : undefined
  if (!Array.isArray(found)) throw new Fault('upstream_garbled')
  const vectors = found.map((each) => {
    if (typeof each !== 'number') throw new Fault('upstream_garbled')
    return each
  })
  const billed = isObject(meta) && isObject(meta.billed_units) ? meta.billed_units : {}
  // Images that are billed by the piece are in the price of the endpoint.
  const { input_tokens: text, image_tokens: images } = billed
  if ([text, images, billed.images].every((each) => statedCount(each) === undefined)) return { vectors }
  const inputSplit = splitFrom((kind) => (kind === 'text' ? text : kind === 'image' ? images : undefined))
  return { vectors, usage: { ...noUsage(), input: count(text) + count(images), ...(inputSplit ? { inputSplit } : {}) } }
}
