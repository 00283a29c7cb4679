/**
 * The error object of a provider's reply, wherever it stands. The finder knows the members of all wires, since servers of one wire
 * answer with errors of another: llama.cpp has one body for three wires, and proxies have their own.
 */
import { asObjects, asString, isObject, type Json, type JsonObject } from '../../core/json.ts'

export interface StatedError {
  /** For programs: codes, types and reasons, the most exact one first. */
  readonly words: readonly string[]
  readonly sentence?: string | undefined
  /** Quotation of the provider behind an aggregator: looked at, and never shown. */
  readonly quoted?: string | undefined
  /** Path of the field at fault. */
  readonly field?: string | undefined
  /** 400 to 599: the HTTP status that the body states. */
  readonly status?: number | undefined
  /** Seconds. */
  readonly retryAfter?: number | undefined
}

/** Characters of a word for programs: a longer one is a sentence. */
const MAX_WORD_LENGTH = 80
/** Errors of a list that are shown. */
const MOST = 5
/** Mark of a removed value: it is no part of the path. */
const PLACES: ReadonlySet<Json> = new Set(['body', 'query', 'path', 'header'])

/** @param body what the provider sent, if it was JSON. */
export function errorIn(body: Json | undefined): StatedError {
  const outer = Array.isArray(body) ? body[0] : body
  if (typeof outer === 'string') return { words: [], sentence: outer }
  if (!isObject(outer)) return { words: [] }
  const error = errorObject(outer)
  const { sentence, field } = sentenceIn(error, error !== outer.error)
  return {
    words: wordsIn(error),
    sentence,
    quoted: isObject(error.metadata) ? asString(error.metadata.raw) : undefined,
    field: asString(error.param) ?? asString(error.field) ?? field,
    status: statusIn(error),
  }
}

/**
 * `{error: {…}}`, `{error: "sentence", code}` (xAI), `{errors: […]}` (JSON:API, and the workers of Cloudflare), `{base_resp: {status_code,
 * status_msg}}` (MiniMax), or the object itself.
 */
function errorObject(outer: JsonObject): JsonObject {
  const { error, errors, base_resp: base } = outer
  if (isObject(error)) return error
  if (typeof error === 'string') return { ...outer, message: error }
  if (Array.isArray(errors) && errors.length > 0) {
    const [first] = errors
    if (isObject(first)) return errors.length === 1 ? first : { ...first, message: joined(errors) }
    return { ...outer, message: joined(errors) }
  }
  return isObject(base) ? { code: base.status_code, message: base.status_msg } : outer
}

/** Sentences of a list of errors as one. */
function joined(errors: readonly Json[]): string | undefined {
  const sentences = errors.slice(0, MOST).flatMap((each) => (isObject(each) ? sentenceIn(each, true).sentence : asString(each)) ?? [])
  return sentences.length === 0 ? undefined : sentences.join('; ')
}

interface Sentence {
  readonly sentence: string | undefined
  readonly field?: string | undefined
}

/**
 * `message`, in which Mistral may have the list of a validator; where the body is no error object, under one of the other names that
 * providers have for it. @param isBare false for the member `error` of a body: what else stands in it is no message.
 */
function sentenceIn(error: JsonObject, isBare: boolean): Sentence {
  const { message, Message, originalMessage, detail, error_msg, msg, title } = error
  const plain = [message, Message, originalMessage].find((each) => typeof each === 'string' && each !== '')
  if (typeof plain === 'string') return { sentence: plain }
  const details = validatorErrors(isObject(message) ? message.detail : isBare ? detail : undefined)
  if (details.sentence !== undefined) return details
  return { sentence: isBare ? [error_msg, msg, title].find((each) => typeof each === 'string') : undefined }
}

/**
 * The errors of validators: FastAPI answers 422 with `detail`, a text or a list of `{type, loc, msg}` (FastAPI's reference, "Request
 * validation exceptions"; `HTTPValidationError` and `ValidationError` of Mistral's TypeScript SDK, 1.10). The values that were refused
 * are left out.
 */
function validatorErrors(detail: Json | undefined): Sentence {
  if (typeof detail === 'string') return { sentence: detail }
  const errors = asObjects(detail).slice(0, MOST)
  const texts = errors.flatMap(({ loc, msg }) => {
    const path = locPath(loc)
    const text = asString(msg)
    return text === undefined ? [] : [path === '' ? text : `${path}: ${text}`]
  })
  const field = locPath(errors[0]?.loc)
  return { sentence: texts.length === 0 ? undefined : texts.join('; '), field: field === '' ? undefined : field }
}

/** `["body", "messages", 0, "role"]` as `messages[0].role`; '' where it is no such list. */
function locPath(loc: Json | undefined): string {
  if (!Array.isArray(loc)) return ''
  let path = ''
  for (const [index, step] of loc.entries()) {
    if (typeof step === 'number') path += `[${step}]`
    else if (typeof step === 'string' && !(index === 0 && PLACES.has(step))) path += path === '' ? step : `.${step}`
  }
  return path
}

/** `details.error_code` is the most exact word of Anthropic's (npm @anthropic-ai/sdk 1.14.0). */
function wordsIn(error: JsonObject): string[] {
  const details = isObject(error.details) ? error.details.error_code : undefined
  const words: string[] = []
  for (const value of [details, error.code, error.type, error.status, error.error_code]) {
    const word = typeof value === 'number' ? String(value) : asString(value)
    if (word !== undefined && word !== '' && word !== 'error' && word.length <= MAX_WORD_LENGTH) words.push(word)
  }
  return words
}

function statusIn({ code, status, status_code, error_code }: JsonObject): number | undefined {
  for (const value of [code, status, status_code, error_code]) {
    const number = typeof value === 'number' ? value : Number(asString(value) || Number.NaN)
    if (Number.isInteger(number) && number >= 400 && number <= 599) return number
  }
  return undefined
}
