/** Rows of the table of levels, which both databases have in one form. */
import { defaultLevel, type LevelFields, type LevelKind } from '../core/levels.ts'
import type { LevelRow } from './levels.ts'

export interface LevelColumns {
  readonly id: string
  readonly version: number
  readonly kind: string
  readonly parent: string | null
  /** JSON; '' of a removed level. */
  readonly fields: string
  readonly created_at: number
  readonly updated_at: number | null
  readonly change: number
  readonly removed_at: number | null
}

/** Of a removed level. */
const NO_FIELDS: LevelFields = { name: '', disabled: true, limits: {}, rates: {}, createdBy: null }

/** A kind of a later version stays the word that it is: no look-up finds such a level, so that whatever names it is refused. */
export function readLevel(row: LevelColumns): LevelRow {
  const { id, version, kind, parent, fields, change } = row
  return {
    ...{ id, version, parent, change },
    kind: kind as LevelKind,
    fields: fields === '' ? NO_FIELDS : (JSON.parse(fields) as LevelFields),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    removedAt: row.removed_at,
  }
}

/** True for a level that is there without a row. */
export const isDefaultLevel = (id: string): boolean => defaultLevel(id) !== undefined
