/** The store of record in a worker: sends every call to the owner. */
import { Fault } from '../core/faults.ts'
import type { LedgerEntries } from '../ledger/entries.ts'
import type {
  FoundPage,
  GenerationRecord,
  GenerationSearch,
  LedgerReader,
  SessionList,
  SessionQuery,
  SessionSlice,
  SessionUse,
  Sums,
  UseQuery,
  UseRow,
} from '../ledger/types.ts'
import type { CompactionKeyStore } from '../store/compaction-keys.ts'
import type { EventStore } from '../store/events.ts'
import type { GivenIdStore } from '../store/given-ids.ts'
import type { GuardrailStore } from '../store/guardrails.ts'
import type { KeyRecord, KeyStore, StoredKey } from '../store/keys.ts'
import type { Balance, LeaseAnswer, LeaseAsk, LeaseName, Pulse, PulseReply, SettledRows, StoreOfRecord } from '../store/record.ts'
import type { RefusalStore } from '../store/refusals.ts'
import type { Line } from './ipc-line.ts'
import { balanceFrom, costFrom, type OwnerOffer, sumsFrom, type WorkerOffer } from './messages.ts'
import { RemoteEntries } from './remote-entries.ts'
import { RemoteCompactionKeys, RemoteEvents, RemoteGivenIds, RemoteGuardrails, RemoteRefusals } from './remote-stores.ts'

export type OwnerLine = Line<OwnerOffer, WorkerOffer>

export class RemoteRecord implements StoreOfRecord {
  readonly keys: KeyStore
  readonly ledger: LedgerReader
  readonly guardrails: GuardrailStore
  readonly compactionKeys: CompactionKeyStore
  readonly events: EventStore
  readonly refusals: RefusalStore
  readonly givenIds: GivenIdStore
  private readonly line: OwnerLine
  private readonly listeners: (() => void)[] = []

  constructor(line: OwnerLine) {
    this.line = line
    this.keys = new RemoteKeys(line)
    this.ledger = new RemoteLedger(line)
    this.guardrails = new RemoteGuardrails(line)
    this.compactionKeys = new RemoteCompactionKeys(line)
    this.events = new RemoteEvents(line)
    this.refusals = new RemoteRefusals(line)
    this.givenIds = new RemoteGivenIds(line)
  }

  /** Calls `hear` whenever the owner knows that a pulse would bring something. */
  onUrge(hear: () => void): void {
    this.listeners.push(hear)
  }

  /** The owner's notification. */
  urge(): void {
    for (const hear of this.listeners) hear()
  }

  async take(node: string, rows: readonly SettledRows[]): Promise<void> {
    await this.line.ask('take', node, rows)
  }

  lease(node: string, ask: LeaseAsk): Promise<LeaseAnswer> {
    return this.line.ask('lease', node, ask)
  }

  async giveBack(node: string, lease: LeaseName, amount: number | 'all', turn: number): Promise<void> {
    await this.line.ask('giveBack', node, lease, amount, turn)
  }

  async endLeases(node: string): Promise<void> {
    await this.line.ask('endLeases', node)
  }

  pulse(pulse: Pulse): Promise<PulseReply> {
    return this.line.ask('pulse', pulse)
  }

  async balances(keys: readonly string[]): Promise<Balance[]> {
    return (await this.line.ask('balances', keys)).map(balanceFrom)
  }

  async spentByAll(): Promise<bigint> {
    return BigInt(await this.line.ask('spentByAll'))
  }

  async forgetLost(grace: number): Promise<ReadonlyMap<string, number>> {
    return new Map(await this.line.ask('forgetLost', grace))
  }

  /** The record is the owner's: nothing of it ends here. */
  async close(): Promise<void> {}
}

/** Tries of a change before it is given up: each fails only because another change of the same key went through. */
const MOST_TRIES = 100

class RemoteKeys implements KeyStore {
  private readonly line: OwnerLine

  constructor(line: OwnerLine) {
    this.line = line
  }

  find(hash: string): Promise<StoredKey | undefined> {
    return this.line.ask('keyFind', hash)
  }

  findMany(hashes: readonly string[]): Promise<StoredKey[]> {
    return this.line.ask('keysFind', hashes)
  }

  put(key: KeyRecord): Promise<StoredKey> {
    return this.line.ask('keyPut', key)
  }

  /** A function cannot cross: the result is set if the key is still the one that it was made from. */
  async change(hash: string, how: (key: StoredKey) => KeyRecord): Promise<StoredKey | undefined> {
    let seen = await this.find(hash)
    for (let tries = 0; seen; tries++) {
      if (tries === MOST_TRIES) throw new Fault('unavailable', { message: 'The key is changed too often', retryAfter: 1 })
      const replaced = await this.line.ask('keyReplace', hash, seen, how(seen))
      if ('done' in replaced) return replaced.done
      seen = 'current' in replaced ? replaced.current : undefined
    }
    return undefined
  }

  remove(hash: string): Promise<boolean> {
    return this.line.ask('keyRemove', hash)
  }

  list(): Promise<StoredKey[]> {
    return this.line.ask('keyList')
  }

  issuedBy(by: string, now: number): Promise<StoredKey[]> {
    return this.line.ask('keysIssued', by, now)
  }

  listAfter(hash: string, most: number): Promise<StoredKey[]> {
    return this.line.ask('keysAfter', hash, most)
  }
}

class RemoteLedger implements LedgerReader {
  readonly entries: LedgerEntries
  private readonly line: OwnerLine

  constructor(line: OwnerLine) {
    this.line = line
    this.entries = new RemoteEntries(line)
  }

  find(id: string): Promise<GenerationRecord | undefined> {
    return this.line.ask('ledgerFind', id)
  }

  search(query: GenerationSearch, before: string): Promise<FoundPage> {
    return this.line.ask('ledgerSearch', query, before)
  }

  async *export(since = 0): AsyncGenerator<GenerationRecord> {
    const reading = await this.line.ask('ledgerOpen', since)
    try {
      for (;;) {
        const page = await this.line.ask('ledgerNext', reading)
        if (page.length === 0) return
        for (const { settled, ...rest } of page) yield { ...rest, settled }
      }
    } finally {
      this.line.notify('ledgerEnd', reading)
    }
  }

  /** The owner scans for all its workers, one scan at a time. */
  async use(query: UseQuery): Promise<readonly UseRow[]> {
    return (await this.line.ask('ledgerUse', query)).map(costFrom<UseRow>)
  }

  async sessions(query: SessionQuery, slice: SessionSlice): Promise<SessionList> {
    const { total, rows } = await this.line.ask('ledgerSessions', query, slice)
    return { total, rows: rows.map(costFrom<SessionUse>) }
  }

  async spent(): Promise<Sums> {
    return sumsFrom(await this.line.ask('ledgerSpent'))
  }

  async carried(): Promise<Sums> {
    return sumsFrom(await this.line.ask('ledgerCarried'))
  }
}
