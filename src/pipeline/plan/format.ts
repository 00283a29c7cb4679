/** Client format of a body of `POST /v1/plan`: as the caller states it, or by the form of the body. */
import type { IncomingHttpHeaders } from 'node:http'
import { badField, Fault } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { ClientDialect } from '../../dialects/types.ts'

export const PLAN_FORMATS = ['responses', 'chat', 'messages', 'embeddings'] as const
export type PlanFormat = (typeof PLAN_FORMATS)[number]

/** A client dialect for each format in which a plan can be requested. */
export type PlanDialects = Readonly<Record<PlanFormat, ClientDialect>>

/** @param byPath client dialects by the path of their operation. @throws Error where a format has none. */
export function planDialects(byPath: ReadonlyMap<string, ClientDialect>): PlanDialects {
  const find = (format: PlanFormat): ClientDialect => {
    for (const client of byPath.values()) if (client.id === format && !client.countBody) return client
    throw new Error(`no client dialect ${format}`)
  }
  return { responses: find('responses'), chat: find('chat'), messages: find('messages'), embeddings: find('embeddings') }
}

/**
 * The dialect of an exchange that takes its own from its body, once that has been read.
 * Whatever the format, an error has the standard body: a plan is an operation of the gateway's own.
 * @param named the query's `format`; null leaves it to the body's shape.
 * @param embeds true for the slug of a model that gives vectors.
 */
export function dialectByBody(dialects: PlanDialects, named: string | null, embeds?: (slug: string) => boolean): ClientDialect {
  return {
    ...plainFaults(dialects.chat),
    recognise: (body, headers) => plainFaults(dialects[named === null ? detectFormat(body, headers, embeds) : formatNamed(named)]),
  }
}

function plainFaults(client: ClientDialect): ClientDialect {
  return { ...client, faultBody: undefined, overflowInStream: undefined }
}

function formatNamed(name: string): PlanFormat {
  const format = PLAN_FORMATS.find((one) => one === name)
  if (!format) throw badField('format', `expected one of: ${PLAN_FORMATS.join(', ')}`)
  return format
}

/** @throws Fault 400 where the body is of no format. */
export function detectFormat(
  body: JsonObject,
  headers: IncomingHttpHeaders = {},
  embeds: (slug: string) => boolean = () => false,
): PlanFormat {
  if (body.input !== undefined) return namesEmbedding(body, embeds) || saysEmbeddings(body) ? 'embeddings' : 'responses'
  if (isObject(body.prompt)) return 'responses'
  if (!Array.isArray(body.messages)) {
    throw new Fault('bad_request', {
      message: 'body: expected input (Responses and embeddings) or messages (Chat Completions and Messages)',
    })
  }
  return headers['anthropic-version'] !== undefined || saysMessages(body, body.messages) ? 'messages' : 'chat'
}

/** An input may belong to either operation: the model decides. */
function namesEmbedding({ model, models }: JsonObject, embeds: (slug: string) => boolean): boolean {
  const first = model ?? (Array.isArray(models) ? models[0] : undefined)
  return typeof first === 'string' && embeds(first)
}

function saysEmbeddings(body: JsonObject): boolean {
  if (['encoding_format', 'dimensions', 'input_type'].some((name) => body[name] !== undefined)) return true
  const [first] = Array.isArray(body.input) ? body.input : []
  if (first === undefined) return false
  return isObject(first) ? first.content !== undefined && first.type === undefined && first.role === undefined : true
}

/** Words that only the Messages format has; a body without any of them means the same in both. */
const OWN_FIELDS = [
  'system',
  'stop_sequences',
  'thinking',
  'mcp_servers',
  'container',
  'context_management',
  'output_config',
  'anthropic_version',
]
const OWN_CHOICES: ReadonlySet<Json | undefined> = new Set(['auto', 'any', 'tool', 'none'])
const OWN_BLOCKS: ReadonlySet<Json | undefined> = new Set([
  'tool_use',
  'tool_result',
  'thinking',
  'redacted_thinking',
  'image',
  'document',
  'search_result',
  'server_tool_use',
])

function saysMessages(body: JsonObject, messages: readonly Json[]): boolean {
  if (OWN_FIELDS.some((name) => body[name] !== undefined)) return true
  if (isObject(body.tool_choice) && OWN_CHOICES.has(body.tool_choice.type)) return true
  if (Array.isArray(body.tools) && body.tools.some((tool) => isObject(tool) && tool.input_schema !== undefined)) return true
  return messages.some((message) => {
    const content = isObject(message) ? message.content : undefined
    return Array.isArray(content) && content.some((block) => isObject(block) && OWN_BLOCKS.has(block.type))
  })
}
