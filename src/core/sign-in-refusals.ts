/** Reasons for which a sign-in at an identity provider opens no session, each with the sentence that the person reads. */
export const SIGN_IN_REFUSALS = {
  declined: 'The sign-in was declined at the identity provider.',
  stale: 'The sign-in took longer than ten minutes, was used already, or was begun in another browser. Begin again.',
  unverified:
    'The reply of the identity provider could not be verified. Begin again; if it stays so, the log of the gateway has the reason.',
  unavailable: 'The identity provider cannot be reached now. Try again in a minute.',
  claim_missing:
    'The identity provider knows you, but does not state a claim that this gateway requires (member or required_claims of auth.issuers). Ask the person who runs the gateway.',
  not_mapped:
    'The identity provider knows you, but no rule of this gateway is for you (rules of auth.issuers). Ask the person who runs the gateway to add one.',
  too_many: 'Too many sign-ins failed from this address. Try again in a minute.',
} as const

export type SignInRefusalCode = keyof typeof SIGN_IN_REFUSALS

/** A sign-in that opens no session. */
export class SignInRefusal extends Error {
  readonly code: SignInRefusalCode
  /** Of the person, where the issuer has named one. */
  readonly member: string | undefined
  /** For the log; it quotes nothing of a reply. */
  readonly problem: string | undefined

  constructor(code: SignInRefusalCode, { member, problem }: { member?: string | undefined; problem?: string | undefined } = {}) {
    super(SIGN_IN_REFUSALS[code])
    this.code = code
    this.member = member
    this.problem = problem
  }
}
