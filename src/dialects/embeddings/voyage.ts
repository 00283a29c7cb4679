/**
 * Embeddings as Voyage gives them: `POST /v1/embeddings` for text, `POST /v1/multimodalembeddings` for models that read images.
 * Sources: docs.voyageai.com/reference/embeddings-api (1,000 texts a call; tokens by model, 120,000 the least) and
 * docs.voyageai.com/reference/multimodal-embeddings-api (1,000 inputs; images of one request all by URL or all as data).
 */

import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { statedCount } from '../canon/counts.ts'
import { shapeBody } from '../canon/quirks.ts'
import type { Part } from '../canon/request.ts'
import { noUsage } from '../canon/usage.ts'
import type { Embedded, EmbeddingAsk, EmbeddingInput, EmbeddingLack, EmbeddingTarget, EmbeddingWire, Encoded } from '../types.ts'
import { listedVectors } from './data-list.ts'
import { parseDataUrl } from './data-url.ts'
import { inputPurpose } from './input-types.ts'
import { lackingDimensions, lackingInput, leaveOut } from './provider-body.ts'
import { decodeFault } from './provider-fault.ts'

export const voyageEmbedding: EmbeddingWire = {
  id: 'voyage',
  auth: (key) => ['authorization', `Bearer ${key}`],
  decodeFault,
  fields: new Map([
    ['input', ['input', 'inputs']],
    ['dimensions', ['output_dimension']],
    ['encoding_format', ['output_encoding']],
  ]),
  most: { inputs: 1000, tokens: 120_000 },
  longInput: 'configurable',
  keys: new Set(['embedding']),
  lacks,
  encode,
  decode,
}

/** A model that reads images has an operation of its own, for texts as well. */
const isJoint = ({ reads }: EmbeddingTarget): boolean => reads.some((each) => each !== 'text')

function lacks(ask: EmbeddingAsk, target: EmbeddingTarget): EmbeddingLack | undefined {
  const tokens = (input: EmbeddingInput) => (input.kind === 'tokens' ? 'takes no token ids' : undefined)
  let asData: boolean | undefined
  const media = ({ media: kind, url }: Extract<Part, { kind: 'media' }>): string | undefined => {
    if (kind !== 'image' && kind !== 'video') return `takes no ${kind} in this format`
    const data = parseDataUrl(url) !== undefined
    asData ??= data
    return data === asData ? undefined : 'takes media all by address or all as data, not both in one request'
  }
  return lackingInput(ask.inputs, tokens, media) ?? lackingDimensions(ask, target)
}

function encode({ inputs, settings }: EmbeddingAsk, target: EmbeddingTarget): Encoded {
  const dropped: string[] = []
  // For a model that does not declare what it reads, the inputs decide which operation is called.
  const joint = isJoint(target) || inputs.some(({ kind }) => kind === 'parts')
  const body: JsonObject = { model: target.model, ...(joint ? { inputs: inputs.map(jointInput) } : { input: inputs.map(inputText) }) }
  const purpose = inputPurpose(settings.inputType)
  if (purpose === 'query' || purpose === 'document') body.input_type = purpose
  else if (settings.inputType !== undefined) dropped.push('input_type')
  if (settings.user !== undefined) dropped.push('user')
  if (settings.dimensions !== undefined) body.output_dimension = settings.dimensions
  if (settings.form === 'base64') body[joint ? 'output_encoding' : 'encoding_format'] = 'base64'
  if (target.longInput !== undefined) body.truncation = target.longInput === 'truncate'
  return { path: joint ? '/multimodalembeddings' : '/embeddings', body: shapeBody(leaveOut(body, target, dropped), target.quirks), dropped }
}

const inputText = (input: EmbeddingInput): string => (input.kind === 'text' ? input.text : '')

function jointInput(input: EmbeddingInput): Json {
  if (input.kind === 'text') return { content: [{ type: 'text', text: input.text }] }
  return { content: input.kind === 'parts' ? input.parts.flatMap(encodePart) : [] }
}

function encodePart(part: Part): Json[] {
  if (part.kind === 'text') return [{ type: 'text', text: part.text }]
  if (part.kind !== 'media') return []
  const type = `${part.media}_${parseDataUrl(part.url) ? 'base64' : 'url'}`
  return [{ type, [type]: part.url ?? '' }]
}

function decode(body: JsonObject): Embedded {
  const vectors = listedVectors(body)
  const { usage } = body
  if (!isObject(usage)) return { vectors }
  // Images are billed by their pixels, not by the tokens that they take: those are in the price of the endpoint.
  const tokens = usage.text_tokens ?? usage.total_tokens
  const input = statedCount(tokens)
  return input === undefined ? { vectors } : { vectors, usage: { ...noUsage(), input } }
}
