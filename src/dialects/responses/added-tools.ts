/** Tools that stand among the input items (`additional_tools`): coding agents move all of theirs there. */

import { asObjects, type Json, type JsonObject } from '../../core/json.ts'
import type { Opaque } from '../canon/request.ts'
import { WIRE } from './wire.ts'

const ADDED = 'additional_tools'

/** Result of a search for tools: what stands in it is offered from then on (`ResponseToolSearchOutputItemParam`, OpenAI SDK 7.55.0). */
const FOUND = 'tool_search_output'
/** Of those found only what no other wire could run: the rest is translated with the result. */
const AT_PROVIDER = /^(?:code_interpreter|file_search|x_search|image_generation|shell|web_search.*)$/

/** The functions among them: wires that have no such items are offered them as any other tool. */
export function addedFunctions(input: Json | undefined): JsonObject[] {
  if (!Array.isArray(input)) return []
  return asObjects(input).flatMap((item) => (item.type === ADDED ? asObjects(item.tools).filter((tool) => tool.type === 'function') : []))
}

/** Those that are no functions, with the path of what names them. */
export function addedNativeTools(body: JsonObject): { path: string; of: Opaque }[] {
  if (!Array.isArray(body.input)) return []
  const found: { path: string; of: Opaque }[] = []
  for (const [at, item] of asObjects(body.input).entries()) {
    if (item.type !== ADDED && item.type !== FOUND) continue
    for (const [index, data] of asObjects(item.tools).entries()) {
      const type = String(data.type)
      if (item.type === ADDED ? type !== 'function' : AT_PROVIDER.test(type))
        found.push({ path: `input[${at}].tools[${index}].type`, of: { dialect: WIRE, type, data } })
    }
  }
  return found
}
