/**
 * Input that does not travel in the body: what a provider remembers, fetches or runs for a request, and adds to its prompt. Each wire has
 * one table of it, by which a request under a limit is held for what it may cost (docs/decisions/0029-outside-input.md).
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { PARAMETER_NAMES, PARAMETERS } from '../../core/parameters.ts'
import { GATEWAY_KEYS } from './request-fields.ts'

/** A bound in tokens: all that the endpoint's context has left. */
export const REST_OF_CONTEXT = Number.POSITIVE_INFINITY

/** A tool that the provider runs. */
export interface OutsideTool {
  readonly type: RegExp
  /** The most tokens that all of its calls in one request add; 0 for a form of it that adds none. */
  tokens(tool: JsonObject): number
  /** True where a bound of the operator's stands in for `REST_OF_CONTEXT` (`provider_tool_tokens`): results of something that runs. */
  readonly runs?: true
  /** True where its cap does not hold for all that it adds: then the tokens are the least that must be affordable, not the most. */
  readonly leaks?: true
  /** Remedy for the caller, behind `web_fetch: `. */
  readonly help: string
}

/**
 * Tools that callers run, and searches in the tools of the request itself (types of @anthropic-ai/sdk 1.12.0: `BetaClientToolUnion`,
 * `BetaToolSearchTool…`; of openai 7.57.0: `Tool`).
 */
export const RUN_BY_CALLERS =
  /^(?:function|custom|tool_search|local_shell|apply_patch|namespace|computer\w*|browser_toolset_\d+|(?:bash|text_editor|memory)_\d+|tool_search_tool_\w+)$/
/** Tools whose results are counted elsewhere: searches and advisors with their calls, pictures with their fee, MCP servers with their field. */
const COUNTED_TOOLS = /^(?:web_search|advisor_|image_generation$|mcp_toolset$)/

/** Kinds of input that some token counters of providers count: media of the conversation, and content that is cached under a name. */
export type CountedKind = 'media' | 'cached content'

/** A field of the body, beside the conversation and the tools. */
export interface OutsideField {
  /** 0 where its value adds nothing. */
  tokens(value: Json): number
  /** As that of a tool. */
  readonly runs?: true
  readonly help: string
  /** The cached content that the value names, where it names nothing else: what stands under a name never changes. */
  cached?(value: Json): string | undefined
}

export interface OutsideTable {
  readonly tools: readonly OutsideTool[]
  /** Tools that stand elsewhere than callers' tools are looked for, such as within the conversation. */
  elsewhere?(body: JsonObject): JsonObject[]
  readonly fields: Readonly<Record<string, OutsideField>>
  /** Callers whose fields reach the provider: those of callers of the wire itself, or of all. */
  readonly from: 'own' | 'all'
  /** Fields that name something and add no input. Any other that the tables do not know adds some where it holds an id or an address. */
  readonly harmless: ReadonlySet<string>
}

/** Something of one request that adds input. */
export interface OutsideInput {
  /** Place of it, such as `mcp_servers` or `tools: web_fetch_20250910`. */
  readonly field: string
  readonly tokens: number
  readonly help: string
  /** Absent where no counter counts it. */
  readonly kind?: CountedKind | undefined
  /** As that of a tool or field. */
  readonly runs?: true | undefined
  readonly leaks?: true | undefined
  /** Of something whose content never changes: its id at the provider. */
  readonly id?: string | undefined
}

/** Results of one search of the web: ten results of some 1,000 tokens each. */
export const SEARCH_TOKENS = 10_000

/** Questions to an advisor that are held for where the caller sets no bound, and sent as the bound where a limit applies. */
export const USUAL_ADVICE = 3

/** A key without a limit is served in any case. */
export const LEAVE_OUT = 'leave it out, or use an endpoint with a smaller context'

const filled = (value: Json | undefined): boolean => (Array.isArray(value) ? value.length > 0 : typeof value === 'string' && value !== '')

/** Content that the provider has cached under a name (Gemini API, `CachedContent.name`; of one that is there only the expiry can be changed). */
const cachedContent: OutsideField = {
  tokens: (value) => (filled(value) ? REST_OF_CONTEXT : 0),
  help: 'send the content itself',
  cached: (value) => (typeof value === 'string' && value !== '' ? value : undefined),
}

/** The same in `extra_body.google`, where Google's own chat endpoint has it (Gemini API, "OpenAI compatibility"). */
const inExtraBody = (value: Json): Json | undefined => {
  const google = isObject(value) ? value.google : undefined
  return isObject(google) ? (google.cached_content ?? google.cachedContent) : undefined
}

export const CACHED_CONTENT: Readonly<Record<string, OutsideField>> = {
  cached_content: cachedContent,
  cachedContent,
  extra_body: {
    tokens: (value) => cachedContent.tokens(inExtraBody(value) ?? null) || (holdsReference(value) ? REST_OF_CONTEXT : 0),
    help: cachedContent.help,
    cached: (value) => {
      const named = inExtraBody(value)
      return typeof named === 'string' && named !== '' && !holdsReference(value) ? named : undefined
    },
  },
}

const UNKNOWN_HELP = 'it names something that is not part of the request: leave it out'

/** Fields of all formats that are known to add nothing, or whose text is counted with the body. */
const COUNTED: ReadonlySet<string> = new Set([
  ...PARAMETER_NAMES.filter((name) => PARAMETERS[name].kind !== undefined),
  ...['model', 'messages', 'input', 'prompt', 'system', 'instructions', 'tools', 'tool_choice', 'stream', 'stream_options', 'n', 'store'],
  ...['max_completion_tokens', 'max_output_tokens', 'stop_sequences', 'response_format', 'text', 'output_config', 'output_format'],
  ...['thinking', 'reasoning', 'reasoning_effort', 'include_reasoning', 'cache_control', 'truncation', 'web_search_options', 'betas'],
  ...['functions', 'function_call', 'context_management', 'fallbacks', 'usage', ...GATEWAY_KEYS],
])

/** False where no field of the body can add input. */
export function mayHaveOutsideFields(body: JsonObject): boolean {
  for (const key in body) if (!COUNTED.has(key)) return true
  return false
}

/** @param own true where the caller speaks the wire of the table. */
export function outsideFields(body: JsonObject, table: OutsideTable, own: boolean): OutsideInput[] {
  if (!own && table.from === 'own') return []
  const found: OutsideInput[] = []
  for (const name in body) {
    const value = body[name] ?? null
    if (COUNTED.has(name) || value === null) continue
    const known = table.fields[name]
    if (known) {
      const tokens = known.tokens(value)
      const id = tokens > 0 ? known.cached?.(value) : undefined
      if (tokens > 0)
        found.push({ field: name, tokens, help: known.help, runs: known.runs, ...(id === undefined ? {} : { kind: 'cached content', id }) })
    } else if (own && !table.harmless.has(name) && namesOutside(name, value)) {
      found.push({ field: name, tokens: REST_OF_CONTEXT, help: UNKNOWN_HELP })
    }
  }
  return found
}

/**
 * @param tools that are no functions, as the caller's format writes them.
 * @param unknown types of tools that are sent although no table knows them, and may add what they like.
 */
export function outsideTools(tools: readonly JsonObject[], table: OutsideTable, unknown: RegExp | undefined): OutsideInput[] {
  const found: OutsideInput[] = []
  for (const tool of tools) {
    const type = String(tool.type)
    const known = table.tools.find((each) => each.type.test(type))
    const field = `tools: ${type}`
    if (known) {
      const tokens = known.tokens(tool)
      if (tokens > 0) found.push({ field, tokens, help: known.help, runs: known.runs, leaks: known.leaks })
    } else if (tool.type !== undefined && unknown?.test(type) && !RUN_BY_CALLERS.test(type) && !COUNTED_TOOLS.test(type)) {
      found.push({ field, tokens: REST_OF_CONTEXT, help: LEAVE_OUT, runs: true })
    }
  }
  return found
}

/** Tools with a fee for each call that the provider runs, and the calls of each that a hold counts where the caller sets no bound. */
const USUAL_CALLS: readonly (readonly [type: RegExp, calls: number])[] = [
  [/^(?:web_search|file_search$|code_interpreter$|x_search$)/, 10],
  [/^image_generation$/, 2],
]
/** Tools whose results are held for as all that the context has left, however many calls there are. */
const UNCOUNTED = /^(?:mcp|shell)$/
/**
 * Calls of tools in one answer of the Responses API where the caller bounds none. What it would make is not documented: this is a choice of
 * ours, far above the most that is recorded (six searches), since a report that is wrongly not believed leaves the operator with the bill.
 */
export const MAX_RESPONSES_CALLS = 99

/**
 * Calls that `max_tool_calls` of Responses allows to all tools of a request together, where a limit applies and the caller states no bound.
 * @returns undefined for tools without a fee for their calls, which go out without a bound.
 */
export function boundedCalls(tools: readonly JsonObject[]): number | undefined {
  let calls = 0
  for (const { type } of tools) calls += USUAL_CALLS.find(([known]) => known.test(String(type)))?.[1] ?? 0
  if (calls === 0) return undefined
  return tools.some(({ type }) => UNCOUNTED.test(String(type))) ? Math.max(calls, MAX_RESPONSES_CALLS) : calls
}

/** Names of members whose text refers to something elsewhere; those of JSON schemas begin with a dollar sign. */
const REFERENCE = /^(?:ids?|ur[il]s?)$|_(?:ids?|ur[il]s?)$|[a-z](?:Ids?|Ur[il]s?)$/
/** Those that say who sends the request, or which one it is. */
const SENDER = /^(?:end_?)?(?:user|request|trace|span|session|client|device|app|tenant|org|organization|project|run|installation)_?id$/i
const ADDRESS = /^[a-z][a-z0-9+.-]{1,15}:\/\//i

function namesOutside(name: string, value: Json): boolean {
  if (SENDER.test(name) || name.startsWith('$')) return false
  if (typeof value === 'string') return value !== '' && (REFERENCE.test(name) || ADDRESS.test(value))
  return holdsReference(value)
}

/** Values that are looked at; a field with more is no reference. */
const MAX_VALUES = 10_000

/** True where an object or array holds an id or an address. */
export function holdsReference(value: Json): boolean {
  const rest: Json[] = [value]
  let seen = 0
  for (let one = rest.pop(); one !== undefined; one = rest.pop()) {
    if (++seen > MAX_VALUES) return true
    if (typeof one === 'string') {
      if (ADDRESS.test(one)) return true
    } else if (Array.isArray(one)) rest.push(...one.slice(0, MAX_VALUES))
    else if (isObject(one)) {
      for (const name in one) {
        const member = one[name]
        if (SENDER.test(name) || name.startsWith('$') || member === undefined) continue
        if (REFERENCE.test(name) && filled(member)) return true
        if (typeof member === 'string' || typeof member === 'object') rest.push(member)
      }
    }
  }
  return false
}
