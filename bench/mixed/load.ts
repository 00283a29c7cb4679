/**
 * The load of the mixed traffic, a process of its own. Held streams begin again when they end. Beside them requests of the mix come either
 * by the clock, whatever has been answered (an open loop), or on so many connections, each after the reply before it (a closed loop).
 * In the open loop latency counts from the moment at which the request was due: a queue in front of the target, or a late generator, shows.
 */
import { connect, type Socket } from 'node:net'
import { leaveWithParent } from '../child.ts'
import { seededChance } from '../simulation/chance.ts'
import { percentile } from '../simulation/figures.ts'
import { arrivals, BODIES, type Kind, kindAt } from './traffic.ts'

export type MixedJob =
  | { readonly do: 'hold'; readonly port: number; readonly headers: Record<string, string>; readonly streams: number }
  | {
      readonly do: 'mix'
      /** Arrivals per second of the open loop; 0 for the closed one. */
      readonly rate: number
      readonly connections: number
      readonly seconds: number
      readonly seed: number
    }
  | { readonly do: 'release' }

/** Milliseconds; of a stream to its first byte, of a whole reply to its end. */
export interface KindSummary {
  readonly completed: number
  readonly p50: number
  readonly p99: number
}

export interface MixedSummary {
  readonly kinds: Readonly<Record<Kind, KindSummary>>
  readonly completed: number
  /** Requests that got status 503. */
  readonly refused: number
  /** Held streams that have ended meanwhile, and those that are open. */
  readonly held: number
  readonly open: number
  /** Delay with which requests were sent, milliseconds at the 99th percentile. */
  readonly late99: number
}

/** Streams that are opened at once. */
const STEP = 25
/** Milliseconds until a held stream that was refused is tried again. */
const RETRY_MS = 200
/** Milliseconds within which all that is open when the time is over has to end. */
const DRAIN_MS = 60_000

type Sent = Kind | 'held'

/** Settles only where a reply was wrong: then the run is over. */
const failure = Promise.withResolvers<never>()
failure.promise.catch(() => undefined)
let port = 0
let bytes: Readonly<Record<Sent, Buffer>> | undefined
const idle: Connection[] = []
const held = new Set<Connection>()
let heldEnded = 0
let holding = false

/** Treatment of the reply of a request. */
interface Asked {
  readonly kind: Sent
  first(): void
  ended(): void
  /** The target has no room: status 503. */
  refused(): void
}

class Connection {
  private readonly socket: Socket
  private asked: Asked | undefined
  private state: 'head' | 'length' | 'chunks' = 'head'
  private left = 0
  private text = ''
  private closed = false

  constructor() {
    this.socket = connect({ host: '127.0.0.1', port, noDelay: true })
    this.socket.on('data', (chunk: Buffer) => this.take(chunk))
    this.socket.on('error', (error) => this.fail(error.message))
    this.socket.on('close', () => {
      this.forget()
      if (this.asked) this.fail('the connection was closed')
    })
  }

  ask(asked: Asked): void {
    this.asked = asked
    this.state = 'head'
    this.text = ''
    if (bytes) this.socket.write(bytes[asked.kind])
  }

  private take(chunk: Buffer): void {
    if (this.state === 'head') this.takeHead(chunk)
    else if (this.state === 'length') this.left -= chunk.length
    else this.text = (this.text + chunk.toString('latin1', Math.max(0, chunk.length - 5))).slice(-5)
    if (this.state === 'head' || this.asked === undefined) return
    if (this.state === 'length' ? this.left > 0 : this.text !== '0\r\n\r\n') return
    const { ended } = this.asked
    this.asked = undefined
    ended()
  }

  private takeHead(chunk: Buffer): void {
    this.text += chunk.toString('latin1')
    const end = this.text.indexOf('\r\n\r\n')
    const { asked } = this
    if (end === -1 || asked === undefined) return
    const status = this.text.slice(9, 12)
    if (status === '503') {
      this.destroy()
      asked.refused()
      return
    }
    if (status !== '200') this.fail(this.text.slice(0, 600))
    const length = /content-length: (\d+)/i.exec(this.text.slice(0, end))?.[1]
    this.state = length === undefined ? 'chunks' : 'length'
    this.left = Number(length ?? 0) - (this.text.length - end - 4)
    // Five bytes are enough to see the last chunk of the transfer coding (RFC 9112, 7.1).
    this.text = this.text.slice(-5)
    asked.first()
  }

  private forget(): void {
    held.delete(this)
    const at = idle.indexOf(this)
    if (at !== -1) idle.splice(at, 1)
  }

  private fail(why: string): void {
    if (!this.closed) failure.reject(new Error(`${this.asked?.kind ?? 'idle'}: ${why}`))
  }

  destroy(): void {
    this.closed = true
    this.asked = undefined
    this.forget()
    this.socket.destroy()
  }
}

function requestBytes(headers: Record<string, string>): Readonly<Record<Sent, Buffer>> {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const of = ({ path, body }: { readonly path: string; readonly body: string }): Buffer =>
    Buffer.from(
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${lines.join('')}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  return { chat: of(BODIES.chat), agent: of(BODIES.agent), embedding: of(BODIES.embedding), held: of(BODIES.held) }
}

/** Keeps one stream open: when it ends, the next one begins. @returns once the first has begun. */
function hold(): Promise<void> {
  return new Promise((resolve) => {
    const again = (connection: Connection): void => {
      held.add(connection)
      connection.ask({
        kind: 'held',
        first: resolve,
        ended: () => {
          heldEnded++
          if (holding) again(connection)
        },
        refused: () => void setTimeout(() => holding && again(new Connection()), RETRY_MS),
      })
    }
    again(new Connection())
  })
}

async function holdStreams(job: MixedJob & { do: 'hold' }): Promise<object> {
  port = job.port
  bytes = requestBytes(job.headers)
  holding = true
  for (let begun = 0; begun < job.streams; begun += STEP)
    await Promise.all(Array.from({ length: Math.min(STEP, job.streams - begun) }, hold))
  return {}
}

class Mix {
  private readonly latencies: Record<Kind, number[]> = { chat: [], agent: [], embedding: [] }
  private readonly late: number[] = []
  private open = 0
  private completed = 0
  private refused = 0
  private readonly job: MixedJob & { do: 'mix' }

  constructor(job: MixedJob & { do: 'mix' }) {
    this.job = job
  }

  private send(kind: Kind, due: number, then: () => void): void {
    this.open++
    this.late.push(performance.now() - due)
    const connection = idle.pop() ?? new Connection()
    const seen = (): void => void this.latencies[kind].push(performance.now() - due)
    const over = (): void => {
      this.open--
      then()
    }
    connection.ask({
      kind,
      first: () => kind === 'agent' && seen(),
      ended: () => {
        if (kind !== 'agent') seen()
        this.completed++
        idle.push(connection)
        over()
      },
      refused: () => {
        this.refused++
        over()
      },
    })
  }

  async run(): Promise<MixedSummary> {
    const chance = seededChance(this.job.seed)
    const [begun, endedBefore] = [performance.now(), heldEnded]
    if (this.job.rate > 0) await this.openLoop(begun, chance)
    else await this.closedLoop(begun + this.job.seconds * 1000, chance)
    const last = performance.now() + DRAIN_MS
    while (this.open > 0 && performance.now() < last) await new Promise((resolve) => setTimeout(resolve, 5))
    if (this.open > 0) throw new Error(`${this.open} requests were not answered`)
    const sorted = (list: readonly number[]): Float64Array => new Float64Array(list).sort()
    const of = (kind: Kind): KindSummary => {
      const all = sorted(this.latencies[kind])
      return { completed: all.length, p50: percentile(all, 0.5), p99: percentile(all, 0.99) }
    }
    return {
      kinds: { chat: of('chat'), agent: of('agent'), embedding: of('embedding') },
      completed: this.completed,
      refused: this.refused,
      held: heldEnded - endedBefore,
      open: held.size,
      late99: percentile(sorted(this.late), 0.99),
    }
  }

  private async openLoop(begun: number, chance: () => number): Promise<void> {
    for (const { due, kind } of arrivals(this.job.rate, this.job.seconds * 1000, chance)) {
      while (begun + due > performance.now()) await new Promise((resolve) => setTimeout(resolve, 1))
      this.send(kind, begun + due, () => undefined)
    }
  }

  private async closedLoop(until: number, chance: () => number): Promise<void> {
    const next = (): void => {
      const now = performance.now()
      if (now < until) this.send(kindAt(chance()), now, next)
    }
    for (let at = 0; at < this.job.connections; at++) next()
    while (performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

function release(): object {
  holding = false
  for (const connection of [...held, ...idle]) connection.destroy()
  return {}
}

const work = (job: MixedJob): Promise<object> =>
  job.do === 'hold' ? holdStreams(job) : job.do === 'mix' ? new Mix(job).run() : Promise.resolve(release())

leaveWithParent()
process.on('message', (job: MixedJob) => {
  Promise.race([work(job), failure.promise]).then(
    (summary) => process.send?.({ summary }),
    (error: Error) => process.send?.({ error: error.message }),
  )
})
process.send?.({ port: 0 })
