/** An entry with a key that a team has brought, as requests use it: its key, the callers that may use it, and how it does at its provider. */
import type { Clock } from '../../core/clock.ts'
import type { Credential, CredentialedCall, Grant } from '../credentials/types.ts'

/** Terms of an entry; null: no restriction. */
export interface EntryTerms {
  readonly name: string | null
  /** Masked. */
  readonly label: string
  readonly isFallback: boolean
  readonly disabled: boolean
  readonly allowedModels: readonly string[] | null
  readonly allowedUsers: readonly string[] | null
  /** Identities. */
  readonly allowedKeys: readonly string[] | null
}

export interface EntryFacts {
  readonly id: string
  /** Slug. */
  readonly provider: string
  readonly terms: EntryTerms
  /** Undefined where it cannot be decrypted. */
  readonly key: string | undefined
}

/** Milliseconds for which an entry is tried last: after a refusal of its account, and after a limit of which the provider states no end. */
const REFUSED_MS = 60_000
const LIMITED_MS = 5_000

export class ByokEntry {
  readonly id: string
  readonly provider: string
  readonly terms: EntryTerms
  /** Undefined where the key cannot be decrypted. */
  readonly credential: Credential | undefined
  /** False once it was removed or disabled: a request that runs makes no further call with it. */
  isInForce = true
  private restsUntil = Number.NEGATIVE_INFINITY
  private readonly clock: Pick<Clock, 'monotonic'>

  constructor({ id, provider, terms, key }: EntryFacts, clock: Pick<Clock, 'monotonic'>) {
    this.id = id
    this.provider = provider
    this.terms = terms
    this.clock = clock
    this.credential = key === undefined ? undefined : new ByokCredential(id, key)
  }

  /** Its name, or the masked key. */
  get name(): string {
    return this.terms.name ?? this.terms.label
  }

  get rests(): boolean {
    return this.clock.monotonic() < this.restsUntil
  }

  /** Its account was limited or refused. @param seconds that the provider states. */
  rest(isLimit: boolean, seconds: number | undefined): void {
    const ms = isLimit ? Math.min(seconds === undefined ? LIMITED_MS : seconds * 1000, REFUSED_MS) : REFUSED_MS
    this.restsUntil = Math.max(this.restsUntil, this.clock.monotonic() + ms)
  }

  /** Its account serves. */
  served(): void {
    this.restsUntil = Number.NEGATIVE_INFINITY
  }
}

/** A key in a header; nothing renews it. */
class ByokCredential implements Credential {
  readonly isOwn = true
  readonly grant: Grant
  readonly fingerprint: string
  /** Private, so that nothing which writes down an object's members has it. */
  readonly #key: string

  constructor(id: string, key: string) {
    this.#key = key
    this.fingerprint = `byok ${id}`
    this.grant = { expiresAt: undefined, secrets: [], headers: (call) => this.headers(call) }
  }

  ready(): boolean {
    return true
  }

  forCall(): Credential {
    return this
  }

  refresh(): Promise<void> {
    return Promise.resolve()
  }

  renew(): Promise<boolean> {
    return Promise.resolve(false)
  }

  headers({ keyHeader }: CredentialedCall): readonly string[] {
    return keyHeader(this.#key)
  }

  isIn(text: string): boolean {
    return [this.#key, JSON.stringify(this.#key).slice(1, -1), encodeURIComponent(this.#key)].some((form) => text.includes(form))
  }

  toJSON(): string {
    return this.fingerprint
  }
}
