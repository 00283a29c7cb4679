/** The keys of all issuers that are configured: they outlive a reload, so that an outage of an issuer meanwhile costs none. */
import type { JSONWebKeySet, LocalJWKSet } from 'jose'
import { IssuerKeys } from './issuer-keys.ts'
import type { IssuerParts, IssuerSettings } from './types.ts'

export type KeySet = LocalJWKSet
export type MakeKeySet = (keys: JSONWebKeySet) => LocalJWKSet

export class KnownKeys {
  private readonly parts: IssuerParts
  private readonly keys = new Map<string, IssuerKeys<KeySet>>()

  constructor(parts: IssuerParts) {
    this.parts = parts
  }

  /** Those of these settings. @param make of the library. */
  for(settings: IssuerSettings, make: MakeKeySet): IssuerKeys<KeySet> {
    const name = keysName(settings)
    let found = this.keys.get(name)
    if (!found) {
      found = new IssuerKeys(settings, this.parts, (keys) => make({ keys } as unknown as JSONWebKeySet))
      this.keys.set(name, found)
    }
    found.apply(settings)
    return found
  }

  /** Forgets those of issuers that are no longer configured. */
  keep(issuers: readonly IssuerSettings[]): void {
    const names = new Set(issuers.map(keysName))
    for (const [name, keys] of this.keys) {
      if (names.has(name)) continue
      keys.close()
      this.keys.delete(name)
    }
  }
}

const keysName = ({ issuer, jwksUri, ca }: IssuerSettings): string => JSON.stringify([issuer, jwksUri, ca])
