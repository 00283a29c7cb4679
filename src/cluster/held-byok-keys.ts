/** The keys of providers that teams have brought, as this process holds them: encrypted. */
import type { Origin } from '../core/audit-entries.ts'
import type { ByokKeyStore, StoredByokKey } from '../store/byok-keys.ts'
import { HeldSnapshot, type HeldSnapshotOptions } from './held-snapshot.ts'

export class HeldByokKeys extends HeldSnapshot<readonly StoredByokKey[]> implements ByokKeyStore {
  private readonly store: ByokKeyStore

  constructor({ store, ...options }: HeldSnapshotOptions & { readonly store: ByokKeyStore }) {
    super([], 'byok', options)
    this.store = store
  }

  all(): StoredByokKey[] | Promise<StoredByokKey[]> {
    return this.store.all()
  }

  put(key: StoredByokKey, seen: number, by?: Origin): Promise<boolean> {
    return this.through(() => this.store.put(key, seen, by))
  }

  rewrap(id: string, from: string, to: string, by?: Origin): Promise<boolean> {
    return this.through(() => this.store.rewrap(id, from, to, by))
  }

  remove(id: string, by?: Origin): Promise<boolean> {
    return this.through(() => this.store.remove(id, by))
  }
}
