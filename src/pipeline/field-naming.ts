/** Where in a body something stands: errors name the field as the caller wrote it. */
import { isObject, type Json } from '../core/json.ts'

/** @returns the path of the first member `name` with this value, such as `messages[0].content[1].file.file_id`; the name where there is none. */
export function fieldNaming(body: Json, name: string, value: Json): string {
  return pathIn(body, '', (key, one) => key === name && one === value) ?? name
}

function pathIn(node: Json | undefined, at: string, wanted: (key: string, value: Json | undefined) => boolean): string | undefined {
  const entries: [string, string, Json | undefined][] = Array.isArray(node)
    ? node.map((one, i) => [String(i), `${at}[${i}]`, one])
    : isObject(node)
      ? Object.entries(node).map(([key, one]) => [key, at === '' ? key : `${at}.${key}`, one])
      : []
  for (const [key, path, one] of entries) {
    if (wanted(key, one)) return path
    const below = typeof one === 'object' && one !== null ? pathIn(one, path, wanted) : undefined
    if (below !== undefined) return below
  }
  return undefined
}
