/** How much a model is to think: an effort or a budget as `thinkingConfig`. */
import type { Reasoning } from '../../canon/request.ts'
import type { JsonObject } from '../../core/json.ts'

/** Shares of the output that each effort stands for (contract section 1.1). */
const SHARES: ReadonlyMap<string, number> = new Map([
  ['minimal', 0.1],
  ['low', 0.2],
  ['medium', 0.5],
  ['high', 0.8],
  ['xhigh', 0.95],
  ['max', 0.95],
])

/** Efforts from none to most. */
const ORDER = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

const LEVELS = ['minimal', 'low', 'medium', 'high']

const MIN_BUDGET = 1024
/** The largest budget that every model with budgets accepts. */
const MAX_BUDGET = 24_576
/** Output cap that an effort is a share of where none is known. */
const USUAL_OUTPUT = 32_768

export interface ThinkingFrame {
  /** The output cap in tokens, where known. */
  readonly cap: number | undefined
  readonly quirks: JsonObject
}

function effortOf({ effort, enabled, maxTokens }: Reasoning): string | undefined {
  if (effort !== undefined) return effort
  if (enabled === false) return 'none'
  return enabled === true && maxTokens === undefined ? 'medium' : undefined
}

function budgetOf(effort: string | undefined, maxTokens: number | undefined, cap: number | undefined): number | undefined {
  if (effort === 'none') return 0
  if (maxTokens !== undefined) return Math.max(maxTokens, MIN_BUDGET)
  const share = effort === undefined ? undefined : SHARES.get(effort)
  return share === undefined ? undefined : Math.max(Math.min(Math.floor((cap ?? USUAL_OUTPUT) * share), MAX_BUDGET), MIN_BUDGET)
}

/** The effort whose share of the output comes nearest to a budget. */
function effortOfBudget(budget: number, cap: number | undefined): string {
  const share = budget / (cap ?? USUAL_OUTPUT)
  const distance = (effort: string): number => Math.abs((SHARES.get(effort) ?? 0) - share)
  return LEVELS.reduce((best, each) => (distance(each) < distance(best) ? each : best))
}

/** The nearest level that the model knows; the lower one where two are as near. */
function levelOf(effort: string, quirks: JsonObject): string {
  const offered = Array.isArray(quirks.efforts) ? LEVELS.filter((level) => (quirks.efforts as unknown[]).includes(level)) : LEVELS
  const wanted = ORDER.indexOf(effort)
  const distance = (level: string): number => Math.abs(ORDER.indexOf(level) - wanted)
  const known = offered.length > 0 ? offered : LEVELS
  return known.reduce((best, each) => (distance(each) < distance(best) ? each : best)).toUpperCase()
}

/**
 * `thinkingConfig` for what the caller asked; undefined where that asks nothing of the model.
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
    const asked = effort ?? (maxTokens === undefined ? undefined : effortOfBudget(maxTokens, cap))
    if (asked !== undefined) config.thinkingLevel = levelOf(asked, quirks)
  } else {
    const budget = budgetOf(effort, reasoning.maxTokens, cap)
    if (budget !== undefined) config.thinkingBudget = budget
  }
  if (!reasoning.exclude && effort !== 'none') config.includeThoughts = true
  return Object.keys(config).length === 0 ? undefined : config
}
