/** The provider's own search of the web, as this wire asks for it. */

import { type JsonObject, present } from '../../core/json.ts'
import { bareDomain, isPlainHost, type NativeSearch, type SearchWire } from '../canon/native-search.ts'

export const SEARCH_TYPE = 'web_search'

/** It is told hosts that are allowed, with all below them; it has no list of others. */
export const searchWire: SearchWire = {
  tells: ({ allowed, excluded }) => excluded.length === 0 && allowed.every(isPlainHost),
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
