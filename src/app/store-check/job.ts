/** Input of the thread, and its findings. */
import type { SQLInputValue } from 'node:sqlite'
import type { CheckedSlice, CheckedTable } from '../../store/page-check.ts'

export interface SliceJob {
  readonly path: string
  /** Changes with each checkpoint: pages that were read before may be old. */
  readonly state: string
  readonly table: CheckedTable
  readonly after: readonly SQLInputValue[] | undefined
  readonly most: number
}

/** Of a file that cannot be opened, nothing but the problem. */
export type SliceResult = CheckedSlice
