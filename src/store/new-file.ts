/** Creates the file of the embedded store whole or not at all, so that a file cut short counts as damaged and never as new. */
import { closeSync, existsSync, fsyncSync, linkSync, openSync, readSync, renameSync, rmSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { Fault } from '../core/faults.ts'

/** Bytes of SQLite's smallest page: what is shorter SQLite itself takes for a new database. */
const SHORTEST = 512

/**
 * Makes the file if there is none.
 * @param statements what turns an empty database into a store.
 * @throws Fault `unavailable` naming the file: it is shorter than any store, or is gone and has left its log behind.
 * Also throws system and SQLite errors.
 */
export function ensureFile(file: string, statements: string): void {
  const found = statSync(file, { throwIfNoEntry: false })
  const hasLog = (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
  if (!found) {
    if (hasLog) throw refused(file, 'is missing, but its log is there (-wal): put both back, or remove the log as well to begin anew')
    makeFile(file, statements)
    return
  }
  // What is no file at all the system refuses by itself.
  if (!found.isFile()) return
  const { size } = found
  if (size < SHORTEST) throw refused(file, `is damaged: it has ${size} bytes. Restore it, or remove it and its -wal to begin anew`)
  // With a log the last page may be cut: a full disk does that, and the log has the whole of it.
  if (!hasLog && size % filePageSize(file) !== 0) throw refused(file, `is damaged: ${size} bytes are no whole number of pages`)
}

/** 1 where the file is no database: SQLite says so itself. */
function filePageSize(file: string): number {
  const descriptor = openSync(file, 'r')
  try {
    const head = Buffer.alloc(18)
    readSync(descriptor, head)
    return head.toString('latin1', 0, 16) === 'SQLite format 3\0' ? Math.max(SHORTEST, head.readUInt16BE(16)) : 1
  } finally {
    closeSync(descriptor)
  }
}

function makeFile(file: string, statements: string): void {
  const making = `${file}.${process.pid}.new`
  rmSync(making, { force: true })
  const descriptor = openSync(making, 'wx', 0o600)
  try {
    const db = new DatabaseSync(making)
    // No other process knows the file yet: one flush at the end is enough.
    db.exec(`PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; ${statements}`)
    db.close()
    fsyncSync(descriptor)
    place(making, file)
  } finally {
    closeSync(descriptor)
    rmSync(making, { force: true })
  }
}

/** Gives the file its name, unless another process was faster: then that one's stays. */
function place(making: string, file: string): void {
  try {
    linkSync(making, file)
  } catch {
    if (existsSync(file)) return
    // A file system without hard links.
    renameSync(making, file)
  }
}

function refused(file: string, why: string): Fault {
  return new Fault('unavailable', { message: `store ${file} ${why}` })
}
