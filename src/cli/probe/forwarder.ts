/** Stands between the gateway and the provider for the length of a probe: passes everything on, and keeps requests and replies. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request as requestHttp, type Server, type ServerResponse } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { contentCoding, createDecoder } from '../../core/content-coding.ts'
import { networkFault } from '../../machines/http1-client/network-fault.ts'
import { Pools } from '../../services/upstream/pools.ts'
import type { Subject } from './subject.ts'

/** One call of the provider. */
export interface Call {
  readonly method: string
  /** Behind the base URL. */
  readonly path: string
  readonly request: string
  status: number
  contentType: string
  response: string
  /** Why no reply came: the fault of the connection and, where it is known, its cause in one word. */
  failure?: string
}

/** Of one reply, in characters: what is longer is cut in the recording, and handed on whole. */
const LONGEST = 1_000_000
/** Headers of one connection, and those that Node's client sets itself. */
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
  private readonly provider: Subject['provider']
  private readonly pools: Pools

  /** @param env names a proxy, if one stands in front of the provider. */
  constructor(provider: Subject['provider'], env: Readonly<Record<string, string | undefined>>) {
    this.provider = provider
    this.pools = new Pools({ env })
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
    await Promise.all([once(this.server, 'close'), this.pools.close()])
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
    const answer = await this.replyTo(call, headers, body).catch((error: Error) => {
      const { message, reason } = networkFault(error, false)
      call.failure = reason === undefined ? message : `${message}: ${reason.replaceAll('_', ' ')}`
      throw error
    })
    call.status = answer.statusCode ?? 0
    call.contentType = answer.headers['content-type'] ?? ''
    const retry = answer.headers['retry-after']
    response.writeHead(call.status, { 'content-type': call.contentType, ...(retry === undefined ? {} : { 'retry-after': retry }) })
    const coding = contentCoding(answer.headers['content-encoding'])
    const decoder = coding === undefined ? undefined : createDecoder(coding)
    const content: Readable = decoder ? answer.pipe(decoder) : answer
    const text = new TextDecoder()
    for await (const chunk of content as AsyncIterable<Buffer>) {
      if (call.response.length < LONGEST) call.response += text.decode(chunk, { stream: true })
      response.write(chunk)
    }
    response.end()
  }

  /** Calls the provider over connections as a gateway makes them. */
  private replyTo({ method, path }: Call, headers: readonly (readonly [string, string])[], body: Buffer): Promise<IncomingMessage> {
    const { baseUrl, timeouts, connection } = this.provider
    const url = new URL(`${baseUrl}${path}`)
    const agent = this.pools.agent({ origin: url.origin, connectTimeout: timeouts.connect, connection })
    return new Promise((resolve, reject) => {
      const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(
        url,
        { method, headers: { ...Object.fromEntries(headers), 'content-length': body.length }, agent },
        resolve,
      )
      request.on('error', reject).end(body)
    })
  }
}
