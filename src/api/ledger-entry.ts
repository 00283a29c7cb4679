/** An entry of the ledger as the API shows it, and the parts of the gateway that it is read from. */
import type { JsonObject } from '../core/json.ts'
import { entryGeneration, type LedgerEntry } from '../core/ledger-entries.ts'
import { usd } from '../core/money.ts'
import type { LedgerReader } from '../ledger/reader.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { KeySource } from './key-entry.ts'

export interface EntrySource extends Pick<KeySource, 'configured' | 'store' | 'clock'> {
  readonly ledger: Pick<LedgerReader, 'find' | 'entries'>
}

/** @param keys all keys, by which the name of the entry's key is found. */
export function entryView(entry: LedgerEntry, keys: readonly ApiKey[]): JsonObject {
  const { id, at, kind, amount, key, settles, countedAt, actor, reason, once } = entry
  const of = keys.find(({ identity }) => identity === key)
  return {
    id,
    created_at: new Date(at).toISOString(),
    kind,
    amount: usd(amount),
    amount_nano: amount,
    api_key_hash: of?.hash ?? key,
    api_key_name: of?.name ?? null,
    generation_id: entryGeneration(entry),
    settles: settles ?? null,
    counted_at: countedAt > 0 ? new Date(countedAt).toISOString() : null,
    actor,
    reason,
    idempotency_key: once ?? null,
  }
}
