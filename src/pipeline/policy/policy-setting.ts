/** Policies as the chain reads them: compiled, and apart by the time at which their conditions are evaluated. */
import { type Condition, compileCondition, isProblem } from '../../config/conditions/condition.ts'
import type { Stage } from '../../config/conditions/variables.ts'
import type { ProviderPreferences } from '../../dialects/canon/request-fields.ts'

/** An entry of the configuration. */
export interface WrittenPolicy {
  readonly name: string
  readonly when: string
  readonly deny?: { readonly message?: string; readonly code?: string }
  readonly route?: { readonly model?: string; readonly provider?: ProviderPreferences }
  /** Requests per minute; nano-dollars of one request. */
  readonly limit?: { readonly requests?: number; readonly maxCost?: number }
  readonly guardrails?: readonly string[]
}

export interface PolicySetting extends Omit<WrittenPolicy, 'when'> {
  readonly condition: Condition
}

/** In the order of the configuration. */
export type PolicySettings = Readonly<Record<Stage, readonly PolicySetting[]>>

/** @returns undefined where there are none: requests then never come near them. @throws Error for a condition that does not compile. */
export function compilePolicies(policies: readonly WrittenPolicy[]): PolicySettings | undefined {
  if (policies.length === 0) return undefined
  const settings: Record<Stage, PolicySetting[]> = { request: [], endpoint: [], cost: [], tool: [] }
  for (const { when, ...policy } of policies) {
    const condition = compileCondition(when)
    if (isProblem(condition)) throw new Error(`policy ${policy.name}: ${condition.message}`)
    settings[condition.stage].push({ ...policy, condition })
  }
  return settings
}

/** Names of the claims that conditions read; of a token no others are kept. */
export function claimNames(policies: readonly Pick<WrittenPolicy, 'when'>[]): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { when } of policies) {
    const condition = compileCondition(when)
    if (!isProblem(condition)) for (const name of condition.claims) names.add(name)
  }
  return names
}
