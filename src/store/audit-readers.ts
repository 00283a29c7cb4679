/**
 * Readers of the audit log that go through it in batches, such as sinks. Each has a row among the readers of the ledger, with sequences in
 * the place of generations: it has read the entries below `below`, and an open batch has those below `reaching` too.
 */
import type { AuditRow } from '../core/audit-entries.ts'
import type { BatchReaders } from '../ledger/types.ts'

export interface AuditReaders extends BatchReaders<AuditRow> {
  /** Called where the log is another one than a reader has read, as after a restored backup: it begins anew. */
  setBack: ((reader: string) => void) | undefined
  /** Sequence of the first entry that one of these has not read; 1 where one has not begun. Infinity without any. */
  unreadFrom(readers: readonly string[]): number | Promise<number>
}

/** Name of the reader of a sink, also in metrics: names of exports have no colon. */
export const sinkReader = ({ name }: { readonly name: string }): string => `audit:${name}`

/** Entries of one page. */
export const AUDIT_READER_PAGE = 500

/** The place of a reader, and what the log has there. */
export interface ReaderPlace {
  readonly below: number
  /** Hash of the last entry that was read; '' where none was. */
  readonly note: string
  /** Hash that the log has of it now; undefined where it has no such entry. */
  readonly found: string | undefined
  /** The end of the log. */
  readonly last: number
}

/** True where the log is not the one that was read. An entry that retention has removed proves nothing. */
export function isSetBack({ below, note, found, last }: ReaderPlace): boolean {
  if (note === '') return false
  return found === undefined ? last < below - 1 : found !== note
}
