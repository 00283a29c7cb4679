/** Loads of many processes that spend one key: batches and leases of each in a closed loop or at a rate, or requests as processes serve them. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Joined, joinRecord } from '../src/cluster/index.ts'
import { OwnerServer } from '../src/cluster/owner-server.ts'
import { MemoryCounters } from '../src/cluster/shared/index.ts'
import { systemClock } from '../src/core/clock.ts'
import { LedgerScans } from '../src/ledger/scans.ts'
import type { PostgresRecord } from '../src/store/postgres/record.ts'
import type { SettledRows, StoreOfRecord } from '../src/store/record.ts'
import { employ } from '../test/cluster/employ.ts'
import { MemoryJournal } from '../test/support/memory/journal.ts'
import type { TestPostgres } from '../test/support/postgres.ts'

/** Parts of a checkout that run. */
export interface Build {
  readonly openPostgres: (url: string, options: { clock: typeof systemClock }) => Promise<PostgresRecord>
  readonly joinRecord: typeof joinRecord
  /** Absent in a build whose workers join the store of record by themselves. */
  readonly isOneClient?: boolean
}

/**
 * - `closed`: batch after batch, and a lease every 250 ms.
 * - `open`: batches at `rate`, and leases as often, at moments that do not wait for what came before.
 * - `requests`: requests at `rate`, each of which holds, lasts, and settles; its process leases, gathers and forwards as it does in the gateway.
 */
export type Loop = 'closed' | 'open' | 'requests'

export interface Load {
  readonly loop: Loop
  readonly processes: number
  readonly keys: number
  /** Generations of one batch; `requests` gathers its own. */
  readonly rows: number
  readonly seconds: number
  /** Milliseconds from a batch to the next one of the same process in a closed loop. */
  readonly pause: number
  /** Batches, or requests, a second of all processes. */
  readonly rate: number
  /** Of how many processes one more owns the rest, in the loop of requests; 0: none. */
  readonly workers: number
}

export interface Found {
  /** Bytes that came onto the disk within the time. */
  batches: number
  rows: number
  /** Milliseconds of each batch and each lease; in an open loop from the moment that was planned for it. */
  readonly hands: number[]
  readonly leases: number[]
  failed: number
  /** Milliseconds of processor time of the server, all of its processes. */
  serverCpu: number
}

const LEASE_EVERY_MS = 250
/** Nano-dollars of a request, and milliseconds that it lasts. */
const COST = 1_000
const REQUEST_MS = 500
/** Milliseconds from the first requests until their rows arrive evenly: each lasts, then its row is gathered. Leases of this time count. */
const RAMP_MS = 1_000
/** Calls of each kind: from the sixth on a connection keeps its plan (PostgreSQL 15, PREPARE). */
const WARM_UP = 6
const TICKS = 4096

function generation(seq: number, key: string): SettledRows {
  const hold = { seq, tag: 'bench', key, model: 'acme/one', endpoint: 'acme/one@acme', hold: 3_000_000, floor: 1_000_000 }
  const counts = { input: 10, output: 5, cached: 0, cacheWrite: 0, reasoning: 0 }
  return { hold, settled: { seq, status: 'completed', cost: COST, at: Math.floor(seq / TICKS), ...counts, estimated: false, facts: '{}' } }
}

/** Fields of /proc/PID/stat behind the name (proc(5)): parent is 1, own time 11 and 12, that of children which have ended 13 and 14, in 10 ms. */
const processStat = (pid: string): number[] => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
      .map(Number)
  } catch {
    return []
  }
}

const statTicks = (stat: readonly number[], last: number): number => stat.slice(11, last + 1).reduce((sum, each) => sum + each, 0)

/** Milliseconds of processor time that the server has used so far, its processes that have ended among them. */
async function serverCpu(postgres: TestPostgres, url: string): Promise<number> {
  const [row] = await postgres.query(url, "SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1) AS pid")
  const postmaster = String(row?.pid)
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && String(processStat(name)[1]) === postmaster)
  return 10 * children.reduce((sum, pid) => sum + statTicks(processStat(pid), 12), statTicks(processStat(postmaster), 14))
}

const ALLOWANCES = [{ limit: 1e15, limitReset: null }]
const leaseRequest = (key: string, turn: number) => ({
  key,
  ask: { full: 1000, floor: 1000 },
  allowances: ALLOWANCES,
  idle: 0,
  more: 0,
  recallsFirst: false,
  turn,
})

/** Each connection makes its plans, which it does once in its life. */
async function warmUp(records: readonly PostgresRecord[], row: (index: number) => SettledRows): Promise<void> {
  for (const [index, record] of records.entries()) {
    const both = () =>
      Promise.all([record.take(`node-${index}`, [row(index)]), record.lease(`node-${index}`, leaseRequest(`warm-up-${index}`, 1))])
    for (let count = 0; count < WARM_UP; count++) await both()
  }
}

/** Moments at which independent processes begin something `every` so many milliseconds on average: Poisson arrivals. */
function* arrivals(begin: number, every: number): Generator<number> {
  for (let at = begin; ; ) {
    at -= every * Math.log(1 - Math.random())
    yield at
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** One after the other until `end`, with `rest` milliseconds between two. */
async function closedLoop(end: number, rest: number, run: (begun: number) => Promise<void>): Promise<void> {
  while (performance.now() < end) {
    await run(performance.now())
    if (rest > 0) await pause(rest)
  }
}

/**
 * One after the other at planned moments until `end`: what is late begins at once and counts from its plan. What could not begin until the
 * end is reported to `unbegun`, so that it is not left out of the figures.
 */
async function openLoop(
  { end, every }: { end: number; every: number },
  run: (planned: number) => Promise<void>,
  unbegun: (planned: number) => void,
): Promise<void> {
  for (const planned of arrivals(performance.now(), every)) {
    if (planned >= end) return
    const early = planned - performance.now()
    if (early > 0) await pause(early)
    if (performance.now() < end) await run(planned)
    else unbegun(planned)
  }
}

/** Work of one process until the end, and its closing. */
interface Actor {
  run(): Promise<unknown>
  close(): Promise<void>
}

/** Counts what a record is called for, from the moment that was planned for it. */
class Counting {
  readonly found: Found = { batches: 0, rows: 0, failed: 0, hands: [], leases: [], serverCpu: 0 }
  /** Batches that end between these two count. */
  begin = 0
  end = 0

  async take(begun: number, rows: number, take: () => Promise<void>): Promise<void> {
    await take()
    const now = performance.now()
    this.found.hands.push(now - begun)
    if (now < this.begin || now >= this.end) return
    this.found.batches++
    this.found.rows += rows
  }

  async lease<Answer>(begun: number, lease: () => Promise<Answer>): Promise<Answer> {
    const answer = await lease()
    this.found.leases.push(performance.now() - begun)
    return answer
  }

  readonly failed = (): void => {
    this.found.failed++
  }
}

let lastSeq = Date.now() * TICKS

/** Calls the record by itself. */
function callsActor(record: PostgresRecord, index: number, load: Load, counting: Counting): Actor {
  const { loop, processes, keys, rows, pause: rest, rate } = load
  const [node, key] = [`node-${index}`, `key-${index % keys}`]
  let turn = 0
  const take = async (begun: number): Promise<void> => {
    const batch = Array.from({ length: rows }, () => generation(++lastSeq, key))
    await counting.take(begun, rows, () => record.take(node, batch)).catch(counting.failed)
  }
  const lease = async (begun: number): Promise<void> => {
    await counting.lease(begun, () => record.lease(node, leaseRequest(key, ++turn))).catch(counting.failed)
  }
  const waited = (of: number[]) => (planned: number) => void of.push(performance.now() - planned)
  const run = (): Promise<unknown> => {
    const { end, found } = counting
    if (loop === 'closed') return Promise.all([closedLoop(end, rest, take), closedLoop(end, LEASE_EVERY_MS, lease)])
    return Promise.all([
      openLoop({ end, every: (1000 * processes) / rate }, take, waited(found.hands)),
      openLoop({ end, every: LEASE_EVERY_MS }, lease, waited(found.leases)),
    ])
  }
  return { run, close: () => record.close() }
}

interface Measuring {
  readonly build: Build
  readonly counting: Counting
}

async function joinedAs(record: StoreOfRecord, name: string, { build, counting }: Measuring, isOwner = false): Promise<Joined> {
  const report = (): void => counting.failed()
  const journal = new MemoryJournal()
  const joined = build.joinRecord({ record, journal, clock: systemClock, node: name, label: name, lostGrace: 60_000, isOwner, report })
  await joined.ready
  return joined
}

/** Operations that workers call in place of PostgreSQL, over a channel as theirs. */
async function ownerActor(
  record: PostgresRecord,
  name: string,
  measuring: Measuring,
): Promise<{ record: () => StoreOfRecord; owner: Joined }> {
  const owner = await joinedAs(counted(record, measuring.counting), name, measuring, true)
  if (!owner.workersRecord) throw new Error('an owner has a record for its workers')
  const scans = new LedgerScans(owner.ledger, systemClock)
  const reportUnexpected = measuring.counting.failed
  const ownerServer = new OwnerServer({ record: owner.workersRecord, scans, counters: new MemoryCounters(systemClock), reportUnexpected })
  return { record: () => employ(ownerServer, systemClock).record, owner }
}

/** The actors of one group of workers. */
async function workerActors(record: PostgresRecord, group: number, load: Load, measuring: Measuring): Promise<Actor[]> {
  const { record: hired, owner } = await ownerActor(record, `owner-${group}`, measuring)
  const actors: Actor[] = []
  for (let index = 0; index < load.workers; index++)
    actors.push(await requestsActor(hired(), group * load.workers + index, load, measuring))
  const close = async (): Promise<void> => {
    await Promise.all(actors.map((actor) => actor.close()))
    await owner.close()
  }
  return actors.map(({ run }, index) => ({ run, close: index === 0 ? close : async () => {} }))
}

/** Serves requests, over the ledger of a process. */
async function requestsActor(record: StoreOfRecord, index: number, load: Load, measuring: Measuring): Promise<Actor> {
  const { counting } = measuring
  const key = `key-${index % load.keys}`
  const lease = record.lease.bind(record)
  record.lease = (node, ask) => counting.lease(performance.now(), () => lease(node, ask))
  const joined = await joinedAs(record, `node-${index}`, measuring)
  const serve = async (): Promise<void> => {
    const account = joined.credit.account(key)
    const held = await account.seek?.({ full: 10 * COST, floor: COST }, ALLOWANCES)
    if (held === undefined) throw new Error('refused')
    const { hold, settled } = generation(++lastSeq, key)
    joined.journal.hold({ ...hold, hold: held })
    await pause(REQUEST_MS)
    joined.journal.settle(settled)
    account.settle(held, settled.cost)
  }
  const run = async (): Promise<void> => {
    const { end } = counting
    for (const planned of arrivals(performance.now(), (1000 * load.processes) / load.rate)) {
      if (planned >= end) return
      const early = planned - performance.now()
      if (early > 0) await pause(early)
      serve().catch(counting.failed)
    }
  }
  return { run, close: () => joined.close() }
}

/** With a take that is counted. */
function counted(record: PostgresRecord, counting: Counting): PostgresRecord {
  const take = record.take.bind(record)
  record.take = (node, rows) => counting.take(performance.now(), rows.length, () => take(node, rows))
  return record
}

async function startActors(records: readonly PostgresRecord[], load: Load, measuring: Measuring): Promise<Actor[]> {
  const actors: Actor[] = []
  for (const [index, record] of records.entries()) {
    if (load.loop !== 'requests') actors.push(callsActor(record, index, load, measuring.counting))
    else if (records.length < load.processes) actors.push(...(await workerActors(record, index, load, measuring)))
    else actors.push(await requestsActor(counted(record, measuring.counting), index, load, measuring))
  }
  return actors
}

export async function measureLoad(postgres: TestPostgres, build: Build, load: Load): Promise<Found> {
  const url = `${await postgres.database()}?pool=2`
  const counting = new Counting()
  const records: PostgresRecord[] = []
  const hasOwners = load.loop === 'requests' && load.workers > 0 && build.isOneClient
  const clients = hasOwners ? Math.ceil(load.processes / load.workers) : load.processes
  for (let i = 0; i < clients; i++) records.push(await build.openPostgres(url, { clock: systemClock }))
  await warmUp(records, (index) => generation(++lastSeq, `warm-up-${index}`))
  const actors = await startActors(records, load, { build, counting })
  const before = await serverCpu(postgres, url)
  counting.begin = performance.now() + (load.loop === 'requests' ? RAMP_MS : 0)
  counting.end = counting.begin + load.seconds * 1000
  await Promise.all(actors.map((actor) => actor.run()))
  counting.found.serverCpu = (await serverCpu(postgres, url)) - before
  await Promise.all(actors.map((actor) => actor.close()))
  return counting.found
}
