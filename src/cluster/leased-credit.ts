/** All accounts of a process that leases its credit from the store of record, and readings of their balances for callers. */
import type { Clock } from '../core/clock.ts'
import { Total } from '../core/money.ts'
import { chargedAccounts, splitPayers } from '../core/payers.ts'
import type { CreditBook } from '../ledger/allowance.ts'
import { leaseText } from '../store/lease-book.ts'
import type { Balance, LeaseName, SettledRows, StoreOfRecord } from '../store/record.ts'
import { chargedAt } from '../store/rows.ts'
import type { LeaseOffice } from './lease-client.ts'
import { LeasedAccount } from './leased-account.ts'
import { OwnCharges } from './own-charges.ts'
import { unreachable, within } from './record-calls.ts'

interface LeasedCreditOptions {
  readonly node: string
  readonly record: Pick<StoreOfRecord, 'lease' | 'giveBack' | 'balances' | 'spentByAll'>
  readonly clock: Clock
  /** False after the record has been silent for so long that it may have freed the leases of this process. */
  readonly isRecordReachable: () => boolean
  /** Runs a reading between two batches of rows, so that what it reads has none or all of each. */
  readonly between: <T>(read: () => Promise<T>) => Promise<T>
}

/** Milliseconds between two looks at all accounts. */
const LOOK_EVERY = 10_000
/** Milliseconds for which the sum over all keys is kept: computing it reads every balance. */
const ALL_KEPT = 1_000

export class LeasedCredit implements CreditBook {
  private readonly options: LeasedCreditOptions
  private readonly readings: BalanceReadings
  private readonly office: LeaseOffice & { life: number }
  private opened = false
  /** By the names of their leases. */
  private readonly accounts = new Map<string, LeasedAccount>()
  /** Known spending of each key. */
  private readonly charges = new Map<string, OwnCharges>()
  private lookedAt: number
  /** Nano-dollars of all keys: read from the record, charged here since, and not forwarded. */
  private readAll = 0n
  private readAllAt = Number.NEGATIVE_INFINITY
  private readonly sinceAll = new Total()
  private readonly untakenAll = new Total()

  constructor(options: LeasedCreditOptions) {
    const { node, record, clock, isRecordReachable, between } = options
    this.options = options
    this.readings = new BalanceReadings({ record, clock, between, learn: (balances, all) => this.learn(balances, all) })
    const isOpen = (): boolean => this.opened && isRecordReachable()
    this.office = {
      node,
      record,
      clock,
      life: 0,
      get open() {
        return isOpen()
      },
    }
    this.lookedAt = clock.monotonic()
  }

  account(identity: string, payer?: string): LeasedAccount {
    const name = { key: identity, payer }
    const text = leaseText(name)
    let account = this.accounts.get(text)
    if (!account) {
      const spending = { own: this.chargesFor(identity), payers: splitPayers(payer).map((each) => this.chargesFor(each)) }
      account = new LeasedAccount(name, spending, this.office)
      this.accounts.set(text, account)
    }
    return account
  }

  /** As `refreshSettled` last read it, and what was charged here since. */
  get settled(): bigint {
    return this.readAll + this.sinceAll.exact
  }

  /** Keys with a lease, a hold or a charge of late. */
  get size(): number {
    return this.accounts.size
  }

  /** From now on credit may be leased. */
  open(): void {
    this.opened = true
  }

  /** The record may have set free what is leased here: none of it may be spent, nor what an earlier call is granted. */
  lapse(): void {
    this.opened = false
    this.office.life++
    for (const account of this.accounts.values()) account.lapse()
  }

  /** @throws Fault `unavailable`; what is shown stays as it was. */
  refresh(identities: readonly string[]): Promise<void> {
    return this.readings.read(identities)
  }

  /** @throws Fault `unavailable`; what is shown stays as it was. */
  async refreshSettled(): Promise<void> {
    if (this.options.clock.monotonic() - this.readAllAt >= ALL_KEPT) await this.readings.read([], true)
  }

  /** A generation's rows stand in the journal and wait to be forwarded. */
  noted({ hold, settled }: SettledRows): void {
    this.account(hold.key, hold.payer).noted(settled.cost)
    for (const account of chargedAccounts(hold)) this.chargesFor(account).note(settled.cost, chargedAt(settled))
    this.untakenAll.add(settled.cost)
    this.sinceAll.add(settled.cost)
  }

  /** The record has taken rows that were noted here. */
  taken(rows: readonly SettledRows[]): void {
    for (const { hold, settled } of rows) {
      for (const account of chargedAccounts(hold)) this.chargesFor(account).taken(settled.cost, chargedAt(settled))
      this.account(hold.key, hold.payer).taken(settled.cost)
      this.untakenAll.add(-settled.cost)
    }
  }

  /** Idle credit is wanted elsewhere. @throws Fault `unavailable`. */
  async giveBackIdle({ key, payer }: LeaseName): Promise<void> {
    // What an earlier life had leased covers charges that are not forwarded yet.
    if (this.office.open) await this.account(key, payer).giveBackIdle()
  }

  /** To be called often while the record answers: gives back unused leases, and forgets accounts without one. */
  tidy(): void {
    const now = this.options.clock.monotonic()
    if (now - this.lookedAt < LOOK_EVERY) return
    this.lookedAt = now
    const used = new Set<OwnCharges>()
    for (const [name, account] of this.accounts) {
      if (account.tidy()) this.accounts.delete(name)
      else for (const charges of [account.spending.own, ...account.spending.payers]) used.add(charges)
    }
    for (const [identity, charges] of this.charges) if (!used.has(charges) && !charges.waits) this.charges.delete(identity)
  }

  /** Gives every lease back, as far as the record answers. */
  async close(): Promise<void> {
    await Promise.allSettled(Array.from(this.accounts.values(), (account) => account.giveBackAll()))
  }

  private learn(balances: readonly Balance[], all: bigint | undefined): void {
    const { clock } = this.options
    const read = new Set<OwnCharges>()
    for (const balance of balances) {
      const charges = this.chargesFor(balance.key)
      charges.learn(balance, clock.now())
      read.add(charges)
    }
    // An account with payers counts on the balances of all of them: a reading that has the root has those before it.
    for (const account of this.accounts.values()) {
      const { own, payers } = account.spending
      if (read.has(payers.at(-1) ?? own)) account.learned()
    }
    if (all === undefined) return
    this.readAll = all
    this.readAllAt = clock.monotonic()
    this.sinceAll.clear()
    this.sinceAll.add(this.untakenAll.exact)
  }

  private chargesFor(identity: string): OwnCharges {
    let charges = this.charges.get(identity)
    if (!charges) {
      charges = new OwnCharges()
      this.charges.set(identity, charges)
    }
    return charges
  }
}

interface BalanceReadingsOptions {
  readonly record: Pick<StoreOfRecord, 'balances' | 'spentByAll'>
  readonly clock: Pick<Clock, 'after'>
  /** Runs a reading between two batches of rows. */
  readonly between: <T>(read: () => Promise<T>) => Promise<T>
  /** Called with what was read, before the next batch of rows. @param all undefined where it was not read. */
  readonly learn: (balances: readonly Balance[], all: bigint | undefined) => void
}

interface Next {
  readonly identities: Set<string>
  all: boolean
  readonly done: Promise<void>
}

/** Milliseconds for which callers wait, and after which a reading makes room for rows. */
const MAX_READ_MS = 2_000

/** Readings of balances for callers: one runs and one waits, which covers all that is requested meanwhile. */
class BalanceReadings {
  private readonly options: BalanceReadingsOptions
  private next: Next | undefined

  constructor(options: BalanceReadingsOptions) {
    this.options = options
  }

  /**
   * Resolves once a reading that began after the call has ended.
   * @param all true for the sum over all keys as well. @throws Fault `unavailable`.
   */
  read(identities: readonly string[], all = false): Promise<void> {
    this.next ??= this.queue()
    for (const identity of identities) this.next.identities.add(identity)
    if (all) this.next.all = true
    return within(this.options.clock, MAX_READ_MS, this.next.done).catch((thrown: unknown) => {
      throw unreachable(thrown)
    })
  }

  private queue(): Next {
    const identities = new Set<string>()
    const begun = (): void => {
      if (this.next === next) this.next = undefined
    }
    const read = (): Promise<void> => {
      begun()
      return this.run([...identities], next.all)
    }
    // Where the batch before it fails, a reading ends without having begun.
    const done = Promise.resolve()
      .then(() => this.options.between(read))
      .finally(begun)
    const next: Next = { identities, all: false, done }
    return next
  }

  private async run(identities: readonly string[], all: boolean): Promise<void> {
    const { record, clock, learn } = this.options
    const balances = identities.length > 0 ? record.balances(identities) : []
    const read = Promise.all([balances, all ? record.spentByAll() : undefined])
    // What comes later is not learned: rows may have been taken meanwhile.
    learn(...(await within(clock, MAX_READ_MS, read)))
  }
}
