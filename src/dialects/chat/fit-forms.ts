/** Forms that some providers need in place of what callers write: of messages, functions, log probabilities and schemas. The caller's own are never touched. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { MfjsFitter } from './moonshot-schema.ts'

const isSystem = (message: Json): message is JsonObject => isObject(message) && (message.role === 'system' || message.role === 'developer')

/** All system messages as one at the start, in their order. */
export function withOneSystem(messages: Json | undefined): Json | undefined {
  if (!Array.isArray(messages)) return messages
  const systems = messages.filter(isSystem)
  const [first] = systems
  if (first === undefined || (systems.length === 1 && first === messages[0])) return messages
  return [{ ...first, content: joined(systems) }, ...messages.filter((message) => !isSystem(message))]
}

function joined(systems: readonly JsonObject[]): Json {
  const contents = systems.map(({ content }) => content)
  if (contents.every((content) => typeof content === 'string')) return contents.join('\n\n')
  return contents.flatMap((content): Json[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : Array.isArray(content) ? content : [],
  )
}

/** Assistant messages that only call have an empty text. */
export function withoutNull(messages: Json | undefined): Json | undefined {
  if (!Array.isArray(messages)) return messages
  return messages.map((message) =>
    isObject(message) && message.role === 'assistant' && (message.content ?? null) === null ? { ...message, content: '' } : message,
  )
}

/** A function without parameters has an empty schema. */
export function withParameters(tool: Json): Json {
  if (!isObject(tool) || !isObject(tool.function) || isObject(tool.function.parameters)) return tool
  if (tool.type !== undefined && tool.type !== 'function') return tool
  return { ...tool, function: { ...tool.function, parameters: { type: 'object', properties: {} } } }
}

/** Log probabilities with the number of alternatives in `logprobs` itself, or beside it; callers write either form. */
export function fitLogprobs(body: JsonObject, isCount: boolean): void {
  const { top_logprobs: top, logprobs } = body
  if (isCount) {
    delete body.top_logprobs
    if (typeof logprobs === 'number') return
    if (logprobs === true) body.logprobs = typeof top === 'number' && top > 0 ? top : 1
    else delete body.logprobs
  } else if (typeof logprobs === 'number') {
    body.logprobs = true
    if (logprobs > 0) body.top_logprobs = top ?? logprobs
  }
}

/** Without `strict: false`, which some providers do not know. */
export function withoutLoose(body: JsonObject, dropped: string[]): void {
  const described = formatSchema(body.response_format)
  if (described === undefined || described.strict === undefined || described.strict === true) return
  const { strict, ...json_schema } = described
  body.response_format = { type: 'json_schema', json_schema }
  if (strict === false) dropped.push('response_format.strict')
}

/** Functions without `strict`. One that is strict loses a promise: its arguments may not fit the schema. */
export function withoutStrict(body: JsonObject, dropped: string[]): void {
  if (!Array.isArray(body.tools)) return
  let isLost = false
  body.tools = body.tools.map((tool) => {
    if (!isObject(tool) || !isObject(tool.function) || tool.function.strict === undefined) return tool
    const { strict, ...rest } = tool.function
    isLost ||= strict === true
    return { ...tool, function: rest }
  })
  if (isLost) dropped.push('tools.strict')
}

/** JSON output of any form as a schema that every object fits. */
export function withAnyObject(body: JsonObject): void {
  if (!isObject(body.response_format) || body.response_format.type !== 'json_object') return
  body.response_format = { type: 'json_schema', json_schema: { name: 'object', schema: { type: 'object' } } }
}

export function writeMfjs(body: JsonObject, dropped: string[]): void {
  const lost = new Set<string>()
  const fitter = new MfjsFitter()
  if (Array.isArray(body.tools))
    body.tools = body.tools.map((tool) => {
      if (!isObject(tool) || !isObject(tool.function) || !isObject(tool.function.parameters)) return tool
      const parameters = fitter.fit(tool.function.parameters, true, (keyword) => lost.add(`tools.parameters.${keyword}`))
      return { ...tool, function: { ...tool.function, parameters } }
    })
  const described = formatSchema(body.response_format)
  if (described !== undefined && isObject(described.schema)) {
    const schema = fitter.fit(described.schema, false, (keyword) => lost.add(`response_format.schema.${keyword}`))
    body.response_format = { type: 'json_schema', json_schema: { ...described, schema } }
  }
  dropped.push(...lost)
}

export function formatSchema(format: Json | undefined): JsonObject | undefined {
  return isObject(format) && format.type === 'json_schema' && isObject(format.json_schema) ? format.json_schema : undefined
}

/** JSON output without a schema: the model reads the schema among its instructions. */
export function withoutSchema(body: JsonObject, dropped: string[]): void {
  const described = formatSchema(body.response_format)
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
