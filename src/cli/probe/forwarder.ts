/** Stands between the gateway and the provider for the length of a probe: hands everything on, and keeps what was said. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One call of the provider. */
export interface Call {
  readonly method: string
  /** Behind the base URL. */
  readonly path: string
  readonly request: string
  status: number
  contentType: string
  response: string
}

/** Of one reply, in characters: what is longer is cut in the recording, and handed on whole. */
const LONGEST = 1_000_000
/** Headers of one connection, and those that Node's fetch sets itself. */
const OWN: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'accept-encoding',
  'keep-alive',
  'expect',
])

export class Forwarder {
  readonly calls: Call[] = []
  private readonly server: Server
  private readonly target: string

  /** @param target base URL of the provider. */
  constructor(target: string) {
    this.target = target
    this.server = createServer((request, response) => {
      this.forward(request, response).catch(() => response.destroy())
    })
  }

  /** @returns the address that takes the place of the provider's. */
  async open(): Promise<string> {
    this.server.listen(0, '127.0.0.1')
    await once(this.server, 'listening')
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    this.server.close()
    await once(this.server, 'close')
  }

  private async forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const { method = 'POST', url = '/' } = request
    const call: Call = { method, path: url, request: body.toString('utf8'), status: 0, contentType: '', response: '' }
    this.calls.push(call)
    const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
      OWN.has(name) || value === undefined ? [] : [[name, String(value)]],
    )
    const answer = await fetch(`${this.target}${url}`, { method, headers, redirect: 'manual', ...(body.length > 0 ? { body } : {}) })
    call.status = answer.status
    call.contentType = answer.headers.get('content-type') ?? ''
    const retry = answer.headers.get('retry-after')
    response.writeHead(answer.status, { 'content-type': call.contentType, ...(retry === null ? {} : { 'retry-after': retry }) })
    const decoder = new TextDecoder()
    for await (const chunk of answer.body ?? []) {
      if (call.response.length < LONGEST) call.response += decoder.decode(chunk, { stream: true })
      response.write(chunk)
    }
    response.end()
  }
}
