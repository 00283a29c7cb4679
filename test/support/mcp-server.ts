/** A server of the Model Context Protocol, over both of its transports, with everything on record. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '../../src/core/json.ts'

export interface McpServer {
  readonly url: string
  readonly port: number
  /** Methods that were asked for, in order; of a call with the tool's name. */
  readonly asked: string[]
  readonly calls: { name: string; args: JsonObject }[]
  /** Heads of all requests. */
  readonly heads: IncomingMessage[]
  close(): Promise<void>
}

export interface McpServerOptions {
  tools?: readonly JsonObject[]
  /** Answer of a call; a call with undefined never answers. */
  answer?: (name: string, args: JsonObject) => JsonObject | undefined
  transport?: 'http' | 'http-stream' | 'sse'
  /** Address that it listens at; 127.0.0.1 where absent. */
  host?: string | undefined
  /** Of every answer, instead of what it should be. */
  status?: number
  headers?: Record<string, string>
  /** Takes a request over. */
  instead?: (request: IncomingMessage, response: ServerResponse) => boolean
}

export const TOOLS: readonly JsonObject[] = [
  {
    name: 'read_note',
    description: 'Reads a note.',
    inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    annotations: { readOnlyHint: true },
  },
  { name: 'delete.note', description: 'Deletes a note.', inputSchema: { type: 'object', properties: { id: { type: 'string' } } } },
]

const text = (utterance: string): JsonObject => ({ content: [{ type: 'text', text: utterance }] })

export async function startMcpServer(options: McpServerOptions = {}): Promise<McpServer> {
  const { transport = 'http', host = '127.0.0.1', status, headers = {}, instead } = options
  const asked: string[] = []
  const calls: McpServer['calls'] = []
  const heads: IncomingMessage[] = []
  const streams: ServerResponse[] = []

  function reply({ id, method, params }: JsonObject): JsonObject | undefined {
    const ok = (result: JsonObject): JsonObject => ({ jsonrpc: '2.0', id: id ?? null, result })
    const given = (params ?? {}) as JsonObject
    asked.push(method === 'tools/call' ? `tools/call ${String(given.name)}` : String(method))
    if (method === 'initialize')
      return ok({ protocolVersion: given.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'stand-in', version: '1' } })
    if (method === 'tools/list') return ok({ tools: [...(options.tools ?? TOOLS)] })
    if (method === 'tools/call') {
      const args = (given.arguments ?? {}) as JsonObject
      calls.push({ name: String(given.name), args })
      const answer = options.answer ? options.answer(String(given.name), args) : text(`${String(given.name)} did ${JSON.stringify(args)}`)
      if (answer?.code !== undefined) return { jsonrpc: '2.0', id: id ?? null, error: answer }
      return answer && ok(answer)
    }
    return { jsonrpc: '2.0', id: id ?? null, error: { code: -32601, message: 'no such method' } }
  }

  const server = createServer((request, response) => {
    heads.push(request)
    if (instead?.(request, response)) return
    if (status !== undefined) {
      response.writeHead(status, headers).end()
      return
    }
    if (request.method === 'GET') {
      if (transport !== 'sse') {
        response.writeHead(405).end()
        return
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('event: endpoint\ndata: /messages?session=1\n\n')
      streams.push(response)
      return
    }
    if (request.method !== 'POST' || (transport === 'sse' && !request.url?.startsWith('/messages'))) {
      response.writeHead(request.method === 'DELETE' ? 200 : 405).end()
      return
    }
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString()
    })
    request.on('end', () => {
      const message = JSON.parse(body) as JsonObject
      if (message.id === undefined) asked.push(String(message.method))
      const answer = message.id === undefined ? undefined : reply(message)
      if (message.id !== undefined && !answer) return
      if (transport === 'sse') {
        response.writeHead(202).end()
        if (answer) streams.at(-1)?.write(`event: message\ndata: ${JSON.stringify(answer)}\n\n`)
      } else if (!answer) response.writeHead(202).end()
      else if (transport === 'http-stream')
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`event: message\ndata: ${JSON.stringify(answer)}\n\n`)
      else response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's1' }).end(JSON.stringify(answer))
    })
  })
  server.listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host}:${port}/mcp`,
    port,
    asked,
    calls,
    heads,
    close: async () => {
      for (const stream of streams) stream.end()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
