/** The keys that teams have brought, by provider, as they are in force: decrypted in memory, and nowhere else. */
import type { Clock } from '../../core/clock.ts'
import type { Fault } from '../../core/faults.ts'
import { ByokEntry, type EntryTerms } from './byok-entry.ts'
import { KeyEncryption } from './key-encryption.ts'

interface StoredKey {
  readonly id: string
  readonly provider: string
  readonly encrypted: string
  readonly terms: EntryTerms
}

/** The stored keys, the oldest first. */
export interface StoredKeys {
  readonly current: readonly StoredKey[]
  onChange(hear: () => void): void
}

export interface ByokSettings {
  readonly encryptionKeys: readonly string[]
  /** Share of what a request would have cost that is charged for it. */
  readonly fee: number
  /** False: where an entry is to be tried first, the operator's own account is not tried after it. */
  readonly operatorFallback: boolean
}

export interface ByokReports {
  /** An entry cannot be decrypted. */
  unusable(entry: ByokEntry): void
  /** Its provider refuses the account of an entry. */
  refused(entry: ByokEntry, fault: Fault): void
}

const MILLION = 1_000_000
const NO_ENTRIES: readonly ByokEntry[] = []

export class ByokKeys {
  readonly encryption: KeyEncryption
  /** In millionths. */
  readonly fee: bigint
  readonly operatorFallback: boolean
  /** True for a gateway without entries: nothing of them is looked at. */
  isEmpty = true
  private readonly stored: StoredKeys
  private readonly clock: Pick<Clock, 'monotonic'>
  private readonly reports: ByokReports
  /** By what is stored, so that an entry that was not changed stays what it is. */
  private held = new Map<string, ByokEntry>()
  private byProvider: ReadonlyMap<string, readonly ByokEntry[]> = new Map()

  constructor(stored: StoredKeys, settings: ByokSettings, { clock, reports }: { clock: Pick<Clock, 'monotonic'>; reports: ByokReports }) {
    this.encryption = new KeyEncryption(settings.encryptionKeys)
    this.fee = BigInt(Math.round(settings.fee * MILLION))
    this.operatorFallback = settings.operatorFallback
    this.stored = stored
    this.clock = clock
    this.reports = reports
    this.take()
    stored.onChange(() => this.take())
  }

  /** Entries at a provider that are not disabled, the oldest first. @param provider slug. */
  at(provider: string): readonly ByokEntry[] {
    return this.byProvider.get(provider) ?? NO_ENTRIES
  }

  /** The account of an entry was refused or limited: that concerns the entry alone. */
  failed(entry: ByokEntry, fault: Fault): void {
    const isLimit = fault.code === 'upstream_limited'
    entry.rest(isLimit, fault.retryAfter)
    if (!isLimit) this.reports.refused(entry, fault)
  }

  private take(): void {
    const held = new Map<string, ByokEntry>()
    const byProvider = new Map<string, ByokEntry[]>()
    for (const { id, provider, encrypted, terms } of this.stored.current) {
      if (terms.disabled) continue
      const name = JSON.stringify([id, provider, encrypted, terms])
      const entry = this.held.get(name) ?? this.opened({ id, provider, encrypted, terms })
      held.set(name, entry)
      byProvider.set(provider, [...(byProvider.get(provider) ?? []), entry])
    }
    const ids = new Set([...held.values()].map(({ id }) => id))
    for (const entry of this.held.values()) if (!ids.has(entry.id)) entry.isInForce = false
    this.held = held
    this.byProvider = byProvider
    this.isEmpty = byProvider.size === 0
  }

  private opened({ id, provider, encrypted, terms }: StoredKey): ByokEntry {
    const entry = new ByokEntry({ id, provider, terms, key: this.encryption.decrypt(encrypted, { id, provider }) }, this.clock)
    if (!entry.credential) this.reports.unusable(entry)
    return entry
  }
}
