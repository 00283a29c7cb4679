/** The money of one exchange: reserved before a provider is called, extended by turns and tools, settled once; and what its turns and tools have cost. */

import { Fault } from '../../core/faults.ts'
import { type JsonObject, readableJson } from '../../core/json.ts'
import { usdText } from '../../core/money-text.ts'
import type { SharedBudget } from '../../core/shared-budget.ts'
import type { Allowance, Charged, CreditAccount, CreditBook, HoldAsk, Tightest } from '../../ledger/allowance.ts'
import { chargeWithin } from '../../ledger/credit.ts'
import { keyPayer, payerAllowances } from '../../ledger/payer.ts'
import type { HoldOwner, HoldRow, Journal, SettleRow } from '../../ledger/types.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Turn } from '../attempt/turn.ts'
import type { GuardrailBudget } from '../guard/guardrail-setting.ts'
import { leftUnder, limitAnew, limitMember, refusingAllowance, type Spender, type SpendingBound } from '../refusing-limit.ts'

/** Part of a hold; amounts in nano-dollars. */
export interface HoldPart {
  readonly amount: number
  /** Charged where the outcome stays unknown; at most `amount`. */
  readonly floor: number
}

/** Settlement of a hold; amounts in nano-dollars. */
export interface SettledHold extends Charged {
  /** By which the cost passed the hold. */
  readonly excess: number
  /** The commit of the row, undefined where none was written. */
  readonly committed: Promise<void> | undefined
}

export const NO_PART: HoldPart = Object.freeze({ amount: 0, floor: 0 })

/** States: nothing reserved, reserved, written to the journal (a settlement must follow), settled. */
export class Hold {
  /** Nano-dollars reserved; after the settlement those that it ended. */
  amount = 0
  private least = 0
  /** Nano-dollars of it that were reserved for costs of parts beyond what was held for these. */
  private covered = 0
  /** Floor of the row that the journal may have: a crash is charged that, whatever has been freed since. */
  private rowFloor = 0
  /** Nano-dollars reserved beside `amount`, so that the two pay for the row's floor. */
  private forRow = 0
  /** Nano-dollars kept free beside `amount` for input that is not in the body (outside-hold.ts). */
  private outside = 0
  private writes = 0
  private account: CreditAccount | undefined
  /** Those of the last part. */
  private allowances: readonly Allowance[] = []
  /** `written`: the journal has its row and waits for the settlement. */
  state: 'unwritten' | 'written' | 'settled' = 'unwritten'
  private first = 0
  /** Nano-dollars of each part in turn; undefined where there was no more than one. */
  parts: number[] | undefined
  /** That of the row in the journal; undefined before. */
  owner: HoldOwner | undefined

  /** Nano-dollars that a crash is charged. */
  get floor(): number {
    return Math.min(this.least, this.amount)
  }

  /**
   * Reserves more, under all allowances at once. An exchange keeps the payers of its first hold, which its row names: where the key has
   * others by now, it goes on under the allowances that it had.
   * @returns nano-dollars, undefined where they do not fit; a promise only where credit is leased and the lease in hand is too small.
   * @throws Fault `unavailable` where the store of record does not answer.
   */
  take(account: CreditAccount, ask: HoldAsk, allowances: readonly Allowance[]): number | undefined | Promise<number | undefined> {
    if (this.account && this.keepsPayers(account)) return this.take(this.account, ask, this.allowances)
    this.allowances = allowances
    const held = account.tryHold(ask, allowances)
    if (held === undefined && account.seek) return account.seek(ask, allowances).then((later) => this.add(account, later))
    return this.add(account, held)
  }

  /**
   * Keeps credit free beside the hold, until the part or the exchange is over: for what the provider may add to the input.
   * @returns false where not even the floor fits; a promise only where credit has to be leased.
   */
  keepFree(account: CreditAccount, ask: HoldAsk, allowances: readonly Allowance[]): boolean | Promise<boolean> {
    if (this.account && this.keepsPayers(account)) return this.keepFree(this.account, ask, this.allowances)
    const keep = (held: number | undefined): boolean => {
      this.outside += held ?? 0
      return held !== undefined
    }
    const held = account.tryHold(ask, allowances)
    if (held === undefined && account.seek) return account.seek(ask, allowances).then(keep)
    return keep(held)
  }

  /** Says what of the amount a crash is charged. @param floor nano-dollars, added to those of earlier parts. */
  raiseFloor(floor: number): void {
    this.least += floor
  }

  /**
   * A part is over: its cost stays reserved until the settlement, the rest is free again. Of a cost beyond the part as much
   * is reserved as the allowances still pay for, so that the next part cannot spend it.
   * @param cost nano-dollars. @returns a promise only where credit has to be leased for a cost beyond the part.
   */
  conclude(part: HoldPart, cost: number): Promise<void> | undefined {
    const { account, allowances } = this
    this.freeOutside()
    const kept = Math.min(cost, part.amount)
    const freed = part.amount - kept
    this.amount -= freed
    this.forRow += freed
    this.freeForRow()
    this.least += kept - part.floor
    if (!account || cost <= part.amount) return undefined
    const cover = (amount: number): void => {
      this.amount += amount
      this.least += amount
      this.covered += amount
    }
    const covering = account.cover(cost - part.amount, allowances)
    if (typeof covering !== 'number') return covering.then(cover)
    cover(covering)
    return undefined
  }

  /** Gives all back: nothing was begun. */
  release(): void {
    this.account?.release(this.amount + this.forRow + this.outside)
    this.amount = 0
    this.forRow = 0
    this.outside = 0
    this.least = 0
    this.covered = 0
  }

  /**
   * Writes the row, again with the new sums where it is there already, and awaits the commit. Its payers are those of what is held,
   * whatever the key has by now.
   * From here on a settlement must follow, even if the commit fails: the row may be there.
   */
  write(journal: Journal, row: Omit<HoldRow, 'hold' | 'floor'>): Promise<void> {
    const { seq, tag, key, model, endpoint } = row
    const { floor } = this
    const payer = this.account ? this.account.payer : row.payer
    // A row that is written again keeps its names.
    this.owner ??= { key, payer, model, endpoint }
    journal.hold({ seq, tag, key, payer, model, endpoint, hold: this.amount, floor })
    this.state = 'written'
    const write = ++this.writes
    const committed = journal.committed()
    if (floor >= this.rowFloor) {
      this.rowFloor = floor
      return committed
    }
    return committed.then(() => {
      if (write !== this.writes) return
      this.rowFloor = floor
      this.freeForRow()
    })
  }

  /** True where something is held or written with other payers than the account has. */
  private keepsPayers({ payer }: CreditAccount): boolean {
    if (!this.account || payer === this.account.payer) return false
    return this.state === 'written' || this.amount + this.forRow + this.outside > 0
  }

  private freeOutside(): void {
    if (this.outside > 0) this.account?.release(this.outside)
    this.outside = 0
  }

  /** Frees what the floor of the row does not need. */
  private freeForRow(): void {
    const needed = Math.max(0, this.rowFloor - this.amount)
    if (this.forRow <= needed || this.state === 'settled') return
    this.account?.release(this.forRow - needed)
    this.forRow = needed
  }

  /**
   * Turns the hold into a charge, in memory and in the journal. A cost beyond the hold is charged as far as the allowances
   * pay for it; the row names the rest as `unrecovered_nano`.
   * @returns a promise only where credit has to be leased for a cost beyond the hold.
   */
  settle(journal: Journal, row: SettleRow): SettledHold | Promise<SettledHold> {
    const { account, allowances } = this
    const reserved = this.amount + this.forRow + this.outside
    const written = this.state === 'written'
    this.state = 'settled'
    if (!account) return this.record(journal, row, written, { charged: row.cost, unrecovered: 0 })
    const charging = chargeWithin(account, { held: reserved, cost: row.cost, at: row.at }, allowances)
    if (charging instanceof Promise) return charging.then((charged) => this.record(journal, row, written, charged))
    return this.record(journal, row, written, charging)
  }

  private record(journal: Journal, row: SettleRow, written: boolean, { charged, unrecovered }: Charged): SettledHold {
    if (written) {
      const facts = row.facts.includes('\\u') ? readableJson(row.facts) : row.facts
      const readable = facts === row.facts ? row : { ...row, facts, use: undefined }
      journal.settle(unrecovered > 0 ? chargedRow(readable, charged) : readable)
    }
    const excess = this.account ? Math.max(0, row.cost - (this.amount + this.outside - this.covered)) : 0
    return { charged, unrecovered, excess, committed: written ? journal.committed() : undefined }
  }

  private add(account: CreditAccount, held: number | undefined): number | undefined {
    this.account = account
    this.amount += held ?? 0
    if (held) {
      if (this.first === 0) this.first = held
      else if (this.parts) this.parts.push(held)
      else this.parts = [this.first, held]
    }
    if (this.forRow > 0) this.freeForRow()
    return held
  }
}

/** The row of a charge that no allowance could pay in full. Tools come first: their price is ours. */
function chargedRow(row: SettleRow, charged: number): SettleRow {
  const facts = row.facts === '' ? {} : (JSON.parse(row.facts) as JsonObject)
  const { tools_cost: tools } = facts
  if (typeof tools === 'number') facts.tools_cost = Math.min(tools, charged)
  facts.unrecovered_nano = row.cost - charged
  return { ...row, cost: charged, facts: JSON.stringify(facts) }
}

/**
 * All allowances of a request of `key`: the limit of the key, those of its payers, and budgets of guardrails. A hold is
 * taken under every one of them at once. Each key that a guardrail applies to has the whole budget; keys issued through sign-in share that
 * of their issuer.
 */
export function keyAllowances(key: ApiKey, budgets: readonly GuardrailBudget[]): readonly SpendingBound[] {
  if (!key.issuer && !key.budget && budgets.length === 0) return [key]
  return [key, ...payerAllowances(key), ...budgets]
}

/** An exchange, as far as its hold has a row. */
interface Holder {
  readonly head: { readonly seq: number; readonly tag: string; readonly costs: Costs }
  readonly auth: { readonly key: ApiKey }
}

/** Writes what the exchange holds to the journal; its row names the endpoint of the first hold. @throws Fault `unavailable`. */
export function writeHold({ head: { seq, tag, costs }, auth: { key } }: Holder, endpoint: Endpoint, journal: Journal): Promise<void> {
  costs.heldAt ??= endpoint
  const payer = hasPayer(key) ? keyPayer(key) : undefined
  return costs.hold.write(journal, { seq, tag, key: key.identity, payer, model: costs.heldAt.model.slug, endpoint: costs.heldAt.id })
}

/** False for nearly all keys: no other account is charged with theirs. */
const hasPayer = ({ issuer, budget, parent }: ApiKey): boolean => (issuer ?? budget ?? parent) !== undefined

interface Spending {
  readonly account: CreditAccount
  readonly allowances: readonly SpendingBound[]
  /** Some allowance has a limit. */
  readonly limited: boolean
}

/** The account and the allowances of a request of `key`. */
export function keySpending(key: ApiKey, budgets: readonly GuardrailBudget[], credit: CreditBook): Spending {
  if (!hasPayer(key) && budgets.length === 0)
    return { account: credit.account(key.identity), allowances: [key], limited: key.limit !== null }
  const allowances = keyAllowances(key, budgets)
  return { account: keyAccount(key, credit), allowances, limited: allowances.some(({ limit }) => limit !== null) }
}

/** The account that a request of `key` holds and charges: with those of its payers, where it has some. */
export function keyAccount(key: ApiKey, credit: CreditBook): CreditAccount {
  return credit.account(key.identity, keyPayer(key))
}

/** True where some allowance has a limit. */
export function isLimited({ limit, issuer, budget }: ApiKey, budgets: readonly GuardrailBudget[]): boolean {
  if (limit !== null || limitsSpending(budget) || budgets.length > 0) return true
  return issuer !== undefined && (issuer.limit !== null || limitsSpending(issuer.budget))
}

/** False also of levels that have no limits. */
const limitsSpending = (budget: SharedBudget | undefined): boolean => budget !== undefined && budget.allowances.length > 0

export function isBudget(bound: Allowance | GuardrailBudget | undefined): bound is GuardrailBudget {
  return bound !== undefined && 'guardrail' in bound
}

/** 403: which budget it is and what of it is left. @param hold nano-dollars. */
export function overBudget({ allowance, left }: Tightest<GuardrailBudget>, hold: number, spender: Spender): Fault {
  const { guardrail, limit, limitReset } = allowance
  const name = `${limitReset === null ? '' : `${limitReset} `}budget of $${usdText(limit)}`
  const state = left === 0 ? 'is spent' : `has $${usdText(left)} left, this request may cost up to $${usdText(hold)}`
  return new Fault('guardrail_blocked', {
    message: `The ${name} of the guardrail ${guardrail} ${state}`,
    metadata: { guardrail, limit: refusingAllowance({ allowance, left }, spender) },
  })
}

/** True where the budget of a guardrail leaves the least. */
export function isBudgetTightest(tightest: Tightest<SpendingBound> | undefined): tightest is Tightest<GuardrailBudget> {
  return isBudget(tightest?.allowance)
}

interface Refused {
  /** Nano-dollars. */
  readonly needed: number
  readonly tightest: Tightest<SpendingBound> | undefined
  /** Output cap in tokens with which it would fit. */
  readonly affordable: number
}

/** The 402: what was needed, what is left under which limit, and what would be affordable. */
export function noCredit({ needed, tightest, affordable }: Refused, spender: Spender): Fault {
  const left = tightest?.left ?? 0
  const anew = tightest && limitAnew(tightest.allowance, spender.now)
  const at = anew === undefined ? undefined : new Date(anew).toISOString()
  return new Fault('no_credit', {
    message: [
      `Insufficient credits: this request may cost up to $${usdText(needed)}, $${usdText(left)} is left${leftUnder(tightest?.allowance, spender.key)}`,
      ...(affordable > 0 ? [`With an output cap of ${affordable} tokens it would fit`] : []),
      ...(at === undefined ? [] : [`The limit begins anew at ${at}`]),
    ].join('. '),
    metadata: {
      needed: usdText(needed),
      left: usdText(left),
      affordable_output_tokens: affordable,
      ...(at === undefined ? {} : { limit_resets_at: at }),
      ...limitMember(tightest, spender),
    },
  })
}

/** Charges of a tool or a plugin, over all of its calls; nano-dollars. */
export interface ToolCharge {
  readonly by: string
  readonly what: string | undefined
  calls: number
  nano: number
}

export class Costs {
  readonly hold = new Hold()
  /** The endpoint that the hold's row names: that of the first who held. */
  heldAt: Endpoint | undefined
  /** Upper bound of the input's tokens that the hold was computed for. */
  inputTokens = 0
  /** Units that were taken of the key's limits, and have to be corrected or returned: tokens of the minute, bytes in flight. */
  rateTokens = 0
  rateBytes = 0
  readonly turns: Turn[] = []
  /** Nano-dollars of tools and plugins that ran, and what they are made up of. */
  toolCost = 0
  toolCharges: ToolCharge[] | undefined
  toolsRequested = 0
  toolsExecuted = 0
  /** Searches of the web that they ran, pages that they fetched. */
  toolSearches = 0
  toolFetches = 0
  /** The engine that searched, and how many results the model was shown; undefined where no tool searched. */
  found: { engine: string; results: number } | undefined

  /** @param nano nano-dollars. @param by the tool or plugin. @param what it was for, where it says so. */
  chargeTool(nano: number, by: string, what?: string): void {
    this.toolCost += nano
    if (nano === 0) return
    const before = this.toolCharges?.find((charge) => charge.by === by && charge.what === what)
    if (before) {
      before.calls++
      before.nano += nano
    } else {
      this.toolCharges ??= []
      this.toolCharges.push({ by, what, calls: 1, nano })
    }
  }

  addFound({ engine, results }: { engine: string; results: number }): void {
    this.found = { engine, results: (this.found?.results ?? 0) + results }
  }
}
