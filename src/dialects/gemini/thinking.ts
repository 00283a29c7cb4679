/** How much a model is to think: an effort or a budget as `thinkingConfig`. */

import type { JsonObject } from '../../core/json.ts'
import { effortOfBudget, effortShare, nearestEffort } from '../canon/efforts.ts'
import type { Reasoning } from '../canon/request.ts'
import type { Quirks } from '../quirks.ts'

const LEVELS = ['minimal', 'low', 'medium', 'high']

const MIN_BUDGET = 1024
/** The largest budget that every model with budgets accepts. */
const MAX_BUDGET = 24_576
/** Output cap that an effort is a share of where none is known. */
const USUAL_OUTPUT = 32_768

export interface ThinkingFrame {
  /** The output cap in tokens, where known. */
  readonly cap: number | undefined
  readonly quirks: Quirks
}

function effortOf({ effort, enabled, maxTokens }: Reasoning): string | undefined {
  if (effort !== undefined) return effort
  if (enabled === false) return 'none'
  return enabled === true && maxTokens === undefined ? 'medium' : undefined
}

function budgetOf(effort: string | undefined, maxTokens: number | undefined, cap: number | undefined): number | undefined {
  if (effort === 'none') return 0
  if (maxTokens !== undefined) return Math.max(maxTokens, MIN_BUDGET)
  const share = effort === undefined ? undefined : effortShare(effort)
  return share === undefined ? undefined : Math.max(Math.min(Math.floor((cap ?? USUAL_OUTPUT) * share), MAX_BUDGET), MIN_BUDGET)
}

/** The nearest level that the model knows. */
function levelOf(effort: string, quirks: Quirks): string {
  const offered = quirks.efforts?.filter((name) => LEVELS.includes(name))
  return nearestEffort(effort, offered, LEVELS).toUpperCase()
}

/**
 * `thinkingConfig` for what the caller requested; undefined where that sets nothing for the model.
 * Budgets are 0 for none, else at least 1024; a share of the output is at most 24576.
 * @param dropped receives the names of what is lost.
 */
export function thinkingConfig(reasoning: Reasoning, { cap, quirks }: ThinkingFrame, dropped: Set<string>): JsonObject | undefined {
  const config: JsonObject = {}
  const effort = effortOf(reasoning)
  if (reasoning.summary !== undefined && reasoning.summary !== 'auto') dropped.add('reasoning.summary')
  if (quirks.thinking === 'level') {
    const { maxTokens } = reasoning
    if (maxTokens !== undefined && effort !== 'none') dropped.add('reasoning.max_tokens')
    const requested = effort ?? (maxTokens === undefined ? undefined : effortOfBudget(maxTokens, cap ?? USUAL_OUTPUT))
    if (requested !== undefined) config.thinkingLevel = levelOf(requested, quirks)
  } else {
    const budget = budgetOf(effort, reasoning.maxTokens, cap)
    if (budget !== undefined) config.thinkingBudget = budget
  }
  if (!reasoning.exclude && effort !== 'none') config.includeThoughts = true
  return Object.keys(config).length === 0 ? undefined : config
}
