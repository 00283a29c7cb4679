/** Opens the embedded database: one owner per file, and a damaged or foreign file is refused with the reason. */
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { Fault } from '../core/faults.ts'
import { ensureFile } from './new-file.ts'
import { isDamage, tailProblem } from './page-check.ts'
import { APPLICATION_ID, newerSchema, SCHEMA_VERSION } from './schema.ts'
import { SQLITE_MIGRATIONS, SQLITE_TABLES } from './sqlite-schema.ts'
import { integer, sqliteCode, text } from './sqlite-values.ts'

export { bigInteger, integer, sqliteCode, text } from './sqlite-values.ts'

/** `process`: survives the death of the process. `power`: survives that of the machine, at the price of an fsync per commit. */
export type Durability = 'process' | 'power'

/** Bytes; small, since every commit writes whole pages to the log. */
const PAGE_SIZE = 2048

/** Pages in the log at which SQLite itself checkpoints, should the timer never come. */
export const CHECKPOINT_PAGES = 16_384

const TABLES = `${script(SQLITE_TABLES)} PRAGMA application_id = ${APPLICATION_ID};`
const CREATE = `PRAGMA page_size = ${PAGE_SIZE}; BEGIN; ${TABLES} COMMIT`

const BUSY = 5
const NOT_A_DATABASE = 26

/** Statements of one database, each prepared at its first use. */
export class Statements {
  private readonly db: DatabaseSync
  private readonly prepared = new Map<string, StatementSync>()

  constructor(db: DatabaseSync) {
    this.db = db
  }

  /** @throws what SQLite throws. */
  of(sql: string): StatementSync {
    let statement = this.prepared.get(sql)
    if (!statement) {
      statement = this.db.prepare(sql)
      this.prepared.set(sql, statement)
    }
    return statement
  }
}

/** Runs work as one transaction: all of it, or nothing. @throws what it throws. */
export function atOnce<T>(db: DatabaseSync, work: () => T): T {
  try {
    db.exec('BEGIN IMMEDIATE')
    const result = work()
    db.exec('COMMIT')
    return result
  } catch (thrown) {
    if (db.isOpen && db.isTransaction) db.exec('ROLLBACK')
    throw thrown
  }
}

/** An empty database of a gateway that may forget: in memory, with all tables. */
export function memoryDatabase(): DatabaseSync {
  const db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false })
  db.exec(CREATE)
  return db
}

/**
 * Opens or creates the database file and takes the exclusive lock that it keeps until it is closed.
 * @throws Fault `unavailable` naming the file: in use by another process, damaged, not ours, or not accessible.
 */
export function openDatabase(path: string, durability: Durability): DatabaseSync {
  const file = resolve(path)
  let db: DatabaseSync | undefined
  try {
    mkdirSync(dirname(file), { recursive: true })
    ensureFile(file, CREATE)
    closeSync(openSync(file, 'a', 0o600))
    db = new DatabaseSync(file, { timeout: 0, enableForeignKeyConstraints: false })
    prepare(db, durability, file)
    return db
  } catch (thrown) {
    db?.close()
    throw thrown instanceof Fault ? thrown : refusal(file, thrown)
  }
}

function prepare(db: DatabaseSync, durability: Durability, file: string): void {
  db.exec(`PRAGMA locking_mode = EXCLUSIVE; PRAGMA page_size = ${PAGE_SIZE}`)
  const empty = integer(db.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n) === 0
  if (!empty && pragma(db, 'application_id') !== APPLICATION_ID) throw refused(file, 'is a database of another program')
  db.exec('PRAGMA journal_mode = WAL')
  db.exec(`PRAGMA synchronous = ${durability === 'power' ? 'FULL' : 'NORMAL'}`)
  db.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384`)
  // Takes the lock. A file without tables is one that an older program was about to make.
  db.exec(`BEGIN IMMEDIATE; ${empty ? TABLES : ''} COMMIT`)
  const problem = isChecked(db) ? integrityProblem(db) : tailProblem(db)
  if (problem !== undefined) throw refused(file, `is damaged: ${problem}`)
  migrate(db, file)
}

/** Bytes up to which a start checks the whole file, in some 20 ms. A larger one is checked beside the work, see `page-check.ts`. */
const CHECKED_AT_START = 8 * 1024 ** 2

/** True where the start has checked the whole file. @throws what SQLite throws. */
export function isChecked(db: DatabaseSync): boolean {
  const size = db.prepare('SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size').get()?.bytes
  return integer(size) <= CHECKED_AT_START
}

/** Returns the error with which a start is refused: a damaged page refuses it, whatever the start read. Others stay as they are. */
export function asRefusal(db: DatabaseSync, thrown: unknown): unknown {
  const file = db.isOpen ? db.location() : null
  return file !== null && isDamage(thrown)
    ? refused(file, `is damaged: ${thrown instanceof Error ? thrown.message : thrown}`, thrown)
    : thrown
}

/** Brings a file of an older version up to this one, in place and all at once. */
function migrate(db: DatabaseSync, file: string): void {
  const found = pragma(db, 'user_version')
  if (found > SCHEMA_VERSION) throw refused(file, newerSchema(found))
  if (found < 1) throw refused(file, `has schema version ${found}, expected 1 to ${SCHEMA_VERSION}`)
  if (found === SCHEMA_VERSION) return
  try {
    db.exec(`BEGIN IMMEDIATE; ${stepsFrom(found)} COMMIT`)
  } catch (thrown) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw thrown
  }
}

/** The statements that lead from a version to this program's. */
function stepsFrom(version: number): string {
  return script(SQLITE_MIGRATIONS.slice(version).flat())
}

/** Statements that make or change tables, and the version to which they lead. */
function script(statements: readonly string[]): string {
  return [...statements, `PRAGMA user_version = ${SCHEMA_VERSION}`].map((statement) => `${statement};`).join(' ')
}

/** The first thing wrong with the pages and rows of the file; undefined if all is well. */
export function integrityProblem(db: DatabaseSync): string | undefined {
  const found = db.prepare('PRAGMA integrity_check(1)').get()?.integrity_check
  return found === 'ok' ? undefined : text(found).replace(/\s+/g, ' ')
}

function pragma(db: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return integer(db.prepare(`PRAGMA ${name}`).get()?.[name])
}

function refused(file: string, why: string, cause?: unknown): Fault {
  return new Fault('unavailable', { message: `store ${file} ${why}`, cause })
}

function refusal(file: string, thrown: unknown): Fault {
  const why = thrown instanceof Error ? thrown.message : String(thrown)
  const code = sqliteCode(thrown)
  if (code === BUSY) return refused(file, 'is in use by another process, which owns it until it ends', thrown)
  if (code === NOT_A_DATABASE) return refused(file, 'is damaged or not a database', thrown)
  if (isDamage(thrown)) return refused(file, `is damaged: ${why}`, thrown)
  return refused(file, `cannot be opened: ${why}`, thrown)
}
