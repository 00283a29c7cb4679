/**
 * Raises an event when what a key has spent reaches a share of its limit, and when its limit refuses a request. Whatever
 * processes and restarts there are, the store keeps one event of each share, limit and window: they have the same name.
 */
import type { Clock, Timer } from '../../core/clock.ts'
import { LIMIT_REACHED, type NewEvent, SHARE_REACHED } from '../../core/event-types.ts'
import { usdText } from '../../core/money-text.ts'
import { budgetLevels, ownAllowances, type SharedBudget } from '../../core/shared-budget.ts'
import { windowStarts } from '../../core/windows.ts'
import type { ApiKey, LimitReset } from '../../plugin-api/key.ts'

/** Nano-dollars that a key has ever spent, and in the current UTC day, week and month. */
export interface Spending {
  readonly key: string
  readonly spent: bigint
  readonly daily: bigint
  readonly weekly: bigint
  readonly monthly: bigint
}

export type BudgetKey = Pick<ApiKey, 'identity' | 'name' | 'label' | 'limit' | 'limitReset'> & {
  readonly issuer?: BudgetKey
  readonly budget?: SharedBudget
}
type Limited = BudgetKey & { readonly limit: number }

interface CountedAccount {
  /** @param now milliseconds since the epoch. */
  countedCut(window: LimitReset | null, now: number): number
}

export interface BudgetWatchOptions {
  /** Percent of a limit, rising. */
  shares: readonly number[]
  readonly clock: Pick<Clock, 'now' | 'after'>
  /** Keys that have never spent may be left out. */
  readonly balances: (keys: readonly string[]) => readonly Spending[] | Promise<readonly Spending[]>
  /** True: other processes charge the same keys, so balances are read a little later, for all keys that were charged. */
  readonly isShared: boolean
  /** Set where it is not shared: an account with the spending that counts against a limit as a number, cut to ±2^53. */
  readonly account?: ((key: string) => CountedAccount) | undefined
  readonly raise: (event: NewEvent) => void
  readonly failed: (cause: unknown) => void
}

/** Milliseconds for which the first charge waits for others, and until a failed reading is tried again. */
const GATHER = 1_000
const RETRY = 5_000
/** Windows whose shares are remembered; beyond it the store alone knows what has been raised. */
const MAX_REMEMBERED = 20_000
/** Keys of one page of a look at all of them. */
const PAGE = 500

export class BudgetWatch {
  private readonly options: BudgetWatchOptions
  /** Highest share that has been raised, by window. */
  private readonly reached = new Map<string, number>()
  private readonly refusedIn = new Set<string>()
  /** Limits that were charged since the last reading, by identity and window. */
  private charges = new Map<string, Limited>()
  private timer: Timer | undefined
  private closed = false

  constructor(options: BudgetWatchOptions) {
    this.options = options
  }

  apply(shares: readonly number[]): void {
    this.options.shares = shares
  }

  /** A request of the key is settled. */
  charged(key: BudgetKey): void {
    const { shares, account, clock } = this.options
    if (shares.length === 0) return
    if (isLimited(key) && !(account && this.isFar(account(key.identity).countedCut(key.limitReset, clock.now()), key))) this.note(key)
    const payers = budgetKeyPayers(key)
    if (payers.length === 0) return
    const now = clock.now()
    let [identity, counted]: [string, CountedAccount | undefined] = ['', undefined]
    for (const other of payers) {
      if (!isLimited(other)) continue
      // The limits of one account come one after the other.
      if (account && other.identity !== identity) counted = account(other.identity)
      identity = other.identity
      // Nearly always far from the first share.
      if (!counted || !this.isFar(counted.countedCut(other.limitReset, now), other)) this.note(other)
    }
  }

  /** A request was refused for the limit of the key, of the key that issued it, or of a budget: for the one that leaves the least. */
  refused(key: BudgetKey): void {
    const limited = [key, ...budgetKeyPayers(key)].filter(isLimited)
    const [first, ...others] = limited
    if (!first) return
    if (others.length === 0) {
      this.raiseRefusal(first)
      return
    }
    Promise.resolve(this.options.balances([...new Set(limited.map(({ identity }) => identity))])).then((found) => {
      const left = (of: Limited): bigint =>
        BigInt(of.limit) -
        limitedSpent(
          of,
          found.find((each) => each.key === of.identity),
        )
      this.raiseRefusal(others.reduce((least, each) => (left(each) < left(least) ? each : least), first))
    }, this.options.failed)
  }

  /** At a start: a crash may have come between a settlement and its event. @param levels limits of levels of organisations. @param after the keys behind a hash, a page at a time. */
  async lookAtAll(
    configured: readonly BudgetKey[],
    levels: readonly BudgetKey[],
    after: (hash: string, most: number) => Promise<readonly (BudgetKey & { hash: string })[]>,
  ): Promise<void> {
    try {
      const budgets = new Set(configured.flatMap(({ budget }) => budget ?? []))
      const bounds = Array.from(budgets, budgetBounds).flat()
      await this.look([...configured, ...bounds, ...levels].filter(isLimited))
      for (let hash = ''; !this.closed; ) {
        const page = await after(hash, PAGE)
        await this.look(page.filter(isLimited))
        const last = page.at(-1)
        if (page.length < PAGE || !last) return
        hash = last.hash
        // The embedded store answers at once: without a turn between the pages a million keys would hold all requests up.
        await new Promise((resolve) => setImmediate(resolve))
      }
    } catch (cause) {
      if (!this.closed) this.options.failed(cause)
    }
  }

  close(): void {
    this.closed = true
    this.timer?.cancel()
  }

  /** Reads what was charged now; before the end. */
  async flush(): Promise<void> {
    this.timer?.cancel()
    this.timer = undefined
    const keys = [...this.charges.values()]
    this.charges = new Map()
    await this.look(keys)
  }

  private note(key: Limited): void {
    if (!this.options.isShared) {
      const found = this.options.balances([key.identity])
      if (!(found instanceof Promise) && found[0]) this.check(key, found[0])
      return
    }
    this.charges.set(`${key.identity} ${key.limitReset}`, key)
    if (!this.closed) this.timer ??= this.options.clock.after(GATHER, () => void this.gathered())
  }

  private async gathered(): Promise<void> {
    const keys = this.charges
    try {
      await this.flush()
    } catch (cause) {
      this.options.failed(cause)
      if (this.closed) return
      this.charges = new Map([...keys, ...this.charges])
      this.timer ??= this.options.clock.after(RETRY, () => void this.gathered())
    }
  }

  private async look(keys: readonly Limited[]): Promise<void> {
    if (keys.length === 0) return
    const found = await this.options.balances([...new Set(keys.map(({ identity }) => identity))])
    const byKey = new Map(found.map((spending) => [spending.key, spending]))
    for (const key of keys) {
      const spending = byKey.get(key.identity)
      if (spending) this.check(key, spending)
    }
  }

  private check(key: Limited, spending: Spending): void {
    const spent = limitedSpent(key, spending)
    const { shares } = this.options
    if (this.isFar(Number(spent), key)) return
    const percent = Number((spent * 100n) / BigInt(key.limit))
    if (!(percent >= (shares[0] ?? Number.POSITIVE_INFINITY))) return
    const window = this.budgetWindow(key)
    const before = this.reached.get(window.name) ?? 0
    for (const share of shares) {
      if (share <= before || percent < share) continue
      const data = { ...eventFacts(key, window.start), share_percent: share, spent_usd: usdText(spent) }
      const once = `${window.name}:share:${share}`
      this.options.raise(SHARE_REACHED.make({ at: this.options.clock.now(), subject: key.identity, data, once }))
      if (this.reached.size >= MAX_REMEMBERED) this.reached.clear()
      this.reached.set(window.name, share)
    }
  }

  /** Without exact arithmetic. */
  private isFar(spent: number, { limit }: Limited): boolean {
    return spent * 100 < limit * ((this.options.shares[0] ?? Number.POSITIVE_INFINITY) - 1)
  }

  private raiseRefusal(key: Limited): void {
    const { name, start } = this.budgetWindow(key)
    if (this.refusedIn.has(name)) return
    if (this.refusedIn.size >= MAX_REMEMBERED) this.refusedIn.clear()
    this.refusedIn.add(name)
    const facts = { at: this.options.clock.now(), subject: key.identity, data: eventFacts(key, start), once: `${name}:refused` }
    this.options.raise(LIMIT_REACHED.make(facts))
  }

  /** Beginning of `once`; retention keeps the events of windows without an end. */
  private budgetWindow({ identity, limit, limitReset }: Limited): { name: string; start: number | null } {
    const start = limitReset ? windowStarts(this.options.clock.now())[limitReset] : null
    return { name: start === null ? `ever:${identity}:${limit}` : `${limitReset}:${start}:${identity}:${limit}`, start }
  }
}

const bounds = new WeakMap<SharedBudget, readonly BudgetKey[]>()

/** Each window of a budget and of those above it, as a limit of its own. */
function budgetBounds(budget: SharedBudget): readonly BudgetKey[] {
  let found = bounds.get(budget)
  if (!found) {
    found = budgetLevels(budget).flatMap((level) =>
      ownAllowances(level).map(({ limit, limitReset }) => ({ identity: level.identity, name: level.name, label: '', limit, limitReset })),
    )
    bounds.set(budget, found)
  }
  return found
}

/** Limits beside its own that count a charge of the key as well. */
function budgetKeyPayers({ issuer, budget }: BudgetKey): readonly BudgetKey[] {
  if (issuer) return issuer.budget ? [issuer, ...budgetBounds(issuer.budget)] : [issuer]
  return budget ? budgetBounds(budget) : NONE
}

const NONE: readonly BudgetKey[] = []

/** A limit of nothing has no shares. */
function isLimited<Key extends BudgetKey>(key: Key): key is Key & Limited {
  return key.limit !== null && key.limit > 0
}

function limitedSpent({ limitReset }: Limited, spending: Spending | undefined): bigint {
  if (!spending) return 0n
  return limitReset ? spending[limitReset] : spending.spent
}

function eventFacts({ identity, name, label, limit, limitReset }: Limited, start: number | null) {
  return {
    key: identity,
    name,
    label,
    limit_usd: usdText(limit),
    reset: limitReset,
    window_start: start === null ? null : new Date(start).toISOString(),
  }
}
