/**
 * The provider of a soak: every wire, streams in small pieces over time, and faults at stated shares. Started with an IPC
 * channel; sends `{ port }`.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { JsonObject } from '../../src/core/json.ts'
import { framesFor, replyFor, type Utterance } from '../../test/support/wire.ts'
import { serveToParent } from '../child.ts'

/** Shares of the calls: a status before content, a connection that dies after content, silence after content. */
const FAULTS = { refused: 0.02, limited: 0.01, cut: 0.01, stalled: 0.001 }
/** Milliseconds between the pieces of a stream, and before a whole reply. */
const PACE = 8
const UTTERANCES: Utterance = {
  text: Array.from({ length: 12 }, (_, index) => `word${index} and some more text `),
  usage: { input: 420, output: 60, cached: 100, reasoning: 0 },
}
const VECTOR = Array.from({ length: 256 }, (_, index) => Math.sin(index))

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, PACE))
const frames = new Map<string, readonly string[]>()

function pathFrames(path: string): readonly string[] {
  let found = frames.get(path)
  if (!found) {
    found = framesFor(path, UTTERANCES)
    frames.set(path, found)
  }
  return found
}

async function stream(response: ServerResponse, path: string, fault: string | undefined): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const all = pathFrames(path)
  const half = Math.floor(all.length / 2)
  for (const [index, frame] of all.entries()) {
    if (response.destroyed) return
    if (index === half && fault === 'stalled') return
    if (index === half && fault === 'cut') {
      response.destroy()
      return
    }
    if (index % 4 === 0) await pause()
    response.write(frame)
  }
  response.end()
}

function send(response: ServerResponse, status: number, body: JsonObject): void {
  const text = JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text)
}

function drawFault(chance: number): string | undefined {
  let sum = 0
  for (const [name, share] of Object.entries(FAULTS)) {
    sum += share
    if (chance < sum) return name
  }
  return undefined
}

async function answer(path: string, body: JsonObject, response: ServerResponse): Promise<void> {
  const fault = drawFault(Math.random())
  if (fault === 'refused') return send(response, 500, { error: { message: 'broken', type: 'server_error' } })
  if (fault === 'limited') return send(response, 429, { error: { message: 'slow down', type: 'rate_limit_error' } })
  if (path.endsWith('/embeddings')) {
    const data = [{ object: 'embedding', index: 0, embedding: VECTOR }]
    return send(response, 200, { object: 'list', model: 'm', data, usage: { prompt_tokens: 7, total_tokens: 7 } })
  }
  if (body.stream === true) return stream(response, path, fault)
  await pause()
  if (fault === 'cut') response.destroy()
  else send(response, 200, replyFor(path, UTTERANCES))
}

async function readBody(request: IncomingMessage): Promise<JsonObject> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString()) as JsonObject
}

serveToParent(
  createServer(async (request, response) => {
    response.on('error', () => undefined)
    try {
      await answer(request.url ?? '', await readBody(request), response)
    } catch {
      response.destroy()
    }
  }),
)
