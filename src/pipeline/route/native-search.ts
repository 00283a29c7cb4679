/** Searches of the web that the provider of the model runs itself, in place of the gateway (docs/contract.md#plugins). */
import { badField } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { type NativeSearch, nativeSearchIn, nativeSearchTool, WEB_SEARCH } from '../../dialects/canon/native-search.ts'
import type { ToolSpec } from '../../dialects/canon/request.ts'
import { chooseSearchEngine, hasEngines, searchParameters } from '../../plugin-api/index.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { ChainDependencies, PluginSetting } from '../dependencies.ts'
import { narrow, type Routed } from '../exchange.ts'
import { asWritten, noteServerTools } from '../tools/begin-tools.ts'
import { HOISTED, searchesItself } from './hoisted-tools.ts'

/** Name of the edit. */
export const NATIVE_SEARCH = 'native-search'

type Upstreams = ChainDependencies['upstreams']

export interface Searchers {
  /** Endpoints whose provider can search with these parameters. */
  able: readonly Endpoint[]
  /** True where they are all that are in question. */
  all: boolean
  /** Lack of the first of the others, in words behind `native: `. */
  why: string
}

/** @param own true where the tool that requests the search is itself one of the request's tools. */
export function findSearchers(exchange: Routed, search: NativeSearch, upstreams: Upstreams, own: boolean): Searchers {
  const {
    route: { endpoints },
  } = exchange
  const beside = exchange.request.canonical().tools.filter((tool) => tool.kind !== 'opaque').length > (own ? 1 : 0)
  const able: Endpoint[] = []
  let why = ''
  for (const endpoint of endpoints) {
    const lack = findLack(endpoint, search, { upstreams, beside })
    if (lack === undefined) able.push(endpoint)
    else why ||= `${endpoint.model.slug} at ${endpoint.provider.name} ${lack}`
  }
  return { able, all: able.length === endpoints.length, why }
}

interface Around {
  upstreams: Upstreams
  /** Other tools are offered, too. */
  beside: boolean
}

function findLack(endpoint: Endpoint, search: NativeSearch, { upstreams, beside }: Around): string | undefined {
  const wire = upstreams.get(endpoint.provider.dialect)?.webSearch?.(endpoint.quirks ?? endpoint.provider.quirks)
  if (!wire || !searchesItself(endpoint)) return 'has no web search of its own'
  if (wire.isTool && endpoint.supported?.has('tools') === false) return 'takes no tools'
  if (!wire.canExpress(search)) return 'has a web search of its own that cannot keep to these domains'
  return beside && !wire.besideFunctions ? 'has a web search of its own that takes no other tools beside it' : undefined
}

/** From here on only these endpoints serve, and the provider's search is among the tools. @param own as for `findSearchers`. */
export function searchNatively(exchange: Routed, search: NativeSearch, able: readonly Endpoint[], own: number | undefined): void {
  narrow(exchange, able)
  exchange.request.edit(NATIVE_SEARCH, (draft) => {
    const tool = nativeSearchTool(search)
    if (own !== undefined) draft.tools = draft.tools.map((each, i) => (i === own ? tool : each))
    else if (!draft.tools.some(nativeSearchIn)) draft.tools = [...draft.tools, tool]
  })
}

/** True where the request offers the model the gateway's search of the web; a body without tools is not decoded for this. */
export function offersSearch({ request: { body, edits } }: Routed): boolean {
  const { tools } = body
  if (!Array.isArray(tools)) return false
  return (
    edits.includes(HOISTED) || tools.some((tool) => isObject(tool) && typeof tool.type === 'string' && tool.type.endsWith(`:${WEB_SEARCH}`))
  )
}

/**
 * Hands the search tool over to the providers where the engine is `native`, or where it is `auto` and they can search.
 * @throws Fault 400 naming the field: parameters that do not fit, or `native` where no provider can search.
 */
export function settleSearch(exchange: Routed, plugins: readonly PluginSetting[], upstreams: Upstreams): void {
  const settings: JsonObject = plugins.find(({ plugin }) => plugin.id === 'web')?.defaults ?? {}
  for (const [i, tool] of exchange.request.canonical().tools.entries()) {
    if (tool.kind !== 'server' || tool.name !== WEB_SEARCH) continue
    const way = chooseSearchEngine(tool.parameters.engine, settings)
    if (way !== 'native' && way !== 'auto') continue
    const search = searchFields(tool, i)
    const { able, all, why } = findSearchers(exchange, search, upstreams, true)
    if (way === 'native' && able.length === 0)
      throw asWritten(badField(`tools[${i}].parameters.engine`, `native: ${why}`), `tools[${i}]`, tool.written)
    // With `auto`, our own engine searches where only some endpoints can, so that the others stay as fallbacks.
    if (able.length > 0 && (way === 'native' || all || !hasEngines(settings))) {
      searchNatively(exchange, search, able, i)
      if (tool.written === undefined) noteServerTools(exchange, 'native', [tool.name])
    }
  }
}

/** @throws Fault 400 naming the path that the caller wrote. */
function searchFields({ parameters, written }: Extract<ToolSpec, { kind: 'server' }>, place: number): NativeSearch {
  const at = `tools[${place}]`
  try {
    return searchParameters(parameters, `${at}.parameters`).native
  } catch (thrown) {
    throw asWritten(thrown, at, written)
  }
}
