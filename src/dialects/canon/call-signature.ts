/**
 * Signatures that belong to one tool call or one text, as a member of it: where callers have no reasoning in their conversation, the
 * call or the text is what comes back. Google's chat endpoint has them there (Gemini API, "Thought signatures", OpenAI compatibility:
 * `extra_content.google.thought_signature`); @ai-sdk/openai-compatible reads and returns them (`convert-to-openai-compatible-chat-
 * messages.ts`), and the SDKs of OpenAI and Anthropic keep members that they do not know. An id is no place for them: they were recorded
 * with up to 12,732 letters, and Claude Code 2.1.330 keeps long results in files named by the id.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { Item } from './request.ts'

/** The member of a call, or of a text. */
export const CALL_EXTRA = 'extra_content'

interface Place {
  /** Of the reasoning. */
  readonly format: string
  readonly vendor: string
  readonly member: string
}

const PLACES: readonly Place[] = [{ format: 'google-gemini-v1', vendor: 'google', member: 'thought_signature' }]

const findPlace = (format: Json | undefined): Place | undefined => PLACES.find((place) => place.format === format)

/** Signatures of the calls of one reply, until their calls come, and of the text that has just ended. */
export class CallSignatures {
  private readonly waiting = new Map<string, JsonObject>()
  private ofText: JsonObject | undefined

  /**
   * @param data of an `encrypted` note.
   * @returns true where it signs the model's output, so that a caller without reasoning does not need it.
   */
  take(data: JsonObject): boolean {
    const place = findPlace(data.format)
    if (place === undefined || typeof data.data !== 'string') return false
    const members = { [CALL_EXTRA]: { [place.vendor]: { [place.member]: data.data } } }
    if (typeof data.id === 'string') this.waiting.set(data.id, members)
    else this.ofText = members
    return true
  }

  /** Members for the text that a signature has come behind; undefined where none has. */
  takeOfText(): JsonObject | undefined {
    const members = this.ofText
    this.ofText = undefined
    return members
  }

  /** Members for a call; undefined where it is not signed. */
  signedMembers(callId: string | undefined): JsonObject | undefined {
    return callId === undefined ? undefined : this.waiting.get(callId)
  }
}

interface Found {
  readonly format: string
  readonly signature: string
  /** True where the member says nothing else. */
  readonly isAll: boolean
}

/** The signature in a call or a text that came back; undefined where it has none. */
export function signatureIn(call: JsonObject): Found | undefined {
  const extra = call[CALL_EXTRA]
  if (!isObject(extra)) return undefined
  for (const { format, vendor, member } of PLACES) {
    const own = extra[vendor]
    const signature = isObject(own) ? own[member] : undefined
    if (typeof signature !== 'string' || signature === '' || !isObject(own)) continue
    return { format, signature, isAll: Object.keys(extra).length === 1 && Object.keys(own).length === 1 }
  }
  return undefined
}

/** The same call with another signature. */
export function withSignature(call: JsonObject, signature: string): JsonObject {
  const extra = call[CALL_EXTRA]
  const place = PLACES.find(({ vendor }) => isObject(extra) && isObject(extra[vendor]))
  if (place === undefined || !isObject(extra)) return call
  const own = extra[place.vendor]
  return { ...call, [CALL_EXTRA]: { ...extra, [place.vendor]: { ...(isObject(own) ? own : {}), [place.member]: signature } } }
}

/** The reasoning that a call or a text brings along; undefined where it has none. */
export function signedReasoning(block: JsonObject): Item | undefined {
  const found = signatureIn(block)
  if (found === undefined) return undefined
  const item: Item = { kind: 'reasoning', encrypted: found.signature, format: found.format }
  if (typeof block.id === 'string') item.id = block.id
  return item
}
