/** The callers whose client certificates rules map, each with the key that stands for it. */
import type { X509Certificate } from 'node:crypto'
import { Fault } from '../../../core/faults.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { ApiKey } from '../../../plugin-api/key.ts'
import { type Member, memberKey, type RuleTerms, readClaims } from './member-key.ts'

/** The holder of a certificate, by its claims. */
export interface ReadCertificate extends Member {
  /** Index of the first rule that maps it; undefined where none does. */
  readonly rule: number | undefined
  readonly claims: JsonObject
}

export interface CertificateCallersOptions {
  /** @returns undefined for a certificate that does not name its holder. */
  readonly read: (certificate: X509Certificate) => ReadCertificate | undefined
  /** In the order of the configuration. */
  readonly rules: readonly RuleTerms[]
  /** Names of the claims that policies read. */
  readonly claimNames: ReadonlySet<string>
}

/** Made once per configuration. */
export class CertificateCallers {
  private readonly options: CertificateCallersOptions
  /** By the certificate of a connection, so that its later requests cost a look-up. */
  private readonly known = new WeakMap<X509Certificate, ApiKey | Fault>()
  private readonly given = new WeakSet<ApiKey>()

  constructor(options: CertificateCallersOptions) {
    this.options = options
  }

  /** @throws Fault 401 where the certificate names no holder, 403 where no rule maps it. */
  key(certificate: X509Certificate): ApiKey {
    let found = this.known.get(certificate)
    if (found === undefined) {
      found = this.map(certificate)
      this.known.set(certificate, found)
    }
    if (found instanceof Fault) throw found
    return found
  }

  /** True of a key that stands for a certificate. */
  gave(key: ApiKey): boolean {
    return this.given.has(key)
  }

  private map(certificate: X509Certificate): ApiKey | Fault {
    const read = this.options.read(certificate)
    if (!read) return new Fault('invalid_key', { message: 'The client certificate lacks the name that auth.certificates.member wants' })
    const terms = read.rule === undefined ? undefined : this.options.rules[read.rule]
    if (!terms) return new Fault('forbidden', { message: 'The client certificate is valid, but no rule maps this caller' })
    const made = memberKey(read, terms)
    const claims = readClaims(read.claims, this.options.claimNames)
    const key = { ...made, token: { issuer: read.issuer, guardrails: terms.guardrails, isCertificate: true, ...claims } }
    this.given.add(key)
    return key
  }
}
