/**
 * Writes a populated store of this version as a test fixture: `node scripts/store-fixture.ts`.
 * Run it before a change of the schema, so that the change is tested on rows that the version before it has written:
 * keys of every kind, spent amounts of several days, weeks and months, removed generations, open ones, guardrails.
 * Needs a PostgreSQL on the machine. Writes test/fixtures/store/<version>/; `test/store/upgrade.test.ts` reads it.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import type { JsonObject } from '../src/core/json.ts'
import { migrationsFor, SCHEMA_VERSION } from '../src/store/migrations.ts'
import { adminFetch } from '../test/support/admin.ts'
import { FakeClock } from '../test/support/clock.ts'
import { type Gateway, startGateway } from '../test/support/gateway.ts'
import { startPostgres, type TestPostgres } from '../test/support/postgres.ts'
import { setDatabaseTime } from '../test/support/postgres-clock.ts'
import {
  APP,
  BOSS,
  FIXTURES,
  fixtureConfig,
  loadSqlite,
  type Place,
  RECORDED_AT,
  readState,
  type StoredState,
} from '../test/support/stored-state.ts'
import { type Answer, Gate, type Seen, startUpstream, type Upstream } from '../test/support/upstream.ts'
import { answerFor, framesFor, upstreamError } from '../test/support/wire.ts'

const MOMENTS = {
  removed: Date.UTC(2026, 9, 5, 9),
  lastMonth: Date.UTC(2026, 9, 25, 23, 59),
  lastWeek: Date.UTC(2026, 10, 12, 6),
  monday: Date.UTC(2026, 10, 16, 0, 0, 1),
  today: Date.UTC(2026, 10, 18, 8),
}

const ENDS = { teardown: (end: () => unknown) => void ends.push(end) }
const ends: (() => unknown)[] = []

/** Opens for the requests that were left open, once the crash has been copied. */
const GATE = new Gate()

/** Answers of the provider, by what the request says. */
function answer(seen: Seen): Answer {
  const usage = { input: 913, output: 57, cached: 300, written: 100, reasoning: 21 }
  const utterance = { text: ['fine'], usage }
  if (seen.body.includes('say: fault')) return upstreamError(400, 'no')
  if (seen.body.includes('say: length')) return answerFor(seen, { ...utterance, end: 'length' })
  if (seen.body.includes('say: hold')) {
    const [first, ...rest] = framesFor(seen.path, utterance)
    return { headers: { 'content-type': 'text/event-stream' }, body: [...(first === undefined ? [] : [first]), GATE.step, ...rest] }
  }
  return answerFor(seen, utterance)
}

class Scene {
  readonly upstream: Upstream
  readonly secrets: Record<string, string> = { app: APP }
  readonly hashes: Record<string, string> = {}
  place: Place
  /** Of a store whose own clock decides on windows. */
  private readonly setTime: (place: Place, moment: number) => Promise<void>

  constructor(upstream: Upstream, place: Place, setTime: Scene['setTime'] = async () => {}) {
    this.upstream = upstream
    this.place = place
    this.setTime = setTime
  }

  /** Runs a gateway from a moment on. */
  async at(moment: number, work: (gateway: Gateway, clock: FakeClock) => Promise<void>): Promise<void> {
    const clock = new FakeClock(moment, moment)
    const gateway = await startGateway(fixtureConfig(this.place, this.upstream.url), { clock })
    await this.setTime(this.place, moment)
    await work(gateway, clock)
    await gateway.close()
  }

  async manage(gateway: Gateway, method: string, path: string, body: unknown, secret = BOSS): Promise<Record<string, unknown>> {
    const reply = await fetch(`${gateway.url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!reply.ok) throw new Error(`${path}: ${await reply.text()}`)
    return (await reply.json()) as Record<string, unknown>
  }

  async key(gateway: Gateway, name: string, more: Record<string, unknown> = {}): Promise<void> {
    const made = await this.manage(gateway, 'POST', '/keys', { name, ...more })
    this.secrets[name] = String(made.key)
    this.hashes[name] = String((made.data as { hash: string }).hash)
  }

  async ask(gateway: Gateway, name: string, model: string, say = 'well', more: Record<string, unknown> = {}): Promise<void> {
    const body = { model, messages: [{ role: 'user', content: `say: ${say}` }], ...more }
    const reply = await gateway.post('/v1/chat/completions', body, { authorization: `Bearer ${this.secrets[name]}` })
    await reply.text()
  }
}

async function makeKeys(scene: Scene, gateway: Gateway): Promise<void> {
  await scene.key(gateway, 'plain')
  await scene.key(gateway, 'whale', { creator_user_id: 'ada' })
  await scene.key(gateway, 'total', { limit: 2000, include_byok_in_limit: true })
  for (const reset of ['daily', 'weekly', 'monthly']) await scene.key(gateway, reset, { limit: 5, limit_reset: reset })
  await scene.key(gateway, 'expiring', { expires_at: '2026-12-24T18:00:00Z' })
  await scene.key(gateway, 'disabled')
  await scene.key(gateway, 'removed')
  await scene.key(gateway, 'rotated', { limit: 7.123456789 })
  const command = async (body: unknown): Promise<Record<string, unknown>> => {
    const reply = await adminFetch(`${gateway.admin}/keys/command`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!reply.ok) throw new Error(await reply.text())
    return (await reply.json()) as Record<string, unknown>
  }
  await command({ verb: 'create', fields: { name: 'manager' }, management: true })
  await scene.ask(gateway, 'rotated', 'acme/fixed')
  scene.secrets.rotated = String((await command({ verb: 'rotate', key: scene.hashes.rotated })).key)
  const code = async () =>
    (await scene.manage(gateway, 'POST', '/auth/keys/code', { callback_url: 'http://localhost/' }, scene.secrets.plain)).data
  const child = await scene.manage(gateway, 'POST', '/auth/keys', { code: ((await code()) as { id: string }).id })
  scene.secrets.child = String(child.key)
  await code()
}

async function makeGuardrails(scene: Scene, gateway: Gateway): Promise<void> {
  const make = async (body: unknown): Promise<string> =>
    ((await scene.manage(gateway, 'POST', '/guardrails', body)).data as { id: string }).id
  const budget = await make({ name: 'budget', limit_usd: 4.5, reset_interval: 'daily', allowed_models: ['acme/*'] })
  const filter = await make({ name: 'filter', content_filters: [{ pattern: 'fau[l]t', action: 'flag', label: 'FAULT' }] })
  await make({ name: 'unassigned', limit_usd: 1, reset_interval: 'monthly', description: 'Für später – \u{1F510}' })
  await scene.manage(gateway, 'PATCH', `/guardrails/${budget}`, { limit_usd: 4.75 })
  const keys = [scene.hashes.daily, scene.hashes.weekly]
  await scene.manage(gateway, 'POST', `/guardrails/${budget}/assignments/keys`, { key_hashes: keys })
  await scene.manage(gateway, 'POST', `/guardrails/${filter}/assignments/keys`, { key_hashes: [scene.hashes.plain] })
}

async function spend(scene: Scene, gateway: Gateway, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++)
    for (const name of ['plain', 'total', 'daily', 'weekly', 'monthly', 'rotated', 'child', 'app']) {
      await scene.ask(gateway, name, 'acme/fixed')
      await scene.ask(gateway, name, 'acme/tokens', round % 2 ? 'length' : 'well', { stream: round % 2 === 1, user: `user ${round}` })
    }
  await scene.ask(gateway, 'plain', 'acme/fixed', 'fault')
  await scene.ask(gateway, 'whale', 'acme/dear')
}

/** Requests that wait for the provider until the gate opens: their holds are committed, and never settled in a copy. */
async function leaveOpen(scene: Scene, gateway: Gateway, names: readonly string[]): Promise<Promise<void>[]> {
  const before = scene.upstream.requests.length
  const open = names.map((name) => scene.ask(gateway, name, 'acme/tokens', 'hold', { stream: true }))
  await scene.upstream.request(before + names.length - 1)
  return open
}

/** The whole life of the store. @param crash makes a copy of the store as a crash would leave it, and goes on with that. */
async function live(scene: Scene, crash: (gateway: Gateway) => Promise<Place>): Promise<void> {
  await scene.at(MOMENTS.removed, async (gateway) => {
    await makeKeys(scene, gateway)
    await spend(scene, gateway, 1)
    await scene.ask(gateway, 'removed', 'acme/fixed')
    await scene.manage(gateway, 'DELETE', `/keys/${scene.hashes.removed}`, undefined)
  })
  await scene.at(MOMENTS.lastMonth, async (gateway) => {
    await spend(scene, gateway, 2)
    await scene.ask(gateway, 'disabled', 'acme/fixed')
    await scene.manage(gateway, 'PATCH', `/keys/${scene.hashes.disabled}`, { disabled: true })
  })
  await scene.at(MOMENTS.lastWeek, async (gateway, clock) => {
    // The first look of retention comes a minute after the start; what it removes is older than 32 days.
    for (let second = 0; second < 70; second++) {
      await clock.advance(1000)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await makeGuardrails(scene, gateway)
    await spend(scene, gateway, 1)
  })
  await scene.at(MOMENTS.monday, (gateway) => spend(scene, gateway, 2))
  await scene.at(MOMENTS.today, async (gateway) => {
    await spend(scene, gateway, 1)
    const open = await leaveOpen(scene, gateway, ['plain', 'total'])
    scene.place = await crash(gateway)
    GATE.open()
    await Promise.all(open)
  })
}

const literal = (value: unknown): string => {
  if (value === null) return 'NULL'
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  return String(value)
}

function inserts(table: string, rows: readonly Record<string, unknown>[]): string {
  return rows
    .map((row) => `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${Object.values(row).map(literal).join(', ')});\n`)
    .join('')
}

function dumpSqlite(file: string): string {
  const db = new DatabaseSync(file)
  const all = (sql: string, ...values: SQLInputValue[]) => db.prepare(sql).all(...values)
  const made = all("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY rowid")
  const rows = (name: unknown): string => inserts(String(name), all(`SELECT * FROM ${String(name)}`))
  const pragma = (name: string) => `PRAGMA ${name} = ${String(db.prepare(`PRAGMA ${name}`).get()?.[name])};\n`
  const text = made.map(({ type, name, sql }) => `${String(sql)};\n${type === 'table' ? rows(name) : ''}`).join('')
  const dump = `BEGIN;\n${text}${pragma('application_id')}${pragma('user_version')}COMMIT;\n`
  db.close()
  return dump
}

async function dumpPostgres(server: TestPostgres, url: string): Promise<string> {
  const tables = await server.query(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename")
  let text = 'CREATE TABLE headgate_schema (version integer NOT NULL);\n'
  text += migrationsFor('postgres')
    .flat()
    .map((statement) => `${statement};\n`)
    .join('')
  // `node` and `lease` are of processes: those of the fixture are long gone, and what they held stays in the balances.
  for (const { tablename } of tables) {
    // The statements above have filled some with a first row.
    text += `DELETE FROM ${String(tablename)};\n`
    text += inserts(String(tablename), await server.query(url, `SELECT * FROM ${String(tablename)}`))
  }
  return text
}

function write(folder: string, name: string, text: string): void {
  writeFileSync(join(folder, name), text)
  console.log(`${name}: ${text.length} bytes`)
}

/** One line per key, generation and so on. */
function lines(state: StoredState): string {
  const parts = Object.entries(state).map(([name, part]) => {
    const items = Array.isArray(part)
      ? part.map((item) => JSON.stringify(item))
      : Object.entries(part as JsonObject).map(([key, item]) => `${JSON.stringify(key)}: ${JSON.stringify(item)}`)
    const [open, close] = Array.isArray(part) ? '[]' : '{}'
    return `  ${JSON.stringify(name)}: ${open}\n    ${items.join(',\n    ')}\n  ${close}`
  })
  return `{\n${parts.join(',\n')}\n}\n`
}

async function recorded(scene: Scene): Promise<string> {
  let state = ''
  await scene.at(RECORDED_AT, async (gateway) => {
    state = lines(await readState(gateway))
  })
  return state
}

async function writeSqlite(folder: string, home: string): Promise<void> {
  const upstream = await startUpstream(answer)
  const file = join(home, 'live.db')
  const scene = new Scene(upstream, { url: `sqlite:${file}` })
  await live(scene, async () => crashCopy(file, join(home, 'crashed.db')))
  const dump = dumpSqlite(join(home, 'crashed.db'))
  write(folder, 'sqlite.sql', dump)
  scene.place = { url: `sqlite:${loadSqlite(join(home, 'read.db'), dump)}` }
  write(folder, 'sqlite.json', await recorded(scene))
  await upstream.close()
}

/** Rest of a file that another process owns, after a crash at this moment. @returns the copy as a store. */
function crashCopy(file: string, copy: string): Place {
  for (const end of ['', '-wal']) cpSync(`${file}${end}`, `${copy}${end}`)
  return { url: `sqlite:${copy}` }
}

async function writePostgres(folder: string, home: string): Promise<void> {
  const server = await startPostgres(ENDS)
  if (!server) throw new Error('needs a PostgreSQL')
  const upstream = await startUpstream(answer)
  const journal = join(home, 'journal.db')
  const url = await server.database()
  const scene = new Scene(upstream, { url, journal }, (place, moment) => setDatabaseTime(server, place.url, moment))
  let dump = ''
  let [rows, node] = ['', '']
  await live(scene, async (gateway) => {
    dump = await dumpPostgres(server, url)
    // Rows that only the journal has: nothing is handed in while the server stands still.
    server.freeze()
    for (let turn = 0; turn < 3; turn++) await scene.ask(gateway, 'plain', 'acme/fixed')
    crashCopy(journal, join(home, 'crashed.db'))
    server.thaw()
    rows = dumpSqlite(join(home, 'crashed.db'))
    node = readFileSync(`${journal}.node`, 'utf8')
    return scene.place
  })
  write(folder, 'postgres.sql', dump)
  write(folder, 'journal.sql', rows)
  write(folder, 'journal.node', node)
  scene.place = { url: await server.database(), journal: loadSqlite(join(home, 'read.db'), rows) }
  writeFileSync(join(home, 'read.db.node'), node)
  await server.query(scene.place.url, dump)
  write(folder, 'postgres.json', await recorded(scene))
  await upstream.close()
}

const folder = join(FIXTURES, String(SCHEMA_VERSION))
const home = mkdtempSync(join(tmpdir(), 'headgate-fixture-'))
mkdirSync(folder, { recursive: true })
try {
  await writeSqlite(folder, mkdtempSync(join(home, 'sqlite-')))
  await writePostgres(folder, mkdtempSync(join(home, 'postgres-')))
} finally {
  for (const end of ends) await end()
  rmSync(home, { recursive: true, force: true })
}
