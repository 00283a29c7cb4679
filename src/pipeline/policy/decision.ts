/** Decisions of policies on one request: which apply, and what they refuse at the points of its way that follow. */
import type { Failure } from '../../config/conditions/condition.ts'
import type { Facts } from '../../config/conditions/facts.ts'
import { Fault } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import { usdText } from '../../core/money-text.ts'
import type { Stage } from '../../plugin-api/index.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { PreferenceSide } from '../../routing/index.ts'
import { type CallerNames, PolicyFacts, type PolicySource } from './policy-facts.ts'
import type { PolicySetting, PolicySettings } from './policy-setting.ts'

/** Type of the stages that policies note in the history of a request. */
export const POLICY_STAGE = 'policy'

/** Outcome of a condition: a policy applies where it holds, and but for `route` where it could not be evaluated. */
export type PolicyOutcome = 'applied' | 'failed'

/** A policy that has acted on a request. */
export type PolicyAct = {
  name: string
  /** `deny`, `route`, `limit` or `guardrails`. */
  effect: string
  outcome: string
}

/** The policies among the stages of a request. */
export function policyActs(stages: readonly Stage[]): PolicyAct[] {
  return stages
    .filter(({ type }) => type === POLICY_STAGE)
    .map(({ name, data }) => ({ name, effect: String(data?.effect), outcome: String(data?.outcome) }))
}

interface Refusal {
  readonly detail: string
  /** Name of the policy. */
  readonly from: string
}

export class Decision {
  /** Model in the place of those that the request names. */
  model: string | undefined
  /** Preferences for the routing, strongest first. */
  readonly sides: PreferenceSide[] = []
  readonly guardrails: string[] = []
  /** Policies with a limit per minute. */
  readonly limited: PolicySetting[] = []
  private readonly bounded: PolicySetting[] = []
  private readonly settings: PolicySettings
  private readonly source: PolicySource
  /** Of the request, which gets a stage for each policy that has acted. */
  private readonly stages: Stage[]
  /** Refusals by endpoint: filters read them more than once. */
  private readonly endpoints = new Map<Endpoint, Refusal | null>()

  /**
   * Evaluates the policies over caller and request.
   * @param outer of the request that a tool makes this one for: its limits and preferences hold here, too. @throws Fault 403 where one denies it.
   */
  constructor(settings: PolicySettings, source: PolicySource, stages: Stage[], outer?: Decision) {
    this.settings = settings
    this.source = source
    this.stages = stages
    if (settings.request.length > 0) this.decide(source)
    if (!outer) return
    this.bounded.push(...outer.bounded)
    this.sides.push(...outer.sides)
  }

  /** For what tools send on behalf of this request. */
  get named(): CallerNames | undefined {
    return this.source.sent?.named
  }

  private decide(source: PolicySource): void {
    const { settings } = this
    const facts = new PolicyFacts(source)
    for (const policy of settings.request) {
      const outcome = this.outcome(policy, facts)
      if (outcome !== undefined) this.apply(policy, outcome)
    }
  }

  /** True where some endpoint may be refused. */
  get readsEndpoints(): boolean {
    return this.settings.endpoint.length > 0
  }

  /** The first policy that refuses the endpoint. */
  refuse(endpoint: Endpoint): Refusal | undefined {
    const known = this.endpoints.get(endpoint)
    if (known !== undefined) return known ?? undefined
    const facts = new PolicyFacts({ ...this.source, endpoint })
    let found: Refusal | undefined
    for (const policy of this.settings.endpoint) {
      const outcome = this.outcome(policy, facts)
      if (outcome === undefined) continue
      found = { detail: sentence(policy, outcome), from: policy.name }
      break
    }
    this.endpoints.set(endpoint, found ?? null)
    return found
  }

  /** Looks at what the request may come to. @param nano nano-dollars. @throws Fault 403 where that is too much. */
  admitCost(nano: number, inputTokens: number): void {
    for (const { name, limit } of this.bounded) {
      const { maxCost = nano } = limit ?? {}
      if (nano > maxCost)
        throw new Fault('forbidden', {
          message: `The policy ${name} allows a request to cost up to $${usdText(maxCost)}, and this one may cost $${usdText(nano)}. An output cap makes that less`,
          metadata: { policy: name, max_cost_usd: usdText(maxCost), cost_usd: usdText(nano) },
        })
    }
    const { cost } = this.settings
    if (cost.length === 0) return
    const facts = new PolicyFacts({ ...this.source, cost: { nano, inputTokens } })
    for (const policy of cost) {
      const outcome = this.outcome(policy, facts)
      if (outcome !== undefined) throw denial(policy, outcome)
    }
  }

  /** @returns the sentence for the model where a policy refuses the call of a tool. */
  refuseTool(tool: { readonly name: string; readonly function: string; readonly args: JsonObject }): string | undefined {
    const { tool: policies } = this.settings
    if (policies.length === 0) return undefined
    const facts = new PolicyFacts({ ...this.source, tool })
    for (const policy of policies) {
      const outcome = this.outcome(policy, facts)
      if (outcome !== undefined) return sentence(policy, outcome)
    }
    return undefined
  }

  private apply(policy: PolicySetting, outcome: PolicyOutcome): void {
    const { name, deny, route, limit, guardrails } = policy
    if (deny) throw denial(policy, outcome)
    if (limit?.requests !== undefined) this.limited.push(policy)
    if (limit?.maxCost !== undefined) this.bounded.push(policy)
    if (guardrails) this.guardrails.push(...guardrails)
    if (!route || outcome === 'failed') return
    this.model ??= route.model
    if (route.provider) this.sides.push({ from: `policy ${name}`, preferences: route.provider })
  }

  /** @returns undefined where the condition does not hold. */
  private outcome(policy: PolicySetting, facts: Facts): PolicyOutcome | undefined {
    const found = policy.condition.test(facts)
    if (found === false) return undefined
    this.note(policy, found)
    return found === true ? 'applied' : 'failed'
  }

  /** Once for each policy, however many endpoints or calls it refuses. */
  private note({ name, ...policy }: PolicySetting, found: true | Failure): void {
    if (this.stages.some((stage) => stage.type === POLICY_STAGE && stage.name === name)) return
    const effect = (['deny', 'route', 'limit', 'guardrails'] as const).find((each) => policy[each] !== undefined) ?? ''
    const outcome: PolicyOutcome = found === true ? 'applied' : 'failed'
    const data: JsonObject = { effect, outcome, ...(found === true ? {} : { reason: found.reason }) }
    this.stages.push({ type: POLICY_STAGE, name, summary: summaries[outcome](effect), data })
  }
}

const summaries: Readonly<Record<PolicyOutcome, (effect: string) => string>> = {
  applied: (effect) => `its condition holds: ${effect}`,
  failed: (effect) => `its condition could not be evaluated: ${effect === 'route' ? 'not applied' : effect}`,
}

function sentence({ name, deny }: PolicySetting, outcome: PolicyOutcome): string {
  if (outcome === 'failed') return `the condition of the policy ${name} could not be evaluated, so it refuses`
  return deny?.message ?? `refused by the policy ${name}`
}

/** The 403 of a policy. */
function denial(policy: PolicySetting, outcome: PolicyOutcome): Fault {
  const { name, deny } = policy
  const message =
    outcome === 'failed'
      ? `The condition of the policy ${name} could not be evaluated for this request, so it is refused`
      : (deny?.message ?? `The policy ${name} refuses this request`)
  const code = deny?.code === undefined ? {} : { policy_code: deny.code }
  return new Fault('forbidden', { message, metadata: { policy: name, ...code, ...(outcome === 'failed' ? { policy_failed: true } : {}) } })
}
