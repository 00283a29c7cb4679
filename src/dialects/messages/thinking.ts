/** How much a model thinks: efforts and budgets of callers in the words of this wire, and the rules that come with them. */

import { isObject, type Json, type JsonObject, objectsOf } from '../../core/json.ts'
import { effortOfBudget, effortShare, nearestEffort } from '../canon/efforts.ts'
import type { CanonicalRequest, Reasoning } from '../canon/request.ts'
import type { Target } from '../types.ts'
import { isThinking } from './encode-messages.ts'
import { fitBudget, LEAST_BUDGET, MOST_SHARE } from './fit-target.ts'
import { WIRE } from './wire.ts'

/** Efforts that `output_config` knows. */
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max']

const MOST_BUDGET = 128_000
/** The API demands a cap; this one where the caller names none, and as room for the answer behind a budget. */
const DEFAULT_OUTPUT = 4096
/** Least `top_p` that the API takes of a model that thinks. */
const LEAST_TOP_P = 0.95

interface ThinkingPlan {
  thinking?: JsonObject
  /** `output_config.effort`. */
  effort?: string
  /** `max_tokens`, with room for the thinking. */
  maxTokens: number
}

/** True for models that take an effort and decide themselves (`quirks.thinking: adaptive`); others take a budget. */
export function isAdaptive({ quirks }: Target): boolean {
  return quirks.thinking === 'adaptive'
}

const isOff = ({ effort, enabled }: Reasoning): boolean => effort === 'none' || (effort === undefined && enabled === false)

function isOn(reasoning: Reasoning): boolean {
  return !isOff(reasoning) && (reasoning.effort !== undefined || reasoning.maxTokens !== undefined || reasoning.enabled === true)
}

function withDisplay(thinking: JsonObject, shown: boolean): JsonObject {
  return shown ? { ...thinking, display: 'summarized' } : thinking
}

/** A model that decides itself; some show their thinking only with `display`. */
function planEffort(reasoning: Reasoning, target: Target, maxTokens: number, dropped: Set<string>): ThinkingPlan {
  const { effort, maxTokens: budget, exclude } = reasoning
  if (budget !== undefined) dropped.add('reasoning.max_tokens')
  const wanted = effort ?? (budget === undefined ? 'medium' : effortOfBudget(budget, maxTokens))
  return {
    thinking: withDisplay({ type: 'adaptive' }, exclude !== true),
    effort: nearestEffort(wanted, target.quirks.efforts, EFFORTS),
    maxTokens,
  }
}

interface Caps {
  maxTokens: number
  /** Most that `maxTokens` may grow to. */
  ceiling: number
}

function planBudget(reasoning: Reasoning, caps: Caps, dropped: Set<string>): ThinkingPlan {
  const { effort, maxTokens: requested, summary } = reasoning
  let { maxTokens } = caps
  let budget = requested ?? Math.min(Math.floor(maxTokens * (effortShare(effort ?? 'medium') ?? 0.5)), MOST_BUDGET)
  budget = Math.max(Math.floor(budget), LEAST_BUDGET)
  if (budget >= maxTokens) maxTokens = Math.max(maxTokens, Math.min(budget + DEFAULT_OUTPUT, caps.ceiling))
  if (budget >= maxTokens) {
    budget = Math.floor(maxTokens * MOST_SHARE)
    if (budget < LEAST_BUDGET) {
      dropped.add('reasoning')
      return { maxTokens: caps.maxTokens }
    }
    dropped.add(requested === undefined ? 'reasoning.effort' : 'reasoning.max_tokens')
  }
  return { thinking: withDisplay({ type: 'enabled', budget_tokens: budget }, (summary ?? null) !== null), maxTokens }
}

function capsOf(request: CanonicalRequest, target: Target): Caps {
  const most = Math.min(target.outputCap ?? Number.POSITIVE_INFINITY, target.maxOutput ?? Number.POSITIVE_INFINITY)
  const requested = request.sampling.maxOutput
  const maxTokens = Math.min(requested ?? (Number.isFinite(most) ? most : DEFAULT_OUTPUT), most)
  return { maxTokens, ceiling: requested === undefined ? most : maxTokens }
}

/** What a caller of this wire sent as `thinking`, from its canonical form; an effort alone requests none. */
function nativeThinking({ enabled, maxTokens, summary, exclude }: Reasoning): JsonObject | undefined {
  let thinking: JsonObject
  if (maxTokens !== undefined) thinking = { type: 'enabled', budget_tokens: maxTokens }
  else if (enabled !== undefined) thinking = { type: enabled ? 'adaptive' : 'disabled' }
  else return undefined
  if (exclude) thinking.display = 'omitted'
  else if (summary !== undefined) thinking.display = 'summarized'
  return thinking
}

function planNative(request: CanonicalRequest, target: Target, { maxTokens }: Caps): ThinkingPlan {
  const reasoning = request.reasoning ?? {}
  const sent = request.extras?.fields.thinking
  const thinking = isObject(sent) ? sent : nativeThinking(reasoning)
  const plan: ThinkingPlan = reasoning.effort === undefined ? { maxTokens } : { effort: reasoning.effort, maxTokens }
  if (thinking?.type !== 'enabled' || !isAdaptive(target)) return thinking ? { ...plan, thinking } : plan
  const { budget_tokens: budget, ...rest } = thinking
  const effort = typeof budget === 'number' ? effortOfBudget(budget, maxTokens) : 'medium'
  return { effort: nearestEffort(effort, target.quirks.efforts, EFFORTS), ...plan, thinking: { ...rest, type: 'adaptive' } }
}

/** What the endpoint is sent about thinking, and the output cap that goes with it. */
export function planThinking(request: CanonicalRequest, target: Target, dropped: Set<string>): ThinkingPlan {
  const caps = capsOf(request, target)
  if (request.extras?.dialect === WIRE) return planNative(request, target, caps)
  const { reasoning } = request
  const { maxTokens } = caps
  if (!reasoning) return { maxTokens }
  if (target.supported && !target.supported.has('reasoning')) {
    if (isOn(reasoning) || reasoning.summary !== undefined) dropped.add('reasoning')
    return { maxTokens }
  }
  if (isOn(reasoning)) return isAdaptive(target) ? planEffort(reasoning, target, maxTokens, dropped) : planBudget(reasoning, caps, dropped)
  if ((reasoning.summary ?? null) !== null) dropped.add('reasoning.summary')
  // Models that decide themselves may think unless thinking is disabled; those with a budget never do.
  return isOff(reasoning) && isAdaptive(target) ? { thinking: { type: 'disabled' }, maxTokens } : { maxTokens }
}

/** True where the model is in the middle of calling tools, or of a turn, that did not begin with its thinking. */
function lacksThinking(messages: Json | undefined): boolean {
  let first: JsonObject | undefined
  for (const message of objectsOf(messages).reverse()) {
    const content = objectsOf(message.content)
    if (message.role === 'system') continue
    if (message.role === 'assistant') first = typeof message.content === 'string' ? {} : content[0]
    else if (!content.some((block) => block.type === 'tool_result')) break
  }
  return first !== undefined && !isThinking(first)
}

function drop(body: JsonObject, field: string, name: string, dropped: string[]): void {
  if (body[field] === undefined) return
  delete body[field]
  dropped.push(name)
}

/**
 * What the API refuses together with thinking is left out, and thinking itself where a running turn began without it.
 * @param body is the encoder's to change.
 */
export function keepThinkingRules(body: JsonObject, dropped: string[]): void {
  const { thinking } = body
  if (!isObject(thinking) || (thinking.type !== 'enabled' && thinking.type !== 'adaptive')) return
  if (thinking.type === 'enabled' && lacksThinking(body.messages)) drop(body, 'thinking', 'reasoning', dropped)
  else fitBudget(body, dropped)
  if (body.thinking === undefined) return
  if (body.temperature !== 1) drop(body, 'temperature', 'temperature', dropped)
  drop(body, 'top_k', 'top_k', dropped)
  if (typeof body.top_p === 'number' && body.top_p < LEAST_TOP_P) {
    body.top_p = LEAST_TOP_P
    dropped.push('top_p')
  }
  const choice = body.tool_choice
  if (!isObject(choice) || (choice.type !== 'any' && choice.type !== 'tool')) return
  const { name: _, ...rest } = choice
  body.tool_choice = { ...rest, type: 'auto' }
  dropped.push('tool_choice')
}
