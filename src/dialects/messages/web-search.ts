/** The provider's own search of the web, as this wire requests it. */

import type { JsonObject } from '../../core/json.ts'
import { bareDomain, type NativeSearch, type SearchWire, WEB_SEARCH } from '../canon/native-search.ts'
import type { Quirks } from '../quirks.ts'

/** The version that all models with a search know. */
const USUAL_TYPE = 'web_search_20250305'

/** Subdomains are covered; a wildcard stands in a path only. */
const isExpressible = (domain: string): boolean => !bareDomain(domain).replace(/\/.*$/s, '').includes('*')

export const searchWire: SearchWire = {
  canExpress: ({ allowed, excluded }) => (allowed.length === 0 || excluded.length === 0) && [...allowed, ...excluded].every(isExpressible),
  isTool: true,
  besideFunctions: true,
}

/** @param quirks the endpoint's: `web_search_tool` names another version. */
export function searchTool({ maxUses, allowed, excluded, location }: NativeSearch, quirks: Quirks): JsonObject {
  const tool: JsonObject = { type: quirks.web_search_tool ?? USUAL_TYPE, name: WEB_SEARCH }
  if (maxUses !== undefined) tool.max_uses = maxUses
  if (allowed.length > 0) tool.allowed_domains = allowed.map(bareDomain)
  if (excluded.length > 0) tool.blocked_domains = excluded.map(bareDomain)
  if (location) tool.user_location = { type: 'approximate', ...location }
  return tool
}
