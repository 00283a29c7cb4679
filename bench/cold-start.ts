/**
 * How soon a gateway over a large ledger answers after the machine has started: `node bench/cold-start.ts --base CHECKOUT [--rows 10000000]
 * [--store sqlite|postgres] [--file LEDGER] [--rounds 1] [--only-files]`. Both builds start over the same rows, this one and that of the other
 * checkout, each after a clean stop and after SIGKILL, with nothing of the files in memory: as root by `/proc/sys/vm/drop_caches`,
 * otherwise, and with `--only-files`, by `dd oflag=nocache` for the files of the ledger, and it says which. `--file` is an SQLite ledger that
 * `bench/ledger-lists.ts --file` of the other checkout has filled; it is copied. Printed is the time from the command to the first
 * answered completion, what the process has read from the disk by then, the same over a ledger without rows (which is what the machine takes
 * for a start at all), and for this build what requests take while the rest of the file is checked. Code 1 when a start of this build takes
 * longer than two seconds, or longer by that than one without rows where that is slow by itself.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  globSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../test/support/postgres.ts'
import { emptyPostgres, fillPostgres } from './ledger-lists-fill.ts'
import { freePort, keepTrack, killChildrenOnExit, residentMegabytes, stop } from './processes.ts'
import { builtLauncher, launcherOf } from './program.ts'
import { table } from './simulation/table.ts'

const GOAL_MS = 2_000
/** What a ledger without rows may be faster by, where the machine takes longer than the goal for that one. */
const MARGIN_MS = 500
const LONGEST_MS = 1_800_000
const CACHES = '/proc/sys/vm/drop_caches'
const KEY = 'sk-router-v1-bench-cold-start-0123456789abcdef'
/** Requests that are sent while the file is checked, one after the other. */
const BESIDE = 2_000

const { values } = parseArgs({
  options: {
    base: { type: 'string' },
    rows: { type: 'string', default: '10000000' },
    store: { type: 'string', default: 'sqlite' },
    file: { type: 'string' },
    rounds: { type: 'string', default: '1' },
    'only-files': { type: 'boolean', default: false },
  },
})

interface Build {
  readonly name: string
  readonly launcher: string
  readonly store: string
  /** Of the ledger. */
  readonly files: readonly string[]
}

interface Found {
  readonly build: string
  readonly after: string
  readonly ms: number
  readonly megabytes: number
  /** Megabytes that the process has read from disks. */
  readonly read: number
}

interface Started {
  readonly child: ChildProcess
  readonly ms: number
  readonly url: string
  readonly admin: string
}

const isRoot = (): boolean => {
  if (values['only-files']) return false
  try {
    accessSync(CACHES, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Nothing of the files is in memory afterwards. */
function forget(files: readonly string[]): void {
  execFileSync('sync')
  if (isRoot()) writeFileSync(CACHES, '3')
  else for (const file of files) execFileSync('dd', [`of=${file}`, 'oflag=nocache', 'conv=notrunc', 'count=0', 'status=none'])
}

async function start({ launcher, store }: Build, folder: string): Promise<Started> {
  const [port, adminPort] = [await freePort(), await freePort()]
  const config = join(folder, 'headgate.yaml')
  writeFileSync(
    config,
    `server: { host: 127.0.0.1, port: ${port} }\nadmin: { host: 127.0.0.1, port: ${adminPort}, token: bench-token-of-16-characters }\nstore: { ${store} }
auth: { keys: [ { name: bench, key: "${KEY}", limit: "1000000.00" } ] }\nproviders: { here: { dialect: sim } }
models: { acme/one: { endpoints: [ { provider: here, model: echo } ] } }\n`,
  )
  const output = join(folder, 'log')
  const log = openSync(output, 'a')
  const begun = performance.now()
  const child = keepTrack(spawn(process.execPath, [launcher, 'serve', '--config', config], { stdio: ['ignore', log, log] }))
  const url = `http://127.0.0.1:${port}`
  for (;;) {
    if ((await ask(url)) === 200) break
    if (child.exitCode !== null || performance.now() - begun > LONGEST_MS)
      throw new Error(`the gateway does not start:\n${readFileSync(output, 'utf8').slice(-2000)}`)
    await new Promise((done) => setTimeout(done, 5))
  }
  return { child, ms: performance.now() - begun, url, admin: `http://127.0.0.1:${adminPort}` }
}

/** Field `read_bytes` of /proc/PID/io (proc(5)); of a server of PostgreSQL nothing is in it. */
function readMegabytes(pid: number): number {
  return Number(/read_bytes: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))?.[1] ?? 0) / 1e6
}

/** @returns the status, 0 where nothing listens. */
async function ask(url: string): Promise<number> {
  try {
    const reply = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
      body: JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5 }),
    })
    await reply.text()
    return reply.status
  } catch {
    return 0
  }
}

function killed(child: ChildProcess): Promise<void> {
  const ended = new Promise<void>((done) => child.once('exit', () => done()))
  child.kill('SIGKILL')
  return ended
}

/** Of requests one after the other, milliseconds: the middle one, 99 % and the longest. */
async function latency(url: string): Promise<string> {
  const took: number[] = []
  for (let at = 0; at < BESIDE; at++) {
    const begun = performance.now()
    if ((await ask(url)) !== 200) throw new Error('a request was refused while the file is checked')
    took.push(performance.now() - begun)
  }
  const sorted = took.toSorted((a, b) => a - b)
  return [0.5, 0.99, 1].map((part) => (sorted[Math.min(BESIDE - 1, Math.floor(part * BESIDE))] ?? 0).toFixed(1)).join(' / ')
}

async function noted(admin: string): Promise<string> {
  const body = (await (await fetch(`${admin}/readyz`)).json()) as { notes?: string[] }
  return body.notes?.join('; ') ?? 'nothing is left to check'
}

const NAMES = ['other', 'this'] as const
const EMPTY = 'this, without rows'

const launchersOf = async (base: string): Promise<Record<(typeof NAMES)[number], string>> => ({
  other: launcherOf(base),
  this: await builtLauncher(),
})

async function sqliteBuilds(base: string, folder: string): Promise<Build[]> {
  const launchers = await launchersOf(base)
  const filled = resolve(values.file ?? join(folder, 'filled.db'))
  if (!existsSync(filled)) {
    const fill = `const { fillSqlite } = await import(${JSON.stringify(join(base, 'bench', 'ledger-lists-fill.ts'))}); await fillSqlite(${JSON.stringify(filled)}, ${values.rows})`
    execFileSync(process.execPath, ['--input-type=module', '-e', fill], { cwd: base, stdio: 'inherit' })
  }
  const of = (name: string, launcher: string): Build => {
    const file = join(folder, `${name}.db`)
    return { name, launcher, store: `url: "sqlite:${file}"`, files: [file] }
  }
  const builds = NAMES.map((name) => of(name, launchers[name]))
  for (const { files } of builds) for (const file of files) copyFileSync(filled, file)
  return [...builds, of(EMPTY, launchers.this)]
}

async function postgresBuilds(
  base: string,
  folder: string,
  teardowns: (() => unknown)[],
): Promise<{ builds: Build[]; cold: () => Promise<void> }> {
  const server = await startPostgres({ teardown: (end) => teardowns.push(end) })
  if (!server) throw new Error('there is no PostgreSQL')
  const launchers = await launchersOf(base)
  const builds: Build[] = []
  for (const name of [...NAMES, EMPTY]) {
    const url = await server.database()
    const journal = join(folder, `${name}-journal.db`)
    const build = {
      name,
      launcher: name === 'other' ? launchers.other : launchers.this,
      store: `url: "${url}", journal: "${journal}"`,
      files: [journal],
    }
    await stop((await start(build, folder)).child)
    builds.push(build)
    if (name === EMPTY) continue
    await emptyPostgres(url)
    await fillPostgres(url, Number(values.rows))
  }
  // Its own buffers are forgotten with its process.
  return { builds, cold: () => server.restart() }
}

async function main(): Promise<void> {
  if (values.base === undefined) throw new Error('--base names the checkout of the other build')
  killChildrenOnExit()
  const base = resolve(values.base)
  const folder = mkdtempSync(join(tmpdir(), 'headgate-cold-'))
  const teardowns: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  const found: Found[] = []
  try {
    const postgres = values.store === 'postgres' ? await postgresBuilds(base, folder, teardowns) : undefined
    const builds = postgres?.builds ?? (await sqliteBuilds(base, folder))
    console.log(
      `files are forgotten by ${isRoot() ? `${CACHES}: the program too is read from the disk` : 'dd oflag=nocache: the files of the ledger alone'}`,
    )
    let beside = ''
    for (const build of builds) {
      const cold = async (after: string): Promise<Started> => {
        await postgres?.cold()
        forget(globSync(build.files.map((file) => `${file}*`)))
        const started = await start(build, folder)
        found.push({
          build: build.name,
          after,
          ms: started.ms,
          megabytes: residentMegabytes(started.child.pid ?? 0),
          read: readMegabytes(started.child.pid ?? 0),
        })
        return started
      }
      await stop((await cold('the copy (this build: the upgrade)')).child)
      for (let round = 0; round < Number(values.rounds); round++) {
        const first = await cold('a clean stop')
        for (let at = 0; at < 50; at++) await ask(first.url)
        await killed(first.child)
        const second = await cold('SIGKILL')
        if (build.name === 'this' && round === 0)
          beside = `${await latency(second.url)} ms (p50 / p99 / longest); ${await noted(second.admin)}`
        await stop(second.child)
      }
    }
    const rows = found.map(({ build, after, ms, read, megabytes }) => [
      build,
      after,
      (ms / 1000).toFixed(2),
      read.toFixed(1),
      megabytes.toFixed(0),
    ])
    console.log(table(['build', 'cold start after', 'first answer, s', 'read, MB', 'MB'], rows))
    console.log(`${BESIDE} requests one after the other, right after a start of this build: ${beside}`)
  } finally {
    for (const end of teardowns.reverse()) await end()
  }
  const worst = (of: (each: Found) => boolean): number => Math.max(...found.filter(of).map(({ ms }) => ms))
  const filled = worst(({ build, after }) => build === 'this' && !after.startsWith('the copy'))
  const empty = worst(({ build, after }) => build === EMPTY && !after.startsWith('the copy'))
  const met = filled <= Math.max(GOAL_MS, empty + MARGIN_MS)
  const seconds = (ms: number): string => (ms / 1000).toFixed(2)
  console.log(
    `${met ? 'met' : 'MISSED'}  first answer within ${seconds(GOAL_MS)} s: ${seconds(filled)} s at worst, ${seconds(empty)} s without rows`,
  )
  if (!met) process.exitCode = 1
}

main().then(
  () => process.exit(),
  (error: unknown) => {
    console.error(`bench: ${error instanceof Error ? error.stack : String(error)}`)
    process.exit(1)
  },
)
