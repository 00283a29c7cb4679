/** A gateway over a large ledger: fills the store where it is empty, starts the gateway before it, and reads its figures. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openBookkeeping } from '../src/cluster/bookkeeping.ts'
import { NO_AUDIT_KEYS } from '../src/core/audit-keys.ts'
import { systemClock } from '../src/core/clock.ts'
import { queryIn, startPostgres } from '../test/support/postgres.ts'
import { fillPostgres, fillSqlite, KEYS, MODELS, PROVIDERS } from './ledger-lists-fill.ts'
import { cpuSeconds, freePort, keepTrack, killChildrenOnExit, stop } from './processes.ts'

/** Place of the ledger. */
export const LEDGER_OPTIONS = {
  rows: { type: 'string', default: '10000000' },
  store: { type: 'string', default: 'sqlite' },
  file: { type: 'string' },
  url: { type: 'string' },
} as const

export interface LedgerPlace {
  readonly rows: string
  readonly store: string
  readonly file?: string | undefined
  readonly url?: string | undefined
}

export interface LedgerGateway {
  /** Of the public listener and of the admin listener. */
  readonly url: string
  readonly admin: string
  /** Replies of the public API to the operator's key. @throws Error for another status than 200. */
  get(path: string): Promise<{ data?: { id?: string; session_id?: string }[]; next?: string | null }>
  /** The same as it comes, JSON or CSV. */
  text(path: string): Promise<string>
  /** Milliseconds by which the event loop was late since the last look: 99 % and the longest. */
  delays(): Promise<readonly [p99: number, longest: number]>
  /** Processor time until now. */
  cpuMs(): number
}

/** The start checks every page of the file. */
const START_MS = 900_000
export const OPERATOR = 'sk-router-v1-bench-lists-operator-0123456789abcdef'
export const ADMIN_TOKEN = 'admin-token-of-the-bench'

const keySecret = (key: number): string => `sk-router-v1-bench-lists-${String(key).padStart(24, '0')}`
export const keyHash = (key: number): string => createHash('sha256').update(keySecret(key)).digest('hex')
/** An integer below `count`. */
export const any = (count: number): number => Math.floor(Math.random() * count)

/**
 * @param work is given the gateway over the ledger that `place` names, with everything up to date.
 * @returns what it returns; what was made for the run is gone then.
 */
export async function withLedger<T>(place: LedgerPlace, work: (gateway: LedgerGateway) => Promise<T>): Promise<T> {
  killChildrenOnExit()
  const folder = mkdtempSync(join(tmpdir(), 'headgate-lists-'))
  const teardowns: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  try {
    const store = await filled(place, folder, (end) => teardowns.push(end))
    const gateway = await startGateway(folder, store)
    teardowns.push(() => gateway.stop())
    return await work(gateway)
  } finally {
    for (const end of teardowns.reverse()) await end()
  }
}

/** @returns the settings of the store. */
async function filled(place: LedgerPlace, folder: string, teardown: (end: () => unknown) => void): Promise<string> {
  const rows = Number(place.rows)
  if (place.store !== 'postgres' && place.url === undefined) {
    const file = place.file ?? join(folder, 'ledger.db')
    if (!existsSync(file)) await fillSqlite(file, rows)
    return `url: "sqlite:${file}"`
  }
  const url = place.url ?? (await ownDatabase(teardown))
  const journal = join(folder, 'journal.db')
  const options = {
    url,
    journal,
    lostGrace: 3_600_000,
    auditKeys: NO_AUDIT_KEYS,
    clock: systemClock,
    durability: 'process',
    report: () => {},
  } as const
  await (await openBookkeeping(options)).close()
  if ((await queryIn(url, 'SELECT 1 FROM generation LIMIT 1')).length === 0) await fillPostgres(url, rows)
  return `url: "${url}", journal: "${journal}"`
}

async function ownDatabase(teardown: (end: () => unknown) => void): Promise<string> {
  const server = await startPostgres({ teardown })
  if (!server) throw new Error('there is no PostgreSQL')
  return server.database()
}

function configText(port: number, adminPort: number, store: string): string {
  const keys = Array.from({ length: KEYS }, (_, i) => `    - { name: key-${i}, key: "${keySecret(i)}", limit: "1000000.00" }\n`)
  const providers = Array.from({ length: PROVIDERS }, (_, i) => `  provider-${i}: { dialect: sim }\n`)
  const endpoints = Array.from({ length: PROVIDERS }, (_, i) => `{ provider: provider-${i}, model: echo }`).join(', ')
  const models = Array.from({ length: MODELS }, (_, i) => `  acme/model-${i}: { endpoints: [ ${endpoints} ] }\n`)
  return [
    `server: { host: 127.0.0.1, port: ${port} }\nadmin: { host: 127.0.0.1, port: ${adminPort}, token: ${ADMIN_TOKEN} }\nstore: { ${store} }\n`,
    `auth:\n  keys:\n    - { name: operator, key: "${OPERATOR}", management: true }\n`,
    ...keys,
    'providers:\n',
    ...providers,
    'models:\n',
    ...models,
  ].join('')
}

async function startGateway(folder: string, store: string): Promise<LedgerGateway & { stop(): Promise<void> }> {
  const [port, adminPort] = [await freePort(), await freePort()]
  const config = join(folder, 'headgate.yaml')
  writeFileSync(config, configText(port, adminPort, store))
  const log = openSync(join(folder, 'log'), 'a')
  const launcher = fileURLToPath(new URL('../bin/headgate.js', import.meta.url))
  const child = keepTrack(spawn(process.execPath, [launcher, 'serve', '--config', config], { stdio: ['ignore', log, log] }))
  const begun = performance.now()
  const [url, admin] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${adminPort}`]
  const read = async (address: string): Promise<string> => {
    const reply = await fetch(address, { headers: { authorization: `Bearer ${OPERATOR}` } })
    const text = await reply.text()
    if (reply.status !== 200) throw new Error(`${address} answered ${reply.status}: ${text.slice(0, 300)}`)
    return text
  }
  for (;;) {
    if (child.exitCode !== null || performance.now() - begun > START_MS)
      throw new Error(`the gateway does not start:\n${readFileSync(join(folder, 'log'), 'utf8').slice(-2000)}`)
    const answers = await read(`${url}/v1/status`).catch(() => undefined)
    if (answers) break
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  console.log(`started in ${((performance.now() - begun) / 1000).toFixed(1)} s`)
  return {
    url,
    admin,
    get: async (path) => JSON.parse(await read(url + path)),
    text: (path) => read(url + path),
    async delays() {
      const text = await read(`${admin}/metrics`)
      const of = (quantile: string): number =>
        1000 * Number(new RegExp(`^headgate_event_loop_delay_seconds\\{quantile="${quantile}"\\} (\\S+)`, 'm').exec(text)?.[1])
      return [of('0.99'), of('1')]
    },
    cpuMs: () => cpuSeconds(child.pid ?? 0) * 1000,
    stop: () => stop(child),
  }
}
