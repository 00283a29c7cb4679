/** Thinking: efforts and budgets of callers in the words of this wire, and the rules that come with them. */

import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { effortOfBudget, effortShare, nearestEffort } from '../canon/efforts.ts'
import type { CanonicalRequest, Reasoning } from '../canon/request.ts'
import type { Target } from '../types.ts'
import { isThinking } from './encode-messages.ts'
import { fitBudget, MAX_SHARE, MIN_BUDGET } from './fit-request.ts'
import { messagesNative, WIRE } from './wire.ts'

/** Efforts that `output_config` knows. */
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max']

/** Efforts that `thinking.type: between_tools` excludes. */
const HIGH_EFFORTS: ReadonlySet<string> = new Set(['xhigh', 'max'])

/** Values of `thinking.type` by which the model does not think before it replies. */
const OFF: ReadonlySet<unknown> = new Set(['disabled', 'between_tools'])

const MAX_BUDGET = 128_000
/** The API demands a cap; this one where the caller names none, and as room for the answer behind a budget. */
const DEFAULT_OUTPUT = 4096
/** Least `top_p` that the API takes of a model that thinks. */
const MIN_TOP_P = 0.95

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

/**
 * A request not to think. Claude Sonnet 5.5 takes `between_tools`, which takes no effort above high; Claude Opus 5.5 always thinks
 * (platform.claude.com: What's new in Claude Sonnet 5.5, "Turn off up-front thinking"; What's new in Claude Opus 5.5).
 */
function planOff({ quirks }: Target, effort: string | undefined, maxTokens: number, dropped: Set<string>): ThinkingPlan {
  if (quirks.thinking_off === 'adaptive') {
    dropped.add('reasoning.effort')
    return { effort: nearestEffort('none', quirks.efforts, EFFORTS), maxTokens }
  }
  if (quirks.thinking_off !== 'between_tools') return { thinking: { type: 'disabled' }, maxTokens, ...(effort ? { effort } : {}) }
  const fitting = effort && HIGH_EFFORTS.has(effort) ? 'high' : effort
  if (fitting !== effort) dropped.add('reasoning.effort')
  return { thinking: { type: 'between_tools' }, maxTokens, ...(fitting ? { effort: fitting } : {}) }
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
  let budget = requested ?? Math.min(Math.floor(maxTokens * (effortShare(effort ?? 'medium') ?? 0.5)), MAX_BUDGET)
  budget = Math.max(Math.floor(budget), MIN_BUDGET)
  if (budget >= maxTokens) maxTokens = Math.max(maxTokens, Math.min(budget + DEFAULT_OUTPUT, caps.ceiling))
  if (budget >= maxTokens) {
    budget = Math.floor(maxTokens * MAX_SHARE)
    if (budget < MIN_BUDGET) {
      dropped.add('reasoning')
      return { maxTokens: caps.maxTokens }
    }
    dropped.add(requested === undefined ? 'reasoning.effort' : 'reasoning.max_tokens')
  }
  return { thinking: withDisplay({ type: 'enabled', budget_tokens: budget }, (summary ?? null) !== null), maxTokens }
}

function requestCaps(request: CanonicalRequest, target: Target): Caps {
  const most = Math.min(target.outputCap ?? Number.POSITIVE_INFINITY, target.maxOutput ?? Number.POSITIVE_INFINITY)
  const requested = request.sampling.maxOutput
  const maxTokens = Math.min(requested ?? (Number.isFinite(most) ? most : DEFAULT_OUTPUT), most)
  return { maxTokens, ceiling: requested === undefined ? most : maxTokens }
}

/** Field `thinking` of a caller of this wire, from its canonical form; an effort alone requests none. */
function nativeThinking({ enabled, maxTokens, summary, exclude }: Reasoning): JsonObject | undefined {
  let thinking: JsonObject
  if (maxTokens !== undefined) thinking = { type: 'enabled', budget_tokens: maxTokens }
  else if (enabled !== undefined) thinking = { type: enabled ? 'adaptive' : 'disabled' }
  else return undefined
  if (exclude) thinking.display = 'omitted'
  else if (summary !== undefined) thinking.display = 'summarized'
  return thinking
}

/** True where the endpoint's data say that its model takes a budget and nothing else; a caller of this wire knows other models. */
const takesBudget = ({ quirks }: Target): boolean => quirks.thinking === 'budget'

/** True where a request of this wire requests thinking, or none, in a form that the endpoint's data exclude. */
export function isForeignThinking(body: JsonObject, target: Target): boolean {
  const type = isObject(body.thinking) ? body.thinking.type : undefined
  if (isAdaptive(target)) return type === 'enabled' || (OFF.has(type) && type !== (target.quirks.thinking_off ?? 'disabled'))
  if (!takesBudget(target)) return false
  const effort = isObject(body.output_config) ? (body.output_config.effort ?? undefined) : undefined
  return type === 'adaptive' || type === 'between_tools' || (effort !== undefined && target.quirks.efforts === undefined)
}

function planNative(request: CanonicalRequest, target: Target, caps: Caps, dropped: Set<string>): ThinkingPlan {
  const reasoning = request.reasoning ?? {}
  const { maxTokens } = caps
  const sent = messagesNative(reasoning)
  const thinking = sent.type === undefined ? nativeThinking(reasoning) : sent
  const { effort } = reasoning
  if (takesBudget(target)) return planOlder(thinking, reasoning, { target, caps }, dropped)
  const plan: ThinkingPlan = effort === undefined ? { maxTokens } : { effort, maxTokens }
  if (!thinking || !isAdaptive(target)) return thinking ? { ...plan, thinking } : plan
  if (OFF.has(thinking.type)) return planOff(target, effort, maxTokens, dropped)
  if (thinking.type !== 'enabled') return { ...plan, thinking }
  const { budget_tokens: budget, ...rest } = thinking
  const wanted = typeof budget === 'number' ? effortOfBudget(reasoning.maxTokens ?? budget, maxTokens) : 'medium'
  // Models that take a budget show their thinking by default, those that decide themselves hide it: Qwen Code 0.15.10 sends back only
  // what has a text, so the signature went with it.
  const shown = { ...withDisplay({}, true), ...rest, type: 'adaptive' }
  return { effort: nearestEffort(wanted, target.quirks.efforts, EFFORTS), ...plan, thinking: shown }
}

/**
 * Thinking of a caller of this wire for a model that takes a budget alone: "adaptive thinking is not supported on this model", "This model
 * does not support the effort parameter" (github.com/diegosouzapw/OmniRoute/pull/1563, 4713).
 */
function planOlder(
  thinking: JsonObject | undefined,
  { effort, ...reasoning }: Reasoning,
  { target, caps }: { target: Target; caps: Caps },
  dropped: Set<string>,
): ThinkingPlan {
  const takesEffort = effort !== undefined && target.quirks.efforts !== undefined
  if (effort !== undefined && !takesEffort && thinking?.type !== 'adaptive') dropped.add('reasoning.effort')
  const kept = takesEffort ? { effort } : {}
  if (thinking?.type === 'between_tools') return { ...kept, maxTokens: caps.maxTokens }
  if (thinking?.type !== 'adaptive') return { ...kept, maxTokens: caps.maxTokens, ...(thinking ? { thinking } : {}) }
  return { ...kept, ...planBudget(effort === undefined ? reasoning : { ...reasoning, effort }, caps, dropped) }
}

/** Fields about thinking for the endpoint, with their output cap. */
export function planThinking(request: CanonicalRequest, target: Target, dropped: Set<string>): ThinkingPlan {
  const caps = requestCaps(request, target)
  if (request.extras?.dialect === WIRE) return planNative(request, target, caps, dropped)
  const { reasoning } = request
  const { maxTokens } = caps
  if (!reasoning) return { maxTokens }
  if (target.supported && !target.supported.has('reasoning')) {
    if (isOn(reasoning) || reasoning.summary !== undefined) dropped.add('reasoning')
    return { maxTokens }
  }
  if (isOn(reasoning)) return isAdaptive(target) ? planEffort(reasoning, target, maxTokens, dropped) : planBudget(reasoning, caps, dropped)
  if ((reasoning.summary ?? null) !== null) dropped.add('reasoning.summary')
  // Models that decide themselves may think unless thinking is disabled, and so may those of other makers (vLLM 0.32 with Qwen 3, where
  // nothing is declared of the model); those that are declared to take a budget never do.
  return isOff(reasoning) && !takesBudget(target) ? planOff(target, undefined, maxTokens, dropped) : { maxTokens }
}

/** True where the model is in the middle of calling tools, or of a turn, that did not begin with its thinking. */
function lacksThinking(messages: Json | undefined): boolean {
  let first: JsonObject | undefined
  for (const message of asObjects(messages).reverse()) {
    const content = asObjects(message.content)
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
 * Removes the fields that the API refuses together with thinking, and thinking itself where a running turn began without it.
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
  if (typeof body.top_p === 'number' && body.top_p < MIN_TOP_P) {
    body.top_p = MIN_TOP_P
    dropped.push('top_p')
  }
  // Adaptive thinking takes forced tools (github.com/pydantic/pydantic-ai/issues/7195), save at models that take none at all.
  if (thinking.type === 'enabled') relaxChoice(body, dropped)
}

/** Text for the model in place of a choice that forces a call. */
function callInstruction({ type, name }: JsonObject): string {
  return type === 'tool'
    ? `Call the tool "${name}" now, whatever else you have to say.`
    : 'Call one of the tools now, whatever else you have to say.'
}

/**
 * A forced choice becomes `auto` and an instruction. Models with mid-conversation system messages get it as one, at the end, so that
 * what stands before earlier thinking is unchanged (platform.claude.com, Preserved thinking, "What counts as an edit").
 * @param body is the encoder's to change.
 */
export function relaxChoice(body: JsonObject, dropped: string[], inside = false): void {
  const choice = body.tool_choice
  if (!isObject(choice) || !isForced(choice)) return
  const { name: _, ...rest } = choice
  body.tool_choice = { ...rest, type: 'auto' }
  dropped.push('tool_choice')
  instruct(body, callInstruction(choice), inside)
}

export const isForced = (choice: Json | undefined): boolean => isObject(choice) && (choice.type === 'any' || choice.type === 'tool')

/** Adds an instruction of the gateway. @param inside true: behind the last message of the user, where it takes system messages. */
export function instruct(body: JsonObject, text: string, inside = false): void {
  const messages = asObjects(body.messages)
  if (inside && messages.at(-1)?.role === 'user') {
    body.messages = [...messages, { role: 'system', content: text }]
    return
  }
  const { system } = body
  const block: JsonObject = { type: 'text', text }
  if (typeof system === 'string') body.system = [{ type: 'text', text: system }, block]
  else body.system = Array.isArray(system) ? [...system, block] : text
}

/** Lets a request set `thinking.block_binding` (BetaThinkingBlockBinding, @anthropic-ai/sdk 1.14.0). */
const BINDING_BETA = 'thinking-binding-controls-2026-08-01'

/**
 * Thinking that no longer fits what stands before it is left out by the provider, not refused with 400: the gateway may have changed
 * tools, system or earlier messages since (platform.claude.com, Preserved thinking). The caller's own setting stays.
 * @param rewritten true where the gateway wrote the conversation: thinking that is turned off takes no such setting, so the blocks go.
 * @returns names of features that the body needs now.
 */
export function unbindThinking(body: JsonObject, { quirks }: Target, dropped: string[], rewritten = true): ReadonlySet<string> | undefined {
  if (quirks.thinking_bound !== true || !asObjects(body.messages).some(holdsThinking)) return undefined
  const thinking = isObject(body.thinking) ? body.thinking : { type: 'adaptive' }
  if (!OFF.has(thinking.type)) {
    body.thinking = { ...thinking, block_binding: thinking.block_binding ?? { prefix_mismatch_behavior: 'drop_block' } }
    return new Set([BINDING_BETA])
  }
  if (!rewritten) return undefined
  body.messages = asObjects(body.messages).flatMap((message) => {
    if (!holdsThinking(message)) return [message]
    const content = asObjects(message.content).filter((block) => !isThinking(block))
    return content.length > 0 ? [{ ...message, content }] : []
  })
  dropped.push('reasoning')
  return undefined
}

const holdsThinking = ({ role, content }: JsonObject): boolean => role === 'assistant' && asObjects(content).some(isThinking)
