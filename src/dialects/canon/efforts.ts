/** Efforts of reasoning: their order, their share of the output, and the nearest one where a provider knows but a few. */

import { isObject, type JsonObject } from '../../core/json.ts'
import { isKeptFromThinking, withoutSwitches } from './thinking-switches.ts'

/** From none to most. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/**
 * Shares of the output that efforts stand for (docs/contract.md#responses-request; openrouter.ai/docs/guides/best-practices/reasoning-tokens,
 * "Reasoning Effort Level"). Where a provider takes efforts alone, a budget becomes the effort of its share ("Max Tokens for Reasoning").
 */
const SHARES: readonly (readonly [effort: string, share: number])[] = [
  ['minimal', 0.1],
  ['low', 0.2],
  ['medium', 0.5],
  ['high', 0.8],
  ['xhigh', 0.95],
  ['max', 0.95],
]

const rank = (effort: unknown): number => (EFFORTS as readonly unknown[]).indexOf(effort)

/** Undefined for `none` and for what is no effort. */
export function effortShare(effort: string): number | undefined {
  return SHARES.find(([name]) => name === effort)?.[1]
}

/** The effort whose share of the output comes nearest to a budget of reasoning tokens; the lower one where two are as near. */
export function effortOfBudget(budget: number, output: number | undefined): string {
  if (output === undefined || output <= 0) return 'medium'
  const distance = (share: number): number => Math.abs(share - budget / output)
  return SHARES.reduce((best, each) => (distance(each[1]) < distance(best[1]) ? each : best))[0]
}

/** OpenAI API reference, `reasoning.effort`: models before gpt-5.1-codex-max refuse more than these. */
const WIDELY_KNOWN = ['minimal', 'low', 'medium', 'high'] as const

/**
 * The effort that a provider without budgets gets for one: never above high, unless the quirk `efforts` lists more, since the
 * caller did not name it; and never none where there is another, since a budget is a request to think.
 */
export function effortForBudget(budget: number, output: number | undefined, offered: readonly string[] | undefined): string {
  const thinking = offered?.filter((name) => name !== 'none')
  return nearestEffort(effortOfBudget(budget, output), thinking?.length === 0 ? offered : thinking, WIDELY_KNOWN)
}

/**
 * The nearest effort that is offered; the lower one where two are as near, unless it is `none`: of `none` and `high`, `low` becomes
 * `high`. A word that is none of ours counts as medium, unless all that the wire has are offered: then it is a provider's own and stays.
 * @param offered the quirk `efforts`; without it, or where it lists none of ours, `usual` are offered.
 */
export function nearestEffort(effort: string, offered: readonly string[] | undefined, usual: readonly string[] = EFFORTS): string {
  const listed = offered ?? []
  if (listed.includes(effort)) return effort
  const known = listed.filter((name) => rank(name) !== -1)
  const choice = (known.length > 0 ? known : usual).toSorted((a, b) => rank(a) - rank(b))
  if (rank(effort) === -1 && known.length === 0 && usual === EFFORTS) return effort
  const wanted = rank(effort) === -1 ? rank('medium') : rank(effort)
  // A little farther than it is, so that thinking wins where it is as near.
  const distance = (name: string): number => Math.abs(rank(name) - wanted) + (name === 'none' ? 0.5 : 0)
  return choice.reduce((best, each) => (distance(each) < distance(best) ? each : best))
}

/**
 * Sentences by which a server refuses an effort that its format allows: Ollama 0.17.4 takes words for gpt-oss alone (server/routes.go,
 * "think value %q is not supported for this model"; openai/openai.go, "invalid reasoning value"), gpt-oss at Fireworks knows no `none`
 * ("Invalid reasoning effort: none", pip fireworks-ai 1.2.30, reasoning_effort), models at Groq each take a list of their own
 * ("reasoning_effort must be one of none or default", github.com/earendil-works/pi/issues/1745), and SGLang shows what its library says
 * ("'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\"",
 * github.com/router-for-me/CLIProxyAPI/issues/1572). Such a model thinks by itself.
 */
const REFUSED_EFFORT =
  /\bthink value .{0,40} is not supported for this model|\binvalid reasoning (?:value\b|effort:)|\breasoning_effort\W{1,3}must be one of\b|'reasoning_effort'\), 'msg': "Input should be\b/i

/**
 * Sentences by which a model that always thinks refuses to be kept from it. Z.AI of glm-5.3 ("This model always engages in thinking and
 * cannot be disabled; please use low, high, or max.", github.com/charmbracelet/catwalk/pull/603, and the same in Chinese,
 * github.com/OpenCSGs/csglite/issues/194); Moonshot of kimi-k2.7-code ("invalid thinking: only type=enabled is allowed for this model",
 * platform.kimi.ai, Claude Code guide, 2026); Model Studio ("The value of the enable_thinking parameter is restricted to True.",
 * help.aliyun.com, error messages, 2026).
 */
const ALWAYS_THINKS =
  /\balways engages in thinking\b|不支持关闭思考|\binvalid thinking: only type=enabled\b|\benable_thinking parameter is restricted to True\b/i

/**
 * Sentence by which a model without a switch refuses it: SiliconFlow, code 20015 (github.com/CherryHQ/cherry-studio/issues/6642). What such a
 * model does with an effort is not known.
 */
const NO_SWITCH = /\bdoes not support parameter `enable_thinking/i

/** Replacement of a refused effort: the lowest that is known to be taken, or nothing. */
export type EffortStandIn = 'lowest' | 'nothing'

/** @returns undefined where the sentence refuses something else. */
export function refusedEffort(sentence: string | undefined): EffortStandIn | undefined {
  const read = sentence?.slice(0, 1000)
  if (read === undefined) return undefined
  if (ALWAYS_THINKS.test(read)) return 'lowest'
  return REFUSED_EFFORT.test(read) || NO_SWITCH.test(read) ? 'nothing' : undefined
}

/** The lowest effort with which a model thinks. @param offered the quirk `efforts`. */
export const lowestEffort = (offered: readonly string[] | undefined): string | undefined =>
  EFFORTS.find((effort) => effort !== 'none' && offered?.includes(effort))

/** Field of a body whose format has the effort as a word of its own. */
export const EFFORT_FIELD = 'reasoning_effort'

/** The effort in a body of the chat or the Responses format; a switch that keeps the model from thinking is `none`. */
export function effortIn(body: JsonObject): string | undefined {
  const { reasoning_effort: effort, reasoning } = body
  if (typeof effort === 'string') return effort
  if (reasoning && isObject(reasoning) && typeof reasoning.effort === 'string') return reasoning.effort
  return isKeptFromThinking(body) ? 'none' : undefined
}

/** Takes the effort out of a body of the chat or the Responses format, and the switch that keeps the model from thinking, in place. */
export function dropEffort(body: JsonObject): void {
  if (isKeptFromThinking(body)) withoutSwitches(body)
  delete body.reasoning_effort
  if (!isObject(body.reasoning)) return
  const { effort: _, ...rest } = body.reasoning
  body.reasoning = rest
  if (Object.keys(rest).length === 0) delete body.reasoning
}
