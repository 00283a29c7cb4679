/**
 * Finds the ids of objects that a provider keeps, in its own formats: in the path and the body of a request, which may use any id, and in
 * replies, which show the ids of objects that the request has made. Of types of openai 7.59.0, @anthropic-ai/sdk 1.14.0 and @google/genai 3.3.0.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { MIN_DIGITS } from './number-scan.ts'

/** No id is shorter, longer, or made of other letters. A resource name of Google has its collection in front. */
const FORM = /^[\w.~+=-]{6,256}$/
const PART = /^[\w.~+=-]{1,256}$/
export const MAX_NAME_LENGTH = 1_024
/** Of a UUID, and its letters with a dash behind each. */
const [HEX_DIGITS, MAX_UUID_LENGTH] = [32, 66]
/** Members with texts of the model or the caller, and schemas: no provider looks up ids in them. */
const SKIPPED: ReadonlySet<string> = new Set([
  ...['text', 'arguments', 'args', 'parameters', 'input_schema', 'inputSchema', 'schema', 'metadata', 'functionCall', 'toolUse', 'data'],
])

/** Forms of a UUID: servers read it in any case, with dashes, braces or neither, and write it in small letters (RFC 9562 section 4). */
function spellings(part: string): readonly string[] {
  if (part.length < HEX_DIGITS || part.length > MAX_UUID_LENGTH) return [part]
  const hex = part.replaceAll(/[{}-]/g, '').toLowerCase()
  if (hex.length !== HEX_DIGITS || /[^\da-f]/.test(hex)) return [part]
  return [part, hex, hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')]
}

/** Adds each part of an address or a name that may be an id, alone and behind its collection (`cachedContents/abc`). */
export function addIds(text: string, found: Set<string>): void {
  let before: string | undefined
  for (const each of text.split(/[/\\?&=#:;,]/)) {
    const part = each.trim()
    // As where paths are joined.
    if (part === '' || part === '.') continue
    for (const form of spellings(part)) {
      if (FORM.test(form)) found.add(form)
      if (before !== undefined && PART.test(form)) found.add(`${before}/${form}`)
    }
    before = part
  }
}

/** As it goes out, where a backslash is a slash, and without dot segments. */
function resolved(path: string): string {
  const { pathname, search, hash } = new URL(`http://provider${path}`)
  return pathname + search + hash
}

/** Escapes of ASCII are letters, whatever is wrong with others: no id has any. */
const unescaped = (path: string): string =>
  path.replaceAll(/%([0-7][\da-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** Of a list, a text or a filter in a query: `ids=["a"]`, `ids=a+b`, `filter=file_id eq 'a'`; no id has a letter beyond ASCII. */
const WORDS = /[^\s"'()<>[\]{}|+]+/g
const FOREIGN = /%[89a-f][\da-f]/gi

/** @param path with its query, as the caller sent it: read as it stands, and as servers may read it. */
export function idsInPath(path: string, found: Set<string>): void {
  addIds(path, found)
  for (const [word] of unescaped(path).replaceAll(FOREIGN, ' ').matchAll(WORDS)) addIds(word, found)
  if (!/[%\\]|\/\./.test(path)) return
  addIds(resolved(unescaped(resolved(path)).replaceAll(/\/{2,}/g, '/')), found)
}

/** The id of a name with its collection, as `addIds` has it. */
function knownIds(value: Json | undefined): string[] {
  if (typeof value !== 'string' || value.length > MAX_NAME_LENGTH) return []
  const parts = value.split('/').slice(-2)
  return parts.every((part) => PART.test(part)) ? [parts.join('/')] : []
}

/** Without a collection in front it is a word of the caller's own, such as the name of a model, which others may use as well. */
const inCollection = (value: Json | undefined): string[] => knownIds(value).filter((id) => id.includes('/'))

/** Files that a thing of the key's own has: results of a batch, and what a task has made. */
const RESULTS = ['output_file_id', 'error_file_id', 'result_file_id', 'file_id'] as const

/**
 * Names of members and objects that say to whom or what a thing belongs: what they name is shared by the keys of an account, or known to no
 * other request.
 */
const SHARED =
  /^(?:create\w*_)?(?:user|owner|creator|author|customer|(?:sub_?)?account|org|organi[sz]ation|team|workspace|project|tenant|billing|subscription|api_?key|(?:base_?|root_?|parent_?)?model|region|location|zone|(?:previous_|next_)?agent|assistant|annotation|citation|trace|span|tool_?call|call|event|item|type|error|usage|meta|metadata|delta|message|request|response|log|correlation|activity)(?:_?id|Id)?$/i
/** Any other name of an id: `batch_id` and `collection_id` (xai-sdk 1.21.0), `conversation_id` (mistralai 3.7.0), `jobId`. */
const NAMED_ID = /(?:_id|[a-z]Id)$/
/** The number of a request, which is the id of the work where it is all that is given (docs.x.ai, deferred chat completions and videos). */
const REQUEST_IDS = ['request_id', 'requestId'] as const
/** Lists of what an upload has made (dashscope 2.0.2, files: `uploaded_files`). */
const MADE_LIST = /^(?:uploaded|created)_\w+$/

/** A provider's own, and no word of a caller's that others may use as well: it has a digit in it. */
function givenIds(value: Json | undefined): string[] {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 10 ** (MIN_DIGITS - 1) ? [String(value)] : []
  return typeof value === 'string' && FORM.test(value) && /\d/.test(value) ? [value] : []
}

/** Ids of a thing by members of any name. */
function namedIds(thing: JsonObject): string[] {
  const found: string[] = []
  for (const name in thing) if (NAMED_ID.test(name) && !SHARED.test(name)) found.push(...givenIds(thing[name]))
  return found
}

/** Ids of what an operation other than a generation has made, wherever its provider writes them. */
function idsOfMade(reply: JsonObject): string[] {
  const found = namedIds(reply)
  for (const name in reply) {
    const member = reply[name]
    if (!isObject(member) || SHARED.test(name) || (name !== 'data' && SKIPPED.has(name))) continue
    found.push(...givenIds(member.id), ...namedIds(member))
    for (const list in member) if (MADE_LIST.test(list)) for (const each of asObjects(member[list])) found.push(...idsOfEntry(each))
  }
  return found
}

/** The number of the request, where a reply has no other id. */
function requestIds(reply: JsonObject): string[] {
  const holders = [reply, reply.data, reply.result, reply.output].filter((each) => isObject(each))
  return holders.flatMap((each) => REQUEST_IDS.flatMap((name) => givenIds(each[name])))
}

export interface Giving {
  /** True where the reply as a whole is of something that the provider keeps. */
  readonly isMade: boolean
  /** Work of the request: a reply of `nothing` is one that it has read. */
  readonly makes: 'a generation' | 'a thing' | 'nothing'
}

/** @returns ids of what the provider has made. */
export function idsGiven(reply: JsonObject, { isMade, makes }: Giving): string[] {
  const { response, message, delta, file, interaction } = reply
  const found: string[] = []
  // Events of a stream hold the reply, or what has changed of it.
  for (const part of [response, message, delta, interaction])
    if (isObject(part)) found.push(...idsGiven(part, { isMade: isMade && part !== delta, makes }))
  if (isMade) {
    for (const part of [reply, file]) if (isObject(part)) found.push(...ownIds(part))
    for (const name of RESULTS) found.push(...knownIds(reply[name]), ...givenIds(reply[name]))
    if (makes === 'a thing') found.push(...idsOfMade(reply))
    if (makes !== 'nothing' && found.length === 0) found.push(...requestIds(reply))
  }
  addContainers(reply, found)
  return found
}

const ownIds = ({ id, name, uri }: JsonObject): string[] => [...knownIds(id), ...inCollection(name), ...inCollection(uri)]

/** Ids by which a list names one of its entries. */
export const idsOfEntry = (entry: JsonObject): string[] => [
  ...ownIds(entry),
  ...namedIds(entry),
  ...REQUEST_IDS.flatMap((name) => givenIds(entry[name])),
]

/** The headers by which a reply says where its work is found. */
const PLACES = ['location', 'operation-location', 'nvcf-reqid'] as const

/** Ids that the head of a reply gives: the last part of an address. */
export function idsInHead(headers: IncomingHttpHeaders): string[] {
  return PLACES.flatMap((name) =>
    givenIds(
      headers[name]
        ?.toString()
        .split(/[?#]/, 1)[0]
        ?.split('/')
        .findLast((part) => part !== ''),
    ),
  )
}

/** Containers of code, and files that code has written in them. */
function addContainers(reply: Json, found: string[]): void {
  const rest: Json[] = [reply]
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    if (Array.isArray(value)) {
      for (const each of value) if (typeof each === 'object' && each !== null) rest.push(each)
    } else if (isObject(value)) {
      const { container, container_id: id, file_id: file, type } = value
      if (isObject(container)) found.push(...knownIds(container.id))
      found.push(...knownIds(id))
      if (id !== undefined || /code_execution_output$/.test(String(type))) found.push(...knownIds(file))
      for (const name in value) {
        const member = value[name]
        if (typeof member === 'object' && member !== null && !SKIPPED.has(name)) rest.push(member)
      }
    }
  }
}

const DAY = 86_400_000

/** Days for which providers keep an object that ends by itself, by the form of its id; from their documentation. */
const LIFETIMES: readonly [form: RegExp, days: number][] = [
  // "Response objects are saved for 30 days by default" (platform.openai.com, Conversation state).
  [/^resp_/, 30],
  // Containers of OpenAI end after 20 minutes without use, those of Anthropic after 30 days (platform.claude.com, Code execution tool).
  [/^(?:cntr|container)_/, 30],
  // Results of batches: 29 days at Anthropic, 30 at OpenAI.
  [/^(?:msgbatch|batch)_/, 30],
  // "Files are stored for 48 hours" (ai.google.dev, Files API).
  [/^files\//, 2],
]
/** Kept until they are deleted: files, vector stores, conversations, assistants and their threads, fine-tuned models, cached content. */
const FOR_GOOD = /^(?:file|collection|vs|conv|asst|thread|ftjob|skill|video|eval|cachedContents|fileSearchStores|tunedModels|corpora)[_/-]/
/** A century, and what is not known: a choice of ours. */
const [CENTURY, UNKNOWN] = [36_500, 400]

/** Milliseconds. */
export function idLifetime(id: string): number {
  return (LIFETIMES.find(([form]) => form.test(id))?.[1] ?? (FOR_GOOD.test(id) ? CENTURY : UNKNOWN)) * DAY
}
