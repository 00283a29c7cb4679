/** The operations between the owner and its workers, by name. Arguments and results are plain data. */

import { deserialize, serialize } from 'node:v8'
import type { Config } from '../config/config.ts'
import type { NewEvent } from '../core/event-types.ts'
import type { DrawnNumbers } from '../core/ids.ts'
import type { Json } from '../core/json.ts'
import type { EntryRefusal, LedgerEntry, Move, NewEntry } from '../core/ledger-entries.ts'
import type { ProcessStatus } from '../core/live-figures.ts'
import type { EntryQuery, EntrySum } from '../ledger/entries.ts'
import type {
  FoundPage,
  GenerationRecord,
  GenerationSearch,
  SessionQuery,
  SessionSlice,
  SessionUse,
  Sums,
  UseQuery,
  UseRow,
} from '../ledger/types.ts'
import type { CompactionKey } from '../store/compaction-keys.ts'
import type { DeliveryQuery, EventQuery, ReceiverState, StoredDelivery, StoredEvent } from '../store/events.ts'
import type { GivenId } from '../store/given-ids.ts'
import type { Assignment, AssignmentKind, AuditQuery, AuditRow, GuardrailSnapshot, StoredGuardrail } from '../store/guardrails.ts'
import type { KeyRecord, StoredKey } from '../store/keys.ts'
import type { Balance, LeaseAnswer, LeaseAsk, LeaseName, Pulse, PulseReply, SettledRows } from '../store/record.ts'
import type { RefusalQuery, RefusalRow } from '../store/refusals.ts'
import type { CounterAnswer, CounterAsk, Topic } from './shared/types.ts'

/** The environment's variable that makes a process a worker; its value is the worker's number. */
export const WORKER_VARIABLE = 'HEADGATE_WORKER'

/** Data that a worker needs before it can start. */
export interface Welcome {
  /** 1 to `count`. */
  slot: number
  count: number
  /** The configuration, packed by `packConfig`. */
  config: string
  /** Sequences of generations that the record knew then. */
  drawn: DrawnNumbers
  /** Random text that all workers know and no other program. */
  secret: string
  /** Damage that the owner has found in its store: no new work may begin. */
  stopped?: string | undefined
}

/** Outcome of a compare-and-set on a key: `current` is the stored key where it differs from the one that the worker had seen. */
export type Replaced = { done: StoredKey } | { current: StoredKey } | { missing: true }

/** A balance as it crosses: JSON has no integers beyond 2^53. */
export interface SentBalance {
  key: string
  leased: number
  spent: string
  daily: string
  weekly: string
  monthly: string
}

export function sentBalance({ key, leased, spent, daily, weekly, monthly }: Balance): SentBalance {
  return { key, leased, spent: String(spent), daily: String(daily), weekly: String(weekly), monthly: String(monthly) }
}

export function balanceFrom({ key, leased, spent, daily, weekly, monthly }: SentBalance): Balance {
  return { key, leased, spent: BigInt(spent), daily: BigInt(daily), weekly: BigInt(weekly), monthly: BigInt(monthly) }
}

export function sentSums(sums: Sums): [key: string, nano: string][] {
  return Array.from(sums, ([key, nano]) => [key, String(nano)])
}

export function sumsFrom(sent: readonly (readonly [key: string, nano: string])[]): Sums {
  return new Map(sent.map(([key, nano]) => [key, BigInt(nano)]))
}

/** A sum of use, of a session or of others, as it crosses. */
export type Sent<Row extends { cost: bigint }> = Omit<Row, 'cost'> & { cost: string }

export function sentCost<Row extends { cost: bigint }>(row: Row): Sent<Row> {
  return { ...row, cost: String(row.cost) }
}

export function costFrom<Row extends { cost: bigint }>(row: Sent<Row>): Row {
  return { ...row, cost: BigInt(row.cost) } as unknown as Row
}

/** A sum of entries as it crosses. */
export type SentEntrySum = Omit<EntrySum, 'amount' | 'settled'> & { amount: string; settled: string }

export function sentEntrySum({ amount, settled, ...of }: EntrySum): SentEntrySum {
  return { ...of, amount: String(amount), settled: String(settled) }
}

export function entrySumFrom({ amount, settled, ...of }: SentEntrySum): EntrySum {
  return { ...of, amount: BigInt(amount), settled: BigInt(settled) }
}

/** Operations that workers call and the owner answers: the store of record, and what processes share. */
export interface OwnerOffer {
  welcome(): Welcome
  /** The worker listens there. */
  serving(url: string): null
  /** It cannot start, for this reason, and ends. */
  failed(why: string): null

  take(node: string, rows: readonly SettledRows[]): null
  lease(node: string, ask: LeaseAsk): LeaseAnswer
  giveBack(node: string, lease: LeaseName, amount: number | 'all', turn: number): null
  endLeases(node: string): null
  pulse(pulse: Pulse): PulseReply
  balances(keys: readonly string[]): SentBalance[]
  spentByAll(): string
  forgetLost(grace: number): [node: string, nano: number][]

  keyFind(hash: string): StoredKey | undefined
  keysFind(hashes: readonly string[]): StoredKey[]
  keyPut(key: KeyRecord): StoredKey
  /** Puts `key` there if what stands under `hash` is still as it was `seen`. */
  keyReplace(hash: string, seen: StoredKey, key: KeyRecord): Replaced
  keyRemove(hash: string): boolean
  keyList(): StoredKey[]
  keysIssued(by: string, now: number): StoredKey[]
  keysAfter(hash: string, most: number): StoredKey[]

  guardrailAll(): GuardrailSnapshot
  guardrailPut(guardrail: StoredGuardrail, seen: number): boolean
  guardrailRemove(id: string): boolean
  guardrailAssign(assignments: readonly Assignment[]): number
  guardrailUnassign(kind: AssignmentKind, guardrail: string, subjects: readonly string[]): number
  guardrailNote(rows: readonly AuditRow[]): null
  guardrailFindings(query: AuditQuery): AuditRow[]
  guardrailPrune(before: number, most: number, age: number): number
  guardrailSecret(): string

  refusalPut(rows: readonly RefusalRow[]): null
  refusalList(query: RefusalQuery): RefusalRow[]
  refusalPrune(before: number, most: number, age: number): number

  givenIdGive(rows: readonly GivenId[]): null
  givenIdFind(ids: readonly string[]): GivenId[]
  givenIdPrune(before: number, most: number, age: number): number

  compactionKeys(now: number, first: string): readonly CompactionKey[]
  compactionKeyAdd(now: number, value: string): CompactionKey
  compactionKeyRewrite(number: number, from: string, to: string): boolean
  compactionKeyRemove(number: number): boolean

  eventAdd(events: readonly NewEvent[]): null
  eventPage(query: EventQuery): StoredEvent[]
  eventLast(): number
  eventFind(id: string): StoredEvent | undefined
  eventDeliveries(query: DeliveryQuery): StoredDelivery[]
  eventRedeliver(event: number, receiver: string | undefined, now: number): number
  eventReceivers(): ReceiverState[]
  eventDisabled(receiver: string, disabledAt: number | null): boolean

  ledgerFind(id: string): GenerationRecord | undefined
  /** Begins to read; the number is for `ledgerNext`. */
  ledgerOpen(since: number): number
  /** Some more; none at the end. */
  ledgerNext(reading: number): GenerationRecord[]
  ledgerEnd(reading: number): null
  ledgerUse(query: UseQuery): Sent<UseRow>[]
  ledgerSessions(query: SessionQuery, slice: SessionSlice): { total: number; rows: Sent<SessionUse>[] }
  ledgerSearch(query: GenerationSearch, before: string): FoundPage
  ledgerSpent(): [key: string, nano: string][]
  ledgerCarried(): [key: string, nano: string][]

  entryAdd(entry: NewEntry): LedgerEntry | EntryRefusal
  entryPage(query: EntryQuery): LedgerEntry[]
  entrySums(keys: readonly string[] | null): SentEntrySum[]
  entryMoves(from: number, until: number): Move[]

  counter(ask: CounterAsk): CounterAnswer
  news(topic: Topic, message: Json): null
  /** Figures of each worker; null for one that does not answer. */
  status(): (ProcessStatus | null)[]
}

/** Operations that the owner calls and workers answer. */
export interface WorkerOffer {
  /** A pulse would bring something: a changed key, or a lease that is wanted back. */
  urge(): null
  news(topic: Topic, message: Json): null
  /** Metrics of the process, as `Tallies.snapshot()` returns them. */
  metrics(): Json[]
  notReady(): readonly string[]
  /** No new work begins any more: what is damaged in the owner's store. */
  stopWork(problem: string): null
  status(): ProcessStatus | null
  /** Takes the configuration over, packed by `packConfig`. */
  reload(config: string): null
  drain(): null
  /** Cuts what the drain still waits for. */
  hurry(): null
}

/** A configuration has maps in it, which JSON has not. */
export const packConfig = (config: Config): string => serialize(config).toString('base64')

export const unpackConfig = (packed: string): Config => deserialize(Buffer.from(packed, 'base64')) as Config
