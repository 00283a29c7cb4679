/** Parts of Chat Completions requests that the rules of several providers share, and checks that look at a whole conversation. */
import { type TProperties, type TSchema, Type } from 'typebox'
import { isObject, type Json, type JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import type { Seen } from '../../support/upstream.ts'
import { closed, words } from '../schema.ts'
import type { Refusal } from '../stand-in.ts'

export const nullable = (schema: TSchema) => Type.Union([schema, Type.Null()])

/** A member that may be absent or null. */
export const may = (schema: TSchema) => Type.Optional(nullable(schema))

/** A JSON object that the provider does not look into. */
export const anyObject = Type.Record(Type.String(), Type.Unknown())

/** Any of these, or null, or absent. */
export const optionalWord = (...values: string[]) => may(words(...values))

export const textPart = closed({ type: words('text'), text: Type.String() })

export const imagePart = closed({ type: words('image_url'), image_url: closed({ url: Type.String(), detail: may(Type.String()) }) })

/** A text, or a list of these parts. */
export const contentSchema = (...parts: TSchema[]) => Type.Union([Type.String(), Type.Array(Type.Union(parts))])

export const texts = contentSchema(textPart)

export const toolCalls = (more: TProperties = {}) =>
  Type.Array(
    closed({ id: Type.String(), type: words('function'), function: closed({ name: Type.String(), arguments: Type.String() }), ...more }),
  )

export const tools = Type.Array(
  closed({
    type: words('function'),
    function: closed({
      name: Type.String({ pattern: '^[a-zA-Z0-9_-]{1,64}$' }),
      description: may(Type.String()),
      parameters: may(anyObject),
      strict: may(Type.Boolean()),
    }),
  }),
)

export const namedTool = closed({ type: words('function'), function: closed({ name: Type.String() }) })

export const toolChoice = Type.Union([words('none', 'auto', 'required'), namedTool])

export const jsonSchema = closed({
  name: Type.String(),
  description: may(Type.String()),
  schema: may(anyObject),
  strict: may(Type.Boolean()),
})

export const responseFormat = Type.Union([
  closed({ type: words('text', 'json_object') }),
  closed({ type: words('json_schema'), json_schema: jsonSchema }),
])

export const streamOptions = closed({ include_usage: may(Type.Boolean()) })

export const stop = Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 4 })])

/** The body of an error as OpenAI and most of its followers write it. */
export function refusal(status: number, message: string, more: JsonObject = {}): Refusal {
  return { status, body: { error: { message, type: 'invalid_request_error', param: null, code: null, ...more } } }
}

/** A refusal of a key that is not sent as `Authorization: Bearer`. */
export function bearer(answer: Refusal): (request: Seen, key: string) => Refusal | undefined {
  return (request, key) => (request.headers.authorization === `Bearer ${key}` ? undefined : answer)
}

/**
 * Results must follow their calls, one for each. In OpenAI's words, which DeepSeek, Groq and vLLM have nearly letter for letter
 * (OpenAI: github.com/BerriAI/litellm/issues/28995; DeepSeek: github.com/langgenius/dify/issues/32222).
 */
export function unpaired(messages: readonly JsonObject[]): string | undefined {
  let open: string[] = []
  for (const { role, tool_calls: calls, tool_call_id: id } of messages) {
    if (role === 'tool') {
      if (!open.includes(String(id))) return "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
      open = open.filter((each) => each !== id)
      continue
    }
    if (open.length > 0)
      return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(', ')}`
    open = list(calls).map((call) => String(call.id))
  }
  return open.length > 0 ? `The following tool_call_ids did not have response messages: ${open.join(', ')}` : undefined
}

/** Fault of a schema by the rules of strict output: every property required, no others (OpenAI, structured outputs). */
export function notStrict(schema: Json | undefined, at = '()'): string | undefined {
  if (Array.isArray(schema)) return schema.map((each) => notStrict(each, at)).find((found) => found !== undefined)
  if (!isObject(schema)) return undefined
  const properties = isObject(schema.properties) ? schema.properties : undefined
  if (properties || schema.type === 'object') {
    if (schema.additionalProperties !== false) return `In context=${at}, 'additionalProperties' is required to be supplied and to be false.`
    const required = Array.isArray(schema.required) ? schema.required : []
    const missing = Object.keys(properties ?? {}).find((name) => !required.includes(name))
    if (missing !== undefined)
      return `In context=${at}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`
  }
  for (const [name, each] of Object.entries(schema)) {
    const found = notStrict(each, name)
    if (found !== undefined) return found
  }
  return undefined
}

/** The schema that strict output is requested for: of the reply, or of a tool. */
export function strictSchemas(body: JsonObject): { readonly name: string; readonly schema: Json | undefined }[] {
  const format = object(object(body.response_format).json_schema)
  const functions = list(body.tools).map((tool) => object(tool.function))
  return [
    ...(format.strict === true ? [{ name: String(format.name), schema: format.schema }] : []),
    ...functions.filter(({ strict }) => strict === true).map(({ name, parameters }) => ({ name: String(name), schema: parameters })),
  ]
}

/** True where the conversation has the word that a provider requires for JSON output without a schema. */
export const mentionsJson = (body: JsonObject): boolean => /json/i.test(JSON.stringify(body.messages))

/** Gives each message or delta of a reply the provider's own form. */
export function eachMessage(written: JsonObject, change: (message: JsonObject) => JsonObject): JsonObject {
  if (!Array.isArray(written.choices)) return written
  const choices = list(written.choices).map((choice) => {
    const name = choice.delta === undefined ? 'message' : 'delta'
    return { ...choice, [name]: change(object(choice[name])) }
  })
  return { ...written, choices }
}

/** Reasoning as `reasoning_content`, as DeepSeek and those write it that follow it. */
export const asReasoningContent = (written: JsonObject): JsonObject =>
  eachMessage(written, ({ reasoning, ...message }) => (reasoning === undefined ? message : { ...message, reasoning_content: reasoning }))

/** True where a tool has a boolean in the place of a schema, other than `additionalProperties`. */
export function hasBooleanSchema(tools: Json | undefined): boolean {
  const isIn = (schema: Json | undefined): boolean => {
    if (schema === undefined || typeof schema === 'boolean') return schema !== undefined
    const { properties, items, anyOf, $defs } = object(schema)
    const named = [...Object.values(object(properties)), ...Object.values(object($defs))]
    return [...named, ...(Array.isArray(anyOf) ? anyOf : []), items].some(isIn)
  }
  return list(tools).some((tool) => isIn(object(tool.function).parameters))
}
