/** A provider that keeps records of its own: what it was asked under which generation, and what it has answered. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '../../../src/core/json.ts'
import { framesFor, replyFor, type Utterance } from '../wire.ts'

/** `error`: a status before any content. `cut`: the connection dies after content. `stall`: content, then nothing more. */
export type Manner = 'prompt' | 'slow' | 'error' | 'cut' | 'stall'

export interface Call {
  readonly manner: Manner
  /** Tokens that this answer reports; no two answers report the same input. */
  readonly input: number
  readonly output: number
  /** The last content of a good answer is on its way: from here on it may be settled as completed. */
  answered: boolean
  /** The whole of a good answer was handed to the network. */
  completed: boolean
}

const OUTPUT = 3
const PIECES = ['one ', 'two ', 'three']

export class BookkeepingProvider {
  /** Calls by the generation that the gateway named in `x-client-request-id`, in the order of their coming. */
  readonly calls = new Map<string, Call[]>()
  received = 0
  private serial = 100
  private waiting: { count: number; resolve: () => void }[] = []
  private readonly random: () => number
  private readonly server = createServer((request, response) => void this.answer(request, response))

  /** @param random from 0 to below 1: decides how each answer goes. */
  constructor(random: () => number) {
    this.random = random
  }

  async listen(): Promise<string> {
    this.server.listen(0, '127.0.0.1')
    await once(this.server, 'listening')
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  /** Resolves when so many calls have come in all. */
  reached(count: number): Promise<void> {
    if (this.received >= count) return Promise.resolve()
    return new Promise((resolve) => this.waiting.push({ count, resolve }))
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {})
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer)
    } catch {
      return
    }
    // A list of models, which a health check of the gateway looks at.
    if (request.method === 'GET') {
      response.writeHead(404).end()
      return
    }
    const body = JSON.parse(Buffer.concat(chunks).toString()) as JsonObject
    const call: Call = { manner: mannerFor(this.random()), input: this.serial++, output: OUTPUT, answered: false, completed: false }
    const id = String(request.headers['x-client-request-id'])
    this.calls.set(id, [...(this.calls.get(id) ?? []), call])
    this.count()
    response.on('finish', () => {
      call.completed = call.answered
    })
    const utterance: Utterance = { text: PIECES, usage: { input: call.input, output: OUTPUT } }
    if (call.manner === 'error') response.writeHead(500, { 'content-type': 'application/json' }).end('{"error":{"message":"broken"}}')
    else if (body.stream === true) await this.stream(response, call, framesFor(request.url ?? '', utterance))
    else await this.whole(response, call, JSON.stringify(replyFor(request.url ?? '', utterance)))
  }

  private async stream(response: ServerResponse, call: Call, frames: readonly string[]): Promise<void> {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const half = frames.findIndex((frame) => frame.includes('two ')) + 1
    for (const [index, frame] of frames.entries()) {
      if (index === half && (await this.hasEnded(response, call))) return
      if (call.manner === 'slow') await this.pause()
      if (index === frames.length - 2) call.answered = true
      response.write(frame)
    }
    response.end()
  }

  private async whole(response: ServerResponse, call: Call, text: string): Promise<void> {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    response.write(text.slice(0, 40))
    if (await this.hasEnded(response, call)) return
    if (call.manner === 'slow') await this.pause()
    call.answered = true
    response.end(text.slice(40))
  }

  /** Leaves an answer that does not come to its end, once the network has what was written. @returns true for such an answer. */
  private async hasEnded(response: ServerResponse, call: Call): Promise<boolean> {
    if (call.manner !== 'stall' && call.manner !== 'cut') return false
    // Node gathers what is written in one turn, and a destroyed response would take it along.
    await new Promise((resolve) => setImmediate(resolve))
    if (call.manner === 'cut') response.destroy()
    return true
  }

  /** Milliseconds that a slow provider takes from one piece to the next. */
  private pause(): Promise<void> {
    const ms = 1 + this.random() * 30
    return new Promise((resolve) => setTimeout(resolve, ms))
  }

  private count(): void {
    this.received++
    const { waiting } = this
    this.waiting = waiting.filter(({ count }) => count > this.received)
    for (const { count, resolve } of waiting) if (count <= this.received) resolve()
  }
}

function mannerFor(chance: number): Manner {
  if (chance < 0.6) return 'prompt'
  if (chance < 0.85) return 'slow'
  if (chance < 0.92) return 'error'
  return chance < 0.985 ? 'cut' : 'stall'
}
