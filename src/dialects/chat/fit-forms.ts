/** Members of a body in the one form that a provider takes, where others take several. Nothing is left out. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { Quirks } from '../quirks.ts'

/** Changes members of a body; lists and messages of the caller's own are never touched. */
export function fitForms(body: JsonObject, quirks: Quirks): void {
  if (quirks.one_system_message === true) body.messages = withOneSystem(body.messages)
  if (quirks.null_content === false) body.messages = withoutNull(body.messages)
  if (quirks.tool_parameters === 'required' && Array.isArray(body.tools)) body.tools = body.tools.map(withParameters)
  if (quirks.stop === 'list' && typeof body.stop === 'string') body.stop = [body.stop]
  if (quirks.logprobs === 'count' && typeof body.logprobs === 'boolean') countLogprobs(body)
}

const isSystem = (message: Json): message is JsonObject => isObject(message) && (message.role === 'system' || message.role === 'developer')

/** All system messages as one at the start, in their order. */
function withOneSystem(messages: Json | undefined): Json | undefined {
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
function withoutNull(messages: Json | undefined): Json | undefined {
  if (!Array.isArray(messages)) return messages
  return messages.map((message) =>
    isObject(message) && message.role === 'assistant' && (message.content ?? null) === null ? { ...message, content: '' } : message,
  )
}

/** A function without parameters has an empty schema. */
function withParameters(tool: Json): Json {
  if (!isObject(tool) || !isObject(tool.function) || isObject(tool.function.parameters)) return tool
  return { ...tool, function: { ...tool.function, parameters: { type: 'object', properties: {} } } }
}

/** The number of alternatives stands in `logprobs` itself. */
function countLogprobs(body: JsonObject): void {
  const { top_logprobs: top, logprobs } = body
  delete body.top_logprobs
  if (logprobs === true) body.logprobs = typeof top === 'number' && top > 0 ? top : 1
  else delete body.logprobs
}
