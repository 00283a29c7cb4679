/** Recorded Converse requests as callers of the gateway would write them, where a caller's format has an equal form. */
import type { Json, JsonObject } from '../../src/core/json.ts'
import { list, object, text } from './expected.ts'

/** Thrown for what no caller's format can say, with what it is. */
class NoForm extends Error {}

function none(what: string): never {
  throw new NoForm(what)
}

const TEXTS = ['txt', 'csv', 'md', 'html']

function documentBlock({ format, name, source }: JsonObject): JsonObject {
  const { bytes } = object(source)
  if (typeof bytes !== 'string') return none('an object in S3')
  const title = `${text(name)}.${text(format)}`
  if (format === 'pdf') return { type: 'document', title, source: { type: 'base64', media_type: 'application/pdf', data: bytes } }
  if (!TEXTS.includes(text(format))) return none(`a document of the format ${text(format)}`)
  return {
    type: 'document',
    title,
    source: { type: 'text', media_type: 'text/plain', data: Buffer.from(bytes, 'base64').toString('utf8') },
  }
}

function mediaBlock({ format, source }: JsonObject): JsonObject {
  const { bytes } = object(source)
  if (typeof bytes !== 'string') return none('an object in S3')
  return { type: 'image', source: { type: 'base64', media_type: `image/${text(format)}`, data: bytes } }
}

function resultBlock({ toolUseId, content, status, type }: JsonObject): JsonObject {
  if (type !== undefined) return none('a tool of the provider')
  const error = status === 'error' ? { is_error: true } : {}
  return { type: 'tool_result', tool_use_id: toolUseId, content: list(content).map((each) => block(each)), ...error }
}

function thinkingBlock({ reasoningText, redactedContent }: JsonObject): JsonObject {
  if (reasoningText === undefined) return { type: 'redacted_thinking', data: Buffer.from(text(redactedContent), 'base64').toString('utf8') }
  const { text: thinking, signature } = object(reasoningText)
  return { type: 'thinking', thinking, signature }
}

function block(each: JsonObject): JsonObject {
  if (each.text !== undefined) return text(each.text).trim() === '' ? none('a blank text') : { type: 'text', text: each.text }
  if (each.image) return mediaBlock(object(each.image))
  if (each.document) return documentBlock(object(each.document))
  if (each.reasoningContent) return thinkingBlock(object(each.reasoningContent))
  if (each.toolResult) return resultBlock(object(each.toolResult))
  if (!each.toolUse) return none(Object.keys(each).join(', '))
  const { toolUseId, name, input, type } = object(each.toolUse)
  return type === undefined || type === 'tool_use' ? { type: 'tool_use', id: toolUseId, name, input } : none('a tool of the provider')
}

/** Points for the cache mark the block in front of them. */
function marked(blocks: readonly JsonObject[], write: (each: JsonObject) => JsonObject): JsonObject[] {
  const written: JsonObject[] = []
  for (const each of blocks) {
    const last = written.at(-1)
    if (each.cachePoint === undefined) written.push(write(each))
    else if (last) last.cache_control = { type: 'ephemeral', ...(object(each.cachePoint).ttl ? { ttl: object(each.cachePoint).ttl } : {}) }
  }
  return written
}

function tool({ toolSpec }: JsonObject): JsonObject {
  if (toolSpec === undefined) return none('a tool of the provider')
  const { name, description, inputSchema, strict } = object(toolSpec)
  return {
    name,
    ...(description === undefined ? {} : { description }),
    input_schema: object(inputSchema).json,
    ...(strict === undefined ? {} : { strict }),
  }
}

function choice(toolChoice: JsonObject): JsonObject {
  if (toolChoice.tool) return { type: 'tool', name: object(toolChoice.tool).name }
  return { type: toolChoice.any ? 'any' : 'auto' }
}

/** Fields of a model that Messages has as well; others are sent under the service's own name. */
function modelFields(fields: JsonObject): JsonObject {
  const { thinking, output_config, top_k, inferenceConfig, ...rest } = fields
  const own: JsonObject = {}
  for (const [name, value] of Object.entries({ thinking, output_config, top_k: top_k ?? object(inferenceConfig).topK }))
    if (value !== undefined) own[name] = value
  return Object.keys(rest).length > 0 ? { ...own, additionalModelRequestFields: rest } : own
}

function format(outputConfig: JsonObject): JsonObject {
  const { schema } = object(object(object(outputConfig.textFormat).structure).jsonSchema)
  return { output_config: { format: { type: 'json_schema', schema: JSON.parse(text(schema)) as Json } } }
}

/** Messages demands a cap. */
export const CAP = 20_000

/** @returns the body without its model, or in words what of the request has no equal form. */
export function messagesBody(request: JsonObject): JsonObject | string {
  const { messages, system, inferenceConfig, toolConfig, additionalModelRequestFields, outputConfig, ...rest } = request
  const foreign = Object.keys(rest).find((name) => name !== 'guardrailConfig')
  // Tiers and speeds are the endpoint's (docs/dialects.md, `bedrock-converse`).
  if (foreign !== undefined) return foreign
  const { maxTokens, temperature, topP, stopSequences } = object(inferenceConfig)
  try {
    return {
      max_tokens: maxTokens ?? CAP,
      messages: list(messages).map(({ role, content }) => ({ role, content: marked(list(content), block) })),
      ...(list(system).length > 0 ? { system: marked(list(system), block) } : {}),
      ...(temperature === undefined ? {} : { temperature }),
      ...(topP === undefined ? {} : { top_p: topP }),
      ...(stopSequences === undefined ? {} : { stop_sequences: stopSequences }),
      ...(toolConfig === undefined ? {} : { tools: marked(list(object(toolConfig).tools), tool) }),
      ...(object(toolConfig).toolChoice === undefined ? {} : { tool_choice: choice(object(object(toolConfig).toolChoice)) }),
      ...modelFields(object(additionalModelRequestFields)),
      ...(outputConfig === undefined ? {} : format(object(outputConfig))),
      ...rest,
    }
  } catch (error) {
    if (error instanceof NoForm) return error.message
    throw error
  }
}
