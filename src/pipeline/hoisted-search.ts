/** Search tools of providers, turned into the gateway's own where no provider in question has them (contract section 1.4). */
import type { Opaque, ToolSpec } from '../canon/request.ts'
import type { Endpoint } from '../catalog/types.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { hasEngines } from '../plugin-api/index.ts'
import type { Exchange } from './exchange.ts'
import type { PluginSetting } from './parts.ts'

const TOOL = 'web_search'

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

/** What the YAML says of the provider. */
export function searchesItself(endpoint: Endpoint): boolean {
  const quirks = endpoint.quirks ?? endpoint.provider.quirks
  return quirks.web_search === true
}

/** True where the request has a search tool that no provider of its own wire takes as it stands. */
export function needsHoisting(exchange: Exchange): boolean {
  return exchange.request().tools.some((tool) => isSearch(tool) && isOurs(tool.of))
}

function isOurs({ dialect, data }: Opaque): boolean {
  return dialect === WITHOUT_TOOL || OURS[dialect]?.some((name) => (data[name] ?? null) !== null) === true
}

/**
 * Puts the gateway's own search in the place of the provider's.
 * @param endpoints that may serve.
 * @returns false where the request has no such tool, or there is neither an engine nor a provider that searches itself: nothing has changed then.
 */
export function hoistSearch(exchange: Exchange, plugins: readonly PluginSetting[], endpoints: readonly Endpoint[]): boolean {
  const { tools } = exchange.request()
  if (!tools.some(isSearch)) return false
  const engines = hasEngines(plugins.find(({ plugin }) => plugin.id === 'web')?.defaults ?? {})
  // Whoever names an engine learns it where there is none.
  const named = tools.some((tool) => isSearch(tool) && typeof tool.of.data.engine === 'string')
  if (!engines && !named && !endpoints.some(searchesItself)) return false
  exchange.edit(HOISTED, (draft) => {
    draft.tools = draft.tools.map((tool) =>
      isSearch(tool) ? { kind: 'server', name: TOOL, parameters: parametersOf(tool.of.data) } : tool,
    )
    const { toolChoice } = draft
    if (toolChoice?.mode === 'opaque' && NATIVE.test(toolChoice.of.type)) draft.toolChoice = { mode: 'named', name: TOOL }
  })
  return true
}

function isSearch(tool: ToolSpec): tool is { kind: 'opaque'; of: Opaque } {
  return tool.kind === 'opaque' && NATIVE.test(tool.of.type)
}

function parametersOf(data: JsonObject): JsonObject {
  const parameters: JsonObject = isObject(data.parameters) ? { ...data.parameters } : {}
  for (const name of SAME) if ((data[name] ?? null) !== null) parameters[name] = data[name]
  const filters = isObject(data.filters) ? data.filters : {}
  const allowed = filters.allowed_domains ?? null
  const excluded = filters.excluded_domains ?? filters.blocked_domains ?? data.blocked_domains ?? null
  if (allowed !== null) parameters.allowed_domains = allowed
  if (excluded !== null) parameters.excluded_domains = excluded
  return parameters
}
