/**
 * Entries of the ledger beside its generations: usage that providers bill beyond what keys were charged, and refunds, corrections and
 * write-offs of an operator. They are only ever appended.
 */
import { generationId } from './ids.ts'
import { chargedAccounts } from './payers.ts'

/**
 * `unrecovered`, `disputed`: the gateway makes them with a settlement; they move no balance. `correction`: charges a key, or with an amount
 * below zero gives back. `refund`: gives back. `write_off`: closes a part of one of the first two that is not charged to anyone.
 */
export const ENTRY_KINDS = ['unrecovered', 'disputed', 'correction', 'refund', 'write_off'] as const
export type EntryKind = (typeof ENTRY_KINDS)[number]

/** Kinds that the gateway makes by itself. */
export const LOSSES = ['unrecovered', 'disputed'] as const satisfies readonly EntryKind[]
export type Loss = (typeof LOSSES)[number]

export interface LedgerEntry {
  readonly id: string
  /** Rises from entry to entry. */
  readonly number: number
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Identity of the key, and its payers (`payers.ts`). */
  readonly key: string
  readonly payer?: string | undefined
  /** Sequence and tag of the generation that it is about. */
  readonly generation?: { readonly seq: number; readonly tag: string } | undefined
  /** Names under which sums of use count it; empty where there is no generation. */
  readonly model: string
  readonly provider: string
  readonly kind: EntryKind
  /** Nano-dollars; below zero only of a correction. */
  readonly amount: number
  /** The moment in whose day, week and month it counts, in milliseconds since the epoch; 0 where it moves nothing. */
  readonly countedAt: number
  /** Id of the entry that it settles, in whole or in part. */
  readonly settles?: string | undefined
  readonly actor: string
  readonly reason: string
  /** Idempotency key of the request that made the entry. */
  readonly once?: string | undefined
}

export type NewEntry = Omit<LedgerEntry, 'number'>

/** Change of spending by an entry: that of its key, and of its payers. */
export interface Move {
  readonly key: string
  readonly payer?: string | undefined
  readonly model: string
  readonly provider: string
  readonly generation?: LedgerEntry['generation']
  /** Milliseconds since the epoch. */
  readonly countedAt: number
  /** Nano-dollars; below zero: given back. */
  readonly nano: number
}

/** Reason why an entry was not added. */
export type EntryRefusal = 'no_such_entry' | 'more_than_open' | 'more_than_spent'

/** Nano-dollars by which an entry changes the spending of its key. */
export function movedBy({ kind, amount }: Pick<LedgerEntry, 'kind' | 'amount'>): number {
  if (kind === 'correction') return amount
  return kind === 'refund' ? -amount : 0
}

export function entryMove(entry: LedgerEntry): Move | undefined {
  const nano = movedBy(entry)
  const { key, payer, model, provider, generation, countedAt } = entry
  return nano === 0 ? undefined : { key, payer, model, provider, generation, countedAt, nano }
}

/** Actor of the entries that come with a settlement. */
export const GATEWAY_ACTOR = 'gateway'

export const LOSS_REASONS: Readonly<Record<Loss, string>> = {
  unrecovered: 'usage beyond what the limits of the key could pay',
  disputed: 'a report of more usage than is possible',
}

/** Facts of a settlement that become entries. No text among the facts matches, since quotes within texts are escaped. */
const LOST = /"(unrecovered|disputed)_nano":(\d+)/g
/** The end of both names, to be looked for first: nearly all settlements have neither. */
export const LOSS_MARK = 'ed_nano":'

export const lossId = (loss: Loss, seq: number, tag: string): string => `ent_${loss[0]}${seq}_${tag}`

/** Returns the entries that a settlement makes. @param find returns the owner of its hold. */
export function entryLosses(
  { seq, at, facts }: { readonly seq: number; readonly at: number; readonly facts: string },
  find: () => (Pick<LedgerEntry, 'key' | 'payer' | 'model'> & { readonly tag: string }) | undefined,
): NewEntry[] {
  if (!facts.includes(LOSS_MARK)) return []
  const owner = find()
  if (!owner) return []
  return Array.from(facts.matchAll(LOST), ([, name, digits]) => {
    const kind: Loss = name === 'disputed' ? 'disputed' : 'unrecovered'
    return {
      id: lossId(kind, seq, owner.tag),
      at: at > 0 ? at : Math.floor(seq / TICKS),
      key: owner.key,
      payer: owner.payer,
      generation: { seq, tag: owner.tag },
      model: owner.model,
      provider: '',
      kind,
      amount: Math.min(Number(digits), Number.MAX_SAFE_INTEGER),
      countedAt: 0,
      actor: GATEWAY_ACTOR,
      reason: LOSS_REASONS[kind],
    }
  }).filter(({ amount }) => amount > 0)
}

/** Parts of a millisecond in a sequence. */
const TICKS = 4096

export function entryGeneration({ generation }: Pick<LedgerEntry, 'generation'>): string | null {
  return generation ? generationId(generation.seq, generation.tag) : null
}

/** Nano-dollars by identity that entries have moved, as the sums of what keys have spent count them. */
export function sumOfMoves(moves: readonly Move[]): Map<string, bigint> {
  const sums = new Map<string, bigint>()
  for (const move of moves) for (const account of chargedAccounts(move)) sums.set(account, (sums.get(account) ?? 0n) + BigInt(move.nano))
  return sums
}

/**
 * Returns why a store refuses an entry whose amount is more than is open, or than one of its accounts has spent: a key may have had other
 * payers when it spent. Undefined where it adds the entry. @param spent nano-dollars of the key and of each payer.
 */
export function refuseEntry(
  entry: NewEntry,
  { settled, spent }: { settled: { amount: number; already: number } | undefined; spent: readonly bigint[] },
): EntryRefusal | undefined {
  if (entry.settles !== undefined) {
    if (!settled) return 'no_such_entry'
    if (Math.abs(entry.amount) > settled.amount - settled.already) return 'more_than_open'
  }
  return spent.some((each) => each + BigInt(movedBy(entry)) < 0n) ? 'more_than_spent' : undefined
}
