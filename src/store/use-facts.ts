/** The facts of a settlement that sums of use read. */
import { asString, isObject, type Json } from '../core/json.ts'
import type { UseFacts, UseQuery } from '../ledger/types.ts'
import { NANO } from './rows.ts'

/** Of one generation: providers report what they like, and a sum beyond 64 bits would fail the statement for all others. */
export const MAX_TOKENS = 1e11

/** A fact of the settlement, or the hold's own where none is recorded. Facts that are no JSON count as none. */
export const fact = (name: string, otherwise: string): string =>
  `ifnull(nullif(iif(json_valid(facts) AND json_type(facts, '$.${name}') = 'text', facts ->> '$.${name}', ''), ''), ${otherwise})`

/** Whole nano-dollars, so that their sum is exact. */
export const SAVED = `iif(json_valid(facts) AND json_type(facts, '$.cache_discount') IN ('integer', 'real'), round((facts ->> '$.cache_discount') * ${NANO}), 0)`

const NO_USE: UseFacts = { model: '', endpoint: '', provider: '', session: '', saved: 0 }

/** As the statements read them. Of earlier programs some are no JSON. */
export function parseUse(text: string): UseFacts {
  try {
    const facts = JSON.parse(text || '{}') as Json
    if (!isObject(facts)) return NO_USE
    const { model, endpoint, provider, session_id: session, cache_discount: saved } = facts
    return {
      model: asString(model) ?? '',
      endpoint: asString(endpoint) ?? '',
      provider: asString(provider) ?? '',
      session: asString(session) ?? '',
      saved: typeof saved === 'number' ? Math.round(saved * NANO) : 0,
    }
  } catch {
    return NO_USE
  }
}

type KeyName = 'model' | 'provider'

/** Sums of each key on closed days, by the end of their table's name: by what they stand apart, beside the day. */
export const KEY_SUMS = { model: ['model'], provider: ['provider'], both: ['model', 'provider'] } as const satisfies Record<
  string,
  readonly KeyName[]
>
export const KEY_PARTS = Object.entries(KEY_SUMS)

/**
 * Running sums by key, model and provider begin anew with each day whose number this divides: of any month six of their days are read,
 * and a key that is idle leaves seven rows at most behind one that it has used.
 */
export const RUN_DAYS = 8

export type ClosedSums = keyof typeof KEY_SUMS | 'running'

/** The sums of closed days that have what stands apart and what is sought; undefined where only all sums have it. */
export function closedSumsFor({ apart, model, provider }: UseQuery): ClosedSums | undefined {
  if (!apart) return undefined
  const byModel = apart.includes('model') || model !== undefined
  const byProvider = apart.includes('provider') || provider !== undefined
  if (byModel && byProvider) return apart.includes('day') ? 'both' : 'running'
  return byModel ? 'model' : 'provider'
}

/** True if the query wants the sums of closed days as they are: no two of them are then added up. */
export function areWhole(closed: ClosedSums | undefined, { apart = [] }: UseQuery): boolean {
  return closed !== undefined && closed !== 'running' && apart.includes('day') && apart.length === 1 + KEY_SUMS[closed].length
}

/** The names of which a query wants one only. */
export const soughtIn = (query: UseQuery): KeyName[] => KEY_SUMS.both.filter((name) => query[name] !== undefined)
