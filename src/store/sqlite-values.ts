/** Reads the values that node:sqlite returns, and the codes of its errors. */
import type { SQLOutputValue } from 'node:sqlite'

/** SQLite's primary result code of an error thrown by node:sqlite; undefined for any other error. */
export function sqliteCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !('errcode' in thrown) || typeof thrown.errcode !== 'number') return undefined
  return thrown.errcode & 0xff
}

/** A column that the schema declares INTEGER NOT NULL. */
export function integer(value: SQLOutputValue | undefined): number {
  if (typeof value !== 'number') throw new TypeError('expected an integer column')
  return value
}

/** The same, of a statement that reads integers of 64 bits. */
export function bigInteger(value: SQLOutputValue | undefined): bigint {
  if (typeof value !== 'bigint') throw new TypeError('expected an integer column')
  return value
}

/** A column that the schema declares TEXT NOT NULL. */
export function text(value: SQLOutputValue | undefined): string {
  if (typeof value !== 'string') throw new TypeError('expected a text column')
  return value
}
