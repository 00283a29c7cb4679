/**
 * Time until a gateway over a large ledger answers after the machine has started: `node bench/cold-start.ts --base CHECKOUT [--rows 10000000]
 * [--store sqlite|postgres] [--kept FOLDER] [--file LEDGER] [--rounds 1] [--only-files] [--only this,empty]`. Both builds start over the same rows,
 * this one and that of the other checkout, each after a clean stop and after SIGKILL, with nothing of the files in memory: as root by
 * `/proc/sys/vm/drop_caches`, otherwise, and with `--only-files`, by `dd oflag=nocache` for the files of the ledger, and it says which.
 * PostgreSQL is restarted as well. The ledgers are filled by the other build; `--kept` names a folder where they stay, so that the next run
 * with it fills nothing. `--file` is an SQLite ledger that `bench/ledger-lists.ts --file` of the other checkout has filled. Printed
 * is the time from the command to the first answered completion, what has been read from the disk by then, the same over a ledger
 * without rows, which is what the machine takes for a start at all, and for this build what requests take while the rest of the
 * file is checked. Code 1 when a start of this build over the rows takes longer than two seconds, however long one without rows takes.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { accessSync, constants, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Ledger, type Ledgers, ledgerFiles, type Name, postgresLedgers, sqliteLedgers } from './cold-start-ledgers.ts'
import { freePort, keepTrack, killChildrenOnExit, residentMegabytes, stop } from './processes.ts'
import { buildLauncher, builtLauncher } from './program.ts'
import { table } from './simulation/table.ts'

const GOAL_MS = 2_000
const MAX_MS = 1_800_000
const CACHES = '/proc/sys/vm/drop_caches'
const KEY = 'sk-router-v1-bench-cold-start-0123456789abcdef'
/** Requests that are sent while the file is checked, one after the other. */
const BESIDE = 2_000

const { values } = parseArgs({
  options: {
    base: { type: 'string' },
    rows: { type: 'string', default: '10000000' },
    store: { type: 'string', default: 'sqlite' },
    kept: { type: 'string' },
    file: { type: 'string' },
    rounds: { type: 'string', default: '1' },
    'only-files': { type: 'boolean', default: false },
    only: { type: 'string', default: 'other,this,empty' },
  },
})

interface Build {
  readonly launcher: string
  readonly ledger: Ledger
}

interface Found {
  readonly ledger: Name
  readonly after: string
  readonly ms: number
  readonly megabytes: number
  /** Megabytes that the process, and the server of the store, have read from disks. */
  readonly read: number
  readonly readByServer: number
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
  else {
    const forget = ['-0', '-I', '{}', 'dd', 'of={}', 'oflag=nocache', 'conv=notrunc', 'count=0', 'status=none']
    execFileSync('xargs', forget, { input: files.join('\0') })
  }
}

async function start(launcher: string, store: string, folder: string): Promise<Started> {
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
    if (child.exitCode !== null || performance.now() - begun > MAX_MS)
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

const TITLES: Record<Name, string> = { other: 'other', this: 'this', empty: 'this, without rows' }
const UPGRADE = 'the filling: this build upgrades'

async function main(): Promise<void> {
  if (values.base === undefined) throw new Error('--base names the checkout of the other build')
  killChildrenOnExit()
  const folder = mkdtempSync(join(tmpdir(), 'headgate-cold-'))
  const teardowns: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  const found: Found[] = []
  try {
    const base = resolve(values.base)
    const launchers = { other: buildLauncher(base), this: await builtLauncher() }
    const ledgers = await (values.store === 'postgres' ? postgresLedgers : sqliteLedgers)({
      folder: resolve(values.kept ?? folder),
      rows: Number(values.rows),
      base,
      file: values.file,
      startOther: async (store) => stop((await start(launchers.other, store, folder)).child),
      teardown: (end) => teardowns.push(end),
    })
    console.log(
      `files are forgotten by ${isRoot() ? `${CACHES}: the program too is read from the disk` : 'dd oflag=nocache: the files of the ledger alone'}`,
    )
    const only = values.only.split(',')
    let beside = ''
    for (const ledger of ledgers.of) {
      if (!only.includes(ledger.name)) continue
      const build = { launcher: ledger.name === 'other' ? launchers.other : launchers.this, ledger }
      const cold = (after: string): Promise<Started> => coldStart(build, { ledgers, folder, found }, after)
      if (ledger.isNew || ledger.name === 'empty') await stop((await cold(UPGRADE)).child)
      for (let round = 0; round < Number(values.rounds); round++) {
        const first = await cold('a clean stop')
        for (let at = 0; at < 50; at++) await ask(first.url)
        await killed(first.child)
        const second = await cold('SIGKILL')
        if (ledger.name === 'this' && round === 0)
          beside = `${await latency(second.url)} ms (p50 / p99 / longest); ${await noted(second.admin)}`
        await stop(second.child)
      }
    }
    const rows = found.map(({ ledger, after, ms, read, readByServer, megabytes }) => [
      TITLES[ledger],
      after,
      seconds(ms),
      read.toFixed(1),
      readByServer.toFixed(1),
      megabytes.toFixed(0),
    ])
    console.log(table(['build', 'cold start after', 'first answer, s', 'read, MB', 'by the server, MB', 'MB'], rows))
    console.log(`${BESIDE} requests one after the other, right after a start of this build: ${beside}`)
  } finally {
    for (const end of teardowns.reverse()) await end()
  }
  report(found)
}

interface Surroundings {
  readonly ledgers: Ledgers
  readonly folder: string
  readonly found: Found[]
}

async function coldStart({ launcher, ledger }: Build, { ledgers, folder, found }: Surroundings, after: string): Promise<Started> {
  await ledgers.cold()
  forget(ledgerFiles(ledger))
  const before = ledgers.readByServer()
  const started = await start(launcher, ledger.store, folder)
  const pid = started.child.pid ?? 0
  found.push({
    ledger: ledger.name,
    after,
    ms: started.ms,
    megabytes: residentMegabytes(pid),
    read: readMegabytes(pid),
    readByServer: ledgers.readByServer() - before,
  })
  return started
}

const seconds = (ms: number): string => (ms / 1000).toFixed(2)

function report(found: readonly Found[]): void {
  const worst = (of: Name): number =>
    Math.max(0, ...found.filter(({ ledger, after }) => ledger === of && after !== UPGRADE).map(({ ms }) => ms))
  const [filled, empty] = [worst('this'), worst('empty')]
  const met = filled <= GOAL_MS
  console.log(`${met ? 'met   ' : 'MISSED'}  first answer within ${seconds(GOAL_MS)} s: ${seconds(filled)} s at worst`)
  console.log(`        without rows ${seconds(empty)} s at worst: the rows cost ${seconds(filled - empty)} s`)
  if (!met) process.exitCode = 1
}

main().then(
  () => process.exit(),
  (error: unknown) => {
    console.error(`bench: ${error instanceof Error ? error.stack : String(error)}`)
    process.exit(1)
  },
)
