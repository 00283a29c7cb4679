/**
 * What the lists of the management API cost over a large ledger: `node bench/ledger-lists.ts [--rows 10000000] [--store postgres]
 * [--file <path>] [--url <postgres://…>] [--rounds 20]`. Fills SQLite (`--file` keeps it, and uses it again) or a PostgreSQL of its own
 * (`--url` names one that is running: a database without generations is filled, and kept) with 30 days of generations of 200 keys and 8
 * models, starts the gateway, waits until sums are up to date and calls each list one after the other. Prints wall time, processor time
 * of the gateway and the delay of its event loop meanwhile; ends with code 1 where a goal is missed.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openBookkeeping } from '../src/cluster/bookkeeping.ts'
import { systemClock } from '../src/core/clock.ts'
import { queryIn, startPostgres } from '../test/support/postgres.ts'
import { fillPostgres, fillSqlite, KEYS, MODELS, PROVIDERS } from './ledger-lists-fill.ts'
import { cpuSeconds, freePort, keepTrack, killChildrenOnExit, stop } from './processes.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '10000000' },
    store: { type: 'string', default: 'sqlite' },
    file: { type: 'string' },
    url: { type: 'string' },
    rounds: { type: 'string', default: '20' },
  },
})
const rounds = Number(values.rounds)
/** Milliseconds: of each call, and of the event loop's delay (99 %). */
const GOAL = { wall: 200, delay: 20 }
/** The start checks every page of the file. */
const START_MS = 900_000
const OPERATOR = 'sk-router-v1-bench-lists-operator-0123456789abcdef'
const DAY_MS = 86_400_000

const secretOf = (key: number): string => `sk-router-v1-bench-lists-${String(key).padStart(24, '0')}`
const hashOf = (key: number): string => createHash('sha256').update(secretOf(key)).digest('hex')
const any = (count: number): number => Math.floor(Math.random() * count)

function configText(port: number, adminPort: number, store: string): string {
  const keys = Array.from({ length: KEYS }, (_, i) => `    - { name: key-${i}, key: "${secretOf(i)}", limit: "1000000.00" }\n`)
  const providers = Array.from({ length: PROVIDERS }, (_, i) => `  provider-${i}: { dialect: sim }\n`)
  const endpoints = Array.from({ length: PROVIDERS }, (_, i) => `{ provider: provider-${i}, model: echo }`).join(', ')
  const models = Array.from({ length: MODELS }, (_, i) => `  acme/model-${i}: { endpoints: [ ${endpoints} ] }\n`)
  return [
    `server: { host: 127.0.0.1, port: ${port} }\nadmin: { host: 127.0.0.1, port: ${adminPort} }\nstore: { ${store} }\n`,
    `auth:\n  keys:\n    - { name: operator, key: "${OPERATOR}", management: true }\n`,
    ...keys,
    'providers:\n',
    ...providers,
    'models:\n',
    ...models,
  ].join('')
}

interface Gateway {
  readonly pid: number
  get(path: string): Promise<{ data?: { id?: string; session_id?: string }[]; next?: string | null }>
  /** Milliseconds since the last look, 99 % and the longest. */
  delays(): Promise<readonly [number, number]>
  stop(): Promise<void>
}

async function startGateway(folder: string, store: string): Promise<Gateway> {
  const [port, adminPort] = [await freePort(), await freePort()]
  const config = join(folder, 'headgate.yaml')
  writeFileSync(config, configText(port, adminPort, store))
  const log = openSync(join(folder, 'log'), 'a')
  const launcher = fileURLToPath(new URL('../bin/headgate.js', import.meta.url))
  const child = keepTrack(spawn(process.execPath, [launcher, 'serve', '--config', config], { stdio: ['ignore', log, log] }))
  const begun = performance.now()
  const at = (path: string): string => `http://127.0.0.1:${path === '/metrics' ? adminPort : port}${path}`
  const read = async (path: string): Promise<string> => {
    const reply = await fetch(at(path), { headers: { authorization: `Bearer ${OPERATOR}` } })
    const text = await reply.text()
    if (reply.status !== 200) throw new Error(`${path} answered ${reply.status}: ${text.slice(0, 300)}`)
    return text
  }
  for (;;) {
    if (child.exitCode !== null || performance.now() - begun > START_MS)
      throw new Error(`the gateway does not start:\n${readFileSync(join(folder, 'log'), 'utf8').slice(-2000)}`)
    const answers = await read('/v1/status').catch(() => undefined)
    if (answers) break
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  console.log(`started in ${((performance.now() - begun) / 1000).toFixed(1)} s`)
  return {
    pid: child.pid ?? 0,
    get: async (path) => JSON.parse(await read(path)),
    async delays() {
      const text = await read('/metrics')
      const of = (quantile: string): number =>
        1000 * Number(new RegExp(`^headgate_event_loop_delay_seconds\\{quantile="${quantile}"\\} (\\S+)`, 'm').exec(text)?.[1])
      return [of('0.99'), of('1')]
    },
    stop: () => stop(child),
  }
}

/** A path with `?` in it; each call makes one anew. */
type Lists = Readonly<Record<string, () => string>>

function listsOf(ids: readonly string[], sessions: readonly string[], next: string): Lists {
  const at = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString()
  const one = <T>(from: readonly T[]): T | undefined => from[any(from.length)]
  const search = '/v1/generations'
  return {
    '/v1/activity': () => '/v1/activity',
    '/v1/activity?date': () => `/v1/activity?date=${at(1 + any(28)).slice(0, 10)}`,
    '/v1/activity?api_key_hash': () => `/v1/activity?api_key_hash=${hashOf(any(KEYS))}`,
    '/v1/activity/keys, 30 days': () => '/v1/activity/keys',
    '/v1/activity/keys?offset, a week ago': () => '/v1/activity/keys?offset=45000&limit=100',
    '/v1/activity/keys?group_by=model, a week': () => `/v1/activity/keys?group_by=model&since=${at(6).slice(0, 10)}`,
    '/v1/activity/keys?api_key_hash': () => `/v1/activity/keys?api_key_hash=${hashOf(any(KEYS))}`,
    '/v1/keys/{hash}/budget': () => `/v1/keys/${hashOf(any(KEYS))}/budget`,
    '/v1/credits': () => '/v1/credits',
    '/v1/keys': () => '/v1/keys',
    '/v1/models?sort=top-weekly': () => '/v1/models?sort=top-weekly',
    '/v1/models': () => '/v1/models',
    '/v1/providers': () => '/v1/providers',
    '/v1/status': () => '/v1/status',
    '/v1/sessions, a day': () => '/v1/sessions',
    '/v1/sessions, another day': () => `/v1/sessions?since=${at(3)}&until=${at(2)}`,
    '/v1/sessions, a minute of a day': () => `/v1/sessions?since=${at(3.0007)}&until=${at(3)}`,
    '/v1/sessions?api_key_hash, a day': () => `/v1/sessions?api_key_hash=${hashOf(any(KEYS))}`,
    '/v1/sessions?api_key_hash, 31 days': () => `/v1/sessions?since=${at(30)}&api_key_hash=${hashOf(any(KEYS))}`,
    '/v1/sessions?session_id, 31 days': () => `/v1/sessions?since=${at(30)}&session_id=${one(sessions)}`,
    [search]: () => search,
    [`${search}?cursor`]: () => `${search}?cursor=${next}`,
    [`${search}?since&until, an hour`]: () => `${search}?since=${at(1.04)}&until=${at(1)}`,
    [`${search}?api_key_hash`]: () => `${search}?api_key_hash=${hashOf(any(KEYS))}`,
    [`${search}?session_id`]: () => `${search}?session_id=${one(sessions)}`,
    [`${search}?status=failed,aborted`]: () => `${search}?status=failed,aborted`,
    [`${search}?error`]: () => `${search}?error=upstream_timeout`,
    [`${search}?error, none such`]: () => `${search}?error=never_happened`,
    [`${search}?api_key_hash&error`]: () => `${search}?api_key_hash=${hashOf(any(KEYS))}&error=upstream_timeout`,
    [`${search}?model`]: () => `${search}?model=acme/model-${any(MODELS)}`,
    [`${search}?provider`]: () => `${search}?provider=provider-${any(PROVIDERS)}`,
    [`${search}?model, none such`]: () => `${search}?model=acme/model-${MODELS}`,
    [`${search}?min_cost, a half`]: () => `${search}?min_cost=0.001`,
    [`${search}?min_cost, one in 100,000`]: () => `${search}?min_cost=1`,
    [`${search}?api_key_hash&min_cost, none`]: () => `${search}?api_key_hash=${hashOf(any(KEYS))}&min_cost=9`,
    '/v1/generations/{id}': () => `/v1/generations/${one(ids)}`,
    '/v1/generation?id': () => `/v1/generation?id=${one(ids)}`,
  }
}

/** @returns whether every list keeps the goals. */
async function measure(gateway: Gateway): Promise<boolean> {
  const found: { id?: string; session_id?: string }[] = []
  let next = ''
  for (let day = 1; day < 30; day += 3) {
    const page = await gateway.get(`/v1/generations?limit=200&until=${new Date(Date.now() - day * DAY_MS).toISOString()}`)
    found.push(...(page.data ?? []))
    next = page.next ?? ''
  }
  const sessions = found.flatMap(({ session_id: session }) => session ?? [])
  const lists = listsOf(
    found.flatMap(({ id }) => id ?? []),
    sessions,
    next,
  )
  let fine = true
  console.log(
    '| list | first, ms | median, ms | worst, ms | processor, ms | event loop p99, ms | longest, ms |\n|---|---:|---:|---:|---:|---:|---:|',
  )
  for (const [name, pathOf] of Object.entries(lists)) {
    await gateway.delays()
    const cpu = cpuSeconds(gateway.pid)
    const took: number[] = []
    let refused: unknown
    for (let round = 0; round < rounds && refused === undefined; round++) {
      const begun = performance.now()
      await gateway.get(pathOf()).catch((thrown: unknown) => {
        refused = thrown
      })
      took.push(performance.now() - begun)
    }
    if (refused !== undefined) {
      fine = false
      console.log(`| **${name}** | ${refused instanceof Error ? refused.message : String(refused)} | | | | | |`)
      continue
    }
    const each = ((cpuSeconds(gateway.pid) - cpu) / rounds) * 1000
    const [delay, longest] = await gateway.delays()
    const sorted = took.toSorted((a, b) => a - b)
    const [first = 0, median = 0, worst = 0] = [took[0], sorted[Math.floor(rounds / 2)], sorted.at(-1)]
    const missed = worst >= GOAL.wall || delay >= GOAL.delay
    if (missed) fine = false
    const figures = [first, median, worst, each, delay, longest].map((ms) => ms.toFixed(1)).join(' | ')
    console.log(`| ${missed ? '**' : ''}${name}${missed ? '**' : ''} | ${figures} |`)
  }
  return fine
}

async function ownDatabase(teardown: (work: () => unknown) => unknown): Promise<string> {
  const server = await startPostgres({ teardown })
  if (!server) throw new Error('there is no PostgreSQL')
  return server.database()
}

async function main(): Promise<boolean> {
  killChildrenOnExit()
  const folder = mkdtempSync(join(tmpdir(), 'headgate-lists-'))
  const teardowns: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  try {
    const rows = Number(values.rows)
    const file = values.file ?? join(folder, 'ledger.db')
    let store = `url: "sqlite:${file}"`
    if (values.store === 'postgres' || values.url !== undefined) {
      const url = values.url ?? (await ownDatabase((work) => teardowns.push(work)))
      const journal = join(folder, 'journal.db')
      await (
        await openBookkeeping({ url, journal, lostGrace: 3_600_000, clock: systemClock, durability: 'process', report: () => {} })
      ).close()
      if ((await queryIn(url, 'SELECT 1 FROM generation LIMIT 1')).length === 0) await fillPostgres(url, rows)
      store = `url: "${url}", journal: "${journal}"`
    } else if (!existsSync(file)) await fillSqlite(file, rows)
    const gateway = await startGateway(folder, store)
    teardowns.push(() => gateway.stop())
    return await measure(gateway)
  } finally {
    for (const work of teardowns.reverse()) await work()
  }
}

main().then(
  (fine) => process.exit(fine ? 0 : 1),
  (error: unknown) => {
    console.error(`bench: ${error instanceof Error ? error.stack : String(error)}`)
    process.exit(2)
  },
)
