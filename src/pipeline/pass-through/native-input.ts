/**
 * Outside input of a provider's own request bodies (docs/decisions/0029-outside-input.md): by the tables of the wires, and beyond them what
 * the gateway itself refuses, replaces or bounds in requests of its own formats, and a provider serves.
 */
import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'
import {
  LEAVE_OUT,
  type OutsideField,
  type OutsideInput,
  type OutsideTable,
  outsideFields,
  outsideTools,
  REST_OF_CONTEXT,
  SEARCH_TOKENS,
} from '../../dialects/canon/outside-input.ts'
import { PAGE_TOKENS, pdfPages } from '../../dialects/canon/pdf-pages.ts'

const isThere = (value: Json): boolean => value !== '' && value !== false && !(Array.isArray(value) && value.length === 0)
const stored: OutsideField = { tokens: (value) => (isThere(value) ? REST_OF_CONTEXT : 0), help: 'send the content itself' }
/** Of `prompt` an object names a stored one (types of openai 7.59.0, `ResponsePrompt`); a text is the input itself. */
const storedPrompt: OutsideField = { ...stored, tokens: (value) => (isObject(value) ? REST_OF_CONTEXT : 0) }

/** Searches that are counted where the caller sets no bound, as in the gateway's own requests. */
const SEARCHES = 10

/** Fields by wire, beside those of its table. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, OutsideField>>>> = {
  'openai-chat': {
    web_search_options: { tokens: () => SEARCHES * SEARCH_TOKENS, help: LEAVE_OUT },
    // Plugins of another router.
    plugins: { ...stored, help: LEAVE_OUT },
  },
  'openai-responses': { previous_response_id: stored, conversation: stored, prompt: storedPrompt },
}

/** Tools that callers run, and of providers those that add nothing that is read. */
const WITHOUT_INPUT =
  /^(?:function|custom|tool_search\w*|local_shell|apply_patch|namespace|computer\w*|image_generation|(?:bash|text_editor|memory|computer)_\d+)$/
const SEARCH = /^web_search/
const FETCH = /^web_fetch_/

export const boundOr = (value: Json | undefined, otherwise: number): number => (typeof value === 'number' && value > 0 ? value : otherwise)

/** Tools by their types, of wires whose tools have none. */
const TYPED: Readonly<Record<string, (tools: readonly JsonObject[]) => JsonObject[]>> = {
  // A tool has its type as the name of a member (Gemini API, `Tool`).
  gemini: (tools) =>
    tools.flatMap((tool) =>
      Object.keys(tool)
        .filter((name) => !/^function_?declarations$/i.test(name))
        .map((type) => ({ type: /^google_?search/i.test(type) ? 'web_search' : type })),
    ),
  // A tool has one member: `toolSpec`, `cachePoint`, or `systemTool`, which the provider runs (Bedrock, API reference of Converse, `Tool`).
  'bedrock-converse': (tools) => tools.filter((tool) => 'systemTool' in tool).map(() => ({ type: 'systemTool' })),
}

/** Tools that stand elsewhere than in `tools`, by wire. */
const ADDED: Readonly<Record<string, (body: JsonObject) => JsonObject[]>> = {
  // Among the items of the input (types of openai 7.59.0, `additional_tools`).
  'openai-responses': ({ input }) => asObjects(input).flatMap((item) => asObjects(item.tools)),
}

/** Tools of a request as they stand. */
export const listedTools = (body: JsonObject, wire: string): JsonObject[] => [...asObjects(body.tools), ...(ADDED[wire]?.(body) ?? [])]

function requestTools(body: JsonObject, wire: string): JsonObject[] {
  const own = listedTools(body, wire)
  const { toolConfig } = body
  const listed = isObject(toolConfig) ? [...own, ...asObjects(toolConfig.tools)] : own
  return TYPED[wire]?.(listed) ?? listed.filter((tool) => !WITHOUT_INPUT.test(String(tool.type ?? 'custom')))
}

/** Tools that search the web. */
export const searchTools = (body: JsonObject, wire: string, table: OutsideTable | undefined): JsonObject[] =>
  offeredTools(body, wire, table).filter(({ type }) => SEARCH.test(String(type)))

const offeredTools = (body: JsonObject, wire: string, table: OutsideTable | undefined): JsonObject[] => [
  ...requestTools(body, wire),
  ...(table?.elsewhere?.(body) ?? []),
]

function ofTools(body: JsonObject, wire: string, table: OutsideTable | undefined): OutsideInput[] {
  const found: OutsideInput[] = []
  for (const tool of offeredTools(body, wire, table)) {
    const type = String(tool.type)
    if (SEARCH.test(type)) {
      found.push({ field: `tools: ${type}`, tokens: boundOr(tool.max_uses, SEARCHES) * SEARCH_TOKENS, help: 'set max_uses lower' })
      continue
    }
    // Tools go as they are: what the caller has not capped is not capped.
    const uncapped = {
      max_uses: boundOr(tool.max_uses, REST_OF_CONTEXT),
      max_content_tokens: boundOr(tool.max_content_tokens, REST_OF_CONTEXT),
    }
    const sent = FETCH.test(type) ? { ...tool, ...uncapped } : tool
    const isKnown = table?.tools.some((known) => known.type.test(type)) === true
    if (table && isKnown) found.push(...outsideTools([sent], table, undefined))
    else found.push({ field: `tools: ${type}`, tokens: REST_OF_CONTEXT, help: LEAVE_OUT })
  }
  return found
}

/** Members that name a file, or content that stands elsewhere; the address of an image is none, since models bound its tokens. */
const NAMES = /^(?:file_?ids?|file_?ur[il]|video_?url|audio_?url|s3_?location|vector_store_ids?)$/i
/** Members with arguments of tool calls, schemas and notes of the caller: no provider fetches what they name. */
const SKIPPED: ReadonlySet<string> = new Set([
  ...['tools', 'arguments', 'args', 'parameters', 'input_schema', 'inputSchema', 'metadata', 'response_format', 'functionCall', 'toolUse'],
])
const isCall = ({ type }: JsonObject): boolean => type === 'tool_use' || type === 'server_tool_use'
const isSkipped = (name: string, of: JsonObject): boolean => SKIPPED.has(name) || (name === 'input' && isCall(of))

/** Members with the address or the bytes of a medium, which may be more tokens than it has bytes here. */
const MEDIA = /^(?:image_?url|image|url|data|bytes|file_?data|file_?uri|b64_json)$/i

/** Returns the number of media that a body has at most. */
export function mediaIn(body: JsonObject): number {
  let count = 0
  const rest: (Json | undefined)[] = [body]
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    if (Array.isArray(value)) {
      for (const each of value) if (isContainer(each)) rest.push(each)
    } else if (isObject(value))
      for (const name in value) {
        if (isSkipped(name, value)) continue
        const member = value[name]
        if (typeof member === 'string') count += MEDIA.test(name) ? 1 : 0
        else if (isContainer(member)) rest.push(member)
      }
  }
  return count
}

const isContainer = (value: Json | undefined): value is Json[] | JsonObject => typeof value === 'object' && value !== null

const PDF = /^(?:data:application\/pdf;base64,)?(JVBERi0[\w+/=\s]*)$/

/** Files by an id or an address, and PDFs by their pages. */
function ofFiles(body: JsonObject): OutsideInput[] {
  const found: OutsideInput[] = []
  const rest: Json[] = [body]
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    if (Array.isArray(value)) {
      // One by one: a list of a million numbers is more than a call takes.
      for (const each of value) if (typeof each === 'string' || isContainer(each)) rest.push(each)
    } else if (typeof value === 'string') {
      const encoded = value.length > 64 ? PDF.exec(value)?.[1] : undefined
      if (encoded === undefined) continue
      const pages = pdfPages(Buffer.from(encoded, 'base64'))
      const tokens = pages === undefined ? REST_OF_CONTEXT : pages * PAGE_TOKENS
      found.push({ field: `a PDF of ${pages ?? 'uncounted'} pages`, tokens, help: 'send fewer pages' })
    } else if (isObject(value)) {
      // A document by its address (platform.claude.com, PDF support).
      if (value.type === 'document' && isObject(value.source) && value.source.type === 'url')
        found.push({ field: 'a file by its address', tokens: REST_OF_CONTEXT, help: FILE_HELP })
      for (const name in value) {
        const member = value[name]
        if (member === undefined || member === null || isSkipped(name, value)) continue
        if (NAMES.test(name) && isThere(member) && !isInline(member))
          found.push({ field: `a file by its ${/ur[il]$/i.test(name) ? 'address' : 'id'}`, tokens: REST_OF_CONTEXT, help: FILE_HELP })
        else rest.push(member)
      }
      // Responses has items of earlier responses by their ids (types of openai 7.59.0, `ResponseInputItem.ItemReference`).
      if (value.type === 'item_reference') found.push({ field: 'an item by its id', tokens: REST_OF_CONTEXT, help: 'send the item itself' })
    }
  }
  return found
}

const FILE_HELP = 'send the file itself in the request'
const isInline = (value: Json): boolean => {
  const url = isObject(value) ? value.url : value
  return typeof url === 'string' && url.startsWith('data:')
}

/** Fields of wires whose bodies no caller of the gateway sends: the conversation, which is searched for files, and settings. */
const READ: Readonly<Record<string, ReadonlySet<string>>> = {
  gemini: new Set(['contents', 'systemInstruction', 'system_instruction', 'generationConfig', 'generation_config', 'toolConfig', 'labels']),
}

/** @param table of the wire. */
export function nativeInput(body: JsonObject, wire: string, table: OutsideTable | undefined): OutsideInput[] {
  const found: OutsideInput[] = []
  const own = FIELDS[wire] ?? {}
  for (const name in own) {
    const tokens = own[name]?.tokens(body[name] ?? '') ?? 0
    if (body[name] !== undefined && body[name] !== null && tokens > 0)
      found.push({ field: name, tokens, help: own[name]?.help ?? LEAVE_OUT })
  }
  if (table) found.push(...outsideFields(body, table, true).filter(({ field }) => !(field in own) && !READ[wire]?.has(field)))
  found.push(...ofTools(body, wire, table), ...ofFiles(body))
  return found
}
