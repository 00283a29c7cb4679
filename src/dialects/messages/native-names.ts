/** What a request holds beside the words of the canon, by name, for the parameter filters and for other wires. */

import type { JsonObject } from '../../core/json.ts'
import type { CanonicalRequest, Item, Opaque, Part, ToolSpec } from '../canon/request.ts'

interface Marked {
  native?: Opaque
  cache?: object
}

/**
 * Names, without values, the members that only this wire can say: `messages.tool_use.caller`, `tools.custom.defer_loading`.
 * @param fields of the request's extras.
 */
export function nameBeside(request: CanonicalRequest, fields: JsonObject): void {
  const visit = (value: Item | Part | ToolSpec, place: string): void => {
    const { native, cache }: Marked = value as Marked
    if (cache) request.used.add('cache_control')
    if (native) for (const key in native.data) fields[`${place}.${native.type}.${key}`] = undefined
  }
  for (const item of request.items) {
    visit(item, 'messages')
    if (item.kind === 'message' || item.kind === 'result') for (const part of item.parts) visit(part, 'messages')
  }
  for (const tool of request.tools) visit(tool, 'tools')
}
