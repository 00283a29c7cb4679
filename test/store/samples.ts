/** Rows and keys that the store's tests write. */
import { noRowCounts } from '../../src/core/row-counts.ts'
import type { HoldRow, SettleRow } from '../../src/ledger/types.ts'
import type { KeyRecord } from '../../src/store/keys.ts'

export const TAG = 'abcdefghijkl'

export function holdRow(seq: number, more: Partial<HoldRow> = {}): HoldRow {
  return { seq, tag: TAG, key: 'dev', model: 'acme/one', endpoint: 'acme/one@here', hold: 900, floor: 300, ...more }
}

export function settleRow(seq: number, cost: number, more: Partial<SettleRow> = {}): SettleRow {
  return {
    seq,
    status: 'completed',
    cost,
    at: 0,
    ...noRowCounts(),
    input: 120,
    output: 34,
    cached: 20,
    cacheWrite: 3,
    reasoning: 4,
    estimated: false,
    facts: '{"provider":"Here"}',
    ...more,
  }
}

export function seqId(seq: number, tag = TAG): string {
  return `gen-${seq.toString(36)}-${tag}`
}

export function apiKey(letter: string, more: Partial<KeyRecord> = {}): KeyRecord {
  const hash = letter.repeat(64)
  return {
    identity: hash,
    hash,
    label: `sk-…${letter}`,
    name: `key ${letter}`,
    role: 'member',
    disabled: false,
    limit: null,
    limitReset: null,
    expiresAt: null,
    allowedModels: undefined,
    provider: undefined,
    limits: {},
    passThrough: false,
    includeByokInLimit: false,
    creator: null,
    ...more,
  }
}
