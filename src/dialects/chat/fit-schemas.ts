/** Schemas of the answer and of tools as a provider takes them. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { Quirks } from '../quirks.ts'

/** Changes `response_format`, `tools` and, for a schema in words, `messages` of a body; the caller's own are never touched. */
export function fitSchemas(body: JsonObject, quirks: Quirks, dropped: string[]): void {
  if (quirks.json_schema === 'json_object') withoutSchema(body, dropped)
  if (quirks.strict_schemas !== 'closed') return
  fitFormat(body, dropped)
  if (!Array.isArray(body.tools)) return
  const tools = body.tools.map(fitTool)
  if (tools.every((tool, index) => Array.isArray(body.tools) && tool === body.tools[index])) return
  body.tools = tools
  dropped.push('tools.function.strict')
}

function schemaOf(format: Json | undefined): JsonObject | undefined {
  return isObject(format) && format.type === 'json_schema' && isObject(format.json_schema) ? format.json_schema : undefined
}

/** JSON output without a schema: the model reads the schema among its instructions. */
function withoutSchema(body: JsonObject, dropped: string[]): void {
  const described = schemaOf(body.response_format)
  if (described === undefined) return
  body.response_format = { type: 'json_object' }
  const schema = described.schema === undefined ? '' : `, by this JSON Schema: ${JSON.stringify(described.schema)}`
  body.messages = withInstruction(body.messages, `Answer with a single JSON value and no other text${schema}`)
  dropped.push('response_format.json_schema')
}

/** Several providers take one system message, which stands first: the instruction joins it. */
function withInstruction(messages: Json | undefined, text: string): Json[] {
  const [first, ...rest] = Array.isArray(messages) ? messages : []
  if (!isObject(first) || (first.role !== 'system' && first.role !== 'developer'))
    return [{ role: 'system', content: text }, ...(first === undefined ? [] : [first]), ...rest]
  const { content } = first
  const joined =
    typeof content === 'string' ? `${content}\n\n${text}` : [...(Array.isArray(content) ? content : []), { type: 'text', text }]
  return [{ ...first, content: joined }, ...rest]
}

function fitFormat(body: JsonObject, dropped: string[]): void {
  const described = schemaOf(body.response_format)
  if (described?.strict !== true || isClosed(described.schema)) return
  body.response_format = { type: 'json_schema', json_schema: { ...described, strict: false } }
  dropped.push('response_format.json_schema.strict')
}

/** @returns the same tool where nothing changes. */
function fitTool(tool: Json): Json {
  if (!isObject(tool) || !isObject(tool.function) || tool.function.strict !== true || isClosed(tool.function.parameters)) return tool
  return { ...tool, function: { ...tool.function, strict: false } }
}

/**
 * True where every object of a schema requires all its properties and allows no others
 * (developers.openai.com/api/docs/guides/structured-outputs, "Supported schemas"; console.groq.com/docs/structured-outputs, "Strict Mode").
 */
function isClosed(schema: Json | undefined): boolean {
  if (Array.isArray(schema)) return schema.every(isClosed)
  if (!isObject(schema)) return true
  const properties = isObject(schema.properties) ? schema.properties : undefined
  if (properties !== undefined || schema.type === 'object') {
    if (schema.additionalProperties !== false) return false
    const required = new Set(Array.isArray(schema.required) ? schema.required : [])
    for (const name in properties) if (!required.has(name)) return false
  }
  for (const name in schema) {
    const inner = schema[name]
    if (VALUES.has(name)) continue
    const isSound = NAMED.has(name) && isObject(inner) ? Object.values(inner).every(isClosed) : isClosed(inner)
    if (!isSound) return false
  }
  return true
}

/** Keywords that hold values, not schemas; and those that hold schemas by names of the caller's. */
const VALUES: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples'])
const NAMED: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions'])
