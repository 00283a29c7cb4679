/** The provider's own search of the web, as this wire requests it: a setting, not a tool. */

import type { JsonObject } from '../../core/json.ts'
import type { NativeSearch, SearchWire } from '../canon/native-search.ts'

export const searchWire: SearchWire = {
  canExpress: ({ allowed, excluded }) => allowed.length + excluded.length === 0,
  isTool: false,
  besideFunctions: true,
}

export function searchOptions({ contextSize, location }: NativeSearch): JsonObject {
  const options: JsonObject = {}
  if (contextSize !== undefined) options.search_context_size = contextSize
  if (location) options.user_location = { type: 'approximate', approximate: location }
  return options
}
