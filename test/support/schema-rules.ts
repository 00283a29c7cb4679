/** Rules of a step of the schema while programs of the version before run on the database: CONTRIBUTING.md, "The schema of the store". */
import type { CompiledStep } from '../../src/store/migrations.ts'

/** Statements that no step has that only adds, with the reasons. */
const REFUSED: readonly (readonly [RegExp, string])[] = [
  [/\bdrop\b/i, 'drops something'],
  [/\brename\b/i, 'renames something'],
  [/^\s*(delete|truncate)\b/i, 'deletes rows'],
  [/^\s*(update|insert into \S+ .*\bselect\b.*\bfrom\b)/i, 'writes rows for as long as there are some'],
  [/\bset not null\b/i, 'refuses what running programs write'],
  [/\balter column\s+\S+\s+(set data )?type\b/i, 'rewrites a table'],
  [/\badd (constraint|primary key|unique|check|foreign key)\b/i, 'refuses what running programs write'],
]

/** Statements that break the rules in a step. */
export function stepProblems({ kind, statements }: Pick<CompiledStep, 'kind' | 'statements'>): string[] {
  if (kind === 'contract') return []
  if (kind === 'stop') return ['a new step says expand or contract']
  const made = new Set(statements.flatMap((text) => /^create table (?:if not exists )?"?(\w+)"?/i.exec(text)?.[1] ?? []))
  const problems: string[] = []
  for (const text of statements) {
    // The bodies of functions are programs, not changes.
    if (/^\s*create or replace (function|procedure)\b/i.test(text)) continue
    for (const [pattern, why] of REFUSED) if (pattern.test(text)) problems.push(`${why}: ${text}`)
    for (const [, column = ''] of text.matchAll(/\badd column\s+([^,]+)/gi))
      if (/\bnot null\b/i.test(column) && !/\bdefault\b/i.test(column)) problems.push(`refuses what running programs write: ${text}`)
    const [, table] = /^create (?:unique )?index \S+ on "?(\w+)"?/i.exec(text) ?? []
    if (table !== undefined && !made.has(table)) problems.push(`keeps writers of the table out, use script.index(): ${text}`)
  }
  return problems
}
