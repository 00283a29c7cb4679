/**
 * The program as the next version of the schema would have it: loaded by `--import`, it gives the schema further steps before the program
 * reads them. So a test has an older and a newer program of one source.
 */
import { registerHooks } from 'node:module'
import type { ProgramOptions } from './program.ts'

/**
 * expand: each table gets a column, there is a further table, and all functions are made again. indexes: the generations get two indexes.
 * contract: what `expand` has added goes, as what an earlier version used and later ones do not; programs before `expand` count as such.
 */
export type NextStep = 'expand' | 'indexes' | 'contract'

const VARIABLE = 'HEADGATE_TEST_NEXT_STEPS'

/** Start of a program with these steps. */
export function withNextSchema(steps: readonly NextStep[]): ProgramOptions {
  return { nodeFlags: ['--import', import.meta.filename], env: { [VARIABLE]: steps.join(',') } }
}

export const COLUMN_IN_EACH = `do $$ declare t text; begin
  for t in select tablename from pg_tables where schemaname = current_schema() and tablename <> 'headgate_schema' order by tablename loop
    execute format('alter table %I add column next_version text not null default ''next''', t);
  end loop;
end $$`

const COLUMN_IN_NONE = `do $$ declare t text; begin
  for t in select table_name from information_schema.columns
    where table_schema = current_schema() and column_name = 'next_version' order by table_name loop
    execute format('alter table %I drop column next_version', t);
  end loop;
end $$`

/** Source text of each step, as it would stand in `migrations.ts`. */
const SOURCES: Readonly<Record<NextStep, string>> = {
  expand: `{ kind: 'expand', apply: (script) => {
    if (script.database === 'sqlite') return
    script.raw(sql.raw(${JSON.stringify(COLUMN_IN_EACH)}))
    script.raw(sql\`create table next_table (number bigint primary key)\`)
    for (const text of POSTGRES_FUNCTIONS) script.raw(sql.raw(text))
  } }`,
  indexes: `{ kind: 'expand', apply: (script) => {
    if (script.database === 'sqlite') return
    script.index({ name: 'generation_next_cost', table: 'generation', on: '(cost, seq)' })
    script.index({ name: 'generation_next_tag', table: 'generation', on: "(tag, seq) where key <> ''" })
  } }`,
  contract: `{ kind: 'contract', least: SCHEMA_BEFORE + 1, apply: (script) => {
    if (script.database === 'sqlite') return
    script.raw(sql\`drop table next_table\`)
    script.raw(sql.raw(${JSON.stringify(COLUMN_IN_NONE)}))
  } }`,
}

/** Place of the patched source before the patch. */
const MARK = '/** The version that this program works with. */'

function patched(url: string, source: string, steps: readonly NextStep[]): string {
  if (url.endsWith('/src/store/sqlite-schema.ts')) return `${source}\nSQLITE_MIGRATIONS.push(${steps.map(() => '[]').join(', ')})\n`
  if (!url.endsWith('/src/store/migrations.ts')) return source
  if (!source.includes(MARK)) throw new Error(`${url} has no line ${MARK}`)
  const added = steps.map((step) => SOURCES[step]).join(', ')
  return `${source.replace(MARK, () => `const SCHEMA_BEFORE = STEPS.length\nSTEPS.push(${added})\n${MARK}`)}`
}

const named = process.env[VARIABLE]
if (named)
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context)
      if (!/\/src\/store\/(migrations|sqlite-schema)\.ts$/.test(url) || loaded.source === undefined || loaded.source === null) return loaded
      return { ...loaded, source: patched(url, Buffer.from(loaded.source as Uint8Array).toString(), named.split(',') as NextStep[]) }
    },
  })
