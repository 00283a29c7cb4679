/** Tool calls of assistant messages as a provider takes them, and what the SDKs of callers leave beside what was said. */
import { hash } from 'node:crypto'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { CALL_EXTRA, signatureIn, withSignature } from '../canon/call-signature.ts'
import { ownReasoning } from '../canon/reasoning-owner.ts'

/**
 * The helpers of OpenAI's SDKs leave what they have parsed beside its text, and callers send the message back as it is; strict
 * providers refuse the members (openai 7.57.0, `lib/parser.ts`: `parsed` of a message, `parsed_arguments` of a function).
 */
export function withoutParsed(message: JsonObject): JsonObject {
  if (message.parsed === undefined) return message
  const { parsed: _parsed, ...rest } = message
  return rest
}

interface CallFit {
  readonly shortIds: boolean
  readonly account?: string | undefined
}

/** @returns the same array where nothing changes. @param dropped receives what is left out. */
export function fitCalls(calls: Json[], fit: CallFit, dropped: Set<string>): Json[] {
  const changes = (call: Json): boolean =>
    isObject(call) &&
    (fit.shortIds || call[CALL_EXTRA] !== undefined || (isObject(call.function) && call.function.parsed_arguments !== undefined))
  if (!calls.some(changes)) return calls
  return calls.map((call) => (isObject(call) ? fitSignature(plainCall(call, fit), fit, dropped) : call))
}

function plainCall(call: JsonObject, { shortIds }: CallFit): JsonObject {
  const fitted = shortIds ? { ...call, id: shortId(call.id) } : call
  if (!isObject(call.function) || call.function.parsed_arguments === undefined) return fitted
  const { parsed_arguments: _parsed, ...written } = call.function
  return { ...fitted, function: written }
}

/** A signature that another account made, such as one of another wire, is refused as a field that the provider does not know. */
function fitSignature(call: JsonObject, { account }: CallFit, dropped: Set<string>): JsonObject {
  const found = signatureIn(call)
  if (found === undefined) return call
  const made = ownReasoning(found.signature, account)
  if (made !== undefined) return made === found.signature ? call : withSignature(call, made)
  dropped.add('reasoning')
  const { [CALL_EXTRA]: _extra, ...rest } = call
  return rest
}

const ALPHANUMERIC = /^[A-Za-z0-9]{9}$/
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/**
 * The id itself where it has the form; else one that is the same in every turn, so that a call and its result keep theirs.
 * Mistral refuses others: "Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9."
 */
export function shortId(id: Json | undefined): Json | undefined {
  if (typeof id !== 'string' || ALPHANUMERIC.test(id)) return id
  const digest = hash('sha256', id, 'buffer')
  return Array.from(digest.subarray(0, 9), (byte) => LETTERS[byte % LETTERS.length]).join('')
}
