/** Tool calls of assistant messages as a provider takes them, and what the SDKs of callers leave beside what was said. */
import { hash } from 'node:crypto'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { CALL_EXTRA, signatureIn, withSignature } from '../canon/call-signature.ts'
import { ownReasoning } from '../canon/reasoning-owner.ts'

/**
 * A reply that comes back as the SDKs of OpenAI hold it, without what says nothing: members of null (Python, openai 2.54.0:
 * `annotations`, `audio`, `function_call`) and what their helpers have read from the text (JavaScript, openai 7.57.0, `lib/parser.ts`:
 * `parsed` of a message, `parsed_arguments` of a function). Strict providers refuse them.
 */
export function plainMessage(message: JsonObject): JsonObject {
  const isEmpty = (name: string): boolean => name === 'parsed' || (message[name] === null && name !== 'content')
  for (const name in message) {
    if (!isEmpty(name)) continue
    return Object.fromEntries(Object.entries(message).filter(([each]) => !isEmpty(each)))
  }
  return message
}

interface CallFit {
  readonly shortIds: boolean
  readonly account?: string | undefined
}

/** @returns the same array where nothing changes. @param dropped receives what is left out. */
export function fitCalls(calls: Json[], fit: CallFit, dropped: Set<string>): Json[] {
  const changes = (call: Json): boolean =>
    isObject(call) &&
    (fit.shortIds ||
      call[CALL_EXTRA] !== undefined ||
      call.index !== undefined ||
      (isObject(call.function) && call.function.parsed_arguments !== undefined))
  if (!calls.some(changes)) return calls
  return calls.map((call) => (isObject(call) ? fitSignature(plainCall(call, fit), fit, dropped) : call))
}

/** `index` is of the deltas of a stream, and stays in calls that the Python SDK has put together. */
function plainCall(call: JsonObject, { shortIds }: CallFit): JsonObject {
  const { index: _index, ...rest } = call
  const fitted = shortIds ? { ...rest, id: shortId(call.id) } : rest
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
