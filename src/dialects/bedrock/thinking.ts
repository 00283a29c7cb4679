/** Thinking: efforts and budgets of callers in the fields of each family of models, and the rules that come with them. */
import { asObjects, isObject, type JsonObject } from '../../core/json.ts'
import { effortOfBudget, effortShare, nearestEffort } from '../canon/efforts.ts'
import type { CanonicalRequest, Reasoning } from '../canon/request.ts'
import type { Target } from '../types.ts'

/** Fewest tokens that Claude takes as a budget, the most, and the share of the output that may go into thinking where there is no room. */
const MIN_BUDGET = 1024
const MAX_BUDGET = 128_000
const MAX_SHARE = 0.95
/** Output that an effort is a share of where no cap is known. */
const USUAL_OUTPUT = 8192
/** Least `top_p` that Claude takes while it thinks. */
const MIN_TOP_P = 0.95

const CLAUDE_EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max']
const EFFORTS = ['low', 'medium', 'high']

const isOff = ({ effort, enabled }: Reasoning): boolean => effort === 'none' || (effort === undefined && enabled === false)
const isOn = (reasoning: Reasoning): boolean =>
  !isOff(reasoning) && (reasoning.effort !== undefined || reasoning.maxTokens !== undefined || reasoning.enabled === true)

interface Room {
  /** The output cap, where there is one. */
  readonly cap: number | undefined
  readonly dropped: Set<string>
}

function budgetFields({ effort, maxTokens, summary }: Reasoning, { maxOutput }: Target, { cap, dropped }: Room): JsonObject {
  const output = cap ?? maxOutput ?? USUAL_OUTPUT
  const share = Math.min(Math.floor(output * (effortShare(effort ?? 'medium') ?? 0.5)), MAX_BUDGET)
  let budget = Math.max(Math.floor(maxTokens ?? share), MIN_BUDGET)
  if (budget >= output) {
    budget = Math.floor(output * MAX_SHARE)
    dropped.add(budget < MIN_BUDGET ? 'reasoning' : maxTokens === undefined ? 'reasoning.effort' : 'reasoning.max_tokens')
    if (budget < MIN_BUDGET) return {}
  }
  return { thinking: { type: 'enabled', budget_tokens: budget, ...((summary ?? null) === null ? {} : { display: 'summarized' }) } }
}

/** @param isNative true for a caller of Messages, whose format has these fields: what it leaves out stays the model's to choose. */
function adaptiveFields(reasoning: Reasoning, { quirks, maxOutput }: Target, { cap, dropped }: Room, isNative: boolean): JsonObject {
  const { effort, maxTokens, exclude, summary } = reasoning
  if (isNative && maxTokens === undefined) {
    const thinking: JsonObject = summary === undefined ? { type: 'adaptive' } : { type: 'adaptive', display: 'summarized' }
    if (exclude === true) thinking.display = 'omitted'
    return effort === undefined
      ? { thinking }
      : { thinking, output_config: { effort: nearestEffort(effort, quirks.efforts, CLAUDE_EFFORTS) } }
  }
  if (maxTokens !== undefined) dropped.add('reasoning.max_tokens')
  const wanted = effort ?? (maxTokens === undefined ? 'medium' : effortOfBudget(maxTokens, cap ?? maxOutput))
  return {
    // Without it the text of the thinking is empty (strands-rl/strands-env pull 258).
    thinking: exclude === true ? { type: 'adaptive' } : { type: 'adaptive', display: 'summarized' },
    output_config: { effort: nearestEffort(wanted, quirks.efforts, CLAUDE_EFFORTS) },
  }
}

/** Models that think unless they are kept from it (platform.claude.com, What's new in Claude Sonnet 5.5 and Opus 5.5). */
function adaptiveOff({ quirks }: Target, { dropped }: Room): JsonObject {
  if (quirks.thinking_off !== 'adaptive') return { thinking: { type: quirks.thinking_off ?? 'disabled' } }
  dropped.add('reasoning.effort')
  return { output_config: { effort: nearestEffort('none', quirks.efforts, CLAUDE_EFFORTS) } }
}

/** An effort of a family that takes words alone. */
function reasoningEffort({ effort, maxTokens }: Reasoning, { quirks, maxOutput }: Target, { cap, dropped }: Room): string {
  const wanted = effort ?? (maxTokens === undefined ? 'medium' : effortOfBudget(maxTokens, cap ?? maxOutput))
  const nearest = nearestEffort(wanted, quirks.efforts, EFFORTS)
  if (maxTokens !== undefined) dropped.add('reasoning.max_tokens')
  if (effort !== undefined && nearest !== effort) dropped.add('reasoning.effort')
  return nearest
}

/** At the effort high, Nova refuses a cap and sampling (UKGovernmentBEIS/inspect_ai issue 3767): with a cap it gets the one below. */
function novaFields(reasoning: Reasoning, target: Target, room: Room): JsonObject {
  let effort = reasoningEffort(reasoning, target, room)
  if (effort === 'high' && room.cap !== undefined) {
    effort = 'medium'
    room.dropped.add('reasoning.effort')
  }
  return { reasoningConfig: { type: 'enabled', maxReasoningEffort: effort } }
}

/** A caller of Messages who sends an effort alone requests no thinking. */
const isEffortAlone = ({ extras }: CanonicalRequest, { enabled, maxTokens }: Reasoning): boolean =>
  extras?.dialect === 'messages' && enabled === undefined && maxTokens === undefined

/**
 * Members of `additionalModelRequestFields` (recordings test_bedrock_model_thinking_part_anthropic, …_adaptive_effort,
 * test_bedrock_thinking_high_openai_variant, …_qwen_variant; docs.aws.amazon.com/nova, Nova 2, "Using reasoning").
 * @param dropped receives the names of what is lost.
 */
export function thinkingFields(request: CanonicalRequest, target: Target, room: Room): JsonObject {
  const { reasoning } = request
  const { supported, quirks } = target
  const { dropped } = room
  if (!reasoning) return {}
  const thinking = quirks.thinking ?? 'budget'
  if (thinking === 'none' || (supported && !supported.has('reasoning') && !supported.has('reasoning_effort'))) {
    if (isOn(reasoning) || reasoning.summary !== undefined) dropped.add('reasoning')
    return {}
  }
  if (!isOn(reasoning)) {
    if ((reasoning.summary ?? null) !== null) dropped.add('reasoning.summary')
    return isOff(reasoning) && thinking === 'adaptive' ? adaptiveOff(target, room) : {}
  }
  if (isEffortAlone(request, reasoning) && thinking === 'adaptive')
    return { output_config: { effort: nearestEffort(reasoning.effort ?? 'medium', quirks.efforts, CLAUDE_EFFORTS) } }
  if (isEffortAlone(request, reasoning) && thinking === 'budget') {
    dropped.add('reasoning.effort')
    return {}
  }
  if (thinking === 'budget') return budgetFields(reasoning, target, room)
  if (thinking === 'adaptive') return adaptiveFields(reasoning, target, room, request.extras?.dialect === 'messages')
  if ((reasoning.summary ?? 'auto') !== 'auto') dropped.add('reasoning.summary')
  if (thinking === 'reasoningConfig') return novaFields(reasoning, target, room)
  const effort = reasoningEffort(reasoning, target, room)
  return thinking === 'reasoning' ? { reasoning: { effort } } : { [thinking]: effort }
}

const messageCalls = (message: JsonObject): JsonObject[] => asObjects(message.content)

/** True where the model is in the middle of calling tools, in a turn that did not begin with its thinking. */
function lacksThinking(messages: readonly JsonObject[]): boolean {
  let first: JsonObject | undefined
  for (const message of messages.toReversed()) {
    if (message.role === 'assistant') first = messageCalls(message)[0]
    else if (message.role === 'user' && !messageCalls(message).some(({ toolResult }) => toolResult !== undefined)) break
  }
  return first !== undefined && first.reasoningContent === undefined
}

function drop(from: JsonObject, field: string, name: string, dropped: Set<string>): void {
  if (from[field] === undefined) return
  delete from[field]
  dropped.add(name)
}

/** Parameters that Claude refuses together with thinking (platform.claude.com, Extended thinking, "Feature compatibility"). @returns true where the model thinks. */
function keepClaudeRules(body: JsonObject, fields: JsonObject, dropped: Set<string>): boolean {
  const { thinking } = fields
  if (!isObject(thinking) || (thinking.type !== 'enabled' && thinking.type !== 'adaptive')) return false
  if (thinking.type === 'enabled' && lacksThinking(asObjects(body.messages))) {
    drop(fields, 'thinking', 'reasoning', dropped)
    return false
  }
  const { inferenceConfig: config } = body
  drop(fields, 'top_k', 'top_k', dropped)
  if (!isObject(config)) return thinking.type === 'enabled'
  if (config.temperature !== 1) drop(config, 'temperature', 'temperature', dropped)
  if (typeof config.topP === 'number' && config.topP < MIN_TOP_P) {
    config.topP = MIN_TOP_P
    dropped.add('top_p')
  }
  return thinking.type === 'enabled'
}

/**
 * Leaves out what a model refuses while it thinks.
 * @param body is the encoder's to change. @returns true where no tool may be forced.
 */
export function keepThinkingRules(body: JsonObject, fields: JsonObject, dropped: Set<string>): boolean {
  const { reasoningConfig, thinking } = fields
  if (thinking !== undefined) return keepClaudeRules(body, fields, dropped)
  if (isObject(reasoningConfig) && reasoningConfig.maxReasoningEffort === 'high' && isObject(body.inferenceConfig)) {
    drop(body.inferenceConfig, 'temperature', 'temperature', dropped)
    drop(body.inferenceConfig, 'topP', 'top_p', dropped)
  }
  return false
}
