/** The source text of `src/store/sqlite-schema.ts`: what the migrations are for SQLite, and the tables to which they lead. */
import { DatabaseSync } from 'node:sqlite'
import { migrationsFor } from '../src/store/migrations.ts'

const HEAD = `/**
 * The statements that lead SQLite from each version to the next, written by \`npm run generate\` from \`migrations.ts\`:
 * so the embedded store migrates at once and without the builder of these statements.
 */
export const SQLITE_MIGRATIONS: readonly (readonly string[])[] = [
`

/** With the line end: `lineWidth` of biome.json. */
const MAX_LINE_LENGTH = 141

/** Formatted as the formatter would. */
export function sqliteSchema(): string {
  const steps = migrationsFor('sqlite').map((statements) => {
    const line = `  [${statements.map(quoted).join(', ')}],\n`
    return line.length <= MAX_LINE_LENGTH ? line : `  [\n${statements.map((text) => `    ${quoted(text)},\n`).join('')}  ],\n`
  })
  return `${HEAD}${steps.join('')}]\n${TABLES_HEAD}${finalTables().join('')}]\n`
}

const TABLES_HEAD = `
/** The tables of this version with their first rows, to which all steps lead: a new database is made of them at once. */
export const SQLITE_TABLES: readonly string[] = [
`

/** All that the steps make in an empty database: its tables with the rows that have to be there, then its indexes. */
function finalTables(): string[] {
  const db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false })
  for (const statement of migrationsFor('sqlite').flat()) db.exec(statement)
  const made = db.prepare("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type = 'index', rowid").all()
  const statements = made.flatMap(({ type, name, sql }) => [
    String(sql),
    ...(type === 'table' ? db.prepare(`SELECT * FROM "${name}"`).all() : []).map(
      (row) => `insert into "${name}" values (${Object.values(row).map(literal).join(', ')})`,
    ),
  ])
  db.close()
  return statements.map((text) => `  ${quoted(text.replaceAll(/\s+/g, ' '))},\n`)
}

const literal = (value: unknown): string => (typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value))

function quoted(text: string): string {
  // The formatter takes the quotes of which fewer are to be escaped.
  if (text.split("'").length > text.split('"').length) return `"${text.replaceAll('"', '\\"')}"`
  return `'${text.replaceAll("'", "\\'")}'`
}
