/** A PostgreSQL of the test's own: found on the machine, started on a free port of 127.0.0.1, gone when the test is. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import pg from 'pg'
import type { Test } from 'tap'
import { entryAt } from '../../src/core/entry-at.ts'
import { freePorts } from './crash/configuration.ts'

export interface TestPostgres {
  /** Makes an empty database; with a name only where there is none of that name yet. @returns its URL. */
  database(name?: string): Promise<string>
  /** Runs one statement in the database of a URL. */
  query(url: string, text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  /** SIGKILL to the server; what was committed is there after `restart`. */
  kill9(): Promise<void>
  /** A clean stop; `restart` starts it again. */
  down(): Promise<void>
  /** Starts it again on the same port, stopping it first where it runs. Resolves when it answers. */
  restart(): Promise<void>
  /** Bytes that its processes, as they are now, have read from disks (proc(5), `read_bytes`). */
  readBytes(): number
  /** All its processes stand still: whoever asks waits, and nothing is refused. `thaw` lets them go on. */
  freeze(): void
  thaw(): void
  /** Ends it and removes its files, unless they are kept. Registered as a teardown already. */
  stop(): Promise<void>
}

const SETTINGS = `
listen_addresses = '127.0.0.1'
max_connections = 200
shared_buffers = 16MB
fsync = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
logging_collector = off
`
const POLL = 20
/** Looks at the server before it is given up: 30 s. */
const MAX_LOOKS = 1500

/**
 * @returns undefined, with a loud line, where the machine has no PostgreSQL: then the file ends with a skip.
 * Registers its end as a teardown of `t`. Call it before the first `t.test`: tap ends a file as soon as no test is left,
 * whatever the file waits for.
 * @param kept a folder for its files, which stay there and are used again by the next call; none for those of a test.
 */
export async function startPostgres(t: Pick<Test, 'teardown'>, kept?: string): Promise<TestPostgres | undefined> {
  const bin = findPrograms()
  if (bin === undefined) {
    if (process.env.HEADGATE_TEST_SERVERS === 'required')
      throw new Error('PostgreSQL is not installed, and HEADGATE_TEST_SERVERS says that it must be')
    process.stderr.write('\n*** PostgreSQL is not installed: its tests are SKIPPED (Debian: apt-get install postgresql) ***\n\n')
    return undefined
  }
  const server = await Server.make(bin, kept)
  t.teardown(() => server.stop())
  await server.restart()
  return server
}

/** Runs one statement in the database of a URL, over a connection of its own. */
export async function queryIn(url: string, text: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text, values)).rows
  } finally {
    await client.end()
  }
}

/** The newest of the machine: Debian keeps several side by side. */
function findPrograms(): string | undefined {
  const debian = globSync('/usr/lib/postgresql/*/bin/postgres').sort((a, b) => version(b) - version(a))
  const onPath = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'postgres'))
  const found = [...debian, ...onPath.flatMap((path) => globSync(path))].find((path) => globSync(join(dirname(path), 'initdb')).length > 0)
  return found === undefined ? undefined : dirname(found)
}

function version(path: string): number {
  return Number(path.split('/')[4])
}

/** Cache of the files that `initdb` writes: to write them takes more processor time than to start the server, and it is the same each time. */
const KEPT = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'initdb')

/** @returns a folder as `initdb` leaves it, made by the first test that needs it. */
function newDatabases(bin: string, owner: ReturnType<typeof account>): string {
  const name = execFileSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' }).replaceAll(/[^\w.]+/g, '-')
  const made = join(KEPT, name)
  if (existsSync(made)) return made
  // The account of PostgreSQL may not reach the checkout.
  const draft = mkdtempSync(join(tmpdir(), 'headgate-initdb-'))
  if (owner) chownSync(draft, owner.uid, owner.gid)
  const options = ['-D', draft, '-N', '-A', 'trust', '-U', 'headgate', '--locale=C', '-E', 'UTF8']
  execFileSync(join(bin, 'initdb'), options, { ...owner, stdio: 'pipe', cwd: '/' })
  const copy = `${made}.${process.pid}`
  mkdirSync(KEPT, { recursive: true })
  execFileSync('cp', ['-a', draft, copy])
  rmSync(draft, { recursive: true, force: true })
  try {
    renameSync(copy, made)
  } catch {
    // Another test was first.
    rmSync(copy, { recursive: true, force: true })
  }
  return made
}

/** PostgreSQL refuses to run as root. */
function account(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** Waits for the end of its input, which comes with the end of the test however that ends; then ends the server. */
const KEEPER = `cat > /dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2> /dev/null)
if [ -n "$pid" ]; then
  kill -QUIT "$pid" 2> /dev/null
  n=0; while kill -0 "$pid" 2> /dev/null && [ $n -lt 50 ]; do sleep 0.1; n=$((n + 1)); done
  kill -KILL "$pid" 2> /dev/null
fi
[ -n "$2" ] || rm -rf "$1"`

class Server implements TestPostgres {
  private readonly bin: string
  private readonly folder: string
  private readonly port: number
  private readonly owner: { uid: number; gid: number } | undefined
  private readonly keeper: ChildProcess
  private readonly isKept: boolean
  private running: ChildProcess | undefined
  private databases = 0
  private stopped = false

  private constructor(bin: string, port: number, kept: string | undefined) {
    this.bin = bin
    this.port = port
    this.owner = account()
    this.isKept = kept !== undefined
    if (kept !== undefined) mkdirSync(kept, { recursive: true })
    this.folder = kept ?? mkdtempSync(join(tmpdir(), 'headgate-pg-'))
    if (this.owner) chownSync(this.folder, this.owner.uid, this.owner.gid)
    chmodSync(this.folder, 0o700)
    this.keeper = spawn('sh', ['-c', KEEPER, 'keeper', this.folder, kept === undefined ? '' : 'kept'], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    })
    unref(this.keeper)
  }

  static async make(bin: string, kept?: string): Promise<Server> {
    const port = entryAt(await freePorts(1), 0)
    const server = new Server(bin, port, kept)
    if (existsSync(join(server.folder, 'data'))) return server
    execFileSync('cp', ['-a', newDatabases(bin, server.owner), join(server.folder, 'data')])
    appendFileSync(join(server.folder, 'data', 'postgresql.conf'), `${SETTINGS}unix_socket_directories = '${server.folder}'\n`)
    return server
  }

  async database(name = `test_${++this.databases}`): Promise<string> {
    const found = await this.query(this.url('postgres'), 'SELECT FROM pg_database WHERE datname = $1', [name])
    if (found.length === 0) await this.query(this.url('postgres'), `CREATE DATABASE ${name}`)
    return this.url(name)
  }

  query(url: string, text: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
    return queryIn(url, text, values)
  }

  async kill9(): Promise<void> {
    // Its children would live on for a moment and answer whoever is connected.
    const [, ...children] = this.processes()
    const ended = this.end('SIGKILL')
    for (const pid of children) signal(pid, 'SIGKILL')
    await ended
  }

  async down(): Promise<void> {
    await this.end('SIGINT')
  }

  async restart(): Promise<void> {
    await this.down()
    let last: unknown
    for (let look = 0; look < MAX_LOOKS; look++) {
      if (this.stopped) throw new Error('PostgreSQL was stopped before it had started')
      // After a kill its children may hold the data for a moment: then it ends at once and is started again.
      if (!this.running || this.running.exitCode !== null) this.running = this.spawn()
      try {
        await this.query(this.url('postgres'), 'SELECT 1')
        return
      } catch (thrown) {
        last = thrown
        await new Promise((resolve) => setTimeout(resolve, POLL))
      }
    }
    throw new Error(`PostgreSQL does not start:\n${readFileSync(join(this.folder, 'data', 'log'), 'utf8').slice(-2000)}`, { cause: last })
  }

  readBytes(): number {
    const ofOne = (pid: number): number => Number(/read_bytes: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))?.[1] ?? 0)
    return this.processes().reduce((sum, pid) => sum + ofOne(pid), 0)
  }

  freeze(): void {
    for (const pid of this.processes()) signal(pid, 'SIGSTOP')
  }

  thaw(): void {
    for (const pid of this.processes()) signal(pid, 'SIGCONT')
  }

  async stop(): Promise<void> {
    this.stopped = true
    await this.end(this.isKept ? 'SIGINT' : 'SIGQUIT')
    if (!this.isKept) rmSync(this.folder, { recursive: true, force: true })
    this.keeper.stdin?.end()
  }

  private url(database: string): string {
    return `postgres://headgate@127.0.0.1:${this.port}/${database}`
  }

  private spawn(): ChildProcess {
    // The log goes to a file: a pipe would have to be read, and would keep the test alive.
    const script = 'exec "$0" -D "$1" -p "$2" >> "$1/log" 2>&1'
    const child = spawn('sh', ['-c', script, join(this.bin, 'postgres'), join(this.folder, 'data'), String(this.port)], {
      ...this.owner,
      stdio: 'ignore',
      cwd: '/',
      detached: true,
    })
    unref(child)
    return child
  }

  private async end(how: NodeJS.Signals): Promise<void> {
    const { running } = this
    this.running = undefined
    if (!running || running.exitCode !== null || running.signalCode !== null) return
    const ended = new Promise((resolve) => running.once('exit', resolve))
    running.ref()
    for (const pid of family(running.pid)) signal(pid, 'SIGCONT')
    running.kill(how)
    await ended
  }

  private processes(): number[] {
    return family(this.running?.pid)
  }
}

/** A process and its children. */
function family(pid: number | undefined): number[] {
  if (pid === undefined) return []
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => pidParent(name) === pid)
  return [pid, ...children.map(Number)]
}

/** One that has ended meanwhile is no matter. */
function signal(pid: number, how: NodeJS.Signals): void {
  try {
    process.kill(pid, how)
  } catch {}
}

function pidParent(pid: string): number | undefined {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    return undefined
  }
}

function unref(child: ChildProcess): void {
  child.unref()
  const { stdin } = child
  if (stdin && 'unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
}
