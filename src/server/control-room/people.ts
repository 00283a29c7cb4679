/** People who sign in to the control room at an identity provider, as the root of the program composes it. */
import type { JsonObject } from '../../core/json.ts'

/** An identity provider at which people may sign in. */
export interface SignInChoice {
  /** Part of the addresses of the sign-in. */
  readonly name: string
  /** As people read it. */
  readonly label: string
}

/** Secrets of one sign-in. */
export interface SignInFlow {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** Facts that a session keeps of a person; its store has them encrypted. */
export interface Person {
  readonly issuer: string
  readonly claims: JsonObject
  /** Absent where it is too long to be kept. */
  readonly idToken?: string | undefined
}

/** A person by the configuration of now. */
export interface KnownPerson {
  readonly member: string
  readonly identity: string
  /** Identity by which its sessions are found: that of `sub` at the issuer, whatever claim names the member. */
  readonly subject: string
  /** Digest of the session at the issuer; absent where the issuer names none. */
  readonly session?: string | undefined
  /** Milliseconds since the epoch at which the issuer has stated the claims, by its clock. */
  readonly issuedAt: number
  readonly issuer: string
  /** Those that rules look at. */
  readonly claims: JsonObject
  /** Milliseconds that a session lasts at most. */
  readonly sessionMs: number
}

/** A person, or one session of the person, that has signed out at the issuer. */
export interface PersonSignOut {
  /** As `KnownPerson` has them; a sign-out without `subject` is of the session alone, one without `session` of all of the person's. */
  readonly subject: string | undefined
  readonly session: string | undefined
  readonly issuedAt: number
  /** Remembers that it was used. */
  readonly use: () => void
}

export interface People {
  choices(): readonly SignInChoice[]
  /** The address to which the browser is sent. @throws SignInRefusal */
  location(name: string, flow: SignInFlow, redirectUri: string): Promise<string>
  /** @param response the address at which the browser came back. @throws SignInRefusal */
  finish(name: string, response: URL, flow: SignInFlow): Promise<Person>
  /**
   * @param token logout token of the issuer. @param isSuspect true where no call goes out for it.
   * @throws RefusedToken; Fault 503.
   */
  signOut(name: string, token: string, isSuspect: () => boolean): Promise<PersonSignOut>
  /** Undefined where the configuration maps the person no more. */
  known(person: Person): KnownPerson | undefined
  /** The address at which the person signs out at the issuer; undefined where it has none. */
  endSession(person: Person): Promise<string | undefined>
}

/** @param secret of a session, as `personSecret` made it. @returns undefined for anything else. */
export function personIn(secret: string): Person | undefined {
  try {
    const person = JSON.parse(secret) as Person
    return typeof person.issuer === 'string' && typeof person.claims === 'object' ? person : undefined
  } catch {
    return undefined
  }
}

export const personSecret = (person: Person): string => JSON.stringify(person)
