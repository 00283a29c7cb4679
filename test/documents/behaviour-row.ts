/** A row of a page of docs/behaviour/: what software of others does, and the tests that hold what headgate makes of it. */
import type { HeldBy } from '../servers-real/rows.ts'

export interface BehaviourRow {
  /** The package, the list or the gateway. */
  readonly who: string
  readonly version: string
  readonly input: string
  readonly does: string
  readonly makes: string
  /** Source or command of the row; rows of one page have it all or not at all. */
  readonly source?: string
  readonly tests: readonly HeldBy[]
  /** The situation in few words: the row stands in the table of the README too. */
  readonly inShort?: string
}
