/**
 * Embeddings as OpenAI and everything compatible gives them.
 * Source: platform.openai.com/docs/api-reference/embeddings/create (2,048 inputs and 300,000 tokens a call; longer inputs are refused).
 */

import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { statedCount } from '../canon/counts.ts'
import { noUsage } from '../canon/usage.ts'
import type { Embedded, EmbeddingAsk, EmbeddingInput, EmbeddingLack, EmbeddingTarget, Encoded } from '../types.ts'
import { listedVectors } from './data-list.ts'
import { embeddingFields } from './names.ts'
import { type EmbeddingFormat, isDropped, lackingDimensions, lackingInput, leaveOut, splitFrom, userFor } from './provider-body.ts'

export const openaiFormat: EmbeddingFormat = {
  fields: embeddingFields,
  most: { inputs: 2048, tokens: 300_000 },
  longInput: 'rejects',
  keys: new Set(['embedding']),
  lacks,
  encode,
  decode,
}

function lacks(ask: EmbeddingAsk, target: EmbeddingTarget): EmbeddingLack | undefined {
  const media = (part: { media: string }): string | undefined =>
    target.quirks.input_parts === true ? undefined : `takes no ${part.media} in this format`
  return lackingInput(ask.inputs, () => undefined, media) ?? lackingDimensions(ask, target)
}

function encode({ inputs, settings }: EmbeddingAsk, target: EmbeddingTarget): Encoded {
  const dropped: string[] = []
  const body: JsonObject = { model: target.model, input: encodeInput(inputs) }
  if (settings.form === 'base64' && !isDropped(target, 'encoding_format')) body.encoding_format = 'base64'
  if (settings.dimensions !== undefined) body.dimensions = settings.dimensions
  if (settings.inputType !== undefined) {
    if (target.quirks.input_type === true) body.input_type = settings.inputType
    else dropped.push('input_type')
  }
  if (settings.user !== undefined) {
    body.user = userFor(target, settings.user)
    if (body.user === undefined) dropped.push('user')
  }
  return { path: '/embeddings', body: leaveOut(body, target, dropped), dropped }
}

/** One form for the whole batch. */
function encodeInput(inputs: readonly EmbeddingInput[]): Json {
  const joint = inputs.some(({ kind }) => kind === 'parts')
  return inputs.map((input): Json => {
    if (input.kind === 'tokens') return [...input.tokens]
    if (input.kind === 'text') return joint ? { content: [{ type: 'text', text: input.text }] } : input.text
    return { content: input.parts.map(encodePart) }
  })
}

/** Parts as this gateway's own operation takes them: a gateway may stand in front of another. */
function encodePart(part: Extract<EmbeddingInput, { kind: 'parts' }>['parts'][number]): Json {
  if (part.kind === 'text') return { type: 'text', text: part.text }
  if (part.kind !== 'media') return null
  if (part.media === 'image') return { type: 'image_url', image_url: { url: part.url ?? '' } }
  const type = `input_${part.media}`
  return { type, [type]: { data: part.data ?? part.url ?? '', format: part.format ?? '' } }
}

function decode(body: JsonObject): Embedded {
  const vectors = listedVectors(body)
  const { usage } = body
  if (!isObject(usage)) return { vectors }
  const input = statedCount(usage.prompt_tokens) ?? statedCount(usage.total_tokens)
  if (input === undefined) return { vectors }
  const { prompt_tokens_details: details } = usage
  const inputSplit = isObject(details) ? splitFrom((kind) => details[`${kind}_tokens`]) : undefined
  const audioInput = inputSplit?.audio ?? 0
  return { vectors, usage: { ...noUsage(), input, audioInput, ...(inputSplit ? { inputSplit } : {}) } }
}
