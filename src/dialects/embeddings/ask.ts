/** Request of a checked body: for the provider as inputs and settings, for the other layers in the canonical form. */

import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { fileUrl } from '../canon/file-url.ts'
import type { CanonicalRequest, Item, Part } from '../canon/request.ts'
import type { EmbeddingAsk, EmbeddingInput, EmbeddingSettings } from '../types.ts'
import { CLIENT_ID } from './names.ts'

export function ask(body: JsonObject): EmbeddingAsk {
  return { inputs: decodeInputs(body.input), settings: embeddingSettings(body) }
}

function embeddingSettings({ encoding_format: encoding, dimensions, input_type: inputType, user }: JsonObject): EmbeddingSettings {
  return {
    form: encoding === 'base64' ? 'base64' : 'float',
    ...(typeof dimensions === 'number' ? { dimensions } : {}),
    ...(typeof inputType === 'string' ? { inputType } : {}),
    ...(typeof user === 'string' ? { user } : {}),
  }
}

function decodeInputs(input: Json | undefined): EmbeddingInput[] {
  if (typeof input === 'string') return [{ kind: 'text', text: input }]
  if (!Array.isArray(input)) return []
  if (typeof input[0] === 'number') return [{ kind: 'tokens', tokens: input as number[] }]
  return input.map((item): EmbeddingInput => {
    if (typeof item === 'string') return { kind: 'text', text: item }
    if (Array.isArray(item)) return { kind: 'tokens', tokens: item as number[] }
    return contentInput(itemContent(item) ?? [])
  })
}

/** Parts that are all texts become one text, which every provider takes. */
function contentInput(parts: readonly Part[]): EmbeddingInput {
  const texts = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []))
  return texts.length === parts.length ? { kind: 'text', text: texts.join('\n') } : { kind: 'parts', parts }
}

/** The parts of an input that has some. */
function itemContent(item: Json | undefined): Part[] | undefined {
  return isObject(item) && Array.isArray(item.content) ? item.content.filter(isObject).map(decodePart) : undefined
}

function decodePart(part: JsonObject): Part {
  if (part.type === 'text') return { kind: 'text', text: String(part.text) }
  if (part.type === 'image_url') return { kind: 'media', media: 'image', url: String((part.image_url as JsonObject).url) }
  const { data, format } = part[String(part.type)] as { data: string; format: string }
  if (part.type === 'input_audio') return { kind: 'media', media: 'audio', data: bare(data), format }
  const media = part.type === 'input_video' ? 'video' : 'file'
  return { kind: 'media', media, url: media === 'video' ? videoUrl(data, format) : fileUrl(data, `file.${format}`), format }
}

/** Base64 without the head of a data URL. */
function bare(data: string): string {
  return data.startsWith('data:') ? data.slice(data.indexOf(',') + 1) : data
}

function videoUrl(data: string, format: string): string {
  return /^(?:data|https?):/i.test(data) ? data : `data:video/${format};base64,${data}`
}

/** The canonical form: each input is a message of the user, so that guardrails, needs and holds read it as they read any other. */
export function decodeRequest(body: JsonObject): CanonicalRequest {
  const { inputs, settings } = ask(body)
  const sent = Array.isArray(body.input) ? body.input : []
  return {
    items: inputs.map((input, index): Item => ({ kind: 'message', role: 'user', parts: itemContent(sent[index]) ?? inputParts(input) })),
    tools: [],
    sampling: {},
    ...(settings.user === undefined ? {} : { user: settings.user }),
    stream: false,
    used: new Set(),
  }
}

function inputParts(input: EmbeddingInput): Part[] {
  if (input.kind === 'text') return [{ kind: 'text', text: input.text }]
  if (input.kind === 'parts') return [...input.parts]
  // As a text, so that an estimate by bytes counts at least one for each token.
  return [{ kind: 'opaque', of: { dialect: CLIENT_ID, type: 'tokens', data: { ids: input.tokens.join(' ') } } }]
}

/** Path of an input, or of a part of it, in the body. */
export function inputPath({ input }: JsonObject, index: number, part?: number): string {
  if (!Array.isArray(input) || typeof input[0] === 'number') return 'input'
  return part === undefined ? `input[${index}]` : `input[${index}].content[${part}]`
}
