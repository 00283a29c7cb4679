/** The ways in which callers show who they are. A new one is a file of this folder and its line in `METHODS`. */
import { Fault } from '../../../core/faults.ts'
import { ownAddress } from '../../../core/own-address.ts'
import { addMetadataChallenge } from '../../../core/resource-metadata.ts'
import type { ApiKey } from '../../../plugin-api/key.ts'
import { certificate } from './certificate.ts'
import type { AuthenticationMethod, AuthenticationParts, Caller, FoundKey } from './method.ts'
import { person } from './person.ts'
import { secretKey } from './secret-key.ts'
import { token } from './token.ts'

/** In the order in which they look at a head: that of the secret takes every request that shows nothing else. */
const METHODS: readonly ((parts: AuthenticationParts) => AuthenticationMethod | undefined)[] = [certificate, person, token, secretKey]

/** Finds keys by whatever a caller shows; made once per configuration. */
export class Callers {
  private readonly methods: readonly AuthenticationMethod[]
  private readonly config: AuthenticationParts['config']
  private readonly places: AuthenticationParts['places']

  constructor(parts: AuthenticationParts) {
    this.methods = METHODS.flatMap((method) => method(parts) ?? [])
    this.config = parts.config
    this.places = parts.places
  }

  /** Adds the address at which a caller without a usable key reads where tokens come from, if people log in for them (RFC 9728, 5.1). */
  challenge({ headers, connection }: Caller, fault: unknown): void {
    const { issuers, server } = this.config
    if (fault instanceof Fault && fault.status === 401 && issuers.some(({ login }) => login))
      addMetadataChallenge(fault, ownAddress({ headers, overTls: connection.isEncrypted?.() ?? false }, server.publicUrl))
  }

  /** @returns the key of a request that is not authenticated yet, without a call of the store; undefined where it is not known at once. */
  atHand(caller: Caller): ApiKey | undefined {
    try {
      return this.placed(this.method(caller).atHand(caller))
    } catch {
      return undefined
    }
  }

  /** The key that a caller shows, whether or not it can be used. @throws Fault as the method that reads it. */
  find(caller: Caller, isSuspect: (caller: Caller) => boolean): FoundKey | Promise<FoundKey> {
    const found = this.method(caller).find(caller, isSuspect)
    return found instanceof Promise ? found.then((key) => this.placed(key)) : this.placed(found)
  }

  /** A key that was found before, as it is now; undefined where it is gone. */
  renew(key: ApiKey): FoundKey | Promise<FoundKey> {
    // Methods know the keys that they found, not those that stand for them in a place.
    const own = this.places?.original(key) ?? key
    for (const method of this.methods) {
      const found = method.renew(own)
      if (found !== undefined) return found instanceof Promise ? found.then((later) => this.placed(later)) : this.placed(found)
    }
    return undefined
  }

  private placed(key: FoundKey): FoundKey {
    return key && this.places ? this.places.of(key) : key
  }

  private method(caller: Caller): AuthenticationMethod {
    for (const method of this.methods) if (method.shows?.(caller) !== false) return method
    throw new Error('the last method takes every request')
  }
}
