/**
 * kill -9 at random moments under load, and what is in the ledger afterwards.
 *   node scripts/crash.ts [--rounds 100] [--rate 200] [--seed N] [--store sqlite|postgres] [--url postgres://…]
 *                         [--nodes 2] [--workers N]
 * PostgreSQL without a URL: one found on the machine is started and stopped again. --nodes: gateways on it, 2 by default.
 * Starts the real gateway in front of a provider in this process that keeps records of its own: what it was asked, and
 * what it answered to the end. Of the callers some leave early, stop reading, or set a deadline; one key runs into its
 * limit and budgets. After each round the gateway starts again, and its ledger is held against those bookkeeping.
 * Prints the seed, the commit and a table; exit code 1 if anything was lost, doubled, negative or over a limit.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { adminFetch } from '../test/support/admin.ts'
import { FakeClock } from '../test/support/clock.ts'
import { type Audit, audit, parseRows, type Row } from '../test/support/crash/audit.ts'
import { SECRET } from '../test/support/crash/configuration.ts'
import { BookkeepingProvider } from '../test/support/crash/provider.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { commit, Fleet, type Manner, POOR_MAY_SPEND, POOR_SECRET } from './crash-fleet.ts'
import { loadAt } from './crash-load.ts'

interface Totals {
  rounds: number
  sent: number
  /** Replies that callers had read to the end. */
  whole: number
  rows: number
  found: Audit
  negative: number
  verified: number
  manners: Map<Manner, number>
  problems: string[]
}

interface Scene {
  fleet: Fleet
  provider: BookkeepingProvider
  random: () => number
  rate: number
  /** Generations that callers have read to the end, and the input they were told. */
  read: Map<string, number>
  /** Rows as they stood after the round before. */
  rows: ReadonlyMap<string, string>
  totals: Totals
}

/** Milliseconds of load before the kill: at least, and at random on top. */
const LOAD = { least: 200, more: 1500 }
/** Milliseconds within which several processes must agree. */
const TIMEOUT_MS = 30_000
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function round(scene: Scene, number: number): Promise<void> {
  const { fleet, random, rate, totals, read } = scene
  const load = loadAt({ address: fleet.address, keys: [SECRET, POOR_SECRET], rate, random })
  await pause(LOAD.least + random() * LOAD.more)
  const manner = await fleet.kill(number)
  for (const { id, input } of await load.end()) read.set(id, input)
  totals.sent += load.sent
  totals.manners.set(manner, (totals.manners.get(manner) ?? 0) + 1)
  await fleet.start()
  const problems = await agreed(scene)
  if (load.hung > 0) problems.push(`${load.hung} connections stayed open with no answer`)
  totals.rounds++
  totals.problems.push(...problems.map((problem) => `round ${number + 1} (${manner}): ${problem}`))
}

/** Problems of the ledger; read again while several processes may still forward rows. */
async function agreed(scene: Scene): Promise<string[]> {
  const deadline = performance.now() + TIMEOUT_MS
  for (;;) {
    const problems = await findProblems(scene)
    if (problems.length === 0 || performance.now() > deadline) return problems
    await pause(200)
  }
}

async function findProblems(scene: Scene): Promise<string[]> {
  const { fleet, provider, totals, read } = scene
  const verdict = (await (await adminFetch(`${fleet.admin}/ledger/verify/full`)).json()) as {
    ok: boolean
    open: number
    problems: string[]
  }
  const rows = parseRows(await (await adminFetch(`${fleet.admin}/ledger/export`)).text())
  const found = audit(rows, provider.calls)
  const byId = new Map(rows.map((row) => [row.id, row]))
  const problems = [...found.problems, ...verdict.problems]
  const whole = verdict.ok && verdict.open === 0
  if (verdict.open > 0) problems.push(`${verdict.open} generations are open`)
  const counts = new Map([...byId].map(([id, row]) => [id, JSON.stringify(row)]))
  for (const [id, text] of scene.rows) if (counts.get(id) !== text) problems.push(`${id}: was ${text}, is ${counts.get(id)}`)
  for (const [id, input] of read) {
    const row = byId.get(id)
    if (row?.status !== 'completed' || row.usage.input_tokens !== input) problems.push(`${id}: read to its end, but ${row?.status}`)
  }
  const negative = rows.filter(belowZero).length
  if (negative > 0) problems.push(`${negative} rows below zero`)
  if (found.lost > 0 || found.double > 0) problems.push(`${found.lost} lost, ${found.double} doubled`)
  const settled = found.settled + found.unknown + found.left
  if (settled !== found.completed) problems.push(`${found.completed} answered, ${settled} settled`)
  problems.push(...(await balanceProblems(fleet, rows)))
  Object.assign(totals, { found, negative, rows: rows.length, whole: read.size })
  if (problems.length === 0 && whole) {
    totals.verified++
    scene.rows = counts
  }
  return problems
}

function belowZero({ cost_nano, hold_nano, usage }: Row): boolean {
  return [cost_nano, hold_nano, usage.input_tokens, usage.output_tokens].some((value) => !(value >= 0))
}

async function balanceProblems(fleet: Fleet, rows: readonly Row[]): Promise<string[]> {
  const problems: string[] = []
  for (const [name, secret] of [
    ['app', SECRET],
    ['poor', POOR_SECRET],
  ] as const) {
    const sum = rows.reduce((total, row) => total + (row.key === name ? row.cost_nano : 0), 0)
    const { usage, remaining, limit } = await fleet.balance(secret)
    if (usage !== sum) problems.push(`the key ${name} has spent ${usage}, its rows say ${sum}`)
    if (limit - remaining !== sum) problems.push(`${name}: ${limit - remaining - sum} are held though nothing is open`)
    if (name === 'poor' && sum > POOR_MAY_SPEND) problems.push(`the key poor has spent ${sum}, its budget is ${POOR_MAY_SPEND}`)
  }
  return problems
}

function report({ totals, provider }: Scene, last: { code: number | null; text: string }): boolean {
  const { found, manners } = totals
  const lines: [string, string | number][] = [
    ['rounds of kill -9', totals.rounds],
    ...[...manners].map(([manner, count]): [string, number] => [`  ${manner}`, count]),
    ['requests sent', totals.sent],
    ['upstream calls', provider.received],
    ['generations in the ledger', totals.rows],
    ['answered to the end by the provider', found.completed],
    ['  settled as reported', found.settled],
    ['  cut before the settlement, charged at the floor', found.unknown],
    ['  ended by their callers', found.left],
    ['replies that callers read whole', totals.whole],
    ['lost', found.lost],
    ['doubled', found.double],
    ['negative', totals.negative],
    ['rounds after which ledger verify held', totals.verified],
    ['other problems', totals.problems.length],
  ]
  for (const [name, value] of lines) console.log(`${name.padEnd(52)}${String(value).padStart(9)}`)
  console.log(`ledger verify at the end: exit code ${last.code}, ${last.text}`)
  for (const problem of totals.problems.slice(0, 20)) console.log(problem)
  const clean = found.lost + found.double + totals.negative + totals.problems.length === 0
  return clean && totals.verified === totals.rounds && last.code === 0
}

function options() {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '100' },
      rate: { type: 'string', default: '200' },
      seed: { type: 'string', default: String(Date.now() % 2_147_483_647) },
      store: { type: 'string', default: 'sqlite' },
      url: { type: 'string' },
      nodes: { type: 'string' },
      workers: { type: 'string', default: '0' },
    },
  })
  const { rounds, rate, seed, store, url, nodes = store === 'postgres' ? '2' : '1', workers } = values
  const numbers = { rounds: Number(rounds), rate: Number(rate), seed: Number(seed), nodes: Number(nodes), workers: Number(workers) }
  if (!Object.values(numbers).every(Number.isFinite) || (store !== 'sqlite' && store !== 'postgres'))
    throw new Error('expected numbers, and --store sqlite or postgres')
  return { ...numbers, store, url }
}

interface Database {
  url: string
  close(): Promise<void>
}

/** An empty database: the one named, else one of a PostgreSQL that is started here. @throws where there is none. */
async function databaseAt(url: string | undefined): Promise<Database> {
  if (url !== undefined) return { url, close: async () => {} }
  const postgres = await startPostgres({ teardown: () => {} })
  if (!postgres) throw new Error('--store postgres: expected --url postgres://… of an empty database, or PostgreSQL on this machine')
  return { url: await postgres.database(), close: () => postgres.stop() }
}

async function main(): Promise<void> {
  const { rounds, rate, seed, store, url, nodes, workers } = options()
  console.log(`seed ${seed}, commit ${commit()}, store ${store}, ${nodes} gateways, ${workers} workers each, ${rate} requests per second`)
  const clock = new FakeClock(seed)
  const random = (): number => clock.random()
  const provider = new BookkeepingProvider(random)
  const directory = mkdtempSync(join(tmpdir(), 'headgate-crash-'))
  const database = store === 'postgres' ? await databaseAt(url) : undefined
  const fleet = await Fleet.open({ directory, provider: await provider.listen(), record: database?.url, nodes, workers, random })
  const found: Audit = { completed: 0, settled: 0, unknown: 0, left: 0, lost: 0, double: 0, problems: [] }
  const totals: Totals = { rounds: 0, sent: 0, whole: 0, rows: 0, found, negative: 0, verified: 0, manners: new Map(), problems: [] }
  const scene: Scene = { fleet, provider, random, rate, read: new Map(), rows: new Map(), totals }
  try {
    await fleet.start()
    for (let number = 0; number < rounds && totals.problems.length === 0; number++) {
      await round(scene, number)
      if ((number + 1) % 10 === 0) console.log(`round ${number + 1}: ${totals.rows} generations, ${totals.found.unknown} cut, all agree`)
    }
    const told = fleet.told()
    const clean = report(scene, await fleet.close())
    if (!clean) console.log(told)
    process.exitCode = clean ? 0 : 1
  } finally {
    fleet.abandon()
    await provider.close()
    await database?.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

await main()
