/** What is read of the facts of a settlement, for sums of use. */
import { isObject, type Json, stringOf } from '../core/json.ts'
import type { UseFacts, UseGroup } from '../ledger/types.ts'
import { NANO } from './rows.ts'

/** Of one generation: providers report what they like, and a sum beyond 64 bits would fail the statement for all others. */
export const MOST_TOKENS = 1e11

/** A fact of the settlement, or the hold's own where none is recorded. Facts that are no JSON count as none. */
export const fact = (name: string, otherwise: string): string =>
  `ifnull(nullif(iif(json_valid(facts) AND json_type(facts, '$.${name}') = 'text', facts ->> '$.${name}', ''), ''), ${otherwise})`

/** Whole nano-dollars, so that their sum is exact. */
export const SAVED = `iif(json_valid(facts) AND json_type(facts, '$.cache_discount') IN ('integer', 'real'), round((facts ->> '$.cache_discount') * ${NANO}), 0)`

const NO_USE: UseFacts = { model: '', endpoint: '', provider: '', session: '', saved: 0 }

/** As the statements read them. Of earlier programs some are no JSON. */
export function useOf(text: string): UseFacts {
  try {
    const facts = JSON.parse(text || '{}') as Json
    if (!isObject(facts)) return NO_USE
    const { model, endpoint, provider, session_id: session, cache_discount: saved } = facts
    return {
      model: stringOf(model) ?? '',
      endpoint: stringOf(endpoint) ?? '',
      provider: stringOf(provider) ?? '',
      session: stringOf(session) ?? '',
      saved: typeof saved === 'number' ? Math.round(saved * NANO) : 0,
    }
  } catch {
    return NO_USE
  }
}

/** By what the sums of each key stand apart in those of closed days, beside the day. */
export const KEY_PARTS = ['model', 'provider'] as const
export type KeyPart = (typeof KEY_PARTS)[number]

/** The sums of closed days that have what stands apart; undefined where only all sums have it. */
export function partFor(apart: readonly UseGroup[] | undefined): KeyPart | undefined {
  if (!apart || (apart.includes('model') && apart.includes('provider'))) return undefined
  return apart.includes('model') ? 'model' : 'provider'
}
