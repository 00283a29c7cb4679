/**
 * The yardstick: the least that a gateway in Node does. Reads the body, parses it once (a gateway must look at it),
 * sends the original bytes on through an undici pool, and passes reply head and chunks back with back-pressure.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Dispatcher, Pool } from 'undici'
import { serveToParent, upstreamPort } from '../child.ts'

const pool = new Pool(`http://127.0.0.1:${upstreamPort()}`, {
  connections: null,
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveTimeout: 60_000,
})

class Relay implements Dispatcher.DispatchHandler {
  private readonly response: ServerResponse
  private controller: Dispatcher.DispatchController | undefined
  private done = false
  /** Length of the reply when the upstream told it, else -1. */
  private length = -1

  constructor(response: ServerResponse) {
    this.response = response
    response.on('close', () => {
      if (!this.done) this.controller?.abort(new Error('the client has gone'))
    })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    const head: Record<string, string | string[]> = {}
    for (const name in headers) {
      const value = headers[name]
      if (value === undefined || name === 'connection' || name === 'keep-alive' || name === 'transfer-encoding' || name === 'date') continue
      head[name] = value
    }
    if (headers['content-length'] !== undefined) this.length = Number(headers['content-length'])
    this.response.writeHead(status, head)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (chunk.length === this.length) {
      // A reply in one piece leaves in one write together with its head.
      this.done = true
      this.response.end(chunk)
      return
    }
    if (this.response.write(chunk)) return
    controller.pause()
    this.response.once('drain', () => controller.resume())
  }

  onResponseEnd(): void {
    if (this.done) return
    this.done = true
    this.response.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.done = true
    if (this.response.headersSent) this.response.destroy(error)
    else this.response.writeHead(502).end()
  }
}

function forward(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  try {
    JSON.parse(body.toString())
  } catch {
    response.writeHead(400).end()
    return
  }
  const headers = ['content-type', 'application/json', 'authorization', request.headers.authorization ?? '']
  pool.dispatch({ path: request.url ?? '/', method: 'POST', headers, body }, new Relay(response))
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => forward(request, response, chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
})
serveToParent(server)
