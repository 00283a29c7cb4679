/** Requests that the gateway itself has refused, at rest: counted by minute, key and reason, with the latest ones in full. */

/** One refused request. */
export interface RefusedRequest {
  /** Id of the generation, as the caller read it; '' where it had none. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The format of the caller, such as `openai-chat`; `pass-through`. */
  readonly operation: string
  /** As the caller named it. */
  readonly model: string | null
  /** The field at fault, where the error names one. */
  readonly field: string | null
  /** The message of the error, as the caller read it. */
  readonly message: string
  /** The limit that refused it, `<scope> <kind> <per>`; absent where its error names none, and in rows of earlier versions. */
  readonly limit?: string | undefined
}

/** The refusals of one minute, one key and one reason at one process. */
export interface RefusalRow {
  /** Milliseconds since the epoch: the beginning of the minute. */
  readonly at: number
  /** Of the row itself: a later write of the same row takes its place. */
  readonly id: string
  /** Identity of the key; '' where the request had none that is known. */
  readonly key: string
  /** Code of the fault, or one of `KEY_REASONS`. */
  readonly reason: string
  readonly detail: RefusalDetail
}

export interface RefusalDetail {
  /** HTTP status, and `error_type` of the body. */
  readonly status: number
  readonly type: string
  readonly count: number
  /** Milliseconds since the epoch: of the last one. */
  readonly last: number
  /** The newest first. */
  readonly latest: readonly RefusedRequest[]
  /** Requests by the limit that refused them, `<scope> <kind> <per>`; absent where no error named one, and in rows of earlier versions. */
  readonly limits?: Readonly<Record<string, number>>
}

/** Reasons beside the codes of faults: a key that is known and cannot be used, which its caller reads as an unknown one. */
export const KEY_REASONS = ['key_disabled', 'key_expired', 'key_rotated'] as const

/** Beginning of a list: behind no row. */
export const NEWEST_REFUSAL: Pick<RefusalRow, 'at' | 'id'> = { at: Number.MAX_SAFE_INTEGER, id: '' }

export interface RefusalQuery {
  /** Milliseconds since the epoch, of the minute. */
  readonly since: number
  /** Identity. */
  readonly key?: string | undefined
  readonly reason?: string | undefined
  /** Id of a generation among the latest of a row. */
  readonly generation?: string | undefined
  /** Only what is older than this row: the newest come first. */
  readonly after?: Pick<RefusalRow, 'at' | 'id'> | undefined
  readonly limit: number
}

type Maybe<T> = T | Promise<T>

/** Every change is durable when it returns. All of it may throw Fault `unavailable`. */
export interface RefusalStore {
  /** Writes rows, each in the place of its earlier form. */
  put(rows: readonly RefusalRow[]): Maybe<void>
  /** The newest first. */
  list(query: RefusalQuery): Maybe<RefusalRow[]>
  /**
   * Removes rows from before a moment, at most `most`, the oldest first.
   * @param age milliseconds: a store with a clock of its own also keeps everything that is younger by that clock. Default: 0.
   * @returns how many.
   */
  prune(before: number, most: number, age?: number): Maybe<number>
}

/** A part of a row's detail as JSON text that only a row with this generation has: within texts quotes are escaped. */
export const generationMark = (generation: string): string => `{"id":${JSON.stringify(generation)}`
