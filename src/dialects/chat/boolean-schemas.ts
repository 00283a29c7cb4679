/**
 * Schemas `true` and `false` of tools as the objects that mean the same (json-schema.org, "Boolean JSON Schemas"). Go's jsonschema package,
 * with which the MCP SDK for Go describes tools, writes `true` for a field of any type; servers that read schemas into structures of
 * their own refuse it wherever they expect an object, and take it under `additionalProperties`.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

/** Members that hold schemas by name, in a list, and one of them. */
const NAMED = ['properties', 'patternProperties', '$defs', 'definitions'] as const
const LISTED = ['anyOf', 'oneOf', 'allOf', 'prefixItems'] as const

/** Schemas below each other. */
const DEEPEST = 64

/** @returns the same schema where nothing changes. */
function asObject(schema: Json, depth: number): Json {
  if (typeof schema === 'boolean') return schema ? {} : { not: {} }
  if (!isObject(schema) || depth > DEEPEST) return schema
  let written = schema
  const put = (name: string, before: Json, after: Json): void => {
    if (after === before) return
    if (written === schema) written = { ...schema }
    written[name] = after
  }
  for (const name of NAMED) {
    const { [name]: group } = schema
    if (isObject(group)) put(name, group, eachNamed(group, depth + 1))
  }
  for (const name of LISTED) {
    const { [name]: list } = schema
    if (Array.isArray(list)) put(name, list, eachListed(list, depth + 1))
  }
  const { items } = schema
  if (items !== undefined) put('items', items, Array.isArray(items) ? eachListed(items, depth + 1) : asObject(items, depth + 1))
  return written
}

function eachNamed(group: JsonObject, depth: number): JsonObject {
  let written = group
  for (const name in group) {
    const { [name]: before } = group
    if (before === undefined) continue
    const after = asObject(before, depth)
    if (after === before) continue
    if (written === group) written = { ...group }
    written[name] = after
  }
  return written
}

function eachListed(list: Json[], depth: number): Json[] {
  const written = list.map((each) => asObject(each, depth))
  return written.some((each, index) => each !== list[index]) ? written : list
}

/** A function whose schema has no booleans in the place of schemas; the same tool where it has none. */
export function withSchemaObjects(tool: Json): Json {
  if (!isObject(tool) || !isObject(tool.function)) return tool
  const { parameters } = tool.function
  if (!isObject(parameters)) return tool
  const written = asObject(parameters, 0)
  return written === parameters ? tool : { ...tool, function: { ...tool.function, parameters: written } }
}
