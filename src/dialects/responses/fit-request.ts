/** Rules of an endpoint for a body of this wire; the same for a translated body and a passed one. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { LISTED_PARAMETERS } from '../../core/parameters.ts'
import { fitFormat, fitFunctions } from '../canon/closed-schema.ts'
import { effortForBudget, nearestEffort } from '../canon/efforts.ts'
import { JSON_INSTRUCTION, schemaInstruction } from '../canon/format-words.ts'
import { type CapWire, fitTier, fitUser, leaveOut, sendsCap } from '../canon/request-fields.ts'
import type { Quirks } from '../quirks.ts'
import type { Target } from '../types.ts'
import { fitItems } from './fit-items.ts'
import { fitTools } from './fit-tools.ts'
import { capCalls } from './outside-input.ts'
import { responsesFields, responsesParameters } from './parameters.ts'

function readEffort({ effort, enabled, max_tokens: budget }: JsonObject, cap: number | undefined, quirks: Quirks): string | undefined {
  if (typeof effort === 'string') return effort
  if (enabled === false) return 'none'
  if (typeof budget === 'number') return effortForBudget(budget, cap, quirks.efforts)
  return enabled === true ? 'medium' : undefined
}

/**
 * `quirks.reasoning: object` takes the whole object; others know no `enabled` and no `max_tokens`. Of `quirks.efforts` the nearest one is
 * sent: a model refuses those that it does not know (docs.x.ai/developers/model-capabilities/text/reasoning: grok-4.3 takes `none`, `low`,
 * `medium` and `high`).
 */
function fitReasoning(body: JsonObject, { quirks }: Target, dropped: string[]): void {
  if (!body.reasoning || !isObject(body.reasoning)) return
  if (quirks.reasoning !== 'object') {
    const { enabled, max_tokens: budget, ...rest } = body.reasoning
    if (enabled !== undefined || budget !== undefined) {
      if ((budget ?? null) !== null) dropped.push('reasoning.max_tokens')
      const effort = readEffort(body.reasoning, capIn(body), quirks)
      body.reasoning = effort === undefined ? rest : { ...rest, effort }
    }
  }
  const { effort } = body.reasoning
  if (quirks.efforts === undefined || typeof effort !== 'string') return
  const nearest = nearestEffort(effort, quirks.efforts)
  if (nearest === effort) return
  body.reasoning = { ...body.reasoning, effort: nearest }
  dropped.push('reasoning.effort')
}

function fitText(body: JsonObject, supported: ReadonlySet<string>, dropped: string[]): void {
  if (!isObject(body.text)) return
  const text = { ...body.text }
  const type = isObject(text.format) ? text.format.type : 'text'
  const formatName = type === 'json_schema' && supported.has('structured_outputs') ? 'structured_outputs' : 'response_format'
  if (type !== 'text' && !supported.has(formatName)) leaveOut(text, 'format', dropped, 'response_format')
  if (!supported.has('verbosity')) leaveOut(text, 'verbosity', dropped)
  body.text = text
}

const CAP_FIELD = 'max_output_tokens'

const capIn = ({ [CAP_FIELD]: cap }: JsonObject): number | undefined => (typeof cap === 'number' ? cap : undefined)

export const responsesCap: CapWire = {
  sends: (rules, held) => sendsCap(rules, CAP_FIELD, held),
  written: capIn,
}

function fitCap(body: JsonObject, target: Target, dropped: string[]): void {
  const { outputCap } = target
  const hasCap = body[CAP_FIELD] !== undefined || outputCap !== undefined
  if (hasCap && !responsesCap.sends(target, outputCap !== undefined)) leaveOut(body, CAP_FIELD, dropped, 'max_tokens')
  else if (outputCap !== undefined) body[CAP_FIELD] = Math.min(capIn(body) ?? outputCap, outputCap)
  const least = target.quirks.min_output_tokens ?? 0
  if ((capIn(body) ?? least) >= least) return
  body[CAP_FIELD] = least
  dropped.push('max_tokens')
}

/** Parameters that an endpoint may lack, as far as their fields have the same names; others have code of their own. */
const STRIPPABLE = LISTED_PARAMETERS.filter((name) => responsesFields.get(name)?.[0] === name)

/** Fields that no provider of this wire takes. */
const NEVER_SENT = Object.values(responsesParameters).flatMap((row) => (row.field === undefined || 'as' in row ? [] : [row.field]))

function fitParameters(body: JsonObject, target: Target, dropped: string[]): void {
  const { supported, quirks } = target
  if (supported) {
    for (const name of STRIPPABLE) if (!supported.has(name)) leaveOut(body, name, dropped)
    if (body.tools === undefined) leaveOut(body, 'tool_choice', dropped)
    fitText(body, supported, dropped)
  }
  for (const field of NEVER_SENT) leaveOut(body, field, dropped)
  if (quirks.explicit_caching !== true) leaveOut(body, 'prompt_cache_options', dropped)
  const { drop } = quirks.body ?? {}
  if (drop === undefined) return
  for (const field of drop) leaveOut(body, field, dropped)
  fitTools(body, drop, dropped)
}

function fitSchemas(body: JsonObject, dropped: string[]): void {
  if (Array.isArray(body.tools)) body.tools = fitFunctions(body.tools, undefined, dropped)
  const { text } = body
  if (!isObject(text) || !isObject(text.format)) return
  const format = fitFormat(text.format, dropped)
  if (format !== text.format) body.text = { ...text, format }
}

/** Value of `include` that makes reasoning replayable without a stored response. */
export const ENCRYPTED = 'reasoning.encrypted_content'

/** True for an endpoint that is not known to lack reasoning. */
export const mayReason = ({ supported }: Target): boolean => supported === undefined || supported.has('reasoning')

/** A model without reasoning refuses to encrypt it (github.com/pydantic/pydantic-ai/issues/2865); there would be none anyway. */
function fitInclude(body: JsonObject, included: readonly Json[], target: Target): void {
  if (mayReason(target) || !included.includes(ENCRYPTED)) return
  const include = included.filter((each) => each !== ENCRYPTED)
  if (include.length > 0) body.include = include
  else delete body.include
}

const isSearch = ({ type }: JsonObject): boolean => typeof type === 'string' && type.startsWith('web_search')

/** Without `external_web_access` a provider searches live, so that a search which must not is left out (openai 7.57.0, `WebSearchTool`). */
function fitSearch(body: JsonObject, dropped: string[]): void {
  const { tools } = body
  if (!Array.isArray(tools)) return
  const isStated = (tool: Json): tool is JsonObject => isObject(tool) && isSearch(tool) && tool.external_web_access !== undefined
  if (!tools.some(isStated)) return
  body.tools = tools.flatMap((tool): Json[] => {
    if (!isStated(tool)) return [tool]
    const { external_web_access: access, ...rest } = tool
    if (access !== false) return [rest]
    dropped.push('tools.web_search')
    return []
  })
  if (Array.isArray(body.tools) && body.tools.length > 0) return
  delete body.tools
  leaveOut(body, 'tool_choice', dropped)
}

const hasFormat = ({ text }: JsonObject): boolean => isObject(text) && isObject(text.format) && text.format.type !== 'text'

/** True where the answer has a form that the provider may not keep to. */
export const isLoose = (body: JsonObject, { quirks }: Target): boolean => quirks.json_schema === 'checked' && hasFormat(body)

/** The model reads the schema of its answer among the instructions. */
function fitFormatToWords(body: JsonObject, dropped: string[]): void {
  const { text, instructions } = body
  if (!hasFormat(body) || !isObject(text) || !isObject(text.format)) return
  const { format, ...rest } = text
  const { type, schema } = text.format
  const words = type === 'json_schema' ? schemaInstruction(isObject(schema) ? schema : undefined) : JSON_INSTRUCTION
  body.instructions = typeof instructions === 'string' && instructions !== '' ? `${instructions}\n\n${words}` : words
  body.text = rest
  if (Object.keys(rest).length === 0) delete body.text
  dropped.push('response_format')
}

/**
 * Fits a wire body to its endpoint, in place: model, statelessness, output cap, parameters, identity, quirks.
 * @param dropped receives the canonical names of what was taken out.
 */
export function fitToTarget(body: JsonObject, target: Target, dropped: string[]): void {
  body.model = target.model
  body.store = false
  body.stream = target.stream
  if (!target.stream && body.stream_options !== undefined) delete body.stream_options
  // Text is what this wire answers with anyway, and providers of it do not know the field.
  if (Array.isArray(body.modalities) && body.modalities.every((each) => each === 'text')) delete body.modalities
  fitTier(body, target, dropped)
  // Items that the provider refuses are left out, and encrypted content goes back as this account made it.
  if (Array.isArray(body.input)) body.input = fitItems(body.input, target, dropped)
  if (Array.isArray(body.include)) fitInclude(body, body.include, target)
  if (target.quirks.closed_schemas === true) fitSchemas(body, dropped)
  if (target.quirks.json_schema === 'words') fitFormatToWords(body, dropped)
  if (body.reasoning) fitReasoning(body, target, dropped)
  if (target.quirks.external_web_access === false) fitSearch(body, dropped)
  if (target.limited === true || target.toolCalls !== undefined) capCalls(body, target.toolCalls, target.limited === true)
  fitCap(body, target, dropped)
  fitParameters(body, target, dropped)
  if (body.user !== undefined || body.safety_identifier !== undefined) fitUser(body, target, dropped)
}
