/** A guardrail as the chain reads it. */
import type { GuardrailConfig } from '../../config/guardrails.ts'
import type { ExternalEngine, GuardrailName, Rule } from '../../guardrails/index.ts'
import type { LimitReset } from '../../plugin-api/index.ts'

/** Budget of each key that a guardrail applies to. */
export interface GuardrailBudget {
  guardrail: string
  /** As that of an allowance: 1 where the key was issued by one that the guardrail applies to, whose spending then counts. */
  level?: number
  /** Nano-dollars. */
  limit: number
  limitReset: LimitReset | null
}

export interface GuardrailSetting extends GuardrailName {
  /** Names of keys of the file that it holds for. With neither these nor anything that it is assigned to it holds for every request. */
  keys: ReadonlySet<string> | undefined
  /** Identities of keys that it is assigned to. */
  identities?: ReadonlySet<string> | undefined
  /** Ids of workspaces and organisations that it is assigned to: it holds for all below them. */
  levels?: ReadonlySet<string> | undefined
  /** `personName` of the members that it is assigned to. */
  users?: ReadonlySet<string> | undefined
  /** Its fields in camelCase, with their defaults. */
  settings: GuardrailConfig['settings']
  /** Rules for texts; empty where it reads none. */
  rules: readonly Rule[]
  /** Called over HTTP. */
  engine: ExternalEngine | undefined
  /** Groups of authors whose models need zero retention; `other` are all that are not named. */
  zdr: ReadonlySet<string>
  /** True where it bounds which models and endpoints a request reaches. */
  bounds: boolean
  budget: GuardrailBudget | undefined
}
