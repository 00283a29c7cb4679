/** Sums of use, and of sessions, as they are sought and found. */
import type { DayCounts, RowCounts } from '../core/row-counts.ts'

export interface UseQuery {
  /** Milliseconds since the epoch of the admission: from here on, and before there. */
  readonly from: number
  readonly until: number
  /** Identities; absent: all keys. */
  readonly keys?: readonly string[]
  /** Sums of each key apart. */
  readonly byKey?: boolean
  /** With `byKey`: what stands apart beside the key, instead of all that rows have. Of what does not, rows have '' or 0. */
  readonly apart?: readonly UseGroup[]
  /** True where no cost is read: what entries have moved is left out, so that figures of days that are over need no ledger. */
  readonly withoutMoves?: boolean
  /** Of one model, or of one provider, only. */
  readonly model?: string | undefined
  readonly provider?: string | undefined
}

export type UseGroup = 'day' | 'model' | 'provider'

/** Sums of the settled generations that were admitted on one UTC day. */
export interface UseRow extends Readonly<DayCounts> {
  /** Identity, where the query is `byKey`. */
  readonly key?: string
  /** Start of the day, milliseconds since the epoch. */
  readonly day: number
  readonly model: string
  readonly endpoint: string
  /** Empty where none is recorded. */
  readonly provider: string
  /** False for generations that failed, or whose outcome is unknown. */
  readonly answered: boolean
  readonly requests: number
  /** Those of the requests that failed, or whose outcome is unknown, where the query says what stands `apart`; `answered` is true then. */
  readonly failed?: number
  /** Nano-dollars. */
  readonly cost: bigint
  /** Nano-dollars that caches of the providers have saved; negative where writing to them cost more. */
  readonly cacheSaved: number
}

/** Sums of some consecutive generations, and where the next page begins. */
export interface UsePage {
  readonly rows: readonly UseRow[]
  /** Absent after the last page. */
  readonly next?: string
}

/** Move of an entry about a generation, for the session of that generation. */
export interface SessionMove {
  /** Identity. */
  readonly key: string
  readonly session: string
  /** Nano-dollars; below zero: given back. */
  readonly nano: number
}

export interface SessionQuery {
  /** Milliseconds since the epoch of the admission: from here on, and before there. */
  readonly from: number
  readonly until: number
  /** Identities; absent: all keys. */
  readonly keys?: readonly string[]
  /** Absent: all sessions. */
  readonly session?: string
}

/** Sums of the settled generations of one session of one key. */
export interface SessionUse extends Readonly<RowCounts> {
  readonly key: string
  readonly session: string
  readonly models: readonly string[]
  readonly requests: number
  /** Of `requests`: those that failed, or whose outcome is unknown. */
  readonly failed: number
  /** Nano-dollars. */
  readonly cost: bigint
  /** Nano-dollars that caches of the providers have saved; negative where writing to them cost more. */
  readonly cacheSaved: number
  /** Milliseconds since the epoch: admission of the first and of the last one. */
  readonly first: number
  readonly last: number
}

/** A session of one key that has settled generations in a period. */
export interface SessionName {
  readonly key: string
  readonly session: string
  /** Milliseconds since the epoch: no generation of it in the period was admitted before. */
  readonly first: number
  /** Admission of the last one. */
  readonly last: number
}

/** Sessions of some consecutive generations, which may come again, and where the next page begins. */
export interface SessionNamePage {
  readonly rows: readonly SessionName[]
  /** Absent after the last page. */
  readonly next?: string
}

/** Sums of some generations, and where the next page begins. */
export interface SessionPage {
  readonly rows: readonly SessionUse[]
  /** Absent after the last page. */
  readonly next?: string
}

/** A part of the sessions of a query, the one that was used last first. */
export interface SessionList {
  readonly total: number
  readonly rows: readonly SessionUse[]
}

/** Sessions to skip, and sessions at most. */
export interface SessionSlice {
  readonly offset: number
  readonly limit: number
}
