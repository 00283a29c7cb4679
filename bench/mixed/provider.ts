/**
 * The provider of the mixed traffic: whole replies at once, streams at the pace of a model. A stream has a pace of its own between 20 and
 * 80 tokens per second; the first argument is how many tokens one event brings (4).
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { serveToParent } from '../child.ts'
import { CHAT_BODY, CHAT_STREAM, embeddingsBody } from '../replies.ts'
import { seededChance } from '../simulation/chance.ts'
import { PACE } from './traffic.ts'

/** Tokens of one event: providers send several at once where they come fast. */
const TOKENS = Number(process.argv[2] ?? 4)
/** Milliseconds of the wheel: more than the slowest stream waits for its next event. */
const SLOTS = 1024

interface Stream {
  readonly response: ServerResponse
  readonly socket: Socket
  /** Milliseconds between two events. */
  readonly gap: number
  next: number
}

const chance = seededChance(11)
const wheel: Stream[][] = Array.from({ length: SLOTS }, () => [])
const begun = performance.now()
let turned = 0

function schedule(stream: Stream, after: number): void {
  wheel[Math.floor(turned + Math.max(1, Math.min(SLOTS - 1, after))) % SLOTS]?.push(stream)
}

/** Writes one event, and plans the next one. */
function step(stream: Stream): void {
  if (stream.socket.destroyed) return
  const chunk = CHAT_STREAM[stream.next]
  if (chunk) stream.socket.write(chunk)
  stream.next++
  if (stream.next < CHAT_STREAM.length) schedule(stream, stream.gap)
  else stream.response.end()
}

/** Serves every slot that is due by the clock: a late timer must not slow the pace. */
function turn(): void {
  const due = Math.floor(performance.now() - begun)
  while (turned < due) {
    turned++
    const streams = wheel[turned % SLOTS] ?? []
    if (streams.length === 0) continue
    wheel[turned % SLOTS] = []
    for (const stream of streams) step(stream)
  }
}

function startStream(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Transfer-Encoding': 'chunked' })
  response.flushHeaders()
  const { socket } = response
  if (socket === null) return
  const tokensPerSecond = PACE.least + chance() * (PACE.most - PACE.least)
  step({ response, socket, gap: (1000 * TOKENS) / tokensPerSecond, next: 0 })
}

function whole(response: ServerResponse, body: Buffer): void {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length }).end(body)
}

function answer({ url }: IncomingMessage, response: ServerResponse, body: Buffer): void {
  if (url === '/v1/embeddings') whole(response, embeddingsBody(1))
  else if (body.includes('"stream":true')) startStream(response)
  else whole(response, CHAT_BODY)
}

setInterval(turn, 1).unref()
serveToParent(
  createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => answer(request, response, Buffer.concat(chunks)))
  }),
)
