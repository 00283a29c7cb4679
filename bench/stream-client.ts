/**
 * A client for event streams that costs little: raw sockets, one request at a time on each, every reply checked.
 * Every stream must have status 200 and all its events; one in fifty is decoded whole and its text compared.
 */
import { connect, type Socket } from 'node:net'
import type { LoadJob, LoadResult } from './load-jobs.ts'
import { STREAM_TEXT, TEXT_EVENTS } from './replies.ts'
import type { StreamKind } from './requests.ts'

const FULL_CHECK_EVERY = 50

/** Time for open streams to finish after the last was started, ms. */
const DRAIN_MS = 20_000

const HEAD_END = Buffer.from('\r\n\r\n')

/** The payload of a chunked reply. @throws Error when the framing is broken. */
function dechunk(body: Buffer): Buffer {
  const parts: Buffer[] = []
  let at = 0
  for (;;) {
    const lineEnd = body.indexOf('\r\n', at, 'latin1')
    const size = Number.parseInt(body.toString('latin1', at, lineEnd), 16)
    if (lineEnd === -1 || Number.isNaN(size)) throw new Error('broken chunk framing')
    if (size === 0) return Buffer.concat(parts)
    parts.push(body.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
}

function count(text: string, what: string): number {
  let found = 0
  for (let at = text.indexOf(what); at !== -1; at = text.indexOf(what, at + what.length)) found += 1
  return found
}

/** End of a stream of one kind, contents of each of its text events, and the text of one event. */
interface StreamShape {
  readonly end: string
  readonly word: string
  text(event: StreamEvent): string | undefined
}

interface StreamEvent {
  type?: string
  delta?: string | { text?: string }
  choices?: { delta?: { content?: string } }[]
  candidates?: { content?: { parts?: { text?: string }[] } }[]
}

const SHAPES: Readonly<Record<StreamKind, StreamShape>> = {
  'chat-stream': { end: 'data: [DONE]', word: '"content":" word', text: (event) => event.choices?.[0]?.delta?.content },
  'responses-stream': {
    end: '"type":"response.completed"',
    word: '"delta":" word',
    text: (event) => (event.type === 'response.output_text.delta' && typeof event.delta === 'string' ? event.delta : undefined),
  },
  'messages-stream': {
    end: '"type":"message_stop"',
    word: '"text":" word',
    text: (event) => (event.type === 'content_block_delta' && typeof event.delta === 'object' ? event.delta.text : undefined),
  },
  'gemini-stream': {
    end: '"finishReason":"STOP"',
    word: '"text":" word',
    text: (event) => event.candidates?.[0]?.content?.parts?.[0]?.text,
  },
}

function streamShape(job: LoadJob): StreamShape {
  const { reply } = job.request
  if (reply === 'chat') throw new Error('a whole reply is no stream')
  return SHAPES[reply]
}

/** The text that a client would have shown. */
function joinedText(stream: string, shape: StreamShape): string {
  let text = ''
  for (const line of stream.split('\n')) {
    if (!line.startsWith('data: ') || line === 'data: [DONE]') continue
    text += shape.text(JSON.parse(line.slice(6)) as StreamEvent) ?? ''
  }
  return text
}

/** @returns what is wrong with a whole reply, or undefined. */
function fault(whole: Buffer, job: LoadJob, fullCheck: boolean): string | undefined {
  const headEnd = whole.indexOf(HEAD_END)
  const stream = dechunk(whole.subarray(headEnd + 4)).toString('latin1')
  const shape = streamShape(job)
  const { end } = shape
  if (!stream.includes(end)) return `the stream ended without ${end}: …${stream.slice(-200)}`
  const deltas = count(stream, shape.word)
  if (deltas !== TEXT_EVENTS) return `${deltas} text events instead of ${TEXT_EVENTS}`
  if (!fullCheck) return undefined
  const text = joinedText(stream, shape)
  return text === STREAM_TEXT ? undefined : `wrong text: ${text.slice(0, 100)}`
}

/** One connection that asks again as soon as a stream has ended. */
class StreamConnection {
  private readonly run: StreamRun
  private socket: Socket
  private chunks: Buffer[] = []
  private startedAt = 0
  private firstAt = 0
  private busy = false

  constructor(run: StreamRun) {
    this.run = run
    this.socket = this.open()
  }

  private open(): Socket {
    const socket = connect({ host: '127.0.0.1', port: this.run.job.port, noDelay: true })
    socket.on('connect', () => this.ask())
    socket.on('data', (chunk) => this.take(chunk))
    socket.on('error', (error) => this.run.fail(error.message))
    socket.on('close', () => {
      if (this.busy) this.run.fail('the connection closed in the middle of a stream')
    })
    return socket
  }

  private ask(): void {
    if (!this.run.mayStart()) {
      this.socket.end()
      this.run.connectionDone()
      return
    }
    this.busy = true
    this.chunks = []
    this.firstAt = 0
    this.startedAt = performance.now()
    this.socket.write(this.run.bytes)
  }

  private take(chunk: Buffer): void {
    const wrong = this.receive(chunk)
    if (wrong !== undefined) this.run.fail(wrong)
  }

  /** @returns what is wrong, or undefined. */
  private receive(chunk: Buffer): string | undefined {
    if (!this.busy) return 'bytes came after the end of a stream'
    if (this.chunks.length === 0) {
      this.firstAt = performance.now()
      if (!chunk.toString('latin1', 0, 12).startsWith('HTTP/1.1 200')) return `not 200: ${chunk.toString('utf8', 0, 600)}`
    }
    this.chunks.push(chunk)
    if (!this.ended(chunk)) return undefined
    this.busy = false
    const wrong = fault(Buffer.concat(this.chunks), this.run.job, this.run.completed % FULL_CHECK_EVERY === 0)
    if (wrong !== undefined) return wrong
    this.run.record(performance.now() - this.startedAt, this.firstAt - this.startedAt)
    this.ask()
    return undefined
  }

  /** True once the last chunk of the transfer coding has come; no text event holds these bytes. */
  private ended(chunk: Buffer): boolean {
    const tail = chunk.length >= 5 || this.chunks.length === 1 ? chunk : Buffer.concat(this.chunks.slice(-5))
    return tail.length >= 5 && tail.toString('latin1', tail.length - 5) === '0\r\n\r\n'
  }

  destroy(): void {
    this.busy = false
    this.socket.destroy()
  }
}

class StreamRun {
  readonly job: LoadJob
  readonly bytes: Buffer
  completed = 0
  private readonly latencies: number[] = []
  private readonly firsts: number[] = []
  private readonly startedAt = performance.now()
  private readonly connections: StreamConnection[] = []
  private readonly timeout: NodeJS.Timeout
  private readonly settle: PromiseWithResolvers<LoadResult>
  private open: number

  constructor(job: LoadJob, settle: PromiseWithResolvers<LoadResult>) {
    this.job = job
    this.settle = settle
    this.bytes = requestBytes(job)
    this.open = job.connections
    this.timeout = setTimeout(() => this.fail('streams did not end'), job.seconds * 1000 + DRAIN_MS)
    for (let at = 0; at < job.connections; at++) this.connections.push(new StreamConnection(this))
  }

  mayStart(): boolean {
    return performance.now() - this.startedAt < this.job.seconds * 1000
  }

  record(latency: number, first: number): void {
    this.completed += 1
    this.latencies.push(latency)
    this.firsts.push(first)
  }

  connectionDone(): void {
    this.open -= 1
    if (this.open > 0) return
    clearTimeout(this.timeout)
    const seconds = (performance.now() - this.startedAt) / 1000
    this.settle.resolve({ completed: this.completed, seconds, latencies: this.latencies, firsts: this.firsts })
  }

  fail(reason: string): void {
    clearTimeout(this.timeout)
    for (const connection of this.connections) connection.destroy()
    this.settle.reject(new Error(reason))
  }
}

function requestBytes(job: LoadJob): Buffer {
  const headers = Object.entries(job.headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = Buffer.byteLength(job.request.body)
  const head = `POST ${job.request.path} HTTP/1.1\r\nHost: 127.0.0.1:${job.port}\r\n${headers.join('')}Content-Length: ${length}\r\n\r\n`
  return Buffer.from(head + job.request.body)
}

/**
 * Runs streams for the job's seconds, then lets the open ones finish, so that every request that cost something counts.
 * @throws Error at the first reply that is not complete and right.
 */
export function runStreams(job: LoadJob): Promise<LoadResult> {
  const settle = Promise.withResolvers<LoadResult>()
  new StreamRun(job, settle)
  return settle.promise
}
