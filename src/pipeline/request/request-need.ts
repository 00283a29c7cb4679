/** Needs that a request has of its endpoint, read once of each form of it: its cap, its tools, its searches, the size of its text. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { nativeSearchIn } from '../../dialects/canon/native-search.ts'
import type { CanonicalRequest, ToolSpec } from '../../dialects/canon/request.ts'
import type { GatewayFields } from '../../dialects/canon/request-fields.ts'
import type { ClientDialect } from '../../dialects/types.ts'
import { TOOL_PROMPT_TOKENS } from '../../ledger/settlement.ts'

/** A request in one of its forms: as it came, or as layers have edited it. */
interface FormedRequest {
  readonly client: ClientDialect
  readonly body: JsonObject
  readonly bytes: number
  readonly gateway: GatewayFields
  readonly mayHoldMedia: boolean
  readonly edited: boolean
  canonical(): CanonicalRequest
}

export interface RequestNeed {
  /**
   * The caller's own cap on output tokens. A field of another format is not sent as a cap, so it must not bound what is held
   * or charged.
   */
  readonly cap: number | undefined
  /** Tools that are no functions, as its format writes them, wherever they stand. */
  readonly otherTools: readonly JsonObject[]
  /** True where the model may call something. */
  readonly offersTools: boolean
  /** The region in which the model is to run, where the request names one. */
  readonly region: string | undefined
  /** The most searches that the provider's own tools may run; 0 where none is offered. */
  readonly searches: number
  /** True where nothing but tokens can be charged for: no medium, no search, no tool of a provider. */
  readonly isTokensAlone: boolean
  /** Bytes of a body that is all text, as it came: no token is shorter. Infinity where it has media, or was edited. */
  readonly textBytes: number
  /** Tokens that the input of such a body cannot pass; undefined of others: `weighedBound`. */
  readonly textBound: number | undefined
}

export function readNeed(request: FormedRequest): RequestNeed {
  const { body, client, edited, mayHoldMedia } = request
  const region = client.regionField === undefined ? undefined : body[client.regionField]
  const { tools } = edited ? request.canonical() : request.body
  // Nearly all requests of the formats whose tools stand in one place have none.
  const hasNone = !edited && body.tools === undefined && client.nativeTools === undefined
  const otherTools = hasNone ? NO_TOOLS : findOtherTools(request)
  const searches = searchBound(request, otherTools)
  return {
    cap: callerCap(request),
    otherTools,
    offersTools: Array.isArray(tools) && tools.length > 0,
    region: typeof region === 'string' ? region : undefined,
    searches,
    isTokensAlone: !mayHoldMedia && searches === 0 && otherTools.length === 0,
    ...(mayHoldMedia || edited ? WEIGHED : { textBytes: request.bytes, textBound: request.bytes + TOOL_PROMPT_TOKENS }),
  }
}

const WEIGHED = { textBytes: Number.POSITIVE_INFINITY, textBound: undefined }

function callerCap(request: FormedRequest): number | undefined {
  const { body, client } = request
  if (!client.capFields) return undefined
  // What is sent is the canonical form, in which a plugin may have changed the cap.
  if (request.edited) return (request.canonical().sampling as CanonicalRequest['sampling'] | undefined)?.maxOutput
  for (const field of client.capFields) {
    const cap = body[field]
    if (typeof cap === 'number') return cap
  }
  return undefined
}

/** Searches held for where the caller sets no bound of its own. */
const USUAL_SEARCHES = 10

function searchBound(request: FormedRequest, otherTools: readonly JsonObject[]): number {
  const fields = request.edited ? request.canonical().extras?.fields : request.body
  // Chat models that search by themselves (OpenAI SDK 7.55.0, ChatCompletionCreateParams: `web_search_options`).
  let most = fields?.web_search_options !== undefined && isObject(fields.web_search_options) ? USUAL_SEARCHES : 0
  if (request.edited) {
    for (const tool of formedTools(request)) {
      const search = nativeSearchIn(tool)
      if (search) most += search.maxUses ?? USUAL_SEARCHES
    }
  }
  for (const tool of otherTools) most += maxSearches(tool, request.gateway.maxToolCalls)
  return most
}

function findOtherTools(request: FormedRequest): readonly JsonObject[] {
  const { body, client, edited } = request
  const listed = edited
    ? formedTools(request).flatMap((tool) => (tool.kind === 'opaque' ? [tool.of.data] : []))
    : Array.isArray(body.tools)
      ? body.tools.filter(isOther)
      : NO_TOOLS
  const added = client.nativeTools?.(body)
  return added === undefined || added.length === 0 ? listed : [...listed, ...added.map(({ of }) => of.data)]
}

/** Tools of the canonical form. A plugin may have left anything there: it is refused once the plugin has ended. */
function formedTools(request: FormedRequest): readonly ToolSpec[] {
  const { tools } = request.canonical() as { tools: unknown }
  return Array.isArray(tools) ? tools.filter(isObject as (tool: unknown) => tool is ToolSpec) : []
}

/** The messages format may leave out the type of a function. */
function isOther(tool: Json): tool is JsonObject {
  return isObject(tool) && tool.type !== undefined && tool.type !== 'function'
}

const NO_TOOLS: readonly JsonObject[] = []

/** The search of Groq and that of Moonshot, and all that others have under one word. */
const SEARCHES = /^(?:web_search|browser_search$|builtin_function$)/

/** @param calls `max_tool_calls` of the caller: the Responses API runs so many, others know no such bound. */
function maxSearches({ type, max_uses: most }: JsonObject, calls = 0): number {
  if (typeof type !== 'string' || !SEARCHES.test(type)) return 0
  return typeof most === 'number' && most >= 1 ? most : Math.max(USUAL_SEARCHES, calls)
}
