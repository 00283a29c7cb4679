/**
 * The mock upstream: answers in every wire as cheaply as node:http can, so that it is never what
 * limits a run. Started with an IPC channel; sends `{ port }` and leaves when the channel closes.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { entryAt } from '../src/core/entry-at.ts'
import { AGENT_ECHO } from './agent-requests.ts'
import { serveToParent } from './child.ts'
import { ANTHROPIC_STREAM, GEMINI_STREAM } from './native-streams.ts'
import { CHAT_BODY, CHAT_STREAM, chunked, embeddingsBody, RESPONSE_BODY, RESPONSE_STREAM, responseFrames } from './replies.ts'

/** The stream of a turn of an agent shows its instructions and tools. */
const AGENT_RESPONSE_STREAM = responseFrames(AGENT_ECHO).map(chunked)
/** Bytes from which a body is one. */
const AGENT_BODY = 100_000

/** A paced stream gets one event every so many milliseconds. */
const PACE_MS = 5

interface Stream {
  readonly response: ServerResponse
  readonly socket: Socket
  readonly chunks: readonly Buffer[]
  next: number
}

/** Unpaced streams: one event each per turn of the event loop. */
let running: Stream[] = []
let turning = false

/** Paced streams: spread over slots a millisecond apart, as independent providers would be. */
const slots: Stream[][] = Array.from({ length: PACE_MS }, () => [])
const pacedSince = performance.now()
let ticks = 0
let nextSlot = 0

/** Writes one event. @returns whether the stream goes on. */
function step(stream: Stream): boolean {
  if (stream.socket.destroyed) return false
  if (stream.socket.writableNeedDrain) return true
  stream.socket.write(entryAt(stream.chunks, stream.next))
  stream.next += 1
  if (stream.next < stream.chunks.length) return true
  stream.response.end()
  return false
}

function turn(): void {
  running = running.filter(step)
  turning = running.length > 0
  if (turning) setImmediate(turn)
}

/** Serves every slot that is due by the clock: a late timer must not slow the pace. */
function tick(): void {
  const due = Math.floor(performance.now() - pacedSince)
  for (; ticks < due; ticks++) {
    const slot = ticks % PACE_MS
    const streams = entryAt(slots, slot)
    if (streams.length > 0) slots[slot] = streams.filter(step)
  }
}

function startStream(response: ServerResponse, chunks: readonly Buffer[], paced: boolean): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache', 'Transfer-Encoding': 'chunked' })
  response.flushHeaders()
  const socket = response.socket
  if (socket === null) return
  // The chunks carry their own transfer framing and go straight to the socket: the response writes only head and end.
  const stream: Stream = { response, socket, chunks, next: 0 }
  if (paced) {
    nextSlot = (nextSlot + 1) % PACE_MS
    entryAt(slots, nextSlot).push(stream)
    return
  }
  running.push(stream)
  if (!turning) {
    turning = true
    setImmediate(turn)
  }
}

function answerWhole(response: ServerResponse, reply: Buffer): void {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': reply.length }).end(reply)
}

function answer(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  const { url = '' } = request
  const native = url === '/v1/messages' ? ANTHROPIC_STREAM : url.includes(':streamGenerateContent') ? GEMINI_STREAM : undefined
  if (native) {
    startStream(response, native, false)
    return
  }
  if (url === '/v1/embeddings') {
    const { input } = JSON.parse(body.toString()) as { input: string | string[] }
    answerWhole(response, embeddingsBody(typeof input === 'string' ? 1 : input.length))
    return
  }
  const chat = url === '/v1/chat/completions'
  if (!chat && url !== '/v1/responses') {
    response.writeHead(404).end()
    return
  }
  if (body.includes('"stream":true')) {
    const whole = body.length < AGENT_BODY ? RESPONSE_STREAM : AGENT_RESPONSE_STREAM
    startStream(response, chat ? CHAT_STREAM : whole, body.includes('chat-paced'))
    return
  }
  answerWhole(response, chat ? CHAT_BODY : RESPONSE_BODY)
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => answer(request, response, chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
})
setInterval(tick, 1).unref()
serveToParent(server)
