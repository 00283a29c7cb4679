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
  readonly issuer: string
  /** Those that rules look at. */
  readonly claims: JsonObject
  /** Milliseconds that a session lasts at most. */
  readonly sessionMs: number
}

export interface People {
  choices(): readonly SignInChoice[]
  /** The address to which the browser is sent. @throws SignInRefusal */
  location(name: string, flow: SignInFlow, redirectUri: string): Promise<string>
  /** @param response the address at which the browser came back. @throws SignInRefusal */
  finish(name: string, response: URL, flow: SignInFlow): Promise<Person>
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
