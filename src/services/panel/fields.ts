/** Fields that the tool and the plugin share (docs/contract.md#tools-in-a-request, docs/contract.md#plugins). */
import { badField } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

const MAX_MODELS = 8
const MAX_TOOLS = 8
const MAX_STEPS = 16

export interface PanelFields {
  models?: readonly string[]
  /** Slug of the model that compares the answers. */
  analyst?: string
  preset?: string
  /** Tool steps of each member. */
  steps?: number
  /** Server tools of each member; an empty list for none. */
  tools?: readonly JsonObject[]
}

/** @throws Fault 400 naming the field under `path`. */
export function panelFields(fields: JsonObject, path: string): PanelFields {
  const found: PanelFields = {}
  const { analysis_models: models, model, preset, max_tool_calls: steps, tools } = fields
  if (present(models)) found.models = slugs(models, `${path}.analysis_models`)
  if (present(model)) found.analyst = slug(model, `${path}.model`)
  if (present(preset)) found.preset = slug(preset, `${path}.preset`, 'the name of a preset')
  if (present(steps)) {
    if (typeof steps !== 'number' || !Number.isInteger(steps) || steps < 1 || steps > MAX_STEPS)
      throw badField(`${path}.max_tool_calls`, `expected a whole number from 1 to ${MAX_STEPS}`)
    found.steps = steps
  }
  if (present(tools)) found.tools = toolList(tools, `${path}.tools`)
  return found
}

function present(value: Json | undefined): boolean {
  return value !== undefined && value !== null
}

function slug(value: Json | undefined, path: string, expected = 'a model slug'): string {
  if (typeof value !== 'string' || value.trim() === '') throw badField(path, `expected ${expected}`)
  return value
}

function slugs(list: Json | undefined, path: string): string[] {
  if (!Array.isArray(list) || list.length < 1 || list.length > MAX_MODELS)
    throw badField(path, `expected a list of 1 to ${MAX_MODELS} model slugs`)
  return list.map((one, i) => slug(one, `${path}[${i}]`))
}

/** Members of a panel cannot call a panel. */
function toolList(list: Json | undefined, path: string): JsonObject[] {
  if (!Array.isArray(list) || list.length > MAX_TOOLS) throw badField(path, `expected a list of at most ${MAX_TOOLS} tools`)
  return list.map((tool, i) => {
    const type = isObject(tool) ? tool.type : undefined
    if (!isObject(tool) || typeof type !== 'string' || !/^[^:]+:[^:]+$/.test(type))
      throw badField(`${path}[${i}].type`, 'expected one of the server tools')
    if (type.endsWith(':fusion')) throw badField(`${path}[${i}].type`, 'the members of a panel cannot call a panel, expected another tool')
    return tool
  })
}
