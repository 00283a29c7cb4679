/**
 * An open load: requests at a rate that does not wait for replies, from a process of its own. Latency counts from the moment at which a
 * request was due, so a late generator shows. Takes jobs from its parent one by one.
 */

import { connect, type Socket } from 'node:net'
import { entryAt } from '../src/core/entry-at.ts'
import { leaveWithParent } from './child.ts'

export interface OpenJob {
  readonly port: number
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string
  /** The body of every other request, in place of that one. */
  readonly otherBody?: string
  /** Requests per second, evenly spaced; 0 keeps `connections` requests open instead. */
  readonly rate: number
  readonly connections: number
  readonly seconds: number
  /** Seconds at the beginning that do not count. */
  readonly warmUp: number
}

export interface OpenSummary {
  readonly seconds: number
  readonly sent: number
  readonly byStatus: Record<string, number>
  /** Of replies with status 200, milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Of refusals with status 503, milliseconds. */
  readonly refusedP99: number
  /** Share of a core that the generator used, and how late it sent, milliseconds at the 99th percentile. */
  readonly cpu: number
  readonly lateP99: number
  readonly mostConnections: number
  /** Of the replies with status 200, by their bodies: how many, and milliseconds. */
  readonly served: readonly { readonly count: number; readonly p50: number; readonly p99: number; readonly most: number }[]
}

/** More connections mean that the gateway does not keep up with refusing. */
const MAX_CONNECTIONS = 4_000
const DRAIN_MS = 5_000

const percentile = (values: number[], share: number): number => {
  const sorted = values.sort((a, b) => a - b)
  return sorted.length === 0 ? 0 : entryAt(sorted, Math.min(sorted.length - 1, Math.floor(sorted.length * share)))
}

class Connection {
  private readonly run: Run
  private readonly socket: Socket
  private received = ''
  private due = 0
  private counted = false
  private kind = 0
  busy = false

  constructor(run: Run) {
    this.run = run
    this.socket = connect({ host: '127.0.0.1', port: run.job.port, noDelay: true })
    this.socket.on('data', (chunk: Buffer) => this.take(chunk.toString('latin1')))
    this.socket.on('error', () => this.end('error'))
    this.socket.on('close', () => {
      this.end('closed')
      this.run.gone(this)
    })
  }

  ask(due: number, counted: boolean): void {
    this.busy = true
    this.due = due
    this.counted = counted
    this.received = ''
    this.kind = this.run.nextKind()
    this.socket.write(this.run.bytes[this.kind] ?? '')
  }

  private take(text: string): void {
    this.received += text
    const head = this.received.indexOf('\r\n\r\n')
    if (head === -1) return
    const length = Number(/content-length: (\d+)/i.exec(this.received.slice(0, head))?.[1] ?? 0)
    if (this.received.length < head + 4 + length) return
    const closes = /connection: close/i.test(this.received.slice(0, head))
    this.end(this.received.slice(9, 12))
    if (closes) this.socket.end()
    else if (this.socket.writableLength === 0) this.run.free(this)
    else this.socket.once('drain', () => this.run.free(this))
  }

  private end(status: string): void {
    if (!this.busy) return
    this.busy = false
    this.run.answered(status, performance.now() - this.due, { counted: this.counted, kind: this.kind })
  }

  destroy(): void {
    this.socket.destroy()
  }
}

class Run {
  readonly job: OpenJob
  readonly bytes: readonly Buffer[]
  private turns = 0
  private readonly idle: Connection[] = []
  private readonly all = new Set<Connection>()
  private readonly byStatus: Record<string, number> = {}
  private readonly served: [number[], number[]] = [[], []]
  private readonly refused: number[] = []
  private readonly late: number[] = []
  private sent = 0
  private most = 0
  private readonly begun = performance.now()

  constructor(job: OpenJob) {
    this.job = job
    const headers = Object.entries(job.headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const bodies = job.otherBody === undefined ? [job.body] : [job.body, job.otherBody]
    this.bytes = bodies.map((body) =>
      Buffer.from(
        `POST ${job.path} HTTP/1.1\r\nHost: 127.0.0.1:${job.port}\r\n${headers.join('')}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      ),
    )
  }

  async measure(): Promise<OpenSummary> {
    const { rate, connections, seconds, warmUp } = this.job
    const cpu = process.cpuUsage()
    const end = this.begun + (warmUp + seconds) * 1000
    if (rate === 0) for (let i = 0; i < connections; i++) this.send(performance.now())
    let next = this.begun
    while (performance.now() < end) {
      for (; rate > 0 && next <= performance.now(); next += 1000 / rate) this.send(next)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    const used = process.cpuUsage(cpu)
    const elapsed = performance.now() - this.begun
    this.closing = true
    const last = performance.now() + DRAIN_MS
    while ([...this.all].some(({ busy }) => busy) && performance.now() < last) await new Promise((resolve) => setTimeout(resolve, 20))
    for (const connection of this.all) if (connection.busy) this.count('unanswered')
    for (const connection of this.all) connection.destroy()
    return {
      seconds,
      sent: this.sent,
      byStatus: this.byStatus,
      p50: percentile(this.served.flat(), 0.5),
      p99: percentile(this.served.flat(), 0.99),
      refusedP99: percentile(this.refused, 0.99),
      cpu: (used.user + used.system) / 1000 / elapsed,
      lateP99: percentile(this.late, 0.99),
      mostConnections: this.most,
      served: this.served.map((each) => ({
        count: each.length,
        p50: percentile(each, 0.5),
        p99: percentile(each, 0.99),
        most: percentile(each, 1),
      })),
    }
  }

  private closing = false

  private send(due: number): void {
    const now = performance.now()
    const counted = due - this.begun >= this.job.warmUp * 1000
    if (counted) {
      this.sent++
      this.late.push(now - due)
    }
    let connection = this.idle.pop()
    if (!connection) {
      if (this.all.size >= MAX_CONNECTIONS) {
        if (counted) this.count('no connection')
        return
      }
      connection = new Connection(this)
      this.all.add(connection)
      this.most = Math.max(this.most, this.all.size)
    }
    connection.ask(due, counted)
  }

  /** Which body the next request has. */
  nextKind(): number {
    return this.turns++ % this.bytes.length
  }

  answered(status: string, milliseconds: number, { counted, kind }: { counted: boolean; kind: number }): void {
    if (!counted || (this.closing && this.job.rate === 0)) return
    this.count(status)
    if (status === '200') this.served[kind === 0 ? 0 : 1].push(milliseconds)
    else if (status === '503') this.refused.push(milliseconds)
  }

  free(connection: Connection): void {
    if (this.job.rate === 0 && !this.closing) connection.ask(performance.now(), performance.now() - this.begun >= this.job.warmUp * 1000)
    else this.idle.push(connection)
  }

  gone(connection: Connection): void {
    this.all.delete(connection)
    const at = this.idle.indexOf(connection)
    if (at !== -1) this.idle.splice(at, 1)
    if (this.job.rate === 0 && !this.closing) this.send(performance.now())
  }

  private count(status: string): void {
    this.byStatus[status] = (this.byStatus[status] ?? 0) + 1
  }
}

leaveWithParent()
process.on('message', (job: OpenJob) => {
  new Run(job).measure().then((summary) => process.send?.({ summary }))
})
process.send?.({ port: 0 })
