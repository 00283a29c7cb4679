/**
 * The caller's view of a provider's refusal (docs/contract.md#words-of-providers): the provider's own sentence, where the caller's request
 * caused it, and the field at fault by the caller's own name, which dialects translate and quirks rename. Nothing here is logged.
 */
import { accountFault, Fault, isRejection } from '../../core/faults.ts'
import { asString, type Json, type JsonObject } from '../../core/json.ts'
import { ownAccountFault } from '../../core/own-account-fault.ts'
import type { FieldNames } from '../../dialects/canon/parameters.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Planned } from '../exchange.ts'
import { CallersWords, quotesAddedText, scrubSentence } from './shown-sentence.ts'

/** Body that an endpoint was sent, built again: the body of a request is not kept while its reply is awaited. */
export interface SentBody {
  /** Only where the body of the caller is there. */
  body(): Json
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
  const { endpoint, fault } = refusal
  const { byok } = endpoint
  const ofAccount = byok
    ? ownAccountFault(fault, { name: byok.entry.name, provider: endpoint.provider.name }, ownSentence(fault, endpoint))
    : accountFault(fault, endpoint.provider.name)
  if (ofAccount) return ofAccount
  // A tool of the gateway wrote the requests within requests.
  if (!isRejection(fault) || exchange.head.depth > 0) return fault
  const { sent, isDiscarded } = exchange.request.payload
  const field = asString(fault.metadata?.field)
  // In the middle of the answer to a large body what of the sentence is the operator's cannot be found out any more.
  const isShown = !isDiscarded && SHOWN.has(shownStatus(refusal))
  // In the middle of a stream the sentence comes as the provider wrote it.
  const quotesKey = fault.sentence !== undefined && endpoint.credential?.isIn(fault.sentence) === true
  const sentence = isShown && !quotesKey ? fault.sentence?.slice(0, READ) : undefined
  if (sentence === undefined && field === undefined) return fault
  const { body, naming } = rewrite(exchange, endpoint)
  const fields = renamedFields(naming, sent)
  const { message, metadata } = ownWords(fault, field, fields, sent)
  const shown = sentence === undefined ? undefined : shownSentence(sentence, { endpoint, written: body(), sent })
  const text = shown === undefined ? message : `${endpoint.provider.name}: ${shown}${overflowNote(fault, shown)}`
  const notes = fieldNotes(text, fields, field)
  const { retryAfter, providerStatus } = fault
  return new Fault(fault.code, { message: cut(text, LONGEST - notes.length) + notes, metadata, retryAfter, providerStatus })
}

/** Characters of a sentence about the caller's own account. */
const LONGEST_OF_ACCOUNT = 500

function ownSentence({ sentence }: Fault, { credential }: Endpoint): string | undefined {
  if (sentence === undefined || PAGE.test(sentence) || credential?.isIn(sentence)) return undefined
  return cut(sentence.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim(), LONGEST_OF_ACCOUNT)
}

/** Of a refusal that comes with a status of 500 or above, that of the fault. */
function shownStatus({ fault, status }: Refusal): number {
  return status !== null && status >= 400 && status < 500 ? status : fault.status
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
  const text = scrubSentence(sentence, endpoint, new CallersWords(sent))
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
const MIN_ID_LENGTH = 6

/** A provider's 404 about an id that the caller sent (a file, an item) is about the request; any other is about the model. */
export function aboutCallersItem({ code, sentence, metadata, providerStatus }: Fault, sent: JsonObject): Fault | undefined {
  if (code !== 'upstream_missing' || sentence === undefined || !quotesId(sent, sentence.slice(0, READ))) return undefined
  return new Fault('upstream_item_missing', { metadata, providerStatus, sentence })
}

function quotesId(value: Json | undefined, sentence: string, field = ''): boolean {
  if (typeof value === 'string') return ID_FIELDS.has(field) && value.length >= MIN_ID_LENGTH && sentence.includes(value)
  if (Array.isArray(value)) return value.some((each) => quotesId(each, sentence, field))
  if (value === null || typeof value !== 'object') return false
  return Object.entries(value).some(([key, each]) => quotesId(each, sentence, key))
}

/** Two names of one field: the caller sent it under one, and the provider knows it by the other. */
interface RenamedField {
  readonly provider: string
  readonly caller: string
}

interface Naming {
  readonly client: FieldNames | undefined
  readonly upstream: FieldNames | undefined
  /** The quirk `body.rename`: the dialect's name and the provider's. */
  readonly rename: Readonly<Record<string, string>>
}

/** Explanations in one message. */
const MAX_NOTES = 3

const pathRoot = (path: string): string => path.split(/[.[]/, 1)[0] ?? ''
const pathLast = (path: string): string =>
  path
    .replace(/\[[^\]]*\]/g, '')
    .split('.')
    .at(-1) ?? ''
/** One form for names that a provider writes in two ways, such as `maxOutputTokens` and `max_output_tokens`. */
const plain = (name: string): string => name.replaceAll('_', '').toLowerCase()

/** @param sent the body as the caller sent it: fields that it does not have are not the caller's. */
function renamedFields({ client, upstream, rename }: Naming, sent: JsonObject): RenamedField[] {
  const fields: RenamedField[] = []
  const add = (path: string, caller: string): void => {
    const provider = rename[path] ?? path
    if (provider !== caller && !(pathRoot(provider) in sent)) fields.push({ provider, caller })
  }
  for (const [part, paths] of upstream ?? []) {
    const caller = client?.get(part)?.find((path) => pathRoot(path) in sent)
    if (caller !== undefined) for (const path of paths) add(path, caller)
  }
  for (const from of Object.keys(rename)) if (from in sent) add(from, from)
  return fields
}

/** The path of the field at fault in the caller's body. @returns undefined where the caller sent no such field. */
function callersPath(path: string, fields: readonly RenamedField[], sent: JsonObject): string | undefined {
  if (pathRoot(path) in sent) return path
  const last = plain(pathLast(path))
  const root = plain(pathRoot(path))
  const known = fields.find(({ provider }) => plain(pathLast(provider)) === last) ?? fields.find(({ provider }) => plain(provider) === root)
  return known?.caller
}

/** Names in which a sentence may mention a field. */
const WORDS = /[A-Za-z_]\w*/g

/** Two words in one: such a name is no word of a sentence, as `reasoning`, `messages` or `input` may be. */
const COMPOUND = /_|[a-z][A-Z]/

/**
 * Says of each renamed field that a sentence mentions which field of the caller it was; '' where it mentions none.
 * @param field path of the field that the provider says is at fault.
 */
function fieldNotes(sentence: string, fields: readonly RenamedField[], field = ''): string {
  const certain = new Set([pathRoot(field), pathLast(field)])
  const known = new Map(fields.map(({ provider, caller }) => [plain(pathLast(provider)), caller]))
  const notes = new Map<string, string>()
  for (const [word] of sentence.matchAll(WORDS)) {
    const caller = known.get(plain(word))
    if (caller === undefined || word === caller || notes.size >= MAX_NOTES) continue
    if (COMPOUND.test(word) || certain.has(word)) notes.set(word, caller)
  }
  if (notes.size === 0) return ''
  return ` (${[...notes].map(([provider, caller]) => `${provider} is ${caller} in your request`).join(', ')})`
}
