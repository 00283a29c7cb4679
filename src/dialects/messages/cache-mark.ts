/** `cache_control` of a block, a tool or a body. */

import { isObject, type JsonObject } from '../../core/json.ts'
import type { CacheMark } from '../canon/request.ts'

const KNOWN: ReadonlySet<string> = new Set(['type', 'ttl'])

/** @returns undefined where there is none. */
export function cacheMark(holder: JsonObject): CacheMark | undefined {
  const mark = holder.cache_control
  if (!isObject(mark)) return undefined
  return typeof mark.ttl === 'string' ? { ttl: mark.ttl } : {}
}

/** The mark as it came, where it says more than the canon can. */
export function fullMark(holder: JsonObject): JsonObject {
  const mark = holder.cache_control
  return isObject(mark) && Object.keys(mark).some((key) => !KNOWN.has(key)) ? { cache_control: mark } : {}
}
