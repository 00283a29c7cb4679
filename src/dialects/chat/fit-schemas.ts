/** Schemas of the answer and of tools as a provider takes them. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { fitFormat, fitFunctions } from '../canon/closed-schema.ts'
import type { Quirks } from '../quirks.ts'
import { MfjsFitter } from './mfjs.ts'

/** Changes `response_format`, `tools` and, for a schema in words, `messages` of a body; the caller's own are never touched. */
export function fitSchemas(body: JsonObject, quirks: Quirks, dropped: string[]): void {
  if (quirks.json_schema === 'json_object') withoutSchema(body, dropped)
  if (quirks.loose_schemas === false) withoutLoose(body, dropped)
  if (quirks.schemas === 'mfjs') writeMfjs(body, dropped)
  if (quirks.closed_schemas !== true) return
  if (Array.isArray(body.tools)) body.tools = fitFunctions(body.tools, 'function', dropped)
  const described = schemaOf(body.response_format)
  const fitted = described && fitFormat(described, dropped)
  if (fitted !== described && fitted !== undefined) body.response_format = { type: 'json_schema', json_schema: fitted }
}

/** Without `strict: false`, which some providers do not know. */
function withoutLoose(body: JsonObject, dropped: string[]): void {
  const described = schemaOf(body.response_format)
  if (described === undefined || described.strict === undefined || described.strict === true) return
  const { strict, ...json_schema } = described
  body.response_format = { type: 'json_schema', json_schema }
  if (strict === false) dropped.push('response_format.strict')
}

function writeMfjs(body: JsonObject, dropped: string[]): void {
  const lost = new Set<string>()
  const fitter = new MfjsFitter()
  if (Array.isArray(body.tools))
    body.tools = body.tools.map((tool) => {
      if (!isObject(tool) || !isObject(tool.function) || !isObject(tool.function.parameters)) return tool
      const parameters = fitter.fit(tool.function.parameters, true, (keyword) => lost.add(`tools.parameters.${keyword}`))
      return { ...tool, function: { ...tool.function, parameters } }
    })
  const described = schemaOf(body.response_format)
  if (described !== undefined && isObject(described.schema)) {
    const schema = fitter.fit(described.schema, false, (keyword) => lost.add(`response_format.schema.${keyword}`))
    body.response_format = { type: 'json_schema', json_schema: { ...described, schema } }
  }
  dropped.push(...lost)
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
