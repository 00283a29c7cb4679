/** A canonical request as the body of an upstream that speaks Responses. */

import { isObject, type Json, type JsonObject, present } from '../../core/json.ts'
import { offeredTools } from '../canon/allowed-tools.ts'
import { isNamedBeside, nativeObject } from '../canon/native.ts'
import { choosesSearch, nativeSearchIn } from '../canon/native-search.ts'
import { fieldWriter, lossRecorder } from '../canon/parameters.ts'
import type { CanonicalRequest, Item, OutputFormat, ToolChoice, ToolSpec } from '../canon/request.ts'
import { hashedUser } from '../canon/request-fields.ts'
import type { Encoded, Target } from '../types.ts'
import { INSTRUCTIONS } from './decode-request.ts'
import { encodeItem } from './encode-items.ts'
import type { ItemContext } from './encode-parts.ts'
import { ENCRYPTED, fitToTarget, isLoose, mayReason } from './fit-request.ts'
import { responsesParameters } from './parameters.ts'
import { LOST_REFERENCE } from './references.ts'
import { SEARCH_TYPE, searchTool } from './web-search.ts'
import { WIRE } from './wire.ts'

export const PATH = '/responses'

const LOGPROBS = 'message.output_text.logprobs'

/**
 * The system message that came as `instructions`, as long as it is still the first item and plain text; of a caller of another wire the
 * first one. Servers that turn each message into a list of parts lose it among the items: templates render no list for a system message
 * (llama.cpp, release b11549), and Ollama 0.17.4 leaves out `developer`.
 */
function leadingInstructions([first]: Item[], sameWire: boolean): string | undefined {
  if (first?.kind !== 'message' || first.role !== 'system' || (sameWire && first.id !== INSTRUCTIONS)) return undefined
  const texts = first.parts.map((part) => (part.kind === 'text' && part.cache === undefined ? part.text : undefined))
  if (texts.includes(undefined) || texts.length !== 1) return undefined
  return texts[0]
}

function encodeTool(tool: ToolSpec, context: ItemContext): JsonObject | undefined {
  if (tool.kind === 'function') {
    if (tool.cache) context.dropped.add('cache_control')
    const spec = present({
      type: 'function',
      name: tool.name,
      description: tool.description,
      parameters: tool.parameters,
      // Absent means strict on this wire and not strict on others.
      strict: tool.strict ?? (context.sameWire || context.quirks.strict === 'stated' ? undefined : false),
    })
    return Object.assign(spec, nativeObject(tool, WIRE))
  }
  if (tool.kind === 'opaque' && tool.of.dialect === WIRE) return tool.of.data
  const search = nativeSearchIn(tool)
  if (search) return searchTool(search)
  context.dropped.add(tool.kind === 'server' ? `tools.${tool.name}` : `tools.${tool.of.type}`)
  return undefined
}

function encodeChoice(choice: ToolChoice, tools: readonly ToolSpec[], context: ItemContext): Json | undefined {
  if (choice.mode === 'named') return choosesSearch(choice.name, tools) ? { type: SEARCH_TYPE } : { type: 'function', name: choice.name }
  if (choice.mode !== 'opaque') return choice.mode
  if (choice.of.dialect === WIRE) return choice.of.data
  context.dropped.add('tool_choice')
  return undefined
}

function encodeFormat(format: OutputFormat): JsonObject {
  if (format.type !== 'json_schema') return { type: format.type }
  return present({
    type: 'json_schema',
    name: format.name ?? 'answer',
    description: format.description,
    schema: format.schema ?? {},
    strict: format.strict ?? undefined,
  })
}

function encodeText(request: CanonicalRequest): JsonObject | undefined {
  if (!request.format && request.verbosity === undefined) return undefined
  return present({ format: request.format && encodeFormat(request.format), verbosity: request.verbosity })
}

const writeFields = fieldWriter(responsesParameters)
const recordLosses = lossRecorder(responsesParameters)

/**
 * A caller of another wire that requests thinking by itself expects to see it, and this wire shows none unless a summary is requested
 * (npm openai 7.57.0, Reasoning.summary).
 */
function asksToThink({ reasoning, extras }: CanonicalRequest): boolean {
  if (extras?.dialect === WIRE || reasoning === undefined || reasoning.exclude === true) return false
  return reasoning.enabled === true || (reasoning.maxTokens ?? 0) > 0
}

function encodeReasoning(request: CanonicalRequest, extras: JsonObject): JsonObject | undefined {
  const { reasoning } = request
  if (!reasoning) return undefined
  const fields = present({
    effort: reasoning.effort,
    summary: reasoning.summary ?? (asksToThink(request) ? 'auto' : undefined),
    enabled: reasoning.enabled,
    max_tokens: reasoning.maxTokens,
    context: extras['reasoning.context'],
    mode: extras['reasoning.mode'],
    generate_summary: extras['reasoning.generate_summary'],
  })
  return Object.keys(fields).length === 0 ? undefined : fields
}

function encodeInclude(request: CanonicalRequest, body: JsonObject, target: Target): string[] | undefined {
  const include = new Set(request.include)
  if (!mayReason(target)) include.delete(ENCRYPTED)
  if (request.sampling.logprobs) include.add(LOGPROBS)
  const reasons = body.reasoning && isObject(body.reasoning) && body.reasoning.effort !== 'none'
  if (mayReason(target) && (reasons || request.items.some((item) => item.kind === 'reasoning'))) include.add(ENCRYPTED)
  return include.size === 0 ? undefined : [...include]
}

/** Fields of the caller's own wire that the canon does not name, unless it is another wire: then they are reported, as a lost item is. */
function addExtras(request: CanonicalRequest, body: JsonObject, dropped: Set<string>): void {
  const { extras } = request
  for (const [key, value] of Object.entries(extras?.fields ?? {})) {
    // Nothing is ever stored, whichever wire says so.
    if (key === 'store') continue
    if (extras?.dialect !== WIRE || key === LOST_REFERENCE) dropped.add(key)
    else if (!key.startsWith('reasoning.') && !isNamedBeside(key)) body[key] = value
  }
}

/**
 * Callers of other wires name their conversation elsewhere, if at all. The provider gets a digest: names have up to 256 characters, and
 * are no business of the provider.
 */
function promptCacheKey({ conversation, quirks }: Target): string | undefined {
  if (conversation === undefined || quirks.body?.drop?.includes('prompt_cache_key')) return undefined
  return hashedUser(conversation)
}

/** @returns path, body and the canonical names of what the caller sent and this upstream cannot take. */
export function encodeRequest(request: CanonicalRequest, target: Target): Encoded {
  const context: ItemContext = { sameWire: request.extras?.dialect === WIRE, quirks: target.quirks, dropped: new Set() }
  const instructions = leadingInstructions(request.items, context.sameWire)
  const items = instructions === undefined ? request.items : request.items.slice(1)
  const body: JsonObject = {
    model: target.model,
    instructions,
    input: items.map((item) => encodeItem(item, context)).filter((item) => item !== undefined),
    reasoning: encodeReasoning(request, context.sameWire ? (request.extras?.fields ?? {}) : {}),
    text: encodeText(request),
    prompt_cache_key: context.sameWire ? undefined : promptCacheKey(target),
  }
  writeFields(request, body, context.dropped)
  const offered = offeredTools(request, WIRE)
  // What stands among the items is written with them.
  const listed = offered.tools.filter((tool) => tool.kind !== 'function' || !tool.inItems)
  const tools = listed.map((tool) => encodeTool(tool, context)).filter((tool) => tool !== undefined)
  if (tools.length > 0) body.tools = tools
  for (const tool of listed) body.max_tool_calls ??= nativeSearchIn(tool)?.maxUses
  if (offered.toolChoice && (tools.length > 0 || offered.toolChoice.mode === 'none'))
    body.tool_choice = encodeChoice(offered.toolChoice, listed, context)
  recordLosses(request, context.dropped)
  addExtras(request, body, context.dropped)
  const dropped = [...context.dropped]
  fitToTarget(present(body), target, dropped)
  const include = encodeInclude(request, body, target)
  if (include) body.include = include
  return isLoose(body, target) ? { path: PATH, body, dropped, looseFormat: true } : { path: PATH, body, dropped }
}
