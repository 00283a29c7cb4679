/**
 * Tools that providers and the gateway have under one name (docs/contract.md#tools-in-a-request): a provider's own, search among them, is run by the
 * gateway where no provider in question has it, and the gateway's is left to the provider where all of them say that they have it.
 */
import { isObject, type JsonObject } from '../../core/json.ts'
import type { Opaque, ToolChoice, ToolSpec, WrittenAt } from '../../dialects/canon/request.ts'
import { hasEngines } from '../../plugin-api/index.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { ChainDependencies, PluginSetting } from '../dependencies.ts'
import { type Accepted, type Aimed, narrow, type Routed } from '../exchange.ts'
import { noteServerTools } from '../tools/begin-tools.ts'

const TOOL = 'web_search'
const IMAGES = 'image_generation'

/** Name of the edit. */
export const HOISTED = 'hoisted-search'

/** The wire whose providers have a search and no tool for it. */
const WITHOUT_TOOL = 'chat'

/** Fields that callers may set and the provider of the wire would refuse. */
const OURS: Readonly<Record<string, readonly string[]>> = {
  responses: ['engine', 'max_results', 'max_uses', 'mode', 'allowed_domains', 'excluded_domains'],
  messages: ['engine', 'max_results', 'mode', 'search_context_size', 'excluded_domains'],
}

/** `web_search`, `web_search_preview`, `web_search_20250305` and others: the word, then a version. */
const NATIVE = /^web_search(?:_|$)/

/** Fields of the native tools that the gateway's own has under the same name. */
const SAME = [
  'engine',
  'max_results',
  'max_uses',
  'mode',
  'search_context_size',
  'user_location',
  'allowed_domains',
  'excluded_domains',
] as const

/** True if the provider's quirks state that it searches. */
export function searchesItself(endpoint: Endpoint): boolean {
  const quirks = endpoint.quirks ?? endpoint.provider.quirks
  return quirks.web_search === true
}

/** True where the request has a search tool that no provider of its own wire takes as it stands. */
export function needsHoisting(exchange: Accepted): boolean {
  return exchange.request.canonical().tools.some((tool) => isSearch(tool) && isOurs(tool.of))
}

function isOurs({ dialect, data }: Opaque): boolean {
  return dialect === WITHOUT_TOOL || OURS[dialect]?.some((name) => (data[name] ?? null) !== null) === true
}

/**
 * Puts the gateway's own search in the place of the provider's.
 * @param endpoints that may serve.
 * @returns false where the request has no such tool, or there is neither an engine nor a provider that searches itself: nothing has changed then.
 */
export function hoistSearch(exchange: Accepted, plugins: readonly PluginSetting[], endpoints: readonly Endpoint[]): boolean {
  const { tools } = exchange.request.canonical()
  if (!tools.some(isSearch)) return false
  const engines = hasEngines(plugins.find(({ plugin }) => plugin.id === 'web')?.defaults ?? {})
  // A request that names an engine gets an error where there is none.
  const named = tools.some((tool) => isSearch(tool) && typeof tool.of.data.engine === 'string')
  if (!engines && !named && !endpoints.some(searchesItself)) return false
  exchange.request.edit(HOISTED, (draft) => {
    draft.tools = draft.tools.map((tool, place) =>
      isSearch(tool) ? { kind: 'server', name: TOOL, ...toolParameters(tool.of.data, `tools[${place}]`) } : tool,
    )
    const { toolChoice } = draft
    if (toolChoice?.mode === 'opaque' && NATIVE.test(toolChoice.of.type)) draft.toolChoice = { mode: 'named', name: TOOL }
  })
  return true
}

function isSearch(tool: ToolSpec): tool is { kind: 'opaque'; of: Opaque } {
  return tool.kind === 'opaque' && NATIVE.test(tool.of.type)
}

/**
 * True where the request can do without its search and its tool for images: it offers the model tools of the caller's own beside
 * them, as coding agents do in every request, and neither chooses one of them nor demands that nothing is left out.
 */
export function sparesTools({ request, demand: { preferences } }: Aimed): boolean {
  const { tools, toolChoice } = request.canonical()
  const chosen = toolChoice?.mode === 'opaque' && isSpareType(toolChoice.of.type)
  const hasOwn = tools.some((tool) => tool.kind === 'function' || (tool.kind === 'opaque' && request.client.clientTools?.has(tool.of)))
  return hasOwn && !chosen && preferences.require_parameters !== true
}

/** True for the type of a provider's search, or of its tool for images: npm cline 3.0.65 offers both to every model at its provider `openai-native`. */
export function isSpareType(type: string): boolean {
  return NATIVE.test(type) || type === IMAGES
}

/** The parameters of the gateway's tool, and where the caller wrote each of them. */
function toolParameters(data: JsonObject, at: string): { parameters: JsonObject; written: WrittenAt } {
  const parameters: JsonObject = {}
  const fields: Record<string, string> = {}
  const take = (name: string, from: JsonObject, path: string): void => {
    const value = from[path.slice(path.lastIndexOf('.') + 1)]
    if (value === undefined || value === null) return
    parameters[name] = value
    fields[name] = path
  }
  const nested = isObject(data.parameters) ? data.parameters : {}
  for (const name of Object.keys(nested)) take(name, nested, `parameters.${name}`)
  for (const name of SAME) take(name, data, name)
  take('excluded_domains', data, 'blocked_domains')
  const filters = isObject(data.filters) ? data.filters : {}
  take('allowed_domains', filters, 'filters.allowed_domains')
  take('excluded_domains', filters, 'filters.blocked_domains')
  take('excluded_domains', filters, 'filters.excluded_domains')
  return { parameters, written: { object: at, type: `${at}.type`, fields } }
}

type ServerSpec = Extract<ToolSpec, { kind: 'server' }>

/** The gateway's tool in place of a provider's; undefined for a kind of it that only the provider can run. */
type Hoist = (data: JsonObject) => Omit<ServerSpec, 'kind' | 'standsFor'> | undefined

const without =
  (name: string): Hoist =>
  () => ({ name, parameters: {} })

const HOISTS: ReadonlyMap<string, Hoist> = new Map<string, Hoist>([
  ['tool_search', ({ execution }) => (execution === 'client' ? undefined : { name: 'tool_search', parameters: {} })],
  ['tool_search_tool_regex', without('tool_search')],
  ['apply_patch', without('apply_patch')],
  ['shell', ({ environment }) => ({ name: 'shell', parameters: isObject(environment) ? { environment } : {} })],
  ['bash', without('bash')],
  ['mcp', ({ type: _, ...parameters }) => ({ name: 'mcp', parameters })],
])

/** Wires whose tools these are. */
const WIRES: ReadonlySet<string> = new Set(['responses', 'messages'])

/** `bash_20250124`: the word, then a day. */
const VERSION = /_\d{8}$/

function hoisted({ dialect, type, data }: Opaque): ServerSpec | undefined {
  const found = WIRES.has(dialect) ? HOISTS.get(type.replace(VERSION, ''))?.(data) : undefined
  return found && { kind: 'server', ...found, standsFor: type }
}

/** @returns false where the request has no such tool: nothing has changed then. */
export function hoistTools(exchange: Accepted): boolean {
  if (!exchange.request.canonical().tools.some((tool) => tool.kind === 'opaque' && hoisted(tool.of))) return false
  exchange.request.edit('hoisted-tools', (draft) => {
    draft.tools = draft.tools.map((tool) => (tool.kind === 'opaque' ? (hoisted(tool.of) ?? tool) : tool))
    if (draft.toolChoice) draft.toolChoice = hoistChoice(draft.toolChoice, draft.tools)
  })
  return true
}

function hoistChoice(choice: ToolChoice, tools: readonly ToolSpec[]): ToolChoice {
  if (choice.mode !== 'opaque') return choice
  const chosen = tools.find((tool) => tool.kind === 'server' && tool.standsFor?.replace(VERSION, '') === choice.of.type)
  if (chosen?.kind !== 'server') return choice
  // An MCP server brings several functions; which of them is meant is not known here.
  return chosen.name === 'mcp' ? { mode: 'required' } : { mode: 'named', name: chosen.name }
}

/** The wire of the tools that may be left to a provider. */
const WIRE = 'responses'

/** Words of `engine` that leave a tool to the provider. */
const TO_PROVIDER: Readonly<Record<string, readonly unknown[]>> = {
  apply_patch: [undefined, null, 'auto', 'native'],
  shell: [undefined, null, 'auto'],
}

/** A body that names none of these tools is not decoded for this. */
export function offersShared({ request: { body, client } }: Routed): boolean {
  return (
    client.id === WIRE &&
    Array.isArray(body.tools) &&
    body.tools.some((tool) => isObject(tool) && typeof tool.type === 'string' && /:(?:apply_patch|shell)$/.test(tool.type))
  )
}

/** Hands tools of the gateway over to the providers where all endpoints have them, or the caller wants it and some have. */
export function leaveToProviders(exchange: Routed, upstreams: ChainDependencies['upstreams']): void {
  for (const [place, tool] of exchange.request.canonical().tools.entries()) {
    if (tool.kind !== 'server' || tool.standsFor !== undefined) continue
    const { engine } = tool.parameters
    if (!TO_PROVIDER[tool.name]?.includes(engine)) continue
    const able = exchange.route.endpoints.filter((endpoint) => hasNative(endpoint, tool.name, upstreams))
    if (able.length === 0 || (engine !== 'native' && able.length < exchange.route.endpoints.length)) continue
    narrow(exchange, able)
    noteServerTools(exchange, 'native', [tool.name])
    const data: JsonObject = { type: tool.name, ...(tool.name === 'shell' ? { environment: toolEnvironment(tool.parameters) } : {}) }
    exchange.request.edit('native-tools', (draft) => {
      draft.tools = draft.tools.with(place, { kind: 'opaque', of: { dialect: WIRE, type: tool.name, data } })
      const { toolChoice } = draft
      if (
        toolChoice?.mode === 'named' &&
        toolChoice.name === tool.name &&
        !draft.tools.some((one) => one.kind === 'function' && one.name === tool.name)
      )
        draft.toolChoice = { mode: 'opaque', of: { dialect: WIRE, type: tool.name, data: { type: tool.name } } }
    })
  }
}

function toolEnvironment({ environment }: JsonObject): JsonObject {
  return isObject(environment) ? environment : { type: 'container_auto' }
}

/** True if the provider's quirks name the tool; only one wire has a form for these tools. */
function hasNative({ provider, quirks = provider.quirks }: Endpoint, name: string, upstreams: ChainDependencies['upstreams']): boolean {
  return quirks.native_tools?.some((tool) => tool === name) === true && upstreams.get(provider.dialect)?.wire === WIRE
}
