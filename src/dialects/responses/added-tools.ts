/** Tools that stand among the input items (`additional_tools`): coding agents move all of theirs there. */
import type { Opaque } from '../../canon/request.ts'
import type { JsonObject } from '../../core/json.ts'
import { objectsOf, WIRE } from './wire.ts'

const ADDED = 'additional_tools'

/** Those that are no functions, with the path of what names them. */
export function addedNativeTools(body: JsonObject): { path: string; of: Opaque }[] {
  if (!Array.isArray(body.input)) return []
  const found: { path: string; of: Opaque }[] = []
  for (const [at, item] of objectsOf(body.input).entries()) {
    if (item.type !== ADDED) continue
    for (const [index, data] of objectsOf(item.tools).entries()) {
      const type = String(data.type)
      if (type !== 'function') found.push({ path: `input[${at}].tools[${index}].type`, of: { dialect: WIRE, type, data } })
    }
  }
  return found
}
