/** The last service of the planning chain: what a request would do, as JSON. Nothing is sent, held, pinned or written down. */

import { entryAt } from '../../core/entry-at.ts'
import { asFault } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import { usdText } from '../../core/money-text.ts'
import { noUsage } from '../../dialects/canon/usage.ts'
import type { MergedPreferences } from '../../routing/index.ts'
import { answeredHere } from '../attempt/turn.ts'
import type { ChainDependencies, ChainSettings } from '../dependencies.ts'
import { type Accepted, asExchange, type Guarded, type Planned } from '../exchange.ts'
import { holdsFor } from '../guard/guardrail-terms.ts'
import type { Layer, Reply, Service } from '../layer.ts'
import { keyAllowances } from '../money/hold.ts'
import { takeTurnHold } from '../money/outside-hold.ts'
import { type PolicyAct, policyActs } from '../policy/decision.ts'
import { planOrder } from '../route/plan.ts'
import { type PlanCandidate, type PreviewCall, planCandidates } from './candidates.ts'
import { type ExcludedEndpoint, exclusions } from './reasons.ts'

export type Plan = {
  object: 'plan'
  /** Client format of the body. */
  format: string
  /** The slug as the caller sent it. */
  requested: string
  strategy: string
  /** Slugs, the primary model first. */
  models: string[]
  stream: boolean
  /** Number of vectors that are requested; absent where something is generated. */
  inputs?: number
  /** Name of the key that it was planned for. */
  key: string
  candidates: PlanCandidate[]
  excluded: ExcludedEndpoint[]
  hold: {
    /** USD: the most that any candidate may charge. */
    usd: string
    /** USD charged where the outcome stays unknown. */
    floor_usd: string
    input_tokens_bound: number
    /** Tokens: the most that any candidate may write for it. */
    output_cap: number
    /** USD left under the tightest of the key's limit and budgets before this request; null without a limit. */
    left_usd: string | null
  }
  /** The provider preferences of request, key and account, merged. */
  preferences: MergedPreferences
  plugins: string[]
  guardrails: string[]
  /** Policies that apply, or whose condition could not be evaluated. */
  policies: PolicyAct[]
  /** Stages that acted on the request before its endpoints were ordered, as `router_metadata.pipeline`. */
  pipeline: JsonObject[]
}

/** Adds to a refusal which endpoints had been excluded by then. */
export function explainLayer(): Layer<Accepted> {
  return (next) =>
    async function handle(exchange): Promise<Reply> {
      try {
        return await next(exchange)
      } catch (thrown) {
        const fault = asFault(thrown)
        if (fault.code === 'internal') throw fault
        const excluded = exclusions(asExchange(exchange))
        if (excluded.length > 0) fault.metadata = { ...fault.metadata, excluded }
        throw fault
      } finally {
        // What was reserved to see whether it fits (plugins, tools) is free again.
        exchange.head.costs.hold.release()
      }
    }
}

export function previewEnd(
  { guardrails }: Pick<ChainSettings, 'guardrails'>,
  dependencies: ChainDependencies,
  previewCall: PreviewCall,
): Service<Guarded> {
  return async function handle(exchange) {
    const order = planOrder(exchange, dependencies)
    const {
      auth: { key },
      head: { costs },
    } = exchange
    const { account, input, outputCap, candidates, outputCaps } = await takeTurnHold(exchange, order.candidates, {
      key,
      credit: dependencies.credit,
      upstreams: dependencies.upstreams,
      seen: dependencies.seenInputs,
    })
    const planned = Object.assign(exchange, { plan: { ...order, candidates, outputCaps } })
    const { amount, floor } = costs.hold
    costs.hold.release()
    exchange.decision?.admitCost(amount, input)
    const allowances = keyAllowances(key, exchange.demand.budgets)
    const left = account.tightest(allowances)?.left ?? null
    const { embedding } = exchange.request.client
    const plan: Plan = {
      object: 'plan',
      format: exchange.request.client.id,
      requested: exchange.demand.requested,
      strategy: exchange.demand.strategy,
      models: exchange.route.models.map((model) => model.slug),
      stream: exchange.request.stream,
      ...(embedding ? { inputs: embedding.ask(exchange.request.body).inputs.length } : {}),
      key: key.name,
      candidates: planCandidates(planned, dependencies, previewCall),
      excluded: exclusions(asExchange(planned)),
      hold: {
        usd: usdText(amount),
        floor_usd: usdText(floor),
        input_tokens_bound: input,
        output_cap: outputCap,
        left_usd: left === null ? null : usdText(left),
      },
      preferences: exchange.demand.preferences,
      plugins: [...exchange.history.pluginIds],
      guardrails: guardrails.filter((guardrail) => holdsFor(guardrail, key)).map(({ name }) => name),
      policies: policyActs(exchange.history.stages),
      pipeline: exchange.history.stages.map((stage) => ({ ...stage }) as JsonObject),
    }
    return answerReply(planned, JSON.stringify(plan))
  }
}

function answerReply(exchange: Planned, text: string): Reply {
  exchange.run.final = {
    usage: noUsage(),
    cost: 0,
    inputCost: 0,
    outputCost: 0,
    end: { reason: 'stop' },
    completedAt: Math.floor(exchange.head.clock.now() / 1000),
  }
  const endpoint = entryAt(exchange.plan.candidates, 0)
  return { turn: answeredHere(endpoint), finish: () => text }
}
