/** A gateway whose event loop stands still or works as a test says, and callers who crowd it. */
import type { Test } from 'tap'
import { type Clock, systemClock } from '../../src/core/clock.ts'
import type { LoopSource } from '../../src/server/overload.ts'
import { eventually } from './eventually.ts'
import { type Gateway, KEY } from './gateway.ts'
import { startScene } from './scene.ts'
import type { Upstream } from './upstream.ts'
import { says } from './wire.ts'
import { fetchMetrics } from './workers.ts'

/** May ask once a minute. */
export const RARELY = `sk-hg-v1-${'5'.repeat(64)}`
/** Another one. */
export const OTHER = `sk-hg-v1-${'6'.repeat(64)}`
const KEYS = `auth: { keys: [ { name: test, key: "${KEY}" }, { name: other, key: "${OTHER}" }, { name: rarely, key: "${RARELY}", limits: { requests: 1 } } ] }
`

/** An event loop whose time the test tells. */
export class ScriptedLoop implements LoopSource {
  private elapsed = 0
  private idled = 0
  private used = 0
  private ends: (() => void)[] = []
  private next: (() => void)[] = []
  /** Long bodies that wait. */
  waiting = (): number => 0

  now(): number {
    return this.elapsed
  }

  idle(): number {
    return this.idled
  }

  cpu(): number {
    return this.used
  }

  everyTurn(fn: () => void): () => void {
    this.ends.push(fn)
    return () => {}
  }

  soon(fn: () => void): void {
    this.next.push(fn)
  }

  /** One turn of so many milliseconds, behind those without work in which long bodies wait for new connections. */
  turn(work: number, idle: number): void {
    this.begin(work, idle)
    const before = this.waiting()
    for (let turns = 0; turns < 9; turns++) {
      this.end()
      if (before === 0 || this.waiting() !== before) return
    }
  }

  /** This turn ends, whether a long body was worked on in it or not. */
  end(): void {
    for (const fn of this.next.splice(0)) fn()
    for (const end of this.ends) end()
  }

  /** A turn that has not ended. */
  begin(work: number, idle: number): void {
    this.elapsed += work + idle
    this.idled += idle
    this.used += work
  }

  /** The thread could run, but other processes did. */
  stolen(time: number): void {
    this.elapsed += time
  }

  saturate(): void {
    for (let i = 0; i < 3; i++) this.turn(250, 0)
  }
}

export interface Overloaded {
  gateway: Gateway
  upstream: Upstream
  loop: ScriptedLoop
}

interface OverloadOptions {
  clock?: Clock
  /** Of `server`, as YAML. */
  server?: string
}

export async function overloaded(
  t: Test,
  { clock = systemClock, server = 'overload: { max_wait: 2s }' }: OverloadOptions = {},
): Promise<Overloaded> {
  const loop = new ScriptedLoop()
  const { gateway, upstream } = await startScene(t, {
    answer: says({ text: ['Hello'] }),
    yaml: `server: { host: 127.0.0.1, port: 0, ${server} }\n${KEYS}`,
    provider: 'pass_through: { price: "0.001" }',
    loop,
    clock,
  })
  loop.waiting = () => gateway.running.runtime.overload.state.waiting
  return { gateway, upstream, loop }
}

/** Most of it blanks: two do not go into one turn. */
export const LONG = 400_000
export const long = (body: object): string => JSON.stringify(body).padEnd(LONG)
export const BODY = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }

/** Sends so many requests with a long body, of which the first is worked on. @returns their statuses, once all have arrived. */
export async function crowd({ gateway, loop, upstream }: Overloaded, count: number): Promise<Promise<number>[]> {
  loop.turn(0, 0)
  const ask = async (): Promise<number> => {
    const reply = await gateway.post('/v1/chat/completions', long(BODY))
    await reply.text()
    return reply.status
  }
  const before = upstream.requests.length
  const first = ask()
  await eventually('the first is worked on', () => upstream.requests.length > before || undefined)
  const asked = [first, ...Array.from({ length: count - 1 }, ask)]
  await eventually('all others wait', async () => (await waiting(gateway)) === count - 1 || undefined)
  return asked
}

export const waiting = async ({ admin }: Gateway): Promise<number> => (await fetchMetrics(admin))('headgate_bodies_waiting ')

/** Before any was measured 50 KB are expected to take a millisecond: ten long bodies fill 80 of 100 milliseconds. */
export const HURRIED = 'overload: { max_wait: 100ms }'
export const FULL = 10
