/** Claims of a client certificate, with which rules are matched as with those of a token. */
import type { X509Certificate } from 'node:crypto'
import type { JsonObject } from '../../core/json.ts'
import { claimAt, hasClaims, memberIn } from './claims.ts'
import type { ClaimTests } from './types.ts'

export interface CertificateSettings {
  /** Claim that names the holder. Absent: `spiffe`, or `subject.CN` of a certificate without a SPIFFE id. */
  readonly member?: string | undefined
  readonly rules: readonly { readonly when: ClaimTests }[]
}

export interface CertificateHolder {
  /** The claim that names the holder: names of different claims are different holders. */
  readonly issuer: string
  readonly member: string
  readonly rule: number | undefined
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
  readonly claims: JsonObject
}

const USUAL_MEMBERS = ['spiffe', 'subject.CN']

/** @returns undefined for a certificate that does not name its holder. */
export function readCertificate(certificate: X509Certificate, { member, rules }: CertificateSettings): CertificateHolder | undefined {
  const claims = certificateClaims(certificate)
  const named = (member === undefined ? USUAL_MEMBERS : [member]).find((path) => claimAt(claims, path) !== undefined)
  const name = named === undefined ? undefined : memberIn(claims, named)
  if (named === undefined || name === undefined) return undefined
  const rule = rules.findIndex(({ when }) => hasClaims(claims, when))
  return {
    issuer: certificateIssuer(named),
    member: name,
    rule: rule < 0 ? undefined : rule,
    expiresAt: Date.parse(certificate.validTo),
    claims,
  }
}

/** Begins what stands in the place of an issuer: no `iss` of a token is such, since those are URLs. */
const CERTIFICATE_ISSUER = 'certificate:'

const certificateIssuer = (claim: string): string => `${CERTIFICATE_ISSUER}${claim}`

/** All that may stand there for holders of these settings. */
export const certificateIssuers = ({ member }: Pick<CertificateSettings, 'member'>): string[] =>
  (member === undefined ? USUAL_MEMBERS : [member]).map(certificateIssuer)

/** Claims by the names that the documents have (docs/tls.md#claims). */
export function certificateClaims(certificate: X509Certificate): JsonObject {
  const { subject, issuer } = certificate.toLegacyObject() as { subject: Names; issuer: Names }
  const names = alternativeNames(certificate.subjectAltName)
  const [uri, ...others] = names.uri ?? []
  const spiffe = others.length === 0 && !certificate.ca && uri !== undefined && SPIFFE.test(uri) ? uri : undefined
  return {
    subject: { ...subject },
    issuer: { ...issuer },
    san: names,
    serial: certificate.serialNumber,
    fingerprint256: certificate.fingerprint256,
    ...(spiffe === undefined ? {} : { spiffe }),
  }
}

/** An attribute that stands there more than once is a list. */
type Names = Readonly<Record<string, string | string[]>>

/**
 * An X.509-SVID has exactly one URI, which is the SPIFFE id, and is no authority (SPIFFE, X509-SVID.md, sections 2 and 5.2). The form
 * of the id is that of SPIFFE-ID.md, section 2: a trust domain in lower case and a path without empty or dotted segments.
 */
const SPIFFE = /^spiffe:\/\/[a-z0-9._-]{1,255}(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+)*$/

const KINDS: Readonly<Record<string, string>> = { DNS: 'dns', URI: 'uri', email: 'email', 'IP Address': 'ip' }

/** `DNS:a.example, URI:"spiffe://…"`: Node quotes values with characters that could be taken for the list's own (CVE-2021-44532). */
const ENTRY = /([^:,"]+):("(?:[^"\\]|\\.)*"|[^,"]*)(?:, |$)/y

function alternativeNames(text: string | undefined): Record<string, string[]> {
  const names: Record<string, string[]> = {}
  if (text === undefined) return names
  ENTRY.lastIndex = 0
  while (ENTRY.lastIndex < text.length) {
    const [, kind = '', written = ''] = ENTRY.exec(text) ?? []
    // What cannot be read could be any name: none is believed then.
    if (kind === '') return {}
    const name = KINDS[kind]
    if (name === undefined) continue
    names[name] ??= []
    names[name].push(written.startsWith('"') ? String(JSON.parse(written)) : written)
  }
  return names
}
