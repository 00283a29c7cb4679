/**
 * OpenAI's rules for strict schemas (developers.openai.com/api/docs/guides/structured-outputs, "Supported schemas"): each object is
 * closed and requires all of its properties, the root is an object, and some keywords are not supported. It refuses a schema that
 * breaks them with 400 where `strict` is true, and takes any where it is false.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

const UNSUPPORTED = ['allOf', 'oneOf', 'not', 'dependentRequired', 'dependentSchemas', 'if', 'then', 'else'] as const

/** Objects, lists and alternatives below each other. */
const DEEPEST = 64

function isClosedBelow(schema: Json | undefined, depth: number): boolean {
  if (!isObject(schema)) return true
  if (depth > DEEPEST || UNSUPPORTED.some((keyword) => schema[keyword] !== undefined)) return false
  const { type, properties, required } = schema
  if (type === 'object' || (Array.isArray(type) && type.includes('object')) || isObject(properties)) {
    if (schema.additionalProperties !== false) return false
    const names = new Set(Array.isArray(required) ? required : [])
    for (const name in isObject(properties) ? properties : {}) if (!names.has(name)) return false
  }
  for (const group of [properties, schema.$defs, schema.definitions])
    if (isObject(group)) for (const name in group) if (!isClosedBelow(group[name], depth + 1)) return false
  if (Array.isArray(schema.anyOf) && !schema.anyOf.every((each) => isClosedBelow(each, depth + 1))) return false
  return isClosedBelow(schema.items, depth + 1)
}

function isClosed(schema: Json | undefined): boolean {
  return isObject(schema) && schema.type === 'object' && schema.anyOf === undefined && isClosedBelow(schema, 0)
}

/** @returns the tool or format with `strict: false` where its schema breaks the rules; the same one where nothing changes. */
function fitted(holder: JsonObject, member: 'parameters' | 'schema'): JsonObject {
  return holder.strict === true && !isClosed(holder[member]) ? { ...holder, strict: false } : holder
}

export function fitFormat(format: JsonObject, dropped: string[]): JsonObject {
  const fit = fitted(format, 'schema')
  if (fit !== format) dropped.push('response_format.strict')
  return fit
}

/** @param within the member that holds the function, where it does not stand in the tool itself. */
export function fitFunctions(tools: Json[], within: 'function' | undefined, dropped: string[]): Json[] {
  let isChanged = false
  const all = tools.map((tool) => {
    const holder = isObject(tool) ? (within === undefined ? tool : tool[within]) : undefined
    if (!isObject(tool) || !isObject(holder) || tool.type !== 'function') return tool
    const fit = fitted(holder, 'parameters')
    if (fit === holder) return tool
    isChanged = true
    return within === undefined ? fit : { ...tool, [within]: fit }
  })
  if (!isChanged) return tools
  dropped.push('tools.strict')
  return all
}
