/**
 * The limit that has refused a request, as callers read it in `error.metadata.limit` and in the message. Of a limit that several keys
 * share, what is used of it is the affair of other callers too: its sums are left out (docs/decisions/0065-limits-by-name.md).
 */
import type { JsonObject } from '../core/json.ts'
import type { LevelRate } from '../core/levels.ts'
import { usdText } from '../core/money-text.ts'
import { accountText, type BudgetAllowance } from '../core/shared-budget.ts'
import { windowEnd } from '../core/windows.ts'
import type { Allowance, CreditAccount, Tightest } from '../ledger/allowance.ts'
import type { ApiKey, LimitReset } from '../plugin-api/key.ts'
import type { GuardrailBudget } from './guard/guardrail-setting.ts'

/** Requests and tokens are counted per minute, streams and bytes at one moment, dollars in the window of the limit. */
export type RateKind = 'requests' | 'tokens' | 'streams' | 'bytes'

const PERIODS: Readonly<Record<LimitReset, string>> = { daily: 'day', weekly: 'week', monthly: 'month' }

interface RefusingRate {
  readonly key: Pick<ApiKey, 'name' | 'issuer'>
  readonly kind: RateKind
  /** Set where it is that of a level of the key's place. */
  readonly level?: LevelRate | undefined
  /** Units. */
  readonly limit: number
  /** Undefined where it does not matter what is left: the request alone passes the limit. */
  readonly left: number | undefined
  /** Milliseconds since the epoch; undefined where no wait helps. */
  readonly resetsAt: number | undefined
}

/** Keys issued through sign-in count towards the limits of the key that issued them, whose name is not theirs to know. */
export function ownerOfRate({ name, issuer }: Pick<ApiKey, 'name' | 'issuer'>, level?: LevelRate): string {
  if (level && !issuer) return accountText(level)
  return issuer ? 'the key that issued this one' : `the key ${name}`
}

export function refusingRate({ key, kind, level, limit, left, resetsAt }: RefusingRate): JsonObject {
  const isShared = key.issuer !== undefined || level !== undefined
  return {
    ...(key.issuer ? { scope: 'issuer' } : level ? { scope: level.kind, name: level.name } : { scope: 'key', name: key.name }),
    kind,
    per: kind === 'requests' || kind === 'tokens' ? 'minute' : null,
    limit,
    ...(isShared || left === undefined ? {} : { used: Math.max(0, limit - left), remaining: left }),
    resets_at: resetsAt === undefined ? null : isoTime(resetsAt),
  }
}

/** A key's own list of models. */
export function refusingModels({ name }: Pick<ApiKey, 'name'>): JsonObject {
  return { scope: 'key', name, kind: 'models', per: null, resets_at: null }
}

/** Payer of a request, and its time. */
export interface Spender {
  readonly key: ApiKey
  readonly account: CreditAccount
  /** Milliseconds since the epoch. */
  readonly now: number
}

export type SpendingBound = Allowance | BudgetAllowance | GuardrailBudget

/** The member of the metadata. @param tightest the allowance that leaves the least; undefined where none has a limit. */
export function limitMember(tightest: Tightest<SpendingBound> | undefined, spender: Spender): JsonObject {
  return tightest ? { limit: refusingAllowance(tightest, spender) } : {}
}

export function refusingAllowance({ allowance, left }: Tightest<SpendingBound>, { key, account, now }: Spender): JsonObject {
  const { limit, limitReset } = allowance
  const isShared = isOfPayer(allowance)
  const anew = limitAnew(allowance, now)
  return {
    ...ownerOfAllowance(allowance, key),
    kind: 'usd',
    per: limitReset ? PERIODS[limitReset] : null,
    ...(isShared ? {} : { limit: usdText(limit ?? 0), used: usdText(account.counted(limitReset)), remaining: usdText(left) }),
    resets_at: anew === undefined ? null : isoTime(anew),
  }
}

function ownerOfAllowance(allowance: SpendingBound, { name }: Pick<ApiKey, 'name'>): JsonObject {
  if ('guardrail' in allowance) return { scope: 'guardrail', name: allowance.guardrail }
  if ('account' in allowance) return { scope: allowance.account.kind, name: allowance.account.name }
  return isOfPayer(allowance) ? { scope: 'issuer' } : { scope: 'key', name }
}

/** True where the spending of several keys counts. */
const isOfPayer = ({ level = 0 }: Pick<Allowance, 'level'>): boolean => level > 0

/** When a limit begins anew, milliseconds since the epoch; undefined where it does not. */
export function limitAnew({ limitReset }: Pick<Allowance, 'limitReset'>, now: number): number | undefined {
  return limitReset ? windowEnd(limitReset, now) : undefined
}

/** Words that follow "$1.00 is left". */
export function leftUnder(allowance: SpendingBound | undefined, { name }: Pick<ApiKey, 'name'>): string {
  if (!allowance || allowance.limit === null) return ''
  const each = allowance.limitReset ? `${allowance.limitReset} ` : ''
  if ('account' in allowance) return ` under the ${each}limit of ${accountText(allowance.account)}`
  if (isOfPayer(allowance)) return ' under the limit of the key that issued this one'
  return ` under the ${each}limit of $${usdText(allowance.limit)} of the key ${name}`
}

const isoTime = (at: number): string => new Date(at).toISOString()
