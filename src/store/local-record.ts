/**
 * The store of record in the process that owns the file, or in memory: a lease is a hold in the owner's own credit, so
 * that every grant is one synchronous step. Leases live as long as the owner: its workers end with it.
 */
import type { Clock } from '../core/clock.ts'
import { generationId } from '../core/ids.ts'
import type { Credit } from '../ledger/credit.ts'
import type { Journal, LedgerReader } from '../ledger/types.ts'
import { GUARDRAILS_CHANGED, type GuardrailStore, WatchedGuardrails } from './guardrails.ts'
import { KeyNews, WatchedKeys } from './key-news.ts'
import type { KeyStore } from './keys.ts'
import { LeaseBook } from './lease-book.ts'
import type { Balance, LeaseAnswer, LeaseAsk, Pulse, PulseReply, SettledRows, StoreOfRecord } from './record.ts'
import { chargedAt, checkHold, checkSettle } from './rows.ts'

/** The journals of this program can say of many generations at once which of them are there. */
interface RecordJournal extends Journal {
  settledAmong?(seqs: readonly number[]): ReadonlyMap<number, string>
}

export interface LocalRecordParts {
  readonly journal: RecordJournal
  readonly keys: KeyStore
  readonly guardrails: GuardrailStore
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
  private readonly journal: RecordJournal
  private readonly credit: Credit
  private readonly leases: LeaseBook
  private readonly news: KeyNews
  /** Generations that wait for the journal's commit. */
  private readonly arriving = new Map<number, Promise<void>>()

  constructor({ journal, keys, guardrails, credit, clock }: LocalRecordParts) {
    this.journal = journal
    this.ledger = journal
    this.credit = credit
    this.news = new KeyNews(`${Math.floor(clock.now()).toString(36)}${Math.floor(clock.random() * 2 ** 40).toString(36)}`)
    this.keys = new WatchedKeys(keys, (hash) => this.news.note(hash))
    this.guardrails = new WatchedGuardrails(guardrails, () => this.news.note(GUARDRAILS_CHANGED))
    this.leases = new LeaseBook(() => clock.monotonic())
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
      fresh.set(seq, row)
      this.journal.hold(row.hold)
      this.journal.settle(row.settled)
    }
    if (fresh.size > 0) waits.add(this.arrive(node, fresh))
    await Promise.all(waits)
  }

  async lease(node: string, ask: LeaseAsk): Promise<LeaseAnswer> {
    const account = this.credit.account(ask.key)
    const left = account.remaining(ask) ?? 0
    if (ask.need > left || !account.tryHold(0, ask)) return { granted: 0, left, waitingFor: this.leases.call(node, ask.key) }
    const granted = Math.max(ask.need, Math.min(ask.want, Math.floor(left / SHARE)))
    account.tryHold(granted, ask)
    this.leases.grant(node, ask.key, granted, ask.turn)
    return { granted, left: left - granted, waitingFor: 0 }
  }

  async giveBack(node: string, key: string, amount: number | 'all', turn: number): Promise<void> {
    if (this.leases.turn(node, key) > turn) return
    this.free(node, key, amount)
    this.leases.answer(node, key)
  }

  async pulse({ node, expiry, cursor }: Pulse): Promise<PulseReply> {
    const wanted = this.leases.pulse(node, expiry)
    return { ...this.news.since(cursor), wanted, nodes: this.leases.alive() }
  }

  async balances(keys: readonly string[]): Promise<Balance[]> {
    return keys.map((key) => {
      const account = this.credit.account(key)
      return { key, spent: account.settled, ...account.usage(), leased: this.leases.leased(key) }
    })
  }

  async spentByAll(): Promise<number> {
    return this.credit.settled
  }

  async forgetLost(grace: number): Promise<ReadonlyMap<string, number>> {
    return new Map(this.leases.lostFor(grace).map((node) => [node, this.nodeGone(node)]))
  }

  async endLeases(node: string): Promise<void> {
    for (const key of this.leases.keysOf(node)) this.free(node, key, 'all')
  }

  /**
   * Ends the leases of a process that is over, once all that it settled has been taken.
   * @returns the nano-dollars set free.
   */
  nodeGone(node: string): number {
    let freed = 0
    for (const key of this.leases.keysOf(node)) freed += this.free(node, key, 'all')
    this.leases.forget(node)
    return freed
  }

  /** The journal stays open: it is its owner's. */
  async close(): Promise<void> {
    await this.journal.committed()
  }

  /** What each row costs leaves the lease and is spent, once the journal has it: a refused row comes again. */
  private arrive(node: string, rows: ReadonlyMap<number, SettledRows>): Promise<void> {
    const written = this.journal.committed().then(() => {
      for (const { hold, settled } of rows.values()) {
        const account = this.credit.account(hold.key)
        account.release(this.leases.reduce(node, hold.key, settled.cost))
        account.charge(settled.cost, chargedAt(settled))
      }
    })
    const arrived = written.finally(() => {
      for (const seq of rows.keys()) this.arriving.delete(seq)
    })
    for (const seq of rows.keys()) this.arriving.set(seq, arrived)
    return arrived
  }

  private free(node: string, key: string, amount: number | 'all'): number {
    const freed = this.leases.reduce(node, key, amount === 'all' ? Number.MAX_SAFE_INTEGER : amount)
    this.credit.account(key).release(freed)
    return freed
  }

  private settledAmong(rows: readonly SettledRows[]): (row: SettledRows) => boolean {
    if (this.journal.settledAmong) {
      const found = this.journal.settledAmong(rows.map(({ hold }) => hold.seq))
      return ({ hold }) => found.has(hold.seq)
    }
    return ({ hold }) => this.journal.find(generationId(hold.seq, hold.tag))?.settled !== undefined
  }
}
