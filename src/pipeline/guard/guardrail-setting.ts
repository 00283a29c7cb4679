/** A guardrail as the chain reads it. */
import type { ProviderPreferences } from '../../dialects/canon/request-fields.ts'
import type { ExternalEngine, GuardrailName, Rule } from '../../guardrails/index.ts'
import type { LimitReset } from '../../plugin-api/index.ts'

/** Which models and endpoints a guardrail lets a request reach. */
export interface GuardrailTerms {
  /** Slugs, and patterns such as `openai/*`. */
  allowedModels: readonly string[] | undefined
  ignoredModels: readonly string[]
  /** Providers, and `provider/variant`. */
  allowedProviders: readonly string[] | undefined
  ignoredProviders: readonly string[]
  /** Zero retention by groups of authors; `other` are all that are not named. */
  zdr: ReadonlySet<string>
  /** False: endpoints without a price, or with one, must not be of providers that may keep what they are sent. */
  freeTraining: boolean
  paidTraining: boolean
  maxPrice: ProviderPreferences['max_price']
}

/** What each key that a guardrail holds for may spend. */
export interface GuardrailBudget {
  guardrail: string
  /** Whose spending counts: `payer` where the key was issued by one that the guardrail holds for. */
  of?: 'key' | 'payer'
  /** Nano-dollars. */
  limit: number
  limitReset: LimitReset | null
}

export interface GuardrailSetting extends GuardrailName {
  /** Names of keys of the file that it holds for. With neither these nor identities it holds for every request. */
  keys: ReadonlySet<string> | undefined
  /** Identities of keys that it is assigned to. */
  identities?: ReadonlySet<string> | undefined
  /** Which way the texts go that it reads. */
  direction: 'input' | 'output' | 'both'
  /** What it redacts in a request is put back into the answer. */
  restore: boolean
  /** What it looks for in texts; empty where it reads none. */
  rules: readonly Rule[]
  /** Called over HTTP. */
  engine: ExternalEngine | undefined
  /** Undefined where it bounds no routing. */
  terms: GuardrailTerms | undefined
  /** True: only endpoints that take every parameter sent. */
  requireParameters: boolean
  budget: GuardrailBudget | undefined
}
