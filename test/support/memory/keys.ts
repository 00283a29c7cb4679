/** Keys in memory: for tests, and for a gateway that may forget. */

import { GATEWAY_ORIGIN } from '../../../src/core/audit-entries.ts'
import type { Clock } from '../../../src/core/clock.ts'
import { Fault } from '../../../src/core/faults.ts'
import type { EventStore } from '../../../src/store/events.ts'
import { keyEvents } from '../../../src/store/key-events.ts'
import type { KeyRecord, KeyStore, StoredKey } from '../../../src/store/keys.ts'

export class MemoryKeys implements KeyStore {
  private readonly keys = new Map<string, StoredKey>()
  private readonly clock: Clock
  private readonly events: Pick<EventStore, 'add'> | undefined

  /** @param events takes what changes of keys are. */
  constructor(clock: Clock, events?: Pick<EventStore, 'add'>) {
    this.clock = clock
    this.events = events
  }

  atHand(hash: string): StoredKey | undefined {
    return this.keys.get(hash)
  }

  find(hash: string): StoredKey | undefined {
    return this.keys.get(hash)
  }

  put(key: KeyRecord): StoredKey {
    const now = Math.floor(this.clock.now())
    const before = this.keys.get(key.hash)
    const { identity, createdAt } = before ?? { identity: key.hash, createdAt: now }
    return this.keep({ ...structuredClone(key), identity, createdAt, updatedAt: now }, before)
  }

  add(key: KeyRecord): StoredKey {
    if (this.find(key.hash)) throw new Fault('conflict', { message: 'There is a key of this hash' })
    return this.put(key)
  }

  change(hash: string, how: (key: StoredKey) => KeyRecord): StoredKey | undefined {
    const found = this.keys.get(hash)
    if (!found) return undefined
    const changed = structuredClone(how(found))
    this.keys.delete(hash)
    const { identity, createdAt } = found
    return this.keep({ ...changed, identity, createdAt, updatedAt: Math.floor(this.clock.now()) }, found)
  }

  remove(hash: string): boolean {
    const before = this.keys.get(hash)
    if (before) this.events?.add(keyEvents(before, undefined, this.clock.now(), GATEWAY_ORIGIN.actor))
    return this.keys.delete(hash)
  }

  list(): StoredKey[] {
    return [...this.keys.values()].sort((a, b) => a.createdAt - b.createdAt || (a.hash < b.hash ? -1 : 1))
  }

  issuedBy(by: string, now: number): StoredKey[] {
    return [...this.keys.values()].filter(({ consent, expiresAt }) => consent?.by === by && (expiresAt === null || expiresAt > now))
  }

  listAfter(hash: string, most: number): StoredKey[] {
    const behind = [...this.keys.values()].filter((key) => key.hash > hash)
    return behind.sort((a, b) => (a.hash < b.hash ? -1 : 1)).slice(0, most)
  }

  private keep(key: StoredKey, before: StoredKey | undefined): StoredKey {
    this.keys.set(key.hash, key)
    this.events?.add(keyEvents(before, key, this.clock.now(), GATEWAY_ORIGIN.actor))
    return key
  }
}
