/** Verification of callers' tokens, and the mapping of their certificates: what outlives a reload, and what each configuration makes of it. */
import type { X509Certificate } from 'node:crypto'
import type { Config } from '../config/config.ts'
import { apiKeyTerms } from '../config/keys.ts'
import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import { claimNames } from '../pipeline/policy/policy-setting.ts'
import { CertificateCallers } from '../pipeline/request/authentication/certificate-callers.ts'
import type { RuleTerms } from '../pipeline/request/authentication/member-key.ts'
import { TokenCallers } from '../pipeline/request/authentication/token-callers.ts'
import { certificateIssuers, readCertificate } from '../services/issuers/certificate-reader.ts'
import { KnownKeys } from '../services/issuers/known-keys.ts'
import { TokenVerifier } from '../services/issuers/token-verifier.ts'

export class TokenIssuers {
  private readonly parts: { readonly clock: Clock; readonly log: Log }
  private readonly keys: KnownKeys
  private readonly made = new WeakMap<Config, TokenCallers>()
  private readonly madeOfCertificates = new WeakMap<Config, CertificateCallers>()

  constructor(parts: { readonly clock: Clock; readonly log: Log }) {
    this.parts = parts
    this.keys = new KnownKeys(parts)
  }

  /** The same for the same configuration, also where its catalogue or its stored guardrails have changed. */
  callers(config: Config): { readonly tokens: TokenCallers | undefined; readonly certificates: CertificateCallers | undefined } {
    return { tokens: this.withTokens(config), certificates: this.withCertificates(config) }
  }

  private withTokens(config: Config): TokenCallers | undefined {
    const { issuers } = config
    this.keys.keep(issuers)
    if (issuers.length === 0) return undefined
    let made = this.made.get(config)
    if (!made) {
      const proof = new TokenVerifier(issuers, this.keys, this.parts)
      const rules = new Map(issuers.map((each) => [each.issuer, each.rules.map((rule) => ruleTerms(rule, each.issuer, config))]))
      made = new TokenCallers({ clock: this.parts.clock, proof, rules, claimNames: claimNames(config.policies) })
      this.made.set(config, made)
    }
    return made
  }

  private withCertificates(config: Config): CertificateCallers | undefined {
    const { certificates } = config
    if (!certificates) return undefined
    let made = this.madeOfCertificates.get(config)
    if (!made) {
      const rules = certificates.rules.map((rule) => mappedTerms(rule, 'certificate', config))
      const read = (certificate: X509Certificate) => readCertificate(certificate, certificates)
      made = new CertificateCallers({ read, rules, claimNames: claimNames(config.policies) })
      this.madeOfCertificates.set(config, made)
    }
    return made
  }

  close(): void {
    this.keys.keep([])
  }
}

/** Issuers of callers with tokens and certificates, as identities of members have them. */
export const memberIssuers = ({ issuers, certificates }: Pick<Config, 'issuers' | 'certificates'>): string[] => [
  ...issuers.map(({ issuer }) => issuer),
  ...(certificates ? certificateIssuers(certificates) : []),
]

type Rule = Config['issuers'][number]['rules'][number]

const ruleTerms = (rule: Rule, issuer: string, config: Config): RuleTerms => mappedTerms(rule, new URL(issuer).host, config)

/** @param label stands where a rule has no name. */
function mappedTerms({ name, guardrails, ...written }: Rule, label: string, config: Config): RuleTerms {
  return { name: name ?? label, label, guardrails, terms: apiKeyTerms(written, config) }
}
