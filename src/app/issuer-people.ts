/** People who sign in to the control room at an issuer of the configuration. */
import type { Clock } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import { memberIdentity } from '../core/member.ts'
import { secretHash } from '../core/secret.ts'
import { SignInRefusal } from '../core/sign-in-refusals.ts'
import type { KnownPerson, People, Person, PersonSignOut, SignInChoice, SignInFlow } from '../server/control-room/people.ts'
import { CredentialError } from '../services/credentials/types.ts'
import { memberIn } from '../services/issuers/claims.ts'
import type { CodeFlows, SignInIssuer } from '../services/issuers/code-flow.ts'
import type { LogoutTokens } from '../services/issuers/logout-tokens.ts'
import { mapClaims, testedClaims } from '../services/issuers/mapping.ts'
import { signInProblem } from '../services/issuers/sign-in-problem.ts'
import type { IssuerSettings } from '../services/issuers/types.ts'

export interface IssuerPeopleOptions {
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'info'>
  /** As they stand now. */
  readonly issuers: () => readonly IssuerSettings[]
}

export class IssuerPeople implements People {
  private readonly options: IssuerPeopleOptions
  private readonly flows = new WeakMap<IssuerSettings, Promise<CodeFlows>>()
  private readonly logoutTokens = new WeakMap<IssuerSettings, Promise<LogoutTokens>>()

  constructor(options: IssuerPeopleOptions) {
    this.options = options
  }

  choices(): SignInChoice[] {
    return this.issuers().map((issuer) => ({ name: signInName(issuer), label: issuer.signIn.label ?? new URL(issuer.issuer).host }))
  }

  async location(name: string, flow: SignInFlow, redirectUri: string): Promise<string> {
    const flows = await this.codeFlows(this.named(name))
    return flows.location(flow, redirectUri).catch((thrown: unknown) => {
      throw new SignInRefusal('unavailable', { problem: signInProblem(thrown) })
    })
  }

  async finish(name: string, response: URL, flow: SignInFlow): Promise<Person> {
    const settings = this.named(name)
    const flows = await this.codeFlows(settings)
    const { claims, idToken } = await flows.finish(response, flow).catch((thrown: unknown) => {
      throw refusal(thrown)
    })
    const mapped = mapClaims(claims, settings)
    if (!mapped) throw new SignInRefusal('claim_missing', { member: memberIn(claims, settings.member) })
    const person = { issuer: settings.issuer, claims, idToken }
    if (!this.known(person)) throw new SignInRefusal('not_mapped', { member: mapped.member })
    return person
  }

  known({ issuer, claims }: Person): KnownPerson | undefined {
    const settings = this.issuers().find((each) => each.issuer === issuer)
    const mapped = settings && mapClaims(claims, settings)
    if (!mapped || mapped.rule === undefined || settings.rules[mapped.rule]?.disabled !== false) return undefined
    const { member } = mapped
    return {
      member,
      identity: memberIdentity(issuer, member),
      ...signInFacts(issuer, claims),
      issuer,
      claims: testedClaims(claims, settings),
      sessionMs: settings.signIn.session,
    }
  }

  async signOut(name: string, token: string, isSuspect: () => boolean): Promise<PersonSignOut> {
    const settings = this.named(name)
    const tokens = await this.logouts(settings)
    const { subject, session, issuedAt, use } = await tokens.verify(token, isSuspect)
    return {
      subject: subject === undefined ? undefined : memberIdentity(settings.issuer, subject),
      session: session === undefined ? undefined : sessionDigest(settings.issuer, session),
      issuedAt,
      use,
    }
  }

  async endSession({ issuer, idToken }: Person): Promise<string | undefined> {
    const settings = this.issuers().find((each) => each.issuer === issuer)
    if (!settings || idToken === undefined) return undefined
    // The session of the gateway has ended whatever the issuer does.
    const flows = await this.codeFlows(settings)
    return flows.endSession(idToken).catch(() => undefined)
  }

  private issuers(): SignInIssuer[] {
    return this.options.issuers().filter((each): each is SignInIssuer => each.signIn !== undefined)
  }

  private named(name: string): SignInIssuer {
    const found = this.issuers().find((each) => signInName(each) === name)
    // A reload has removed it meanwhile.
    if (!found) throw new SignInRefusal('unavailable', { problem: 'the issuer is not configured' })
    return found
  }

  /** Made anew with each configuration; loaded with the first sign-in. */
  private codeFlows(settings: SignInIssuer): Promise<CodeFlows> {
    let found = this.flows.get(settings)
    if (!found) {
      found = import('../services/issuers/code-flow.ts').then((code) => new code.CodeFlows(settings, this.options))
      this.flows.set(settings, found)
    }
    return found
  }

  /** As `codeFlows`, with the first sign-out. */
  private logouts(settings: SignInIssuer): Promise<LogoutTokens> {
    let found = this.logoutTokens.get(settings)
    if (!found) {
      found = import('../services/issuers/logout-tokens.ts').then((code) => new code.LogoutTokens(settings, this.options))
      this.logoutTokens.set(settings, found)
    }
    return found
  }
}

/** By which a sign-out at the issuer finds the sign-in. */
function signInFacts(issuer: string, claims: JsonObject): Pick<KnownPerson, 'subject' | 'session' | 'issuedAt'> {
  const { sub, sid, iat } = claims
  return {
    // OpenID Connect Core 1.0, 2: an ID token has both.
    subject: memberIdentity(issuer, String(sub)),
    session: typeof sid === 'string' ? sessionDigest(issuer, sid) : undefined,
    issuedAt: typeof iat === 'number' ? iat * 1000 : 0,
  }
}

const sessionDigest = (issuer: string, session: string): string => secretHash(`sign-in\0${issuer}\0${session}`)

const signInName = ({ issuer, signIn }: SignInIssuer): string => signIn.name ?? new URL(issuer).hostname

function refusal(thrown: unknown): SignInRefusal {
  const { error } = thrown as { error?: unknown }
  // RFC 6749, 4.1.2.1: the person, or the issuer, said no.
  if (error === 'access_denied') return new SignInRefusal('declined', { problem: 'access_denied' })
  const isDown = thrown instanceof CredentialError
  return new SignInRefusal(isDown ? 'unavailable' : 'unverified', { problem: signInProblem(thrown) })
}
