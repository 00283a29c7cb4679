/**
 * The one source of both schemas: each version's step. Nothing loads this file where nothing is migrated: SQLite runs the
 * statements that were generated from it.
 */
import { sql } from 'kysely'
import { COUNT_VERSIONS, COUNTS } from '../core/ledger-counts.ts'
import { NEAREST_PAYER, payersColumn } from '../core/payers.ts'
import { BYOK_TRIGGERS, BYOK_USE, BYOK_USE_KEY } from './byok-use-triggers.ts'
import { AUDIT_ENTRY, AUDIT_HEAD, BYOK_KEY, GIVEN_ID, LEVEL } from './columns.ts'
import { FIRST_STEPS } from './first-steps.ts'
import { POSTGRES_FUNCTIONS } from './postgres/functions.ts'
import { type Database, type IndexBeside, indexStatement, Script } from './schema-script.ts'

/**
 * A step of a migration, by what it means for programs that run while a PostgreSQL database is migrated.
 * stop: none may run (the steps up to version 25). expand: it only adds, and each program that worked with the database before goes on
 * working with it, and writes what newer ones can read. contract: it removes or changes what programs from version `least` on no longer use.
 */
export type Step = { readonly apply: (script: Script) => void } & (
  | { readonly kind: 'stop' | 'expand' }
  | { readonly kind: 'contract'; readonly least: number }
)

/**
 * `STEPS[n]` brings a database of version n to version n + 1; an empty one has version 0. Steps that were shipped never change, but for
 * the functions: these are made as they are now.
 */
const STEPS: Step[] = FIRST_STEPS.map((apply) => ({ kind: 'stop', apply }))

STEPS.push({
  // Which programs may work with the database, and up to which version its indexes are made; of each process its version.
  kind: 'expand',
  apply: (script) => {
    if (script.database === 'sqlite') return
    script.raw(sql`alter table headgate_schema add column least integer not null default 0, add column indexed integer not null default 0`)
    script.column('node', 'schema_version', 'count', 0)
  },
})

STEPS.push({
  // Ids that providers give in replies of the pass-through.
  kind: 'expand',
  apply: (script) => {
    script.table('given_id', GIVEN_ID, ['id'])
    script.index({ name: 'given_id_until', table: 'given_id', on: '(until)' })
  },
})

STEPS.push({
  // The audit log. Programs of the version before change keys and guardrails without an entry (docs/upgrading.md).
  kind: 'expand',
  apply: (script) => {
    script.table('audit_entry', AUDIT_ENTRY, ['sequence'])
    for (const column of ['at', 'actor', 'action', 'subject'])
      script.index({ name: `audit_entry_${column}`, table: 'audit_entry', on: `(${column}, sequence)` })
    script.table('audit_head', AUDIT_HEAD, ['sequence'])
    script.raw(sql.raw(`insert into audit_head values (0, '${'0'.repeat(64)}')`))
  },
})

STEPS.push({
  // Roles of keys. Programs of the version before refuse keys of the roles that they do not know (`key-roles.ts`).
  kind: 'expand',
  apply: (script) => {
    script.column('api_key', 'role', 'optional text')
    script.column('api_key', 'ends_at', 'optional count')
  },
})

STEPS.push({
  // A charge may have several payers. Programs of the version before go on with one (docs/upgrading.md).
  kind: 'expand',
  apply: (script) => {
    if (script.database === 'sqlite') return
    script.index({
      name: 'lease_payers',
      table: 'lease',
      on: `using gin ((${payersColumn('payer')})) with (fastupdate = off) where payer <> ''`,
    })
    for (const text of POSTGRES_FUNCTIONS) script.raw(sql.raw(text))
  },
})

STEPS.push({
  // Keys of providers that teams have brought, and sums of their use.
  kind: 'expand',
  apply: (script) => {
    script.table('byok_key', BYOK_KEY, ['id'])
    script.table('byok_use', BYOK_USE, BYOK_USE_KEY)
    script.raw(sql`create index byok_use_key on byok_use (key, day)`)
    script.raw(sql.raw(`create index byok_use_payer on byok_use ((${NEAREST_PAYER[script.database]}), day) where payer <> ''`))
    for (const text of BYOK_TRIGGERS[script.database]) script.raw(sql.raw(text))
  },
})

STEPS.push({
  // Levels of organisations, and the place of keys in them. Programs of the version before refuse keys that have one (`key-roles.ts`).
  kind: 'expand',
  apply: (script) => {
    script.table('level', LEVEL, ['id'])
    script.raw(sql`create unique index level_handle on level (handle) where handle is not null`)
    script.raw(sql`create unique index level_change on level (change)`)
    script.raw(sql`create index level_parent on level (parent) where parent is not null`)
    script.column('api_key', 'workspace', 'optional text')
    script.column('api_key', 'member', 'optional text')
  },
})

STEPS.push({
  // The secret before the last rotation of a key. Programs of the version before refuse it, and end it with any change of the key.
  kind: 'expand',
  apply: (script) => {
    script.column('api_key', 'previous_hash', 'optional text')
    script.index({ name: 'api_key_previous', table: 'api_key', on: '(previous_hash) where previous_hash is not null' })
  },
})

/** Counts of the ledger that came later (`since` in `src/core/ledger-counts.ts`) have a step for each version. */
for (const version of COUNT_VERSIONS) {
  if (version > STEPS.length + 1)
    throw new RangeError(`src/core/ledger-counts.ts: expected the version ${STEPS.length + 1}, not ${version}`)
  STEPS.splice(version - 1, 0, {
    kind: 'expand',
    apply: (script) => {
      for (const { column, since } of COUNTS) if (since === version) script.count(column)
      if (script.database === 'postgres') for (const text of POSTGRES_FUNCTIONS) script.raw(sql.raw(text))
    },
  })
}

/** The version that this program works with. */
export const SCHEMA_VERSION = STEPS.length

/** From this version on a database states what it has beside its version. */
export const FIRST_STATED = FIRST_STEPS.length + 1

/** A step as a database runs it. */
export interface CompiledStep {
  /** Of the database afterwards. */
  readonly version: number
  readonly kind: Step['kind']
  /** The oldest program that works with the database afterwards. */
  readonly least: number
  readonly statements: readonly string[]
  /** Made after the statements, beside the work of those programs; empty for SQLite, whose statements have them. */
  readonly indexes: readonly IndexBeside[]
}

export function compiledSteps(database: Database): CompiledStep[] {
  let least = 0
  return STEPS.map((step, index) => {
    const version = index + 1
    if (step.kind === 'stop') least = version
    if (step.kind === 'contract') least = Math.max(least, step.least)
    const script = new Script(database)
    step.apply(script)
    const { statements, indexes } = script
    return { version, kind: step.kind, least, statements, indexes }
  })
}

/** @returns for each version, the statements that lead from it to the next where nothing else uses the database. */
export function migrationsFor(database: Database): string[][] {
  return compiledSteps(database).map(({ statements, indexes }) => [...statements, ...indexes.map((index) => indexStatement(index))])
}
