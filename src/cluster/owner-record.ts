/**
 * The store of record on another machine as the workers of this one have it: their owner is its one client. A worker's lease is a hold in
 * the owner's account, and its rows are forwarded with those of all others.
 */
import type { Clock } from '../core/clock.ts'
import type { LedgerReader } from '../ledger/reader.ts'
import type { AuditLogStore } from '../store/audit-log.ts'
import { BYOK_KEYS_CHANGED, type ByokKeyStore, WatchedByokKeys } from '../store/byok-keys.ts'
import type { CompactionKeyStore } from '../store/compaction-keys.ts'
import type { EventStore } from '../store/events.ts'
import type { GivenIdStore } from '../store/given-ids.ts'
import { GUARDRAILS_CHANGED, type GuardrailStore, WatchedGuardrails } from '../store/guardrails.ts'
import { KeyChanges, WatchedKeys } from '../store/key-changes.ts'
import type { KeyStore } from '../store/keys.ts'
import { LeaseBook, leaseText, limitedAccounts } from '../store/lease-book.ts'
import { LEVELS_CHANGED, type LevelStore, WatchedLevels } from '../store/levels.ts'
import type { Balance, LeaseAnswer, LeaseAsk, LeaseName, Pulse, PulseReply, SettledRows, StoreOfRecord } from '../store/record.ts'
import type { RefusalStore } from '../store/refusals.ts'
import type { LeasedCredit } from './leased-credit.ts'
import { OwnerForwarding } from './owner-forwarding.ts'
import { type ClusterReport, unreachable } from './record-calls.ts'

export interface OwnerRecordOptions {
  /** Name of the owner at the record. */
  readonly node: string
  readonly record: StoreOfRecord
  /** The owner's own, leased from the record. */
  readonly credit: LeasedCredit
  readonly clock: Clock
  /** Milliseconds since the last answer of the record, whether the last pulse failed, and the processes that were alive at that answer. */
  readonly recordState: () => { readonly silence: number; readonly isLost: boolean; readonly nodes: number }
  readonly report: (report: ClusterReport) => void
}

/** Milliseconds without an answer of the record after which workers get none either: they look up keys themselves then. */
const MAX_SILENCE_MS = 2_000
/** Milliseconds for which workers may take to give back what lies idle, before the owner answers the record's call. */
const MAX_CALL_MS = 400

export class OwnerRecord implements StoreOfRecord {
  readonly keys: KeyStore
  readonly ledger: LedgerReader
  readonly guardrails: GuardrailStore
  readonly compactionKeys: CompactionKeyStore
  readonly byokKeys: ByokKeyStore
  readonly levels: LevelStore
  readonly events: EventStore
  readonly auditLog: AuditLogStore
  readonly refusals: RefusalStore
  readonly givenIds: GivenIdStore
  private readonly options: OwnerRecordOptions
  private readonly leases: LeaseBook
  private readonly forwarding: OwnerForwarding
  private changes: KeyChanges
  private readonly listeners: (() => void)[] = []
  /** Calls of the record for idle leases that are under way, by the names of the leases, and how each ends. */
  private readonly calls = new Map<string, () => void>()
  private closing: Promise<void> | undefined

  constructor(options: OwnerRecordOptions) {
    const { node, record, credit, clock, report } = options
    this.options = options
    this.keys = new WatchedKeys(record.keys, (hash) => this.changes.note(hash))
    this.guardrails = new WatchedGuardrails(record.guardrails, () => this.changes.note(GUARDRAILS_CHANGED))
    this.ledger = record.ledger
    this.compactionKeys = record.compactionKeys
    this.byokKeys = new WatchedByokKeys(record.byokKeys, () => this.changes.note(BYOK_KEYS_CHANGED))
    this.levels = new WatchedLevels(record.levels, () => this.changes.note(LEVELS_CHANGED))
    this.events = record.events
    this.auditLog = record.auditLog
    this.refusals = record.refusals
    this.givenIds = record.givenIds
    const release = ({ key, payer }: LeaseName, amount: number): void => credit.account(key, payer).release(amount)
    this.leases = new LeaseBook(() => clock.monotonic(), release)
    this.forwarding = new OwnerForwarding({ node, record, clock, taken: (rows) => credit.taken(rows), report })
    this.changes = this.nextChanges()
  }

  /** Calls `wake` whenever a pulse would bring a change. */
  onWake(wake: () => void): void {
    this.listeners.push(wake)
  }

  take(node: string, rows: readonly SettledRows[]): Promise<void> {
    return this.forwarding.take(rows, (row) => this.charge(node, row))
  }

  /** As `take`, of rows that a dead worker has left: the record may have some of them, so that their leases are larger than is known here. */
  async inherit(node: string, rows: readonly SettledRows[]): Promise<void> {
    const taken = this.forwarding.take(rows, (row) => {
      this.charge(node, row)
      this.options.credit.account(row.hold.key, row.hold.payer).doubt()
    })
    await Promise.all([taken, this.forwarding.flush()])
  }

  async lease(node: string, wanted: LeaseAsk): Promise<LeaseAnswer> {
    // It does not know yet that its leases were ended: what it believes to have idle counts for nothing.
    if (!this.leases.knows(node)) throw unreachable(new Error('no pulse since the leases of this process were ended'))
    const { key, payer, turn } = wanted
    const accounts = limitedAccounts(wanted)
    const others = (): number => {
      const count = this.leases.call(node, wanted, accounts)
      if (count > 0) this.wake()
      return count
    }
    const account = this.options.credit.account(key, payer)
    const answer = await account.lend(wanted, others)
    if (!this.leases.knows(node)) {
      account.release(answer.granted)
      throw unreachable(new Error('the leases of this process were ended meanwhile'))
    }
    this.leases.grant(node, wanted, { amount: answer.granted, turn, at: this.options.clock.now() })
    return answer
  }

  async giveBack(node: string, lease: LeaseName, amount: number | 'all', turn: number): Promise<void> {
    this.leases.giveBack(node, lease, amount, turn)
    if (this.leases.awaited(lease) === 0) this.calls.get(leaseText(lease))?.()
  }

  async endLeases(node: string): Promise<void> {
    this.leases.end(node)
  }

  /** A worker never believes in what its owner cannot vouch for: its silence counts from the record's own. */
  async pulse({ node, expiry, cursor }: Pulse): Promise<PulseReply> {
    const { silence, isLost, nodes } = this.options.recordState()
    if (isLost || silence >= MAX_SILENCE_MS) throw unreachable(new Error('the owner does not hear the store of record'))
    const { wanted, life } = this.leases.pulse(node, expiry)
    return { ...this.changes.since(cursor), wanted, nodes: nodes * this.leases.alive(), life, silence }
  }

  balances(keys: readonly string[]): Promise<Balance[]> {
    return this.options.record.balances(keys)
  }

  spentByAll(): Promise<bigint> {
    return this.options.record.spentByAll()
  }

  forgetLost(grace: number): Promise<ReadonlyMap<string, number>> {
    return this.options.record.forgetLost(grace)
  }

  /** Hashes of keys that others have changed; undefined: whatever workers have cached may have changed. */
  changed(hashes: readonly string[] | undefined): void {
    if (!hashes) this.changes = this.nextChanges()
    else for (const hash of hashes) this.changes.note(hash)
    this.wake()
  }

  /** The record wants back what lies idle of a lease: in the workers, and here. @throws Fault `unavailable`. */
  async callBack(lease: LeaseName): Promise<void> {
    const name = leaseText(lease)
    if (this.calls.has(name)) return
    const { node, credit, clock } = this.options
    this.leases.call(node, lease, [lease.key])
    if (this.leases.awaited(lease) > 0) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = clock.after(MAX_CALL_MS, resolve)
      this.calls.set(name, resolve)
      this.wake()
      await promise
      timer.cancel()
      this.calls.delete(name)
    }
    await credit.giveBackIdle(lease)
  }

  /** The record may have set free what the owner has leased: nothing of it may be spent by any worker. */
  lapse(): void {
    this.leases.allGone()
    this.wake()
  }

  /** Ends the leases of a worker that is over, once all that it settled has been handed in. @returns the nano-dollars set free. */
  nodeGone(node: string): number {
    return this.leases.gone(node)
  }

  /** Runs a reading of the record between two batches. @throws Fault `unavailable`. */
  between<T>(read: () => Promise<T>): Promise<T> {
    return this.forwarding.between(read)
  }

  /** Forwards all that workers have handed in. @throws Fault `unavailable`. */
  flush(): Promise<void> {
    return this.forwarding.flush()
  }

  /** No worker is left. The record is closed with the rest of the owner. */
  close(): Promise<void> {
    this.closing ??= this.forwarding.close().then(() => this.leases.allGone())
    return this.closing
  }

  private wake(): void {
    for (const wake of this.listeners) wake()
  }

  /** Its cost leaves the worker's lease now, and counts as not forwarded until the record has it. */
  private charge(node: string, row: SettledRows): void {
    const { hold, settled } = row
    const { credit } = this.options
    credit.account(hold.key, hold.payer).settle(this.leases.reduce(node, hold, settled.cost), settled.cost)
    credit.noted(row)
  }

  private nextChanges(): KeyChanges {
    const { clock } = this.options
    return new KeyChanges(`${Math.floor(clock.now()).toString(36)}${Math.floor(clock.random() * 2 ** 40).toString(36)}`)
  }
}
