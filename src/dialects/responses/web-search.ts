/** The provider's own search of the web, as this wire requests it. */

import { type JsonObject, present } from '../../core/json.ts'
import { bareDomain, isPlainHost, type NativeSearch, type SearchWire } from '../canon/native-search.ts'

export const SEARCH_TYPE = 'web_search'

/** The wire has a list of allowed hosts, each with its subdomains, and none of excluded ones. */
export const searchWire: SearchWire = {
  canExpress: ({ allowed, excluded }) => excluded.length === 0 && allowed.every(isPlainHost),
  isTool: true,
  besideFunctions: true,
}

export function searchTool({ contextSize, allowed, location }: NativeSearch): JsonObject {
  return present({
    type: SEARCH_TYPE,
    filters: allowed.length > 0 ? { allowed_domains: allowed.map(bareDomain) } : undefined,
    search_context_size: contextSize,
    user_location: location && { type: 'approximate', ...location },
  })
}
