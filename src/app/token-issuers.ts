/** Verification of callers' tokens: what outlives a reload, and what each configuration makes of it. */
import type { Config } from '../config/config.ts'
import { apiKeyTerms } from '../config/keys.ts'
import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import { type RuleTerms, TokenCallers } from '../pipeline/request/authentication/token-callers.ts'
import { KnownKeys } from '../services/issuers/known-keys.ts'
import { TokenVerifier } from '../services/issuers/token-verifier.ts'

export class TokenIssuers {
  private readonly parts: { readonly clock: Clock; readonly log: Log }
  private readonly keys: KnownKeys
  private readonly made = new WeakMap<Config, TokenCallers>()

  constructor(parts: { readonly clock: Clock; readonly log: Log }) {
    this.parts = parts
    this.keys = new KnownKeys(parts)
  }

  /** The same for the same configuration, also where its catalogue or its stored guardrails have changed. */
  callers(config: Config): TokenCallers | undefined {
    const { issuers } = config
    this.keys.keep(issuers)
    if (issuers.length === 0) return undefined
    let made = this.made.get(config)
    if (!made) {
      const proof = new TokenVerifier(issuers, this.keys, this.parts)
      const rules = new Map(issuers.map((each) => [each.issuer, each.rules.map((rule) => ruleTerms(rule, each.issuer, config))]))
      made = new TokenCallers({ clock: this.parts.clock, proof, rules })
      this.made.set(config, made)
    }
    return made
  }

  close(): void {
    this.keys.keep([])
  }
}

function ruleTerms(
  { name, guardrails, ...written }: Config['issuers'][number]['rules'][number],
  issuer: string,
  config: Config,
): RuleTerms {
  const { host } = new URL(issuer)
  return { name: name ?? host, label: host, guardrails, terms: apiKeyTerms(written, config) }
}
