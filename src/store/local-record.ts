/**
 * The store of record in the process that owns the file, or in memory: a lease is a hold in the owner's own credit, so
 * that every grant is one synchronous step. Leases live as long as the owner: its workers end with it.
 */
import type { Clock } from '../core/clock.ts'
import { generationId } from '../core/ids.ts'
import { type Credit, holdWithin } from '../ledger/credit.ts'
import type { LedgerReader } from '../ledger/reader.ts'
import type { Journal, SettleRow } from '../ledger/types.ts'
import type { AuditLogStore } from './audit-log.ts'
import { checkHold, checkSettle } from './batch.ts'
import { BYOK_KEYS_CHANGED, type ByokKeyStore, WatchedByokKeys } from './byok-keys.ts'
import type { CompactionKeyStore } from './compaction-keys.ts'
import type { EventStore } from './events.ts'
import type { GivenIdStore } from './given-ids.ts'
import { GUARDRAILS_CHANGED, type GuardrailStore, WatchedGuardrails } from './guardrails.ts'
import { KeyChanges, WatchedKeys } from './key-changes.ts'
import type { KeyStore } from './keys.ts'
import { LeaseBook, limitedAccounts } from './lease-book.ts'
import { LEVELS_CHANGED, type LevelStore, WatchedLevels } from './levels.ts'
import type { Balance, LeaseAnswer, LeaseAsk, LeaseName, Pulse, PulseReply, SettledRows, StoreOfRecord } from './record.ts'
import type { RefusalStore } from './refusals.ts'
import { chargedAt } from './rows.ts'

/** The journals of this program can say of many generations at once which of them are there. */
interface RecordJournal extends Journal {
  settledAmong?(seqs: readonly number[]): ReadonlyMap<number, string>
}

export interface LocalRecordOptions {
  readonly journal: RecordJournal
  /** Reads of it. */
  readonly ledger: LedgerReader
  readonly keys: KeyStore
  readonly guardrails: GuardrailStore
  readonly compactionKeys: CompactionKeyStore
  readonly byokKeys: ByokKeyStore
  readonly levels: LevelStore
  readonly events: EventStore
  readonly auditLog: AuditLogStore
  readonly refusals: RefusalStore
  readonly givenIds: GivenIdStore
  /** Of the whole journal. */
  readonly credit: Credit
  readonly clock: Clock
}

/** A process gets no more than this part of what is left, unless it needs more: so leases shrink towards the limit. */
const SHARE = 4

export class LocalRecord implements StoreOfRecord {
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
  private readonly journal: RecordJournal
  private readonly credit: Credit
  private readonly leases: LeaseBook
  private readonly changes: KeyChanges
  private readonly clock: Clock
  /** Generations that wait for the journal's commit. */
  private readonly arriving = new Map<number, Promise<void>>()

  constructor(options: LocalRecordOptions) {
    const { journal, ledger, keys, guardrails, compactionKeys, byokKeys, levels, events, auditLog, refusals, givenIds } = options
    const { credit, clock } = options
    this.journal = journal
    this.ledger = ledger
    this.credit = credit
    this.clock = clock
    this.changes = new KeyChanges(`${Math.floor(clock.now()).toString(36)}${Math.floor(clock.random() * 2 ** 40).toString(36)}`)
    this.keys = new WatchedKeys(keys, (hash) => this.changes.note(hash))
    this.guardrails = new WatchedGuardrails(guardrails, () => this.changes.note(GUARDRAILS_CHANGED))
    this.compactionKeys = compactionKeys
    this.byokKeys = new WatchedByokKeys(byokKeys, () => this.changes.note(BYOK_KEYS_CHANGED))
    this.levels = new WatchedLevels(levels, () => this.changes.note(LEVELS_CHANGED))
    this.events = events
    this.auditLog = auditLog
    this.refusals = refusals
    this.givenIds = givenIds
    const release = ({ key, payer }: LeaseName, amount: number): void => credit.account(key, payer).release(amount)
    this.leases = new LeaseBook(() => clock.monotonic(), release)
  }

  async take(node: string, rows: readonly SettledRows[]): Promise<void> {
    // Checked before any is queued: what is queued will be written.
    for (const { hold, settled } of rows) {
      checkHold(hold)
      checkSettle(settled)
    }
    const there = this.settledAmong(rows)
    const waits = new Set<Promise<void>>()
    const fresh = new Map<number, SettledRows>()
    for (const row of rows) {
      const { seq } = row.hold
      const arriving = this.arriving.get(seq)
      if (arriving) waits.add(arriving)
      if (arriving || there(row) || fresh.has(seq)) continue
      const dated = { hold: row.hold, settled: this.dated(node, row) }
      fresh.set(seq, dated)
      this.journal.hold(dated.hold)
      this.journal.settle(dated.settled)
    }
    if (fresh.size > 0) waits.add(this.arrive(node, fresh))
    await Promise.all(waits)
  }

  /** As `take`: rows that are there already change nothing. */
  inherit(node: string, rows: readonly SettledRows[]): Promise<void> {
    return this.take(node, rows)
  }

  async lease(node: string, wanted: LeaseAsk): Promise<LeaseAnswer> {
    const { key, payer, ask, allowances, idle, more, recallsFirst, turn } = wanted
    const account = this.credit.account(key, payer)
    const frees = allowances.map((allowance) => account.allowanceLeft(allowance))
    const free = Math.min(...frees)
    const hold = holdWithin(free + idle, ask)
    if (hold === undefined || (recallsFirst && hold < ask.full)) {
      const waitingFor = this.leases.call(node, wanted, limitedAccounts(wanted))
      if (hold === undefined || waitingFor > 0) return { granted: 0, hold: null, lefts: frees, waitingFor }
    }
    const need = Math.max(0, hold - idle)
    const granted = Math.max(need, Math.min(need + more, Math.floor(free / SHARE)))
    account.reserve(granted)
    this.leases.grant(node, wanted, { amount: granted, turn, at: this.now() })
    return { granted, hold, lefts: frees.map((left) => left - granted), waitingFor: 0 }
  }

  async giveBack(node: string, lease: LeaseName, amount: number | 'all', turn: number): Promise<void> {
    this.leases.giveBack(node, lease, amount, turn)
  }

  async pulse({ node, expiry, cursor }: Pulse): Promise<PulseReply> {
    const { wanted, life } = this.leases.pulse(node, expiry)
    return { ...this.changes.since(cursor), wanted, nodes: this.leases.alive(), life }
  }

  async balances(keys: readonly string[]): Promise<Balance[]> {
    return keys.map((key) => {
      const account = this.credit.account(key)
      return { key, spent: account.settled, ...account.usage(), leased: this.leases.leased(key) }
    })
  }

  async spentByAll(): Promise<bigint> {
    return this.credit.settled
  }

  async forgetLost(grace: number): Promise<ReadonlyMap<string, number>> {
    return new Map(this.leases.lostFor(grace).map((node) => [node, this.nodeGone(node)]))
  }

  async endLeases(node: string): Promise<void> {
    this.leases.end(node)
  }

  /**
   * Ends the leases of a process that is over, once all that it settled has been taken.
   * @returns the nano-dollars set free.
   */
  nodeGone(node: string): number {
    return this.leases.gone(node)
  }

  /** The journal stays open: it is its owner's. */
  async close(): Promise<void> {
    await this.journal.committed()
  }

  /** Moves the cost of each row from the lease to the spending, once the journal has the row: a refused row comes again. */
  private arrive(node: string, rows: ReadonlyMap<number, SettledRows>): Promise<void> {
    const written = this.journal.committed().then(() => {
      for (const { hold, settled } of rows.values()) {
        const account = this.credit.account(hold.key, hold.payer)
        account.release(this.leases.reduce(node, hold, settled.cost))
        account.charge(settled.cost, chargedAt(settled))
      }
    })
    const arrived = written.finally(() => {
      for (const seq of rows.keys()) this.arriving.delete(seq)
    })
    for (const seq of rows.keys()) this.arriving.set(seq, arrived)
    return arrived
  }

  /**
   * The settlement with a moment that this process's clock allows: not after now, and not before the lease that paid for
   * it was last granted. So a process whose clock is wrong opens no window early, and charges none that has ended.
   */
  private dated(node: string, { hold, settled }: SettledRows): SettleRow {
    const now = this.now()
    const chargeTime = chargedAt(settled)
    const at = Math.min(now, Math.max(chargeTime, this.leases.grantedAt(node, hold)))
    return at === chargeTime ? settled : { ...settled, at }
  }

  /** Milliseconds since the epoch. */
  private now(): number {
    return Math.floor(this.clock.now())
  }

  private settledAmong(rows: readonly SettledRows[]): (row: SettledRows) => boolean {
    if (this.journal.settledAmong) {
      const found = this.journal.settledAmong(rows.map(({ hold }) => hold.seq))
      return ({ hold }) => found.has(hold.seq)
    }
    return ({ hold }) => this.journal.find(generationId(hold.seq, hold.tag))?.settled !== undefined
  }
}
