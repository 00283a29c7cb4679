/** Tools and the choice between them, as canonical ones. */

import { isObject, type JsonObject } from '../../core/json.ts'
import type { CanonicalRequest, ToolChoice, ToolSpec } from '../canon/request.ts'
import { cacheMark, fullMark } from './cache-mark.ts'
import { isCustomTool, serverToolName } from './check.ts'
import { beside, WIRE, withNative } from './wire.ts'

const CUSTOM: ReadonlySet<string> = new Set(['type', 'name', 'description', 'input_schema', 'strict', 'cache_control'])

function functionTool(tool: JsonObject): ToolSpec {
  const { name, description, input_schema, strict } = tool
  const spec: ToolSpec = { kind: 'function', name: String(name) }
  if (typeof description === 'string') spec.description = description
  if (isObject(input_schema)) spec.parameters = input_schema
  if (typeof strict === 'boolean') spec.strict = strict
  if (tool.defer_loading === true) spec.deferLoading = true
  const cache = cacheMark(tool)
  if (cache) spec.cache = cache
  return withNative(spec, 'custom', { ...beside(tool, CUSTOM), ...fullMark(tool) })
}

function toolSpec(tool: JsonObject): ToolSpec {
  if (isCustomTool(tool)) return functionTool(tool)
  const type = String(tool.type)
  const server = serverToolName(type)
  if (server === undefined) return { kind: 'opaque', of: { dialect: WIRE, type, data: tool } }
  return { kind: 'server', name: server, parameters: isObject(tool.parameters) ? tool.parameters : {} }
}

function toolChoice(choice: JsonObject): ToolChoice {
  if (choice.type === 'any') return { mode: 'required' }
  if (choice.type !== 'tool') return { mode: choice.type === 'none' ? 'none' : 'auto' }
  const name = String(choice.name)
  return { mode: 'named', name: serverToolName(name) ?? name }
}

/** Sets what the body says of tools. */
export function decodeTools(body: JsonObject, request: CanonicalRequest): void {
  const { tools, tool_choice: choice } = body
  if (Array.isArray(tools) && tools.length > 0) {
    request.tools = (tools as JsonObject[]).map(toolSpec)
    request.used.add('tools')
  }
  if (!isObject(choice)) return
  request.toolChoice = toolChoice(choice)
  request.used.add('tool_choice')
  if (typeof choice.disable_parallel_tool_use !== 'boolean') return
  request.sampling.parallelToolCalls = !choice.disable_parallel_tool_use
  request.used.add('parallel_tool_calls')
}
