/** Fields of a preset, in a Messages request. */

import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { effortShare } from '../canon/efforts.ts'
import { filled, type Preset, picked, sends } from '../canon/presets.ts'
import { MIN_BUDGET } from './fit-request.ts'

const MAX_BUDGET = 128_000
/** This wire's scale ends where those of others have their half. */
const MAX_TEMPERATURE = 1

/** True where the request sets what the API refuses together with thinking. */
function forbidsThinking(body: JsonObject): boolean {
  const choice = isObject(body.tool_choice) ? body.tool_choice.type : undefined
  return (sends(body, 'temperature') && body.temperature !== 1) || sends(body, 'top_k') || choice === 'any' || choice === 'tool'
}

function thinkingBudget({ effort, max_tokens: requested }: JsonObject, cap: number): number | undefined {
  const wanted = typeof requested === 'number' ? requested : cap * (effortShare(typeof effort === 'string' ? effort : 'medium') ?? 0)
  const budget = Math.max(MIN_BUDGET, Math.floor(Math.min(wanted, MAX_BUDGET)))
  return budget < cap ? budget : undefined
}

/** A budget, since providers that want an effort are given one by it; undefined where the output cap leaves no room. */
function encodeThinking(reasoning: JsonObject, cap: Json | undefined): JsonObject | undefined {
  const { effort, enabled, exclude, summary, max_tokens: requested } = reasoning
  if (effort === 'none' || (enabled === false && effort === undefined)) return { type: 'disabled' }
  if (effort === undefined && requested === undefined && enabled !== true) return undefined
  const budget = typeof cap === 'number' ? thinkingBudget(reasoning, cap) : undefined
  if (budget === undefined) return undefined
  const display = exclude === true ? 'omitted' : summary === undefined ? undefined : 'summarized'
  return { type: 'enabled', budget_tokens: budget, ...(display === undefined ? {} : { display }) }
}

/** The API takes either temperature or top_p, and neither of a model that thinks. */
function encodeSampling(parameters: JsonObject, body: JsonObject, thinks: boolean): JsonObject {
  if (thinks) return {}
  const { temperature, top_p, top_k } = parameters
  if (sends(body, 'temperature')) return { top_k }
  if (sends(body, 'top_p') || typeof temperature !== 'number') return { top_p, top_k }
  return { temperature: Math.min(temperature, MAX_TEMPERATURE), top_k }
}

const isOn = (thinking: Json | undefined): boolean => isObject(thinking) && thinking.type !== 'disabled'

function systemFirst(body: JsonObject, text: string): JsonObject {
  const { system } = body
  const block: JsonObject = { type: 'text', text }
  if (!sends(body, 'system') || system === '') return { ...body, system: text }
  if (typeof system === 'string') return { ...body, system: [block, { type: 'text', text: system }] }
  return Array.isArray(system) ? { ...body, system: [block, ...system] } : body
}

/** The preset's parameters where the caller sends none; what this wire has no field for, or would refuse, is left out. */
export function withPreset(body: JsonObject, { parameters, systemPrompt }: Preset): JsonObject {
  const capped = filled(body, picked(parameters, ['max_tokens']))
  const own = sends(body, 'thinking') || (isObject(body.output_config) && sends(body.output_config, 'effort'))
  const wanted = isObject(parameters.reasoning) && !own ? encodeThinking(parameters.reasoning, capped.max_tokens) : undefined
  const thinking = isOn(wanted) && forbidsThinking(body) ? undefined : wanted
  const thinks = isOn(thinking ?? body.thinking)
  const whole = filled(capped, { ...encodeSampling(parameters, body, thinks), thinking })
  return systemPrompt === undefined ? whole : systemFirst(whole, systemPrompt)
}
