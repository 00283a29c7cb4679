/** `tool_choice` of type `allowed_tools`: the caller offers many tools, so that they stay cached, and allows a few of them. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { CanonicalRequest, DialectId, ToolChoice, ToolSpec } from './request.ts'

/** Type of the opaque choice, on the Responses and the chat wire. */
export const ALLOWED_TOOLS = 'allowed_tools'

/** The two wires nest it differently: `{mode, tools}` or `{allowed_tools: {mode, tools}}`. */
function allowedIn(data: JsonObject): { required: boolean; tools: JsonObject[] } {
  const allowed = isObject(data.allowed_tools) ? data.allowed_tools : data
  return { required: allowed.mode === 'required', tools: Array.isArray(allowed.tools) ? allowed.tools.filter(isObject) : [] }
}

function allowedName(allowed: JsonObject): Json | undefined {
  return isObject(allowed.function) ? allowed.function.name : allowed.name
}

function allows(allowed: JsonObject, tool: ToolSpec): boolean {
  const type = String(allowed.type)
  if (tool.kind === 'opaque') {
    const { data } = tool.of
    const label = allowed.server_label ?? allowed.name
    return tool.of.type === type && (label === undefined || label === (data.server_label ?? data.name))
  }
  const colon = type.indexOf(':')
  if (tool.kind === 'server') return tool.name === type.slice(colon + 1)
  // A tool of the gateway's own is offered to the model as a function, under a name made of both words.
  return tool.name === (colon > 0 ? type.replace(':', '_') : allowedName(allowed))
}

/** True for a choice that names tools of the gateway itself, which no provider knows under these names. */
function namesOwnTools(data: JsonObject): boolean {
  return allowedIn(data).tools.some((tool) => String(tool.type).includes(':'))
}

/**
 * Tools and choice as a wire can say them: where a choice of allowed tools would not be understood,
 * only the allowed tools are offered, with `auto` or `required`.
 * @param wire of the encoder: it takes a choice of its own wire as it came; undefined for one that takes none so.
 */
export function offeredTools(request: CanonicalRequest, wire?: DialectId): { tools: readonly ToolSpec[]; toolChoice?: ToolChoice } {
  const { tools, toolChoice } = request
  if (toolChoice?.mode !== 'opaque' || toolChoice.of.type !== ALLOWED_TOOLS) return toolChoice ? { tools, toolChoice } : { tools }
  const { data, dialect } = toolChoice.of
  if (dialect === wire && !namesOwnTools(data)) return { tools, toolChoice }
  const allowed = allowedIn(data)
  const offered = tools.filter((tool) => allowed.tools.some((each) => allows(each, tool)))
  return { tools: offered, toolChoice: { mode: offered.length === 0 ? 'none' : allowed.required ? 'required' : 'auto' } }
}

/** A tool of the gateway, and the functions that it is offered as. */
export interface OfferedAs {
  spec: ToolSpec | undefined
  functions: readonly string[]
}

/**
 * Names the functions in place of tools whose own name no wire would match with them: those that stand for a provider's,
 * and servers of tools.
 */
export function allowFunctions(choice: ToolChoice, own: readonly OfferedAs[]): ToolChoice {
  if (choice.mode !== 'opaque' || choice.of.type !== ALLOWED_TOOLS) return choice
  const { data } = choice.of
  const nested = isObject(data.allowed_tools) ? data.allowed_tools : undefined
  let changed = false
  const tools = allowedIn(data).tools.flatMap((allowed): JsonObject[] => {
    const found = own.filter(({ spec }) => spec?.kind === 'server' && standsAs(spec, allowed))
    if (found.length === 0) return [allowed]
    changed = true
    return found.flatMap(({ functions }) =>
      functions.map((name) => (nested ? { type: 'function', function: { name } } : { type: 'function', name })),
    )
  })
  if (!changed) return choice
  return { mode: 'opaque', of: { ...choice.of, data: nested ? { ...data, allowed_tools: { ...nested, tools } } : { ...data, tools } } }
}

function standsAs({ name, parameters, standsFor }: Extract<ToolSpec, { kind: 'server' }>, allowed: JsonObject): boolean {
  const type = String(allowed.type)
  const label = allowed.server_label ?? parameters.server_label
  if (label !== parameters.server_label) return false
  if (standsFor !== undefined) return type === standsFor
  return parameters.server_label !== undefined && type.endsWith(`:${name}`)
}
