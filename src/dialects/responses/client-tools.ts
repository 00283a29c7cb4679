/**
 * Tools that the caller runs itself and only this wire has kinds for, as the functions that other providers are offered in
 * their place: members of a namespace, free text, the caller's own search for tools, its shell
 * (OpenAI SDK 7.57.0: NamespaceTool, CustomTool, ToolSearchTool with `execution: client`, Tool.LocalShell).
 */
import { asObjects, asString, isObject, type Json, type JsonObject, present } from '../../core/json.ts'
import { freeTextFunction } from '../canon/client-tools.ts'
import type { FunctionSpec } from '../canon/deferred-tools.ts'
import type { Opaque } from '../canon/request.ts'
import { flattenTool } from '../canon/tool-names.ts'
import { functionTool } from './decode-request.ts'
import { WIRE } from './wire.ts'

/** Types of the items that stand for calls. */
export const CALL = {
  function: 'function_call',
  custom: 'custom_tool_call',
  search: 'tool_search_call',
  shell: 'local_shell_call',
} as const

/** Type of the items in which an agent of the caller's speaks to another. */
export const AGENT = 'agent_message'

/** Names of the functions that stand for tools without a name of their own: their types. */
export const SEARCH = 'tool_search'
export const SHELL = 'local_shell'

/** A function, and how the caller's format writes its calls; `own` is absent where it is a function there, too. */
export interface FlatTool {
  spec: FunctionSpec
  own?: Opaque
}

/** Losses on the way: names for `dropped`. */
export type Lost = Set<string>

/** True where the tool can be offered as functions. */
export function isClientTool({ dialect, type, data }: Opaque): boolean {
  if (dialect !== WIRE) return false
  if (type === 'namespace') return asObjects(data.tools).every((tool) => tool.type === 'function' || tool.type === 'custom')
  return type === 'custom' || type === SHELL || (type === SEARCH && data.execution === 'client')
}

/** True for the types of `isClientTool` and those of calls and results that belong to them. */
const OWN_TYPES: ReadonlySet<unknown> = new Set([
  'namespace',
  'custom',
  SEARCH,
  SHELL,
  'additional_tools',
  'custom_tool_call',
  'custom_tool_call_output',
  'tool_search_call',
  'tool_search_output',
  'local_shell_call',
  'local_shell_call_output',
  AGENT,
])

/** True where a provider that knows functions alone cannot take the body as it is. */
export function needsFunctions({ tools, input }: JsonObject): boolean {
  const isOwn = (each: Json): boolean => isObject(each) && (OWN_TYPES.has(each.type) || typeof each.namespace === 'string')
  return (Array.isArray(tools) && tools.some(isOwn)) || (Array.isArray(input) && input.some(isOwn))
}

/** Name of the function that a call or a choice means. */
export function flatName(name: string, namespace: Json | undefined): string {
  return typeof namespace === 'string' && namespace !== '' ? flattenTool(namespace, name) : name
}

/** Form of a call of a named tool in the caller's format; undefined where that is a plain function call. */
export function ownCall(type: string, name: string, namespace: Json | undefined): Opaque | undefined {
  const space = typeof namespace === 'string' && namespace !== '' ? namespace : undefined
  if (type === CALL.function && space === undefined) return undefined
  return { dialect: WIRE, type, data: present({ name, namespace: space }) }
}

function customTool(tool: JsonObject, lost: Lost): FunctionSpec {
  const { description, format } = tool
  const isGrammar = isObject(format) && format.type === 'grammar'
  if (isGrammar) lost.add('tools.custom.format')
  const grammar = isGrammar ? { syntax: asString(format.syntax) ?? '', definition: asString(format.definition) ?? '' } : undefined
  const spec = freeTextFunction({ name: String(tool.name), description: asString(description) ?? '', grammar })
  if (tool.defer_loading === true) spec.deferLoading = true
  return spec
}

/**
 * Codex has the provider encrypt what its agents say to each other: the schema of the argument says `encrypted`. Other providers do not,
 * and their calls say that nothing is encrypted, so that the text is not taken for what it is not
 * (github.com/openai/codex, codex-rs/core/src/tools/router.rs: `encrypted_function_args`).
 */
function withoutEncryption(parameters: JsonObject | null | undefined): JsonObject | undefined {
  const properties = isObject(parameters) ? parameters.properties : undefined
  if (!isObject(properties) || !Object.values(properties).some((each) => isObject(each) && each.encrypted === true)) return undefined
  const plain: JsonObject = {}
  for (const [name, schema] of Object.entries(properties)) {
    const { encrypted: _, ...rest } = isObject(schema) ? schema : {}
    plain[name] = isObject(schema) ? rest : schema
  }
  return { ...parameters, properties: plain }
}

function namedTool(tool: JsonObject, namespace: Json | undefined, lost: Lost): FlatTool {
  const isCustom = tool.type === 'custom'
  const spec = isCustom ? customTool(tool, lost) : functionTool(tool, lost)
  const own = ownCall(isCustom ? CALL.custom : CALL.function, spec.name, namespace)
  const flat: FlatTool = { spec: { ...spec, name: flatName(spec.name, namespace) } }
  const plain = own && !isCustom ? withoutEncryption(spec.parameters) : undefined
  if (plain) flat.spec.parameters = plain
  if (own) flat.own = plain ? { ...own, data: { ...own.data, encrypted_function_args: [] } } : own
  return flat
}

/** The words about a namespace stand with the first of its tools, so that they are sent once. */
function namespaceTools({ name, description, tools }: JsonObject, lost: Lost): FlatTool[] {
  const flat = asObjects(tools).map((tool) => namedTool(tool, name, lost))
  const [first] = flat
  if (first === undefined || typeof description !== 'string' || description === '') return flat
  const words = `Namespace ${String(name)}: ${description}`
  const { description: own = '' } = first.spec
  first.spec.description = own === '' ? words : `${own}\n\n${words}`
  return flat
}

const SHELL_TOOL: FunctionSpec = {
  kind: 'function',
  name: SHELL,
  description: "Runs a command on the user's machine and returns what it prints.",
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'array', items: { type: 'string' }, description: 'The program and its arguments.' },
      working_directory: { type: 'string' },
      env: { type: 'object', additionalProperties: { type: 'string' }, description: 'Variables of the environment.' },
      timeout_ms: { type: 'integer' },
      user: { type: 'string', description: 'The user that runs it.' },
    },
    required: ['command'],
    additionalProperties: false,
  },
  strict: false,
}

function searchTool({ description, parameters }: JsonObject): FunctionSpec {
  const fields = {
    name: SEARCH,
    description: asString(description),
    parameters: isObject(parameters) ? parameters : undefined,
    strict: false,
  }
  return { kind: 'function', ...present(fields) }
}

/** @param tool one of this wire's tools. @returns the functions in its place; undefined for a tool that is none of the caller's. */
export function flatTools(tool: JsonObject, lost: Lost): FlatTool[] | undefined {
  const type = String(tool.type)
  if (type === 'function') return [namedTool(tool, undefined, lost)]
  if (!isClientTool({ dialect: WIRE, type, data: tool })) return undefined
  switch (type) {
    case 'namespace':
      return namespaceTools(tool, lost)
    case 'custom':
      return [namedTool(tool, undefined, lost)]
    case SEARCH:
      return [{ spec: searchTool(tool), own: { dialect: WIRE, type: CALL.search, data: {} } }]
    default:
      return [{ spec: SHELL_TOOL, own: { dialect: WIRE, type: CALL.shell, data: {} } }]
  }
}
