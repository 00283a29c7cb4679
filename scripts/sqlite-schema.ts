/** The source text of `src/store/sqlite-schema.ts`: what the migrations are for SQLite. */
import { migrationsFor } from '../src/store/migrations.ts'

const HEAD = `/**
 * The statements that lead SQLite from each version to the next, written by \`npm run generate\` from \`migrations.ts\`:
 * so the embedded store migrates at once and without the builder of these statements.
 */
export const SQLITE_MIGRATIONS: readonly (readonly string[])[] = [
`

/** Formatted as the formatter would. */
export function sqliteSchema(): string {
  const steps = migrationsFor('sqlite').map((statements) =>
    statements.length === 0 ? '  [],\n' : `  [\n${statements.map((text) => `    ${quoted(text)},\n`).join('')}  ],\n`,
  )
  return `${HEAD}${steps.join('')}]\n`
}

function quoted(text: string): string {
  // The formatter takes the quotes of which fewer are to be escaped.
  if (text.split("'").length > text.split('"').length) return `"${text.replaceAll('"', '\\"')}"`
  return `'${text.replaceAll("'", "\\'")}'`
}
