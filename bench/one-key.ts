/**
 * How fast many processes forward what one key has spent, and lease beside it: `node bench/one-key.ts [--processes N] [--keys N]
 * [--rows N] [--seconds N] [--pause MS] [--base CHECKOUT]`. Each process is a store of record of its own with one connection, which hands in
 * batches of `--rows` generations one after the other, and leases credit of its key every 250 ms. PostgreSQL writes to the disk
 * (fsync on). With `--base` the build in that checkout runs in turn with this one, each time on an empty database.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { systemClock } from '../src/core/clock.ts'
import type { PostgresRecord } from '../src/store/postgres/record.ts'
import type { SettledRows } from '../src/store/record.ts'
import { startPostgres, type TestPostgres } from '../test/support/postgres.ts'

type Open = (url: string, options: { clock: typeof systemClock }) => Promise<PostgresRecord>

interface Load {
  readonly processes: number
  readonly keys: number
  readonly rows: number
  readonly seconds: number
  /** Milliseconds from a batch to the next one of the same process; 0 for a closed loop. */
  readonly pause: number
}

interface Found {
  readonly takes: number
  readonly rows: number
  /** Milliseconds of each lease. */
  readonly leases: readonly number[]
  readonly failed: number
  /** Milliseconds of processor time of the server, all of its processes. */
  readonly serverCpu: number
}

const LEASE_EVERY_MS = 250
/** Calls of each kind: from the sixth on a connection keeps its plan (PostgreSQL 15, PREPARE). */
const WARM_UP = 6
const TICKS = 4096

const quantile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0

function generation(seq: number, key: string): SettledRows {
  const hold = { seq, tag: 'bench', key, model: 'acme/one', endpoint: 'acme/one@acme', hold: 3_000_000, floor: 1_000_000 }
  const counts = { input: 10, output: 5, cached: 0, cacheWrite: 0, reasoning: 0 }
  return { hold, settled: { seq, status: 'completed', cost: 1_000, at: Math.floor(seq / TICKS), ...counts, estimated: false, facts: '{}' } }
}

/** Fields of /proc/PID/stat behind the name (proc(5)): parent is 1, own time 11 and 12, that of children which have ended 13 and 14, in 10 ms. */
const statOf = (pid: string): number[] => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
      .map(Number)
  } catch {
    return []
  }
}

const ticksOf = (stat: readonly number[], last: number): number => stat.slice(11, last + 1).reduce((sum, each) => sum + each, 0)

/** Milliseconds of processor time that the server has used so far, its processes that have ended among them. */
async function serverCpu(postgres: TestPostgres, url: string): Promise<number> {
  const [row] = await postgres.query(url, "SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1) AS pid")
  const postmaster = String(row?.pid)
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && String(statOf(name)[1]) === postmaster)
  return 10 * children.reduce((sum, pid) => sum + ticksOf(statOf(pid), 12), ticksOf(statOf(postmaster), 14))
}

const ALLOWANCES = [{ limit: 1e15, limitReset: null, of: 'key' as const }]
const leaseOf = (key: string, turn: number) => ({
  key,
  ask: { full: 1000, floor: 1000 },
  allowances: ALLOWANCES,
  idle: 0,
  more: 0,
  patient: false,
  turn,
})

/** Each connection makes its plans, which it does once in its life. */
async function warmUp(records: readonly PostgresRecord[], row: (index: number) => SettledRows): Promise<void> {
  for (const [index, record] of records.entries()) {
    const both = () =>
      Promise.all([record.take(`node-${index}`, [row(index)]), record.lease(`node-${index}`, leaseOf(`warm-up-${index}`, 1))])
    for (let count = 0; count < WARM_UP; count++) await both()
  }
}

async function measured(postgres: TestPostgres, open: Open, { processes, keys, rows, seconds, pause }: Load): Promise<Found> {
  const url = `${await postgres.database()}?pool=2`
  const records: PostgresRecord[] = []
  for (let i = 0; i < processes; i++) records.push(await open(url, { clock: systemClock }))
  const found = { takes: 0, rows: 0, failed: 0, leases: [] as number[], serverCpu: 0 }
  let seq = Date.now() * TICKS
  await warmUp(records, (index) => generation(++seq, `warm-up-${index}`))
  const before = await serverCpu(postgres, url)
  const end = performance.now() + seconds * 1000
  const takes = async (record: PostgresRecord, index: number): Promise<void> => {
    while (performance.now() < end) {
      const batch = Array.from({ length: rows }, () => generation(++seq, `key-${index % keys}`))
      try {
        await record.take(`node-${index}`, batch)
        found.takes++
        found.rows += rows
      } catch {
        found.failed++
      }
      if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause))
    }
  }
  const leases = async (record: PostgresRecord, index: number): Promise<void> => {
    for (let turn = 1; performance.now() < end; turn++) {
      const begun = performance.now()
      try {
        await record.lease(`node-${index}`, leaseOf(`key-${index % keys}`, turn))
        found.leases.push(performance.now() - begun)
      } catch {
        found.failed++
      }
      await new Promise((resolve) => setTimeout(resolve, LEASE_EVERY_MS))
    }
  }
  await Promise.all(records.flatMap((record, index) => [takes(record, index), leases(record, index)]))
  found.serverCpu = (await serverCpu(postgres, url)) - before
  await Promise.all(records.map((record) => record.close()))
  return found
}

const { values } = parseArgs({
  options: {
    processes: { type: 'string', default: '64' },
    keys: { type: 'string', default: '1' },
    rows: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '10' },
    pause: { type: 'string', default: '0' },
    rounds: { type: 'string', default: '2' },
    base: { type: 'string' },
  },
})
const load: Load = {
  processes: Number(values.processes),
  keys: Number(values.keys),
  rows: Number(values.rows),
  seconds: Number(values.seconds),
  pause: Number(values.pause),
}
const ends: (() => unknown)[] = []
const postgres = await startPostgres({ teardown: (end) => ends.push(end) })
if (postgres) {
  const url = await postgres.database()
  await postgres.query(url, 'ALTER SYSTEM SET fsync = on')
  await postgres.query(url, 'ALTER SYSTEM SET max_connections = 1000')
  await postgres.restart()
  const builds = [...(values.base ? [['base', resolve(values.base)] as const] : []), ['this', join(import.meta.dirname, '..')] as const]
  console.log(`${load.processes} processes, ${load.keys} keys, ${load.rows} rows a batch, ${load.seconds} s, fsync on\n`)
  console.log(
    '| build | batches/s | rows/s | lease p50 ms | lease p99 ms | leases | failed | server ms a batch |\n|---|--:|--:|--:|--:|--:|--:|--:|',
  )
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const [name, path] of builds) {
      const module = (await import(pathToFileURL(join(path, 'src/store/postgres/record.ts')).href)) as { openPostgres: Open }
      const found = await measured(postgres, module.openPostgres, load)
      const sorted = [...found.leases].sort((a, b) => a - b)
      const figures = [found.takes / load.seconds, found.rows / load.seconds, quantile(sorted, 0.5), quantile(sorted, 0.99)].map(Math.round)
      console.log(
        `| ${name} | ${figures.join(' | ')} | ${sorted.length} | ${found.failed} | ${(found.serverCpu / found.takes).toFixed(2)} |`,
      )
    }
  }
}
for (const end of ends) await end()
