/** Writes the statements of a step of the schema for either database, with kysely's schema builder. It only compiles, and never connects. */
import {
  type ColumnDefinitionBuilder,
  type CreateTableBuilder,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely'
import { type Columns, type Kind, SUM_TABLES } from './columns.ts'

export type Database = 'sqlite' | 'postgres'

interface Compilable {
  compile(): { readonly sql: string }
}

/** An index of a table that may be in use while it is made. */
export interface IndexBeside {
  readonly name: string
  readonly table: string
  /** Its columns in brackets, and a condition. */
  readonly on: string
}

/** Writes the statements of one database; the two differ in the types of columns and in what ends a table. */
export class Script {
  readonly statements: string[] = []
  readonly indexes: IndexBeside[] = []
  readonly database: Database
  private readonly db: Kysely<unknown>

  constructor(database: Database) {
    this.database = database
    this.db = compiler(database)
  }

  /** @param key the columns of the primary key. @param end of the statement, PostgreSQL only. */
  table(name: string, columns: Columns, key: readonly string[], end?: RawBuilder<unknown>): void {
    const built = Object.entries(columns).reduce<CreateTableBuilder<string, string>>(
      (table, [column, kind]) => table.addColumn(column, this.type(kind), (whole) => nullness(whole, kind)),
      this.db.schema.createTable(name),
    )
    const keyed = built.addPrimaryKeyConstraint(`${name}_pkey`, [...key])
    // One integer as the key is SQLite's own row number; any other key makes a table without it.
    const rowNumber = key.every((column) => columns[column] === 'count') && key.length === 1
    if (this.database === 'sqlite') this.add(keyed.modifyEnd(rowNumber ? sql`strict` : sql`strict, without rowid`))
    else this.add(end ? keyed.modifyEnd(end) : keyed)
  }

  /** @param initial what the rows have that are there already; undefined: null. */
  column(table: string, name: string, kind: Kind, initial?: number | string): void {
    const typed = (built: ColumnDefinitionBuilder) => {
      const whole = nullness(built, kind)
      if (initial === undefined) return whole
      return whole.defaultTo(this.database === 'postgres' && kind === 'flag' ? initial === 1 : initial)
    }
    this.add(this.db.schema.alterTable(table).addColumn(name, this.type(kind), typed))
  }

  /** Adds a count of the ledger (`src/core/ledger-counts.ts`) to generations and to their sums; those that are there have none. */
  count(column: string): void {
    for (const table of [this.database === 'sqlite' ? 'settlement' : 'generation', ...SUM_TABLES]) this.column(table, column, 'count', 0)
  }

  /** An index of a table that has rows: on PostgreSQL it is made beside the work of running programs, after the statements of its step. */
  index(index: IndexBeside): void {
    if (this.database === 'postgres') this.indexes.push(index)
    else this.statements.push(indexStatement(index))
  }

  raw(statement: RawBuilder<unknown>): void {
    this.statements.push(statement.compile(this.db).sql)
  }

  private add(statement: Compilable): void {
    this.statements.push(statement.compile().sql)
  }

  private type(kind: Kind) {
    if (kind === 'real') return this.database === 'sqlite' ? 'real' : 'double precision'
    if (this.database === 'sqlite') return kind.endsWith('text') ? 'text' : 'integer'
    if (kind === 'flag') return 'boolean'
    // Names are compared byte by byte, whatever the language of the server.
    return kind.endsWith('text') ? sql`text collate "C"` : 'bigint'
  }
}

/** @param beside `concurrently` where the table is in use, which no transaction can have; default ''. */
export function indexStatement({ name, table, on }: IndexBeside, beside: 'concurrently' | '' = ''): string {
  return `create index ${beside === '' ? '' : `${beside} `}${name} on ${table} ${on}`
}

function nullness(column: ColumnDefinitionBuilder, kind: Kind): ColumnDefinitionBuilder {
  if (kind === 'sum') return column.notNull().defaultTo(0)
  return kind.startsWith('optional') ? column : column.notNull()
}

/** Only compiles, never connects. */
export function compiler<Tables>(database: Database): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: database === 'sqlite' ? SQLITE : POSTGRES })
}

const SQLITE = {
  createAdapter: () => new SqliteAdapter(),
  createDriver: () => new DummyDriver(),
  createIntrospector: (db: Kysely<unknown>) => new SqliteIntrospector(db),
  createQueryCompiler: () => new SqliteQueryCompiler(),
}

const POSTGRES = {
  createAdapter: () => new PostgresAdapter(),
  createDriver: () => new DummyDriver(),
  createIntrospector: (db: Kysely<unknown>) => new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
}
