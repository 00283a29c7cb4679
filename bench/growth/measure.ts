/** Puts the requests of an axis on its gateways, size after size in each round, and reads what their processes used. */
import { Pool } from 'undici'
import { entryAt } from '../../src/core/entry-at.ts'
import { type Gateway, startGateway } from '../gateway.ts'
import { cpuSeconds, residentMegabytes } from '../processes.ts'
import { BENCH_KEY, CHAT } from '../requests.ts'
import type { Axis } from './axes.ts'
import type { Point } from './curve.ts'

export interface Length {
  readonly seconds: number
  readonly rounds: number
  readonly warmUp: number
  readonly connections: number
}

/** A size may need minutes to start: every page of a large ledger is read. */
const START_MS = 900_000
/** Requests of a round, however long they take. */
const MIN_REQUESTS = 8
/** Streams that are opened at once. */
const STEP = 25
const RETRY_MS = 200

interface Case {
  readonly size: number
  readonly gateway: Gateway
  readonly pool: Pool
  readonly startSeconds: number
  readonly rounds: number[]
  turn: number
}

async function ask(axis: Axis, one: Case): Promise<void> {
  const { body, key } = axis.request(one.size, one.turn++)
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  const reply = await one.pool.request({ path: CHAT.path, method: 'POST', headers, body })
  const text = await reply.body.text()
  if (reply.statusCode !== 200 || !text.endsWith(axis.ends))
    throw new Error(`${axis.name} at ${one.size}: ${reply.statusCode} …${text.slice(-400)}\n${one.gateway.logTail()}`)
}

interface Round {
  readonly seconds: number
  readonly connections: number
  readonly least: number
}

/** @returns CPU microseconds per request. */
async function load(axis: Axis, one: Case, { seconds, connections, least }: Round): Promise<number> {
  const pid = one.gateway.child.pid ?? 0
  const [cpu, until] = [cpuSeconds(pid), performance.now() + seconds * 1000]
  let done = 0
  const run = async (): Promise<void> => {
    while (performance.now() < until || done < least) {
      await ask(axis, one)
      done++
    }
  }
  await Promise.all(Array.from({ length: connections }, run))
  return ((cpuSeconds(pid) - cpu) / done) * 1e6
}

/** Opens one stream that stays silent, as often as it takes while the gateway has no room. */
async function openSilent(pool: Pool): Promise<void> {
  const body = JSON.stringify({ model: 'growth/silent', messages: [{ role: 'user', content: 'Wait.' }], stream: true })
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${BENCH_KEY}` }
  for (;;) {
    const reply = await pool.request({ path: CHAT.path, method: 'POST', headers, body, bodyTimeout: 0 })
    if (reply.statusCode === 200) {
      const begun = new Promise((resolve) => reply.body.once('data', resolve))
      // The end of the run closes it.
      reply.body.on('error', () => undefined)
      await begun
      return
    }
    await reply.body.text()
    if (reply.statusCode !== 503) throw new Error(`a silent stream got status ${reply.statusCode}`)
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
}

async function startCase(axis: Axis, size: number, upstream: number): Promise<Case> {
  const how = typeof axis.start === 'function' ? axis.start(size) : axis.start
  const gateway = await startGateway(upstream, { ...how, startMs: START_MS })
  const pool = new Pool(`http://127.0.0.1:${gateway.port}`, { connections: null, headersTimeout: 0, bodyTimeout: 0 })
  const held = axis.held?.(size) ?? 0
  for (let open = 0; open < held; open += STEP)
    await Promise.all(Array.from({ length: Math.min(STEP, held - open) }, () => openSilent(pool)))
  return { size, gateway, pool, startSeconds: gateway.firstAnswerMs / 1000, rounds: [], turn: 0 }
}

/** @throws Error at the first wrong reply. */
export async function measureAxis(axis: Axis, sizes: readonly number[], length: Length, upstream: number): Promise<Point[]> {
  const shared = typeof axis.start !== 'function'
  const { connections } = length
  const cases: Case[] = []
  try {
    for (const size of sizes) {
      const first = shared ? cases[0] : undefined
      cases.push(first === undefined ? await startCase(axis, size, upstream) : { ...first, size, rounds: [], turn: 0 })
    }
    for (const one of cases) await load(axis, one, { seconds: length.warmUp, connections, least: axis.warmTurns ?? MIN_REQUESTS })
    for (let at = 0; at < length.rounds; at++)
      for (const one of cases) one.rounds.push(await load(axis, one, { seconds: length.seconds, connections, least: MIN_REQUESTS }))
    return cases.map(({ size, rounds, startSeconds, gateway }) => ({
      size,
      rounds,
      ...(shared ? {} : { startSeconds, megabytes: residentMegabytes(gateway.child.pid ?? 0) }),
    }))
  } finally {
    const own = shared ? cases.slice(0, 1) : cases
    await Promise.all(own.map(({ pool }) => pool.destroy()))
    await Promise.all(own.map(({ gateway }) => gateway.stop()))
  }
}

/** The sizes that a run measures: all, or the smallest and the largest below a bound. */
export function sizesUpTo(axis: Axis, most: number): readonly number[] {
  const sizes = axis.at.filter((size) => size <= most)
  return sizes.length >= 2 ? sizes : [entryAt(axis.at, 0), entryAt(axis.at, 1)]
}
