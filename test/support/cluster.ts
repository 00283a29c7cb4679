/** Programs that are one gateway: one PostgreSQL, one Redis and one provider for all, each program with a journal of its own. */
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { ADMIN_TOKEN, adminFetch, freshVerdict } from './admin.ts'
import { parseRows } from './crash/audit.ts'
import { freePorts } from './crash/configuration.ts'
import { eventually } from './eventually.ts'
import { type NextStep, withNextSchema } from './next-schema.ts'
import { startPostgres, type TestPostgres } from './postgres.ts'
import { type Program, type ProgramOptions, runProgram } from './program.ts'
import { type RedisServer, startRedis } from './redis.ts'
import { startUpstream, type Upstream } from './upstream.ts'
import { answerFor } from './wire.ts'

/** Manages keys and reads everything. */
export const OPS = 'sk-router-v1-ops00000000000000000'
/** Spends without a limit. */
export const APP = 'sk-router-v1-app00000000000000000'
/** Nano-dollars of every request, whatever becomes of it. */
export const PRICE = 10_000_000

export const QUESTION = { model: 'acme/fixed', messages: [{ role: 'user', content: 'Hello' }] }

export interface Member extends Program {
  readonly url: string
  readonly admin: string
  readonly pid: number
  readonly workers: number
  /** Starts it again with the same file and the same journal. */
  again(): Promise<Member>
}

export interface Cluster {
  readonly postgres: TestPostgres
  readonly redis: RedisServer
  readonly upstream: Upstream
  /** The URL of the database. */
  readonly database: string
  /** Writes the file of one more program. */
  file(parts?: FileParts): Promise<Place>
  /** Starts one more program; 0 workers: a process alone. */
  start(parts?: FileParts): Promise<Member>
}

export interface Place {
  readonly file: string
  readonly url: string
  readonly admin: string
  readonly workers: number
  readonly options?: ProgramOptions
}

export interface FileParts {
  workers?: number
  /** Steps that the schema of this program has beyond the present one. */
  ahead?: readonly NextStep[]
  /** URLs in place of the cluster's own; null: nothing is shared. */
  database?: string
  shared?: string | null
  /** Further keys, as flow mappings. */
  keys?: readonly string[]
  /** Further members of `auth`, as lines. */
  auth?: string
  /** Further lines. */
  more?: string
}

export interface Servers {
  readonly postgres: TestPostgres
  readonly redis: RedisServer
}

/** Call it before the first test. @returns undefined where the machine lacks one of them. */
export async function startServers(t: Pick<Test, 'teardown'>): Promise<Servers | undefined> {
  const postgres = await startPostgres(t)
  const redis = await startRedis()
  if (redis) t.teardown(() => redis.close())
  return postgres && redis ? { postgres, redis } : undefined
}

/** A new database and a new provider. Everything ends with the test. */
export async function newCluster(t: Test, { postgres, redis }: Servers): Promise<Cluster> {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['ok'] }))
  t.teardown(() => upstream.close())
  const database = await postgres.database()
  const directory = t.testdir()
  let files = 0
  const file = async (parts: FileParts = {}): Promise<Place> => {
    const [port, admin] = await freePorts(2)
    const number = files++
    const path = join(directory, `${number}.yaml`)
    writeFileSync(
      path,
      `server: { host: 127.0.0.1, port: ${port} }
admin: { host: 127.0.0.1, port: ${admin}, token: ${ADMIN_TOKEN} }
store: { url: "${parts.database ?? database}", journal: "${join(directory, `journal-${number}.db`)}" }
${parts.shared === null ? '' : `shared: { url: "${parts.shared ?? redis.url}" }`}
auth:
  keys:
    - { name: ops, key: "${OPS}", management: true }
    - { name: app, key: "${APP}" }
${(parts.keys ?? []).map((key) => `    - ${key}\n`).join('')}${parts.auth ?? ''}
providers: { up: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: "sk-up", timeouts: { first_byte: 120s } } }
models: { acme/fixed: { context: 8000, endpoints: [ { provider: up, model: m, price: { prompt: "0", completion: "0", request: "0.01" } } ] } }
${parts.more ?? ''}`,
    )
    const options = parts.ahead ? withNextSchema(parts.ahead) : {}
    return { file: path, url: `http://127.0.0.1:${port}`, admin: `http://127.0.0.1:${admin}`, workers: parts.workers ?? 0, options }
  }
  return { postgres, redis, upstream, database, file, start: async (parts) => startMember(t, await file(parts)) }
}

/** The arguments of the command line. */
export function serveArguments({ file, workers }: Pick<Place, 'file' | 'workers'>): string[] {
  return ['serve', '--config', file, ...(workers > 0 ? ['--workers', String(workers)] : [])]
}

async function startMember(t: Test, place: Place): Promise<Member> {
  const program = runProgram(serveArguments(place), place.options)
  t.teardown(async () => {
    program.child.kill('SIGKILL')
    await program.exited
  })
  await program.until(/listens on/)
  return { ...program, ...place, pid: program.child.pid ?? 0, again: () => startMember(t, place) }
}

export interface Reply {
  readonly status: number
  /** The generation, where there was one. */
  readonly id: string | undefined
  readonly retryAfter: number
  readonly text: string
}

export interface Asking {
  key?: string
  path?: string
  method?: string
  body?: JsonObject | undefined
}

/** One request over a connection of its own, so that it may go to any worker. @throws where the connection breaks. */
export function ask({ url }: Pick<Member, 'url'>, { key = APP, path, method, body }: Asking = {}): Promise<Reply> {
  const sent = path === undefined ? (body ?? QUESTION) : body
  const text = sent === undefined ? undefined : JSON.stringify(sent)
  const headers = {
    authorization: `Bearer ${key}`,
    connection: 'close',
    ...(text ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) } : {}),
  }
  const how = { method: method ?? (text ? 'POST' : 'GET'), agent: false, headers } as const
  return new Promise((resolve, reject) => {
    const asked = request(`${url}${path ?? '/v1/chat/completions'}`, how, async (reply) => {
      try {
        const chunks: Buffer[] = []
        for await (const chunk of reply) chunks.push(chunk as Buffer)
        const id = reply.headers['x-generation-id']
        resolve({
          status: reply.statusCode ?? 0,
          id: typeof id === 'string' ? id : undefined,
          retryAfter: Number(reply.headers['retry-after'] ?? Number.NaN),
          text: Buffer.concat(chunks).toString(),
        })
      } catch (error) {
        reject(error)
      }
    })
    asked.on('error', reject).end(text)
  })
}

/** So many requests at once, dealt out in turn to these programs. @returns how often each status came. */
export async function rush(members: readonly Pick<Member, 'url'>[], count: number, asking: Asking = {}): Promise<Record<number, number>> {
  const replies = await Promise.all(Array.from({ length: count }, (_, index) => ask(members[index % members.length], asking)))
  return tally(replies)
}

export function tally(replies: readonly Pick<Reply, 'status'>[]): Record<number, number> {
  const found: Record<number, number> = {}
  for (const { status } of replies) found[status] = (found[status] ?? 0) + 1
  return found
}

/** Answer of management. @throws Error with the text of a refusal. */
export async function manage(member: Pick<Member, 'url'>, path: string, method = 'GET', body?: JsonObject): Promise<JsonObject> {
  const reply = await ask(member, { key: OPS, path: `/v1${path}`, method, body })
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`)
  return JSON.parse(reply.text) as JsonObject
}

export interface Made {
  readonly key: string
  readonly hash: string
}

/** Makes an ordinary key. @param limit USD. */
export async function makeKey(member: Pick<Member, 'url'>, name: string, limit?: number): Promise<Made> {
  const made = await manage(member, '/keys', 'POST', { name, ...(limit === undefined ? {} : { limit }) })
  return { key: String(made.key), hash: String((made.data as JsonObject).hash) }
}

/** Requests without an end, so many at a time, until `end` is called. */
export interface Load {
  readonly replies: readonly Reply[]
  /** Connections that broke. */
  readonly broken: readonly unknown[]
  /** Waits until so many more requests have been answered. */
  more(count: number): Promise<void>
  end(): Promise<void>
}

export function startLoad(member: Pick<Member, 'url'>, lanes: number, asking: Asking = {}): Load {
  const replies: Reply[] = []
  const broken: unknown[] = []
  let ending = false
  const lane = async (): Promise<void> => {
    while (!ending) {
      try {
        replies.push(await ask(member, asking))
      } catch (error) {
        broken.push(error)
        // Whoever is not there is not asked as fast as that is said.
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    }
  }
  const done = Promise.all(Array.from({ length: lanes }, lane))
  return {
    replies,
    broken,
    more: async (count) => {
      const wanted = replies.length + count
      await eventually(`${count} more replies`, () => (replies.length >= wanted ? true : undefined))
    },
    end: async () => {
      ending = true
      await done
    },
  }
}

/** Milliseconds for which a pulse lasts, and after which whatever was heard before has been taken in. */
const PULSE = 10_000
const TAKEN_IN = 500

/** Resolves once each of these programs has heard what is new, and of all others. Workers hear it from their owner a moment later. */
export async function allHeard({ postgres, database }: Cluster, members: readonly unknown[]): Promise<void> {
  const since = Date.now() + PULSE + TAKEN_IN
  await eventually('a pulse of each', async () => {
    const [row] = await postgres.query(database, 'SELECT count(*)::int AS count FROM node WHERE expires_at > $1', [since])
    return row?.count === members.length || undefined
  })
}

/** Generations that the provider was called for. */
export function called({ upstream }: Pick<Cluster, 'upstream'>): string[] {
  return upstream.requests.map((seen) => String(seen.headers['x-client-request-id']))
}

/**
 * Holds the ledger against what the provider saw, once everything is handed in: each call has one row, no row is there
 * twice or without a call, every row has the one price, and the ledger agrees with the balances, at every program.
 */
export async function ledgersAgree(t: Test, cluster: Cluster, members: readonly Member[]): Promise<void> {
  const expected = called(cluster).sort()
  for (const { admin } of members) {
    const rows = await eventually('all rows', async () => {
      const reply = await adminFetch(`${admin}/ledger/export`)
      const found = reply.ok ? parseRows(await reply.text()) : []
      return found.length >= expected.length ? found : undefined
    })
    t.same(rows.map(({ id }) => id).sort(), expected, 'one row for each call of the provider, and no other')
    t.same(new Set(rows.map(({ cost_nano: cost }) => cost)), new Set([PRICE]))
    t.match(await freshVerdict(admin), { ok: true, open: 0, charged: expected.length * PRICE })
  }
}
