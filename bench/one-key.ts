/**
 * Rate at which many processes forward what one key has spent, and lease beside it: `node bench/one-key.ts [--processes N] [--keys N]
 * [--rows N] [--seconds N] [--pause MS] [--rate N] [--workers N] [--rounds N] [--loops closed,open,requests] [--base CHECKOUT]`. Each process is a store of record of its own with two
 * connections. PostgreSQL writes to the disk (fsync on). Three loads, each on an empty database:
 *
 * - closed: each process hands in one batch of `--rows` generations after the other, and leases every 250 ms. The most that the machine does,
 *   so queues stand.
 * - open: `--rate` such batches a second of all processes together, and four leases a second of each, at random moments (Poisson arrivals)
 *   that do not wait for what came before. Times count from the planned moment, also where the one before was late; what had not begun at the
 *   end counts as long as it had waited.
 * - requests: `--rate` requests a second of all processes, which lease, gather rows and forward them as in the gateway, and pulse. With
 *   `--workers N` the processes are workers, N of one owner, which is their one client; leases count from the worker. Of a base whose workers
 *   join by themselves each is a process of its own.
 *
 * With `--base` the build in that checkout runs in turn with this one. The exit code is 1 where this build takes fewer than 1,500 rows a
 * second in an open loop, or its slowest percent of leases there takes 60 ms or more.
 */
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { startPostgres } from '../test/support/postgres.ts'
import { type Build, type Found, type Loop, measureLoad } from './one-key-load.ts'

const WANTED = { rows: 1500, leaseP99: 60 }

const quantile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0

const { values } = parseArgs({
  options: {
    processes: { type: 'string', default: '64' },
    keys: { type: 'string', default: '1' },
    rows: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '10' },
    pause: { type: 'string', default: '0' },
    rate: { type: 'string', default: '1550' },
    workers: { type: 'string', default: '0' },
    loops: { type: 'string', default: 'closed,open,requests' },
    rounds: { type: 'string', default: '2' },
    base: { type: 'string' },
  },
})
const load = {
  processes: Number(values.processes),
  keys: Number(values.keys),
  rows: Number(values.rows),
  seconds: Number(values.seconds),
  pause: Number(values.pause),
  rate: Number(values.rate),
  workers: Number(values.workers),
}
const LOOPS = (['closed', 'open', 'requests'] as const).filter((loop) => values.loops.split(',').includes(loop))

/** Prints one row. @returns why it does not reach what is wanted of an open loop. */
function show(build: string, loop: Loop, found: Found): string[] {
  const [hands, leases] = [found.hands, found.leases].map((times) => [...times].sort((a, b) => a - b)) as [number[], number[]]
  const rows = found.rows / load.seconds
  const leaseP99 = quantile(leases, 0.99)
  const figures = [found.batches / load.seconds, rows, quantile(hands, 0.5), quantile(hands, 0.99), quantile(leases, 0.5), leaseP99]
  const counts = [leases.length, found.failed, (found.serverCpu / found.rows).toFixed(2)]
  console.log(`| ${[build, loop, ...figures.map(Math.round), ...counts].join(' | ')} |`)
  return [
    ...(rows < WANTED.rows ? [`${loop}: ${Math.round(rows)} rows/s, wanted ${WANTED.rows}`] : []),
    ...(leaseP99 >= WANTED.leaseP99 ? [`${loop}: lease p99 ${Math.round(leaseP99)} ms, wanted below ${WANTED.leaseP99}`] : []),
  ]
}

async function buildIn(path: string): Promise<Build> {
  const load = (file: string): Promise<unknown> => import(pathToFileURL(join(path, 'src', file)).href)
  const [record, cluster] = await Promise.all(['store/postgres/record.ts', 'cluster/index.ts'].map(load))
  const isOneClient = path === join(import.meta.dirname, '..')
  return { ...(record as object), ...(cluster as object), isOneClient } as Build
}

const ends: (() => unknown)[] = []
const postgres = await startPostgres({ teardown: (end) => ends.push(end) })
if (postgres) {
  const url = await postgres.database()
  await postgres.query(url, 'ALTER SYSTEM SET fsync = on')
  await postgres.query(url, 'ALTER SYSTEM SET max_connections = 1000')
  await postgres.restart()
  const builds = [...(values.base ? [['base', resolve(values.base)] as const] : []), ['this', join(import.meta.dirname, '..')] as const]
  console.log(
    `${load.processes} processes, ${load.keys} keys, ${load.rows} rows a batch, ${load.seconds} s, open loop of ${values.rate} a second\n`,
  )
  const columns =
    'build | loop | batches/s | rows/s | batch p50 ms | batch p99 ms | lease p50 ms | lease p99 ms | leases | failed | server ms a row'
  console.log(`| ${columns} |\n|${columns.replace(/[^|]+/g, '---')}|`)
  const missed: string[] = []
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const loop of LOOPS) {
      for (const [name, path] of builds) {
        const reasons = show(name, loop, await measureLoad(postgres, await buildIn(path), { ...load, loop }))
        if (name === 'this' && loop !== 'closed') missed.push(...reasons)
      }
    }
  }
  if (missed.length > 0) process.exitCode = 1
  console.log(missed.length > 0 ? `\nmissed: ${missed.join('; ')}` : '\nreached in every round')
}
for (const end of ends) await end()
