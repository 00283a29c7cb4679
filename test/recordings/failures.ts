/** Recorded replies that are no answers: what the caller gets in their place (docs/dialects.md, "Provider errors"). */
import type { Json, JsonObject } from '../../src/core/json.ts'
import type { Exchange } from './cassettes.ts'
import type { Difference } from './compare.ts'
import { list, object, text } from './expected.ts'

export interface Failure {
  status: number
  /** The provider's own identifier of the error; empty where it gives none. */
  code: string
  /** Beginning of the provider's own sentence, where the caller's request caused the error (docs/contract.md#words-of-providers); else empty. */
  sentence: string
}

function parseJson(body: string): JsonObject | undefined {
  try {
    return object(JSON.parse(body) as Json)
  } catch {
    return undefined
  }
}

/** Characters of a sentence that are compared. */
const SHOWN = 20

/** As far as the first id: those that the caller did not send are removed. */
function sentenceBeginning(sentence: string): string {
  const id = sentence.search(/\w*[0-9a-f]{8}/)
  return sentence.slice(0, id === -1 ? SHOWN : Math.min(id, SHOWN))
}

/** A model that the provider does not have is no fault of the request, whatever the status. */
const missing = (status: number, code: string): boolean => status === 404 || code === 'model_not_found'

/** Only an object with content is a reply. */
function isReply({ wire, streamed }: Exchange, reply: JsonObject | undefined): boolean {
  if (streamed) return true
  if (!reply) return false
  if (wire === 'openai-chat') return list(reply.choices).length > 0
  return true
}

/** @returns undefined where the provider answered. */
export function recordedFailure(exchange: Exchange): Failure | undefined {
  const reply = exchange.streamed ? undefined : parseJson(exchange.body)
  const blocked = text(object(reply?.promptFeedback).blockReason)
  if (blocked !== '' && list(reply?.candidates).length === 0) return { status: 400, code: blocked, sentence: '' }
  if (exchange.status < 300) return isReply(exchange, reply) ? undefined : { status: 502, code: '', sentence: '' }
  if (exchange.wire === 'bedrock-converse') return converseFailure(exchange.status, text(reply?.message))
  const error = object(reply?.error)
  const code = text(error.status) || text(error.code) || text(error.type)
  const isMissing = missing(exchange.status, code)
  return { status: isMissing ? 404 : exchange.status, code, sentence: isMissing ? '' : sentenceBeginning(text(error.message)) }
}

/** The body has a sentence alone: the type of the exception stands in a header that the recordings do not have. */
function converseFailure(status: number, sentence: string): Failure {
  const isMissing = /model identifier is invalid/.test(sentence)
  return { status: isMissing ? 404 : status, code: String(status), sentence: isMissing ? '' : sentenceBeginning(sentence) }
}

/** Compares what the caller got in place of an answer. */
export function failureDifferences(expected: Failure, status: number, body: string): Difference[] {
  const reply = parseJson(body) ?? {}
  const code = text(object(object(reply.error).metadata).provider_code) || text(object(reply.metadata).provider_code)
  const differences: Difference[] = []
  if (status !== expected.status) differences.push({ leaf: 'status', expected: expected.status, got: status })
  const message = text(object(reply.error).message)
  if (!message.includes(expected.sentence)) differences.push({ leaf: 'message', expected: expected.sentence, got: message })
  if (code !== expected.code) differences.push({ leaf: 'provider_code', expected: expected.code, got: code })
  return differences
}
