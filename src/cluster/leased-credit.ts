/** All accounts of a process that leases its credit from the store of record. */
import type { Clock } from '../core/clock.ts'
import type { CreditBook } from '../ledger/credit.ts'
import type { SettledRows, StoreOfRecord } from '../store/record.ts'
import { chargedAt } from '../store/rows.ts'
import { unreachable, within } from './bounded.ts'
import type { LeaseOffice } from './lease-desk.ts'
import { LeasedAccount } from './leased-account.ts'

export interface LeasedCreditParts {
  readonly node: string
  readonly record: Pick<StoreOfRecord, 'lease' | 'giveBack' | 'balances' | 'spentByAll'>
  readonly clock: Clock
  /** Runs a reading between two batches of rows, so that what it reads has none or all of each. */
  readonly between: <T>(read: () => Promise<T>) => Promise<T>
}

/** Milliseconds between two looks at all accounts. */
const LOOK_EVERY = 10_000
/** Milliseconds for which shown numbers are waited for. */
const LONGEST_READ = 2_000

export class LeasedCredit implements CreditBook {
  private readonly parts: LeasedCreditParts
  private readonly office: LeaseOffice & { open: boolean }
  private readonly accounts = new Map<string, LeasedAccount>()
  private lookedAt: number
  /** Nano-dollars of all keys: read from the record, charged here since, and not handed in. */
  private readAll = 0
  private sinceAll = 0
  private untakenAll = 0

  constructor(parts: LeasedCreditParts) {
    const { node, record, clock } = parts
    this.parts = parts
    this.office = { node, record, clock, open: false }
    this.lookedAt = clock.monotonic()
  }

  account(identity: string): LeasedAccount {
    let account = this.accounts.get(identity)
    if (!account) {
      account = new LeasedAccount(identity, this.office)
      this.accounts.set(identity, account)
    }
    return account
  }

  /** As `refresh` last read it, and what was charged here since. */
  get settled(): number {
    return Math.min(this.readAll + this.sinceAll, Number.MAX_SAFE_INTEGER)
  }

  /** Keys with a lease, a hold or a charge of late. */
  get size(): number {
    return this.accounts.size
  }

  /** From now on credit may be leased. */
  open(): void {
    this.office.open = true
  }

  /** Nothing was heard of the record for so long that it may have set free what is leased here: none of it may be spent. */
  lapse(): void {
    this.office.open = false
    for (const account of this.accounts.values()) account.lapse()
  }

  /** @throws Fault `unavailable`; what is shown stays as it was. */
  async refresh(identities: readonly string[]): Promise<void> {
    const { record, clock, between } = this.parts
    // The batch that is on its way is waited for as well.
    const read = between(async () => {
      const [balances, all] = await Promise.all([record.balances(identities), record.spentByAll()])
      for (const balance of balances) this.account(balance.key).learn(balance)
      this.readAll = all
      this.sinceAll = this.untakenAll
    })
    await within(clock, LONGEST_READ, read).catch((thrown: unknown) => {
      throw unreachable(thrown)
    })
  }

  /** A generation's rows stand in the journal and wait to be handed in. */
  noted({ hold, settled }: SettledRows): void {
    this.account(hold.key).noted(settled.cost, chargedAt(settled))
    this.untakenAll += settled.cost
    this.sinceAll += settled.cost
  }

  /** The record has taken rows that were noted here. */
  taken(rows: readonly SettledRows[]): void {
    for (const { hold, settled } of rows) {
      this.account(hold.key).taken(settled.cost, chargedAt(settled))
      this.untakenAll = Math.max(0, this.untakenAll - settled.cost)
    }
  }

  /** What lies idle is wanted elsewhere. @throws Fault `unavailable`. */
  async giveBackIdle(identity: string): Promise<void> {
    // What an earlier life had leased covers charges that are not handed in yet.
    if (this.office.open) await this.account(identity).giveBackIdle()
  }

  /** To be called often while the record answers: gives back what is not used, and forgets who has nothing. */
  tidy(): void {
    const now = this.parts.clock.monotonic()
    if (now - this.lookedAt < LOOK_EVERY) return
    this.lookedAt = now
    for (const [identity, account] of this.accounts) if (account.tidy()) this.accounts.delete(identity)
  }

  /** Gives every idle lease back, as far as the record answers. */
  async close(): Promise<void> {
    const leased = [...this.accounts.values()].filter((account) => account.leased)
    await Promise.allSettled(leased.map((account) => account.giveBackIdle()))
  }
}
