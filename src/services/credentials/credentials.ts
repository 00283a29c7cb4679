/** The credentials that a configuration uses. One whose settings a reload does not change stays, with what it has fetched. */
import { hash } from 'node:crypto'
import { ServiceConnections } from '../connections/service-connections.ts'
import { type CredentialParts, RefreshedCredential } from './credential-refresh.ts'
import { KeyPool } from './key-pool.ts'
import type { CredentialLookup, CredentialOwner, CredentialSettings } from './settings.ts'
import type { Credential, CredentialSource, Environment } from './types.ts'

type Live = RefreshedCredential | KeyPool

interface CredentialsParts extends CredentialParts {
  /** Absent where no provider is called: then nothing is fetched ahead of a call. */
  readonly env?: Environment | undefined
}

export class Credentials implements CredentialLookup {
  private readonly sources: readonly CredentialSource[]
  private readonly parts: CredentialsParts
  private live = new Map<string, Live>()
  /** Credentials of the configuration before, while another one is composed. */
  private before: Map<string, Live> | undefined

  constructor(sources: readonly CredentialSource[], parts: CredentialsParts) {
    this.sources = sources
    this.parts = parts
  }

  /** Runs what composes a configuration; credentials that it does not look up are closed. */
  during<T>(compose: () => T): T {
    const before = this.live
    this.before = before
    this.live = new Map()
    try {
      const composed = compose()
      for (const [name, credential] of before) if (this.live.get(name) !== credential) credential.close()
      return composed
    } catch (error) {
      for (const [name, credential] of this.live) if (before.get(name) !== credential) credential.close()
      this.live = before
      throw error
    } finally {
      this.before = undefined
    }
  }

  /** The credential of these settings, fetched from now on. */
  of(owner: CredentialOwner, settings: CredentialSettings): Credential {
    const name = owner.endpoint ?? `@${owner.provider}`
    const terms = JSON.stringify(settings)
    const known = this.live.get(name) ?? this.before?.get(name)
    if (known?.terms === terms) {
      this.live.set(name, known)
      return known
    }
    const made = this.made(owner, settings, terms)
    this.live.set(name, made)
    if (this.parts.env) made.start()
    return made
  }

  close(): void {
    for (const credential of this.live.values()) credential.close()
    this.live.clear()
  }

  private made({ provider }: CredentialOwner, settings: CredentialSettings, terms: string): Live {
    if (settings.keys) return new KeyPool({ provider, terms, keys: settings.keys }, this.parts)
    const source = this.sources.find((each) => each.name === settings.source)
    if (!source) throw new TypeError(`there is no source of credentials ${settings.source}`)
    const connections = new ServiceConnections({ env: this.parts.env ?? {}, connection: settings.connection })
    return new RefreshedCredential(
      {
        provider,
        source: source.name,
        terms,
        fingerprint: hash('sha256', JSON.stringify([settings.source, settings.settings]), 'base64url'),
        open: async () => source.open(settings.settings, this.parts.env ?? {}, connections),
        refresh: settings.refresh,
        signedFor: settings.signedFor,
        takesKeys: source.takesKeys,
      },
      this.parts,
    )
  }
}
