/** Models that a provider's own tool calls beside the one that serves: Anthropic's `advisor_20260301` names one of the same provider. */

import type { JsonObject } from '../../core/json.ts'
import { USUAL_ADVICE } from '../../dialects/canon/outside-input.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { allowsModel } from '../../routing/index.ts'
import type { ModelLookup } from '../dependencies.ts'
import type { Accepted, Aimed, MaybeAimed } from '../exchange.ts'
import type { BoundTerms } from '../guard/guardrail-terms.ts'
import { isLimited } from '../money/hold.ts'
import type { Decision } from '../policy/decision.ts'
import type { Advisor } from '../records.ts'

/** The advisors that the request offers, as the catalogue knows them: 128 at most, like all tools that are no functions (`checkToolCount`). */
export function advisorsIn(exchange: Accepted, { models }: ModelLookup): readonly Advisor[] {
  const found: Advisor[] = []
  for (const tool of exchange.request.need.otherTools) {
    if (!isAdvisor(tool)) continue
    const endpoints = models.flatMap((one) => one.endpoints.filter((endpoint) => names(endpoint, tool.model)))
    const uses = typeof tool.max_uses === 'number' && tool.max_uses >= 1 ? tool.max_uses : USUAL_ADVICE
    found.push({ model: tool.model, uses, endpoints })
  }
  return found
}

function isAdvisor(tool: JsonObject): tool is JsonObject & { model: string } {
  return typeof tool.type === 'string' && tool.type.startsWith('advisor_') && typeof tool.model === 'string'
}

/** Tiers and variants of an endpoint have prices of their own; advisors are called at the usual ones. */
function names({ upstreamModel, tier, variant }: Endpoint, model: string): boolean {
  return upstreamModel === model && tier === undefined && variant === undefined
}

/** The advisor's endpoint at the provider that serves; undefined where the catalogue has none. */
export function advisorAt(exchange: MaybeAimed, { provider }: Endpoint, model: string): Endpoint | undefined {
  const advisor = exchange.demand?.advisors.find((one) => one.model === model)
  return advisor?.endpoints.find((endpoint) => endpoint.provider === provider)
}

/** Policy that refuses an endpoint, or the advisor that its provider's tool would call. */
export function policyBar(exchange: Aimed, decision: Decision): (endpoint: Endpoint) => { detail: string; from: string } | undefined {
  return (endpoint) => {
    const own = decision.refuse(endpoint)
    if (own) return own
    for (const { model } of exchange.demand.advisors) {
      const advisor = advisorAt(exchange, endpoint, model)
      const refused = advisor ? decision.refuse(advisor) : { detail: 'it is not in the catalogue', from: 'policies' }
      if (refused) return { detail: `its advisor ${model}: ${refused.detail}`, from: refused.from }
    }
    return undefined
  }
}

/**
 * Reason why the advisors of the request exclude an endpoint: a model that the key may not use, or that has no price while the key has a
 * limit, may not be called through a tool either.
 */
export function advisorBar(
  exchange: Aimed,
  endpoint: Endpoint,
  terms: BoundTerms | undefined,
): { detail: string; from: string } | undefined {
  for (const { model } of exchange.demand.advisors) {
    const advisor = advisorAt(exchange, endpoint, model)
    const bar = advisor && terms?.bar(advisor, undefined)
    if (bar) return { detail: `its advisor ${model}: ${bar.detail}`, from: bar.from }
    const { allowedModels } = exchange.auth.key
    if (allowedModels && !(advisor && allowsModel(allowedModels, advisor.model.slug)))
      return { detail: `the key may not use its advisor ${model}`, from: 'key' }
    if (terms && !advisor) return { detail: `its advisor ${model} is not in the catalogue`, from: 'account' }
    if (isLimited(exchange.auth.key, exchange.demand.budgets) && (!advisor || advisor.price === 'unpriced'))
      return { detail: `its advisor ${model} has no price, and the key has a limit`, from: 'key' }
  }
  return undefined
}
