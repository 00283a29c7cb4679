/** Rules of identity providers and client certificates that the schema cannot state. */
import { isLocalHost } from '../core/transport.ts'
import { checkTerms } from './key-rules.ts'
import type { Path } from './problems.ts'
import type { References } from './references.ts'
import type { ClaimTest } from './schema/issuers.ts'
import type { RawConfig } from './schema/root.ts'
import type { Source } from './source.ts'
import { hint } from './suggest.ts'

type RawIssuer = NonNullable<NonNullable<RawConfig['auth']>['issuers']>[number]
type RawRule = RawIssuer['rules'][number]

/** Issuers that give tokens to everybody, and let the one who requests a token choose its audience. */
const OPEN_ISSUERS = ['token.actions.githubusercontent.com', 'accounts.google.com', 'gitlab.com']

export function checkIssuers(raw: RawConfig, main: Source, references: References): void {
  const issuers = raw.auth?.issuers ?? []
  const names = new Set<string>()
  let hasIntrospection = false
  for (const [index, issuer] of issuers.entries()) {
    const at: Path = ['auth', 'issuers', index]
    if (names.has(issuer.issuer)) main.report([...at, 'issuer'], 'a second entry of this issuer, expected its rules in the first one')
    names.add(issuer.issuer)
    if (issuer.introspection && hasIntrospection)
      main.report(
        [...at, 'introspection'],
        'a second issuer with introspection, expected one: a token that is no JWT does not name its issuer',
        'key',
      )
    hasIntrospection ||= issuer.introspection !== undefined
    main.check(() => checkAddresses(issuer, at, main))
    main.check(() => checkSignIn(issuer, raw, at, main))
    main.check(() => checkClaims(issuer.required_claims ?? {}, [...at, 'required_claims'], main))
    for (const [place, rule] of issuer.rules.entries())
      main.check(() => checkRule(rule, { at: [...at, 'rules', place], raw, main, references, issuer: issuer.issuer }))
  }
}

/** The rules of client certificates: without authorities no certificate is verified. */
export function checkCertificates(raw: RawConfig, main: Source, references: References): void {
  const certificates = raw.auth?.certificates
  if (!certificates) return
  const at: Path = ['auth', 'certificates']
  if (raw.server?.tls?.client_ca === undefined && !main.mayHave(['server', 'tls'], 'client_ca') && !main.mayHave(['server'], 'tls'))
    main.report(at, 'expected server.tls.client_ca as well, the authorities that client certificates are verified with', 'key')
  for (const [place, rule] of certificates.rules.entries())
    main.check(() => checkRule(rule, { at: [...at, 'rules', place], raw, main, references, issuer: '' }))
}

function checkAddresses({ issuer, jwks_uri: jwks, introspection }: RawIssuer, at: Path, main: Source): void {
  const check = (address: string | undefined, path: Path): void => {
    if (address === undefined || main.isWrong(path) || main.isUnset(path)) return
    const url = URL.parse(address)
    if (url?.protocol === 'http:' && !isLocalHost(url.hostname))
      main.report(path, 'expected https: over plain http anybody on the way could sign tokens (http is allowed on this machine alone)')
  }
  check(issuer, [...at, 'issuer'])
  check(jwks, [...at, 'jwks_uri'])
  check(introspection?.url, [...at, 'introspection', 'url'])
}

const signInName = ({ issuer, sign_in: signIn }: RawIssuer): string | undefined => signIn && (signIn.name ?? URL.parse(issuer)?.hostname)

function checkSignIn(issuer: RawIssuer, raw: RawConfig, at: Path, main: Source): void {
  const { sign_in: signIn } = issuer
  if (!signIn) return
  const issuers = raw.auth?.issuers ?? []
  const first = issuers.find((each) => signInName(each) === signInName(issuer))
  if (first !== issuer)
    main.report([...at, 'sign_in'], `a second sign-in at ${signInName(issuer)}, expected a name of its own in sign_in.name`, 'key')
  if (signIn.scopes && !signIn.scopes.includes('openid'))
    main.report([...at, 'sign_in', 'scopes'], 'expected openid among them: without it the issuer states no identity')
}

interface RulePlace {
  readonly at: Path
  readonly raw: RawConfig
  readonly main: Source
  readonly references: References
  readonly issuer: string
}

function checkRule(rule: RawRule, { at, raw, main, references, issuer }: RulePlace): void {
  const { when, parent, guardrails = [], role = 'member' } = rule
  checkClaims(when, [...at, 'when'], main)
  if (Object.keys(when).length === 0 && OPEN_ISSUERS.includes(URL.parse(issuer)?.hostname ?? ''))
    main.report([...at, 'when'], 'this issuer gives tokens to everybody, expected a claim that names your organisation')
  const budgets = Object.keys(raw.budgets ?? {})
  if (role !== 'member') {
    if (Object.keys(when).length === 0)
      main.report(
        [...at, 'when'],
        `every ${issuer === '' ? 'client certificate' : 'token of the issuer'} would have the role ${role}, expected a claim that names those who manage`,
      )
    if (parent !== undefined) main.report([...at, 'parent'], `a caller of the role ${role} spends nothing, expected none`)
  }
  if (parent !== undefined && !budgets.includes(parent)) main.report([...at, 'parent'], `no such budget${hint(parent, budgets)}`)
  const known = (raw.guardrails ?? []).map(({ name }) => name)
  for (const [place, name] of guardrails.entries())
    if (!known.includes(name) && !main.isWrong(['guardrails']))
      main.report([...at, 'guardrails', place], `no such guardrail${hint(name, known)}`)
  checkTerms(rule, at, references, main)
}

const isValue = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

function checkClaims(claims: Readonly<Record<string, ClaimTest>>, at: Path, main: Source): void {
  for (const [name, value] of Object.entries(claims)) {
    const fits = Array.isArray(value) ? value.length > 0 && value.every(isValue) : isValue(value)
    if (!fits) main.report([...at, name], 'expected text, a number, true or false, or a list of these')
  }
}
