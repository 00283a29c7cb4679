/** The ledgers that `bench/cold-start.ts` starts over: filled by the other build, whose schema this one then upgrades, and one without rows. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, globSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { startPostgres } from '../test/support/postgres.ts'
import { emptyPostgres, fillPostgres } from './ledger-lists-fill.ts'

export type Name = 'other' | 'this' | 'empty'

export interface Ledger {
  readonly name: Name
  /** Of the configuration. */
  readonly store: string
  /** All its files; globs. */
  readonly files: readonly string[]
  /** It was filled by this run, so that the next start of this build upgrades it. */
  readonly isNew: boolean
}

export interface Ledgers {
  readonly of: readonly Ledger[]
  /** Nothing of them is in the memory of a server afterwards. */
  cold(): Promise<void>
  /** Megabytes that the processes of the server have read from disks since then; 0 where there is no server. */
  readByServer(): number
}

export interface LedgersSource {
  readonly folder: string
  readonly rows: number
  /** The checkout of the other build. */
  readonly base: string
  /** A filled SQLite ledger to begin with. */
  readonly file: string | undefined
  /** Starts the other build over a store once, and stops it. */
  readonly startOther: (store: string) => Promise<void>
  readonly teardown: (end: () => unknown) => void
}

const NAMES: readonly Name[] = ['other', 'this', 'empty']

/** With the statements of the other checkout, whose schema the file gets. */
function fillByOther(base: string, file: string, rows: number): void {
  const [lists, path] = [join(base, 'bench', 'ledger-lists-fill.ts'), file].map((text) => JSON.stringify(text))
  const program = `const { fillSqlite } = await import(${lists}); await fillSqlite(${path}, ${rows})`
  execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd: base, stdio: 'inherit' })
}

export async function sqliteLedgers({ folder, rows, base, file }: LedgersSource): Promise<Ledgers> {
  mkdirSync(folder, { recursive: true })
  const databasePath = (name: Name): string => join(folder, `${name}.db`)
  const missing = (['other', 'this'] as const).filter((name) => !existsSync(databasePath(name)))
  if (missing.length > 0) {
    const filled = join(folder, 'filled.db')
    if (file !== undefined) copyFileSync(file, filled)
    else fillByOther(base, filled, rows)
    const [last = 'this', ...others] = missing.toReversed()
    for (const name of others) copyFileSync(filled, databasePath(name))
    renameSync(filled, databasePath(last))
  }
  return {
    of: NAMES.map((name) => ({
      name,
      store: `url: "sqlite:${databasePath(name)}"`,
      files: [`${databasePath(name)}*`],
      isNew: name !== 'empty' && missing.includes(name),
    })),
    cold: async () => {},
    readByServer: () => 0,
  }
}

export async function postgresLedgers({ folder, rows, startOther, teardown }: LedgersSource): Promise<Ledgers> {
  const home = join(folder, 'postgres')
  const server = await startPostgres({ teardown }, home)
  if (!server) throw new Error('there is no PostgreSQL')
  const admin = await server.database('postgres')
  const has = async (name: string): Promise<boolean> =>
    (await server.query(admin, 'SELECT FROM pg_database WHERE datname = $1', [name])).length > 0
  const storeSetting = (name: Name, url: string): string => `url: "${url}", journal: "${join(folder, `${name}-journal.db`)}"`
  const missing = (await has('this')) ? [] : ['other', 'this']
  if (missing.length > 0) {
    // Under another name until it is whole: a run that was stopped in the middle begins again.
    await server.query(admin, 'DROP DATABASE IF EXISTS filling')
    const url = await server.database('filling')
    await startOther(storeSetting('other', url))
    await emptyPostgres(url)
    await fillPostgres(url, rows)
    await server.query(url, 'VACUUM ANALYZE')
    await server.query(admin, 'DROP DATABASE IF EXISTS other')
    await server.query(admin, 'ALTER DATABASE filling RENAME TO other')
    await server.query(admin, 'CREATE DATABASE this TEMPLATE other')
    await server.query(admin, 'CHECKPOINT')
  }
  const of: Ledger[] = []
  for (const name of NAMES) {
    const store = storeSetting(name, await server.database(name))
    const [database] = await server.query(admin, 'SELECT oid FROM pg_database WHERE datname = $1', [name])
    // Its tables and catalogue, what all databases of the server share, and the server's log.
    const inData = [
      ['base', String(database?.oid), '*'],
      ['global', '*'],
      ['pg_wal', '*'],
      ['pg_xact', '*'],
    ]
    const files = [join(folder, `${name}-journal.db*`), ...inData.map((path) => join(home, 'data', ...path))]
    of.push({ name, store, files, isNew: missing.includes(name) })
  }
  return {
    of,
    // Its own buffers are forgotten with its process.
    cold: () => server.restart(),
    readByServer: () => server.readBytes() / 1e6,
  }
}

/** The files that exist of a ledger. */
export const ledgerFiles = ({ files }: Ledger): string[] =>
  files.flatMap((each) => globSync(each)).filter((path) => statSync(path).isFile())
