/** The caller's `parameters` of one subagent (docs/contract.md#tools-in-a-request). */
import { badField, type FunctionSpec, isObject, type Json, type JsonObject, type ToolContext } from '../../plugin-api/index.ts'
import { type Instance, parseInstance } from '../instances.ts'
import { callSettings, parseFlag, parseText } from '../model-calls.ts'

export const TOOL = 'subagent'

const MAX_STEPS = 25
/** Tools and names of functions that one subagent is given. */
const MAX_LISTED = 64

export interface SubagentConfig {
  instance: Instance
  /** Undefined for the calling model. */
  model: string | undefined
  /** Fields of the request for its model. */
  manner: JsonObject
  /** Names of the caller's functions that it may call. */
  inherited: ReadonlySet<string>
}

/** @param at path of the tool in the request. @throws Fault 400 naming the path. */
export function parseConfig(parameters: JsonObject, at: string, context: ToolContext): SubagentConfig {
  const path = `${at}.parameters`
  const instructions = parseText(parameters.instructions, `${path}.instructions`)
  const steps = parseSteps(parameters.max_tool_calls, `${path}.max_tool_calls`)
  const tools = parseTools(parameters.tools, `${path}.tools`, context)
  const inherited = inheritedTools(parameters, path, context)
  return {
    instance: parseInstance(TOOL, `${path}.name`, context),
    model: parseText(parameters.model, `${path}.model`, 'a model slug'),
    manner: {
      ...callSettings(parameters, path),
      ...(instructions === undefined ? {} : { instructions }),
      ...(tools.length + inherited.length === 0 ? {} : { tools: [...tools, ...inherited], max_tool_calls: steps }),
    },
    inherited: new Set(inherited.map(({ name }) => String(name))),
  }
}

function parseSteps(value: Json | undefined, path: string): number {
  if (value === undefined || value === null) return MAX_STEPS
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > MAX_STEPS)
    throw badField(path, `expected a whole number from 1 to ${MAX_STEPS}`)
  return value
}

function parseTools(list: Json | undefined, path: string, { runs, checkTools }: ToolContext): JsonObject[] {
  if (list === undefined || list === null) return []
  if (!Array.isArray(list)) throw badField(path, 'expected a list of server tools')
  if (list.length > MAX_LISTED) throw badField(path, `expected at most ${MAX_LISTED} tools`)
  const tools = list.map((tool, i) => {
    const type = isObject(tool) ? tool.type : undefined
    if (!isObject(tool) || typeof type !== 'string' || !/^[^:]+:[^:]+$/.test(type))
      throw badField(`${path}[${i}].type`, 'expected one of the server tools: functions are inherited from those of the request')
    const name = type.slice(type.indexOf(':') + 1)
    if (name === TOOL) throw badField(`${path}[${i}].type`, 'a subagent cannot have subagents, expected another tool')
    if (!runs(name)) throw badField(`${path}[${i}].type`, `${name} is no server tool that runs here, expected one that does`)
    return tool
  })
  checkTools(tools, path)
  return tools
}

/** The caller's own functions, as the worker is offered them. @throws Fault 400 for a name that no function of the request has. */
function inheritedTools(parameters: JsonObject, path: string, { client, tools }: ToolContext): JsonObject[] {
  const all = parseFlag(parameters.inherit_functions, `${path}.inherit_functions`)
  const names = parseNames(parameters.inherited_function_names, `${path}.inherited_function_names`)
  if (!all && names.length === 0) return []
  if (client !== 'responses')
    throw badField(`${path}.${all ? 'inherit_functions' : 'inherited_function_names'}`, 'functions can be inherited on /v1/responses only')
  const functions = tools.filter((spec) => spec.kind === 'function')
  if (!all)
    for (const [i, name] of names.entries())
      if (!functions.some((spec) => spec.name === name))
        throw badField(`${path}.inherited_function_names[${i}]`, `expected the name of a function of the request, which has no ${name}`)
  return functions.filter(({ name }) => all || names.includes(name)).map(asTool)
}

function asTool({ name, description, parameters, strict }: FunctionSpec): JsonObject {
  return {
    type: 'function',
    name,
    ...(description === undefined ? {} : { description }),
    ...(parameters === undefined ? {} : { parameters }),
    ...(strict === undefined ? {} : { strict }),
  }
}

function parseNames(list: Json | undefined, path: string): string[] {
  if (list === undefined || list === null) return []
  if (!Array.isArray(list)) throw badField(path, 'expected a list of names')
  if (list.length > MAX_LISTED) throw badField(path, `expected at most ${MAX_LISTED} names`)
  return list.map((name, i) => {
    if (typeof name !== 'string' || name.trim() === '') throw badField(`${path}[${i}]`, 'expected the name of a function')
    return name.trim()
  })
}
