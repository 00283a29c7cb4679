/**
 * Looks for damage in a file of the embedded store, a slice at a time: SQLite's own `integrity_check` reads the whole file in one
 * piece. A slice reads some rows of a table in the order of their key, every column to its end, and looks each of them up in the
 * table's indexes: so all pages are read that have rows. Pages without rows are read when SQLite writes to them, and it refuses then.
 */
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite'
import { sqliteCode, text } from './sqlite-values.ts'

type Key = readonly SQLInputValue[]

/** The statements that check one table. */
export interface CheckedTable {
  readonly name: string
  /** Columns of the key, and for each row whether a column has what its type does not allow: from the first row, and behind a key. */
  readonly first: string
  readonly next: string
  readonly keys: number
  /** Rows between two keys that an index lacks. */
  readonly indexes: readonly { readonly name: string; readonly first: string; readonly next: string }[]
}

export interface CheckedSlice {
  readonly rows: number
  /** Key of the last row; undefined at the end of the table. */
  readonly after?: Key | undefined
  /** The damage that was found, in words for the operator. */
  readonly problem?: string | undefined
}

interface Column {
  readonly name: string
  readonly type: string
  readonly optional: boolean
  /** Place in the primary key, from 1 on; 0: none. */
  readonly place: number
}

/** SQLite's result codes that mean damage: a malformed page, and a file that is no database. */
const DAMAGE = new Set([11, 26])

/** True where SQLite has met a damaged page. */
export function isDamage(thrown: unknown): boolean {
  const code = sqliteCode(thrown)
  return code !== undefined && DAMAGE.has(code)
}

/** Returns the tables of a file with the statements that check them. @throws what SQLite throws. */
export function checkedTables(db: DatabaseSync): CheckedTable[] {
  const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name`).all()
  return tables.map((row) => checkedTable(db, text(row.name)))
}

/** Returns a problem of the latest rows of the journal, which every start checks. @throws what SQLite throws that is no damage. */
export function tailProblem(db: DatabaseSync): string | undefined {
  for (const name of ['hold', 'settlement']) {
    const table = checkedTable(db, name)
    try {
      const row = db.prepare(`SELECT seq FROM ${name} ORDER BY seq DESC LIMIT 1 OFFSET ${TAIL}`).get()
      // Not in the indexes: each of their pages may be a seek of the disk.
      const { problem } = checkSlice(db, { ...table, indexes: [] }, typeof row?.seq === 'number' ? [row.seq] : undefined, TAIL)
      if (problem !== undefined) return problem
    } catch (thrown) {
      if (isDamage(thrown)) return `${name}: ${errorText(thrown)}`
      throw thrown
    }
  }
  return undefined
}

const TAIL = 1_000

/** @param after where the last slice has ended; undefined for the first. @throws what SQLite throws that is no damage. */
export function checkSlice(db: DatabaseSync, table: CheckedTable, after: Key | undefined, most: number): CheckedSlice {
  let last = after
  let rows = 0
  const problem = (what: string): CheckedSlice => ({ rows, problem: `${table.name}${last ? ` behind ${last.join(' ')}` : ''}: ${what}` })
  try {
    const statement = db.prepare(after ? table.next : table.first)
    statement.setReturnArrays(true)
    for (const row of statement.iterate(...(after ?? []), most)) {
      const values = row as unknown as SQLOutputValue[]
      const key = values.slice(0, table.keys) as SQLInputValue[]
      if (last && !follows(key, last)) return problem('rows are out of order')
      if (values[table.keys] !== 0) return problem('a row has a value that its column does not allow')
      last = key
      rows++
    }
    if (last && rows > 0)
      for (const { name, first, next } of table.indexes)
        if (db.prepare(after ? next : first).get(...(after ?? []), ...last)) return problem(`a row is missing from index ${name}`)
  } catch (thrown) {
    if (!isDamage(thrown)) throw thrown
    return problem(errorText(thrown))
  }
  return { rows, after: rows < most ? undefined : last }
}

/** As SQLite compares: texts by their bytes. */
function follows(key: Key, before: Key): boolean {
  for (const [at, value] of key.entries()) {
    const other = before[at]
    if (value === other) continue
    if (typeof value === 'string' && typeof other === 'string') return Buffer.compare(Buffer.from(value), Buffer.from(other)) > 0
    return typeof value === 'number' && typeof other === 'number' && value > other
  }
  return false
}

function errorText(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

function checkedTable(db: DatabaseSync, name: string): CheckedTable {
  const columns = listColumns(db, name)
  const key = columns.filter(({ place }) => place > 0).sort((a, b) => a.place - b.place)
  const names = key.map((column) => column.name)
  const select = `SELECT ${names.join(', ')}, ${columns.map(wrongValue).join(' OR ')} FROM ${name} NOT INDEXED`
  const order = `ORDER BY ${names.join(', ')} LIMIT ?`
  const behind = `(${names.join(', ')}) > (${names.map(() => '?').join(', ')})`
  return {
    name,
    first: `${select} ${order}`,
    next: `${select} WHERE ${behind} ${order}`,
    keys: key.length,
    indexes: listIndexes(db, name).map((index) => lookUp(name, names, behind, index)),
  }
}

/** Reads the column to its end, over all pages that a long text takes. */
function wrongValue({ name, type, optional }: Column): string {
  const wrong = type === 'text' ? `(typeof(${name}) <> 'text' OR length(${name}) < 0)` : `typeof(${name}) <> '${type}'`
  return optional ? `(${name} IS NOT NULL AND ${wrong})` : wrong
}

interface Index {
  readonly name: string
  readonly values: readonly string[]
  readonly where: string
}

function lookUp(table: string, key: readonly string[], behind: string, { name, values, where }: Index) {
  const up = `(${key.join(', ')}) <= (${key.map(() => '?').join(', ')})`
  const named = [...key.map((column, at) => `${column} AS key${at}`), ...values.map((value, at) => `${value} AS value${at}`)]
  const same = [...key.map((column, at) => `${column} IS row.key${at}`), ...values.map((value, at) => `${value} IS row.value${at}`)]
  const missing = (
    range: string,
  ): string => `SELECT 1 FROM (SELECT ${named.join(', ')} FROM ${table} NOT INDEXED WHERE ${range} AND ${where}) AS row
    WHERE NOT EXISTS (SELECT 1 FROM ${table} INDEXED BY ${name} WHERE ${where} AND ${same.join(' AND ')}) LIMIT 1`
  return { name, first: missing(up), next: missing(`${behind} AND ${up}`) }
}

function listColumns(db: DatabaseSync, table: string): Column[] {
  return db
    .prepare('SELECT name, lower(type) AS type, "notnull" AS needed, pk FROM pragma_table_info(?)')
    .all(table)
    .map((row) => ({
      name: text(row.name),
      type: text(row.type),
      optional: row.needed === 0 && row.pk === 0,
      place: Number(row.pk),
    }))
}

/** From the statement that made it: SQLite does not show the expressions of an index otherwise. */
function listIndexes(db: DatabaseSync, table: string): Index[] {
  const rows = db.prepare(`SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL`).all(table)
  return rows.map((row) => {
    const made = / on "?\w+"? \((.+?)\)(?: where (.+))?$/i.exec(text(row.sql))
    if (!made?.[1]) throw new TypeError(`expected the statement of an index, found ${text(row.sql)}`)
    return { name: text(row.name), values: made[1].split(', '), where: made[2] ?? 'true' }
  })
}
