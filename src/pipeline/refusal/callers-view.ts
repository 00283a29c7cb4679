/**
 * What the caller sees of a provider's refusal (contract C-185): the provider's own sentence, where the caller's request caused it,
 * and the field at fault by the caller's own name. Nothing here is logged.
 */
import { Fault, isRejection } from '../../core/faults.ts'
import { type Json, type JsonObject, stringOf } from '../../core/json.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Planned } from '../exchange.ts'
import { quotesAddedText } from './added-text.ts'
import { callersPath, fieldNotes, type Naming, type RenamedField, renamedFields } from './caller-fields.ts'
import { CallersWords, scrubbed } from './scrub.ts'

/** What an endpoint was sent, made anew: the body of a request is not kept while its reply is awaited. */
export interface SentBody {
  readonly body: Json
  readonly naming: Naming
}

export type Rewrite = (exchange: Planned, endpoint: Endpoint) => SentBody

/** Statuses whose sentence is shown. */
const SHOWN: ReadonlySet<number> = new Set([400, 404, 409, 413, 422])
/** Characters of a message. */
const LONGEST = 2000
/** Characters of a sentence that are looked at: what is removed makes it shorter. */
const READ = 4 * LONGEST
/** The page of a proxy instead of a sentence. */
const PAGE = /<(?:!doctype|html|head|body|script|style|iframe|title|div|h1|p)\b/i

export interface Refusal {
  readonly endpoint: Endpoint
  readonly fault: Fault
  /** The provider's own status; null where it sent none. */
  readonly status: number | null
}

/** @returns the fault as the caller sees it; the very one where there is nothing to explain. */
export function explained(exchange: Planned, refusal: Refusal, rewrite: Rewrite): Fault {
  const { endpoint, fault, status } = refusal
  // A tool of the gateway wrote the requests within requests.
  if (!isRejection(fault) || exchange.head.depth > 0) return fault
  const field = stringOf(fault.metadata?.field)
  const isShown = SHOWN.has(status !== null && status >= 400 ? status : fault.status)
  const sentence = isShown ? fault.sentence?.slice(0, READ) : undefined
  if (sentence === undefined && field === undefined) return fault
  const { sent } = exchange.request
  const { body, naming } = rewrite(exchange, endpoint)
  const fields = renamedFields(naming, sent)
  const { message, metadata } = ownWords(fault, field, fields, sent)
  const shown = sentence === undefined ? undefined : shownSentence(sentence, { endpoint, written: body, sent })
  const text = shown === undefined ? message : `${endpoint.provider.name}: ${shown}${overflowNote(fault, shown)}`
  const notes = fieldNotes(text, fields, field)
  const { retryAfter, providerStatus } = fault
  return new Fault(fault.code, { message: cut(text, LONGEST - notes.length) + notes, metadata, retryAfter, providerStatus })
}

/** Agents compact a conversation where they find words that they know, and providers have many for it. */
function overflowNote({ code }: Fault, sentence: string): string {
  return code !== 'upstream_context' || /context window|prompt is too long/i.test(sentence)
    ? ''
    : ' (the request exceeds the context window)'
}

/** The gateway's own message, and the metadata with the field by the caller's name. */
function ownWords(fault: Fault, field: string | undefined, fields: readonly RenamedField[], sent: JsonObject) {
  const { message, metadata } = fault
  if (field === undefined) return { message, metadata }
  const { field: _, ...others } = metadata ?? {}
  const path = callersPath(field, fields, sent)
  if (path === field) return { message, metadata }
  return {
    message,
    metadata: path === undefined ? { ...others, provider_field: field } : { ...others, field: path, provider_field: field },
  }
}

interface Place {
  readonly endpoint: Endpoint
  /** The body as the provider was sent it, and as the caller sent it. */
  readonly written: Json
  readonly sent: JsonObject
}

/** @returns undefined where it must not be shown. */
function shownSentence(sentence: string, { endpoint, written, sent }: Place): string | undefined {
  if (PAGE.test(sentence) || quotesAddedText(sentence, written, sent)) return undefined
  const text = scrubbed(sentence, endpoint, new CallersWords(sent))
    // Of what no sentence has, such as control characters and the marks that turn the direction of a text.
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
  return text === '' ? undefined : text
}

/** Half of a pair is no character. */
function cut(text: string, length: number): string {
  if (text.length <= length) return text
  const end = length - 1
  const last = text.charCodeAt(end - 1)
  return `${text.slice(0, last >= 0xd800 && last <= 0xdbff ? end - 1 : end)}…`
}

/** Fields that hold ids of files and items of the provider. */
const ID_FIELDS: ReadonlySet<string> = new Set(['id', 'file_id', 'item_id', 'container', 'container_id', 'call_id', 'fileUri', 'file_uri'])
const SHORTEST_ID = 6

/** A provider's 404 about an id that the caller sent (a file, an item) is about the request; any other is about the model. */
export function aboutCallersItem({ code, sentence, metadata, providerStatus }: Fault, sent: JsonObject): Fault | undefined {
  if (code !== 'upstream_missing' || sentence === undefined || !quotesId(sent, sentence.slice(0, READ))) return undefined
  return new Fault('upstream_item_missing', { metadata, providerStatus, sentence })
}

function quotesId(value: Json | undefined, sentence: string, field = ''): boolean {
  if (typeof value === 'string') return ID_FIELDS.has(field) && value.length >= SHORTEST_ID && sentence.includes(value)
  if (Array.isArray(value)) return value.some((each) => quotesId(each, sentence, field))
  if (value === null || typeof value !== 'object') return false
  return Object.entries(value).some(([key, each]) => quotesId(each, sentence, key))
}
