/** A row of a page of docs/behaviour/: what software of others does, and the tests that hold what headgate makes of it. */
import type { HeldBy } from '../servers-real/rows.ts'

export interface BehaviourRow {
  /** The package or the list. */
  readonly who: string
  readonly version: string
  readonly input: string
  readonly does: string
  readonly makes: string
  readonly tests: readonly HeldBy[]
}
