/** Messages as a provider takes them: text, ids of calls, media of tool results, earlier reasoning, marks for the cache. */
import { hash } from 'node:crypto'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { argumentsText, NO_ARGUMENTS } from '../canon/call-arguments.ts'
import { CALL_EXTRA, signatureIn, withSignature } from '../canon/call-signature.ts'
import { ownReasoning } from '../canon/reasoning-owner.ts'
import { withoutBinary } from './binary-parts.ts'
import { fitFile } from './file-parts.ts'

/** Fields of an assistant message that hold its reasoning. */
const FIELDS = ['reasoning', 'reasoning_content', 'reasoning_details'] as const

/** Wrapping of values that this gateway carries for another family; never meant for a provider. */
const WRAPPED = 'hg.'

/** A value of the quirk `reasoning_replay`: parts of the content. */
const THINKING_PARTS = 'thinking_parts'

/** A call of a tool that a gateway ran, which means nothing to a provider that is no gateway. */
const GATEWAY_CALL = 'reasoning.server_tool_call'

/** Rules of the endpoint for the messages of one body. */
export interface MessageFit {
  /** The quirk `reasoning_replay`: undefined for none, `details`, `thinking_parts`, or the name of a plain text field. */
  readonly replay: string | undefined
  /** Messages with calls have the field even where there was no reasoning. */
  readonly isReplayRequired: boolean
  readonly takesDeveloper: boolean
  readonly takesToolMedia: boolean
  readonly takesTextParts: boolean
  /** Files are parts of the type `document_url`. */
  readonly takesDocuments: boolean
  /** A user message may stand directly behind a tool message. */
  readonly takesUserAfterTool: boolean
  /** Ids of calls are written anew. */
  readonly shortIds: boolean
  /** The field of a part that marks it for the cache; undefined where the provider has none. */
  readonly mark: 'cache_control' | 'prompt_cache_breakpoint' | undefined
  /** Fields of messages that are never sent. */
  readonly without: readonly string[]
  /** Owner whose signed and encrypted reasoning goes back; that of others is left out. */
  readonly account?: string | undefined
}

const isRole = (message: Json | undefined, role: string): boolean => isObject(message) && message.role === role

/** Answers a run of tool results where the user speaks next: a provider may refuse that order (github.com/avante-corp/avante.nvim/pull/2695). */
export function withAssistantAfterTools(messages: Json | undefined): Json | undefined {
  if (!Array.isArray(messages)) return messages
  const isUserAfterTool = (message: Json, index: number): boolean => isRole(message, 'user') && isRole(messages[index - 1], 'tool')
  if (!messages.some(isUserAfterTool)) return messages
  return messages.flatMap((message, index) =>
    isUserAfterTool(message, index) ? [{ role: 'assistant', content: 'Noted.' }, message] : [message],
  )
}

/** Content that is a list of nothing but texts, as one text. */
export function withJoinedText(message: JsonObject): JsonObject {
  const { content } = message
  if (!Array.isArray(content) || content.length === 0) return message
  const texts: string[] = []
  for (const part of content) {
    if (!isObject(part) || part.type !== 'text' || typeof part.text !== 'string') return message
    texts.push(part.text)
  }
  return { ...message, content: texts.join('\n') }
}

export function fitAssistant(message: JsonObject, fit: MessageFit, dropped: Set<string>): JsonObject {
  let fitted = plainMessage(message)
  if (FIELDS.some((name) => message[name] !== undefined)) fitted = fitReasoning(fitted, fit, dropped)
  const { tool_calls: calls } = message
  if (!Array.isArray(calls) || calls.length === 0) return fitted
  const fittedCalls = fitCalls(calls, fit, dropped)
  if (fittedCalls !== calls) fitted = { ...fitted, tool_calls: fittedCalls }
  const { replay } = fit
  if (fit.isReplayRequired && replay !== undefined && fitted[replay] === undefined) fitted = { ...fitted, [replay]: '' }
  return fitted
}

/** A result keeps its text; its other parts go into `waiting`, with the id of the call in front. */
export function withoutMedia(message: JsonObject, waiting: JsonObject[]): JsonObject {
  const { content } = message
  if (!Array.isArray(content)) return message
  const isText = (part: Json): boolean => !isObject(part) || part.type === 'text'
  const media = content.filter((part): part is JsonObject => isObject(part) && !isText(part))
  if (media.length === 0) return message
  waiting.push({ type: 'text', text: `Result of tool call ${String(message.tool_call_id)}:` }, ...media)
  const texts = content.filter(isText)
  return { ...message, content: texts.length > 0 ? texts : 'The result is in the next message.' }
}

/** The reasoning of earlier turns in the field that the provider reads; signed and encrypted reasoning only where it takes details. */
function fitReasoning(message: JsonObject, { replay, account }: MessageFit, dropped: Set<string>): JsonObject {
  const { reasoning, reasoning_content: content, reasoning_details, ...rest } = message
  const details = Array.isArray(reasoning_details) ? reasoning_details.filter(isObject) : []
  if (replay === 'details') {
    const own = details.map((detail) => ownDetail(detail, account)).filter((detail) => detail !== undefined)
    if (own.length < details.length) dropped.add('reasoning')
    else if (own.every((detail, index) => detail === details[index])) return message
    const { reasoning_details: _all, ...others } = message
    return own.length > 0 ? { ...others, reasoning_details: own } : others
  }
  const isBound = details.some((detail) => detail.type === 'reasoning.encrypted' || (detail.signature ?? null) !== null)
  const plain = reasoning ?? content
  const hasText = typeof plain === 'string' && plain !== ''
  const thoughts = details.filter(({ type }) => type !== GATEWAY_CALL)
  if (thoughts.length < details.length) dropped.add('reasoning_detail')
  if (isBound || (replay === undefined && (hasText || thoughts.length > 0))) dropped.add('reasoning')
  if (replay === THINKING_PARTS) return hasText ? { ...rest, content: [thinkingPart(plain), ...contentParts(rest.content)] } : rest
  // DeepSeek wants the field back with every message of a thinking conversation, even empty.
  if (replay !== undefined && (hasText || message[replay] === '')) rest[replay] = plain
  return rest
}

/** A detail as this account made it; undefined for what another account or another family signed or encrypted. */
function ownDetail(detail: JsonObject, account: string | undefined): JsonObject | undefined {
  let own = detail
  for (const name of ['data', 'signature']) {
    const { [name]: signed } = detail
    if (typeof signed !== 'string') continue
    const made = signed.startsWith(WRAPPED) ? undefined : ownReasoning(signed, account)
    if (made === undefined) return undefined
    if (made !== signed) own = { ...own, [name]: made }
  }
  return own
}

/** Mistral's form: npm @mistralai/mistralai 2.7.0, ThinkChunk; recorded as accepted in test_mistral_model_thinking_part. */
const thinkingPart = (text: string): JsonObject => ({ type: 'thinking', thinking: [{ type: 'text', text }] })

function contentParts(content: Json | undefined): Json[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return Array.isArray(content) ? content : []
}

/** Parts in the provider's form; the same array where nothing changes. */
export function fitParts(parts: Json[], fit: MessageFit, dropped: Set<string>): Json[] {
  const isMarked = (part: Json): part is JsonObject =>
    isObject(part) &&
    ((fit.mark !== 'cache_control' && isObject(part.cache_control)) ||
      (fit.mark !== 'prompt_cache_breakpoint' && isObject(part.prompt_cache_breakpoint)))
  const fitMedium = (part: JsonObject): JsonObject => fitFile(withoutBinary(part), fit.takesDocuments)
  const isOther = (part: Json): boolean => isMarked(part) || (isObject(part) && fitMedium(part) !== part)
  if (!parts.some(isOther)) return parts
  return parts.map((part) => {
    const fitted = isMarked(part) ? fitMark(part, fit, dropped) : part
    return isObject(fitted) ? fitMedium(fitted) : fitted
  })
}

function fitMark(part: JsonObject, { mark }: MessageFit, dropped: Set<string>): JsonObject {
  const { cache_control: control, prompt_cache_breakpoint: point, ...rest } = part
  if (mark === undefined) {
    dropped.add('cache_control')
    return rest
  }
  const [own, foreign] = mark === 'cache_control' ? [control, point] : [point, control]
  if (isObject(foreign) && foreign.ttl !== undefined) {
    dropped.add(mark === 'cache_control' ? 'prompt_cache_breakpoint.ttl' : 'cache_control.ttl')
  }
  return { ...rest, [mark]: isObject(own) ? own : mark === 'cache_control' ? { type: 'ephemeral' } : { mode: 'explicit' } }
}

/**
 * A reply that comes back as the SDKs of OpenAI hold it, without what says nothing: members of null (Python, openai 2.54.0:
 * `annotations`, `audio`, `function_call`) and what their helpers have read from the text (JavaScript, openai 7.57.0, `lib/parser.ts`:
 * `parsed` of a message, `parsed_arguments` of a function). Strict providers refuse them. `executed_tools` stands in replies of Groq
 * alone (npm groq-sdk 1.6.0: in `ChatCompletionMessage`, not in `ChatCompletionAssistantMessageParam`).
 */
function plainMessage(message: JsonObject): JsonObject {
  const isEmpty = (name: string): boolean => REPLY_ONLY.has(name) || (message[name] === null && name !== 'content')
  for (const name in message) {
    if (!isEmpty(name)) continue
    return Object.fromEntries(Object.entries(message).filter(([each]) => !isEmpty(each)))
  }
  return message
}

const REPLY_ONLY: ReadonlySet<string> = new Set(['parsed', 'executed_tools'])

interface CallFit {
  readonly shortIds: boolean
  readonly without: readonly string[]
  readonly account?: string | undefined
}

/** @returns the same array where nothing changes. @param dropped receives what is left out. */
function fitCalls(calls: Json[], fit: CallFit, dropped: Set<string>): Json[] {
  const changes = (call: Json): boolean =>
    isObject(call) &&
    (fit.shortIds ||
      call[CALL_EXTRA] !== undefined ||
      call.index !== undefined ||
      (isObject(call.function) && (call.function.parsed_arguments !== undefined || hasNoArguments(call.function))))
  if (!calls.some(changes)) return calls
  return calls.map((call) => (isObject(call) ? fitSignature(plainCall(call, fit), fit, dropped) : call))
}

/** Some servers refuse every later request of a conversation with an empty text: llama.cpp b11549 (with 500), Ollama 0.17.4. */
const hasNoArguments = (called: JsonObject): boolean => argumentsText(called.arguments).trim() === ''

/** `index` is of the deltas of a stream, and stays in calls that the Python SDK has put together. */
function plainCall(call: JsonObject, { shortIds }: CallFit): JsonObject {
  const { index: _index, ...rest } = call
  const fitted = shortIds ? { ...rest, id: shortId(call.id) } : rest
  if (!isObject(call.function)) return fitted
  const { parsed_arguments: _parsed, ...written } = call.function
  return { ...fitted, function: hasNoArguments(written) ? { ...written, arguments: NO_ARGUMENTS } : written }
}

/** A signature that another account made, such as one of another wire, is refused as a field that the provider does not know. */
function fitSignature(call: JsonObject, { account, without }: CallFit, dropped: Set<string>): JsonObject {
  const found = signatureIn(call)
  if (found === undefined) return call
  const made = without.includes(CALL_EXTRA) ? undefined : ownReasoning(found.signature, account)
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
