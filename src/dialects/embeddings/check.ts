/** The rules of an embedding request: its schema, then its input (docs/contract.md#embeddings). */
import { Type } from 'typebox'
import { checker } from '../../core/check.ts'
import { badField } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { gatewayProperties } from '../canon/gateway-schema.ts'
import { checkFields } from '../canon/request-fields.ts'
import type { ClientDialect } from '../types.ts'
import { ask, decodeRequest, inputPath } from './ask.ts'
import { encodeReply } from './encode-reply.ts'
import { CLIENT_ID, embeddingFields } from './names.ts'

/** Inputs of one request; a batch is split by what its provider takes, but a reply has to fit into memory. */
const MAX_INPUTS = 8192

const FORMS = 'a string, or an array of strings, of token ids, of arrays of token ids, or of objects with content'

/**
 * The rules of `input`, which a schema says badly: every refusal names the very item.
 * @throws Fault 400 naming the item and what was expected there.
 */
function checkInput(input: Json | undefined): void {
  if (input === undefined) throw badField('input', 'is required')
  if (typeof input === 'string') checkText(input, 'input')
  else if (!Array.isArray(input)) throw badField('input', `expected ${FORMS}`)
  else checkList(input)
}

function checkList(input: readonly Json[]): void {
  if (input.length === 0) throw badField('input', 'must have at least 1 item')
  const [first] = input
  if (typeof first === 'number') {
    checkTokens(input, 'input')
    return
  }
  if (input.length > MAX_INPUTS) throw badField('input', `must have at most ${MAX_INPUTS} items`)
  for (const [i, item] of input.entries()) {
    const at = `input[${i}]`
    if (typeof first === 'string') {
      if (typeof item !== 'string') throw badField(at, 'expected a string, as the items before it')
      checkText(item, at)
    } else if (Array.isArray(first)) {
      if (!Array.isArray(item)) throw badField(at, 'expected an array of token ids, as the items before it')
      checkTokens(item, at)
    } else if (isObject(first)) {
      if (!isObject(item)) throw badField(at, 'expected an object with content, as the items before it')
      checkContent(item.content, `${at}.content`)
    } else throw badField(at, `expected ${FORMS.replace('a string, or an array of strings', 'a string')}`)
  }
}

function checkText(text: string, at: string): void {
  if (text === '') throw badField(at, 'must not be empty')
}

function checkTokens(tokens: readonly Json[], at: string): void {
  if (tokens.length === 0) throw badField(at, 'must have at least 1 item')
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]
    if (!Number.isSafeInteger(token) || (token as number) < 0)
      throw badField(`${at}[${i}]`, 'expected a token id: a whole number from 0 on')
  }
}

function checkContent(content: Json | undefined, at: string): void {
  if (content === undefined) throw badField(at, 'is required')
  if (!Array.isArray(content)) throw badField(at, 'expected an array of parts')
  if (content.length === 0) throw badField(at, 'must have at least 1 item')
  for (const [i, part] of content.entries()) checkPart(part, `${at}[${i}]`)
}

const MEDIA = ['input_audio', 'input_video', 'input_file'] as const

function checkPart(part: Json, at: string): void {
  if (!isObject(part)) throw badField(at, 'expected an object')
  const { type } = part
  if (type === 'text') needText(part, 'text', at)
  else if (type === 'image_url') needText(needObject(part, 'image_url', at), 'url', `${at}.image_url`)
  else {
    const media = MEDIA.find((name) => name === type)
    if (!media) throw badField(`${at}.type`, `expected one of: text, image_url, ${MEDIA.join(', ')}`)
    const held = needObject(part, media, at)
    needText(held, 'data', `${at}.${media}`)
    needText(held, 'format', `${at}.${media}`)
  }
}

function needObject(part: JsonObject, name: string, at: string): JsonObject {
  const value = part[name]
  if (value === undefined) throw badField(`${at}.${name}`, 'is required')
  if (!isObject(value)) throw badField(`${at}.${name}`, 'expected an object')
  return value
}

function needText(holder: JsonObject, name: string, at: string): void {
  const value = holder[name]
  if (value === undefined) throw badField(`${at}.${name}`, 'is required')
  if (typeof value !== 'string') throw badField(`${at}.${name}`, 'expected a string')
  checkText(value, `${at}.${name}`)
}

/** `POST /v1/embeddings` as callers speak it. */
export const embeddingsClient: ClientDialect = {
  id: CLIENT_ID,
  fields: embeddingFields,
  /** Vectors never stream, whichever client requests it (docs/contract.md#embeddings). */
  expand: (body) => (body.stream === undefined ? body : withoutStream(body)),
  check,
  decodeRequest,
  embedding: { ask, inputPath, encode: encodeReply },
  // There is no text to stream or to fold: the vectors are the whole reply.
  open: () => '',
  debug: () => '',
  streamEncoder: () => ({ push: () => '', finish: () => '' }),
  encodeResult: (_folded, ctx, final) => Buffer.concat(encodeReply([], ctx, final)).toString('utf8'),
}

function withoutStream({ stream: _never, ...body }: JsonObject): JsonObject {
  return body
}

const { model, models, preset, provider, route, session_id, user, metadata, trace } = gatewayProperties

/** Longest vector that any provider offers, with room above. */
export const MAX_DIMENSIONS = 65_536

const nullable = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))

/** Everything but `input`, whose forms are distinguished by `checkInput`. */
export const embeddingSchema = Type.Object({
  model,
  models,
  preset,
  provider,
  route,
  session_id,
  user,
  metadata,
  trace,
  encoding_format: nullable(Type.Enum(['float', 'base64'])),
  dimensions: nullable(Type.Integer({ minimum: 1, maximum: MAX_DIMENSIONS })),
  input_type: nullable(Type.String({ minLength: 1, maxLength: 64 })),
})

const embeddingShape = checker(embeddingSchema)

/** @throws Fault 400 naming the field and what was expected. */
export function check(body: JsonObject): void {
  checkFields(embeddingShape, body)
  // Vectors of two models do not go together, so no default is assumed.
  if (body.model === undefined && !(Array.isArray(body.models) && body.models.length > 0)) throw badField('model', 'is required')
  checkInput(body.input)
}
