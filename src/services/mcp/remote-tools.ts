/** Reads a server's list of tools and their results. Neither is trusted to be small or well-formed. */
import { isObject, type JsonObject } from '../../core/json.ts'
import type { McpEntry } from './entry.ts'

export interface RemoteTool {
  readonly name: string
  readonly description: string
  readonly schema: JsonObject
  readonly annotations: JsonObject | undefined
}

const MAX_TOOLS = 128
const MAX_NAME_LENGTH = 128
const MAX_DESCRIPTION_LENGTH = 4096
/** Characters of one tool's schema. */
const MAX_SCHEMA_LENGTH = 65_536

/** Those that the caller allows; what is too long to be shown to a model is left out. */
export function remoteTools(listed: readonly unknown[], { names, readOnly }: Pick<McpEntry, 'names' | 'readOnly'>): RemoteTool[] {
  const tools: RemoteTool[] = []
  for (const one of listed) {
    if (tools.length === MAX_TOOLS) break
    const tool = remoteTool(one)
    if (!tool || tools.some(({ name }) => name === tool.name)) continue
    if (names && !names.has(tool.name)) continue
    if (readOnly && tool.annotations?.readOnlyHint !== true) continue
    tools.push(tool)
  }
  return tools
}

function remoteTool(value: unknown): RemoteTool | undefined {
  if (!isObject(value)) return undefined
  const { name, description, annotations } = value
  const schema = value.inputSchema ?? value.input_schema
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME_LENGTH) return undefined
  if (!isObject(schema) || JSON.stringify(schema).length > MAX_SCHEMA_LENGTH) return undefined
  return {
    name,
    description: typeof description === 'string' ? description.slice(0, MAX_DESCRIPTION_LENGTH) : '',
    schema: schema.type === 'object' ? schema : { type: 'object', properties: {} },
    annotations: isObject(annotations) ? annotations : undefined,
  }
}

/** @param most characters. */
export function answerText(result: { content?: unknown; structuredContent?: unknown }, most: number): string {
  const blocks = Array.isArray(result.content) ? result.content.filter(isObject) : []
  const text = blocks.map(blockText).join('\n')
  const whole = text === '' && isObject(result.structuredContent) ? JSON.stringify(result.structuredContent) : text
  return whole.length > most ? `${whole.slice(0, most)}\n[cut off after ${most} characters]` : whole
}

function blockText(block: JsonObject): string {
  if (typeof block.text === 'string') return block.text
  const { resource } = block
  if (isObject(resource) && typeof resource.text === 'string') return resource.text
  if (block.type === 'resource_link') return String(block.uri ?? '')
  return `[${String(block.type)}]`
}
