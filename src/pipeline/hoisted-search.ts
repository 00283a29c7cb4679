/** Search tools of providers, run by the gateway where no provider in question has them (contract section 1.4). */
import type { Opaque, ToolSpec } from '../canon/request.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import type { Exchange } from './exchange.ts'
import type { PluginSetting } from './parts.ts'

const TOOL = 'web_search'
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

/**
 * Puts the gateway's own search in the place of the provider's.
 * @returns false where the request has no such tool, or no engine is configured: nothing has changed then.
 */
export function hoistSearch(exchange: Exchange, plugins: readonly PluginSetting[]): boolean {
  const engines = plugins.find(({ plugin }) => plugin.id === 'web')?.defaults.engines
  if (!isObject(engines) || Object.keys(engines).length === 0) return false
  if (!exchange.request().tools.some(isSearch)) return false
  exchange.edit('hoisted-search', (draft) => {
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
