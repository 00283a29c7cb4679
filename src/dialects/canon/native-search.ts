/** A search of the web that the provider runs itself, free of any dialect: a tool that encoders write as the provider's own. */
import type { JsonObject } from '../../core/json.ts'
import { COMMON } from './events.ts'
import type { ToolSpec } from './request.ts'

/** Name of the tool, and type of the opaque that stands for it. */
export const WEB_SEARCH = 'web_search'

export interface NativeSearch {
  /** Searches of one request at most. */
  readonly maxUses?: number
  /** `low`, `medium` or `high`. */
  readonly contextSize?: string
  /** Domains as callers write them; at most one of the lists is filled. */
  readonly allowed: readonly string[]
  readonly excluded: readonly string[]
  /** `city`, `country` (two letters), `region`, `timezone`. */
  readonly location?: JsonObject
}

/** Options of such a search in a wire. */
export interface SearchWire {
  /** True where the form has a place for all the domain rules. */
  canExpress(search: NativeSearch): boolean
  /** True where it stands among the tools, so that the endpoint has to take such. */
  readonly isTool: boolean
  /** True where other tools may stand beside it. */
  readonly besideFunctions: boolean
}

export function nativeSearchTool({ maxUses, contextSize, allowed, excluded, location }: NativeSearch): ToolSpec {
  const data: JsonObject = { allowed: [...allowed], excluded: [...excluded] }
  if (maxUses !== undefined) data.maxUses = maxUses
  if (contextSize !== undefined) data.contextSize = contextSize
  if (location !== undefined) data.location = location
  return { kind: 'opaque', of: { dialect: COMMON, type: WEB_SEARCH, data } }
}

/** The search that a tool stands for; undefined for any other tool. */
export function nativeSearchIn(tool: ToolSpec): NativeSearch | undefined {
  if (tool.kind !== 'opaque' || tool.of.dialect !== COMMON || tool.of.type !== WEB_SEARCH) return undefined
  return tool.of.data as unknown as NativeSearch
}

/** True where no function has the name, so that a choice of it means the provider's search. */
export function choosesSearch(name: string, tools: readonly ToolSpec[]): boolean {
  return (
    name === WEB_SEARCH &&
    tools.some((tool) => nativeSearchIn(tool)) &&
    !tools.some((tool) => tool.kind === 'function' && tool.name === name)
  )
}

/** True for a rule that is a host by its name: no wildcard and no path. */
export function isPlainHost(domain: string): boolean {
  return !domain.includes('*') && !/\/./.test(domain.replace(/^https?:\/\//i, ''))
}

/** A rule without protocol and final slash. */
export function bareDomain(domain: string): string {
  return domain.replace(/^https?:\/\//i, '').replace(/\/$/, '')
}
