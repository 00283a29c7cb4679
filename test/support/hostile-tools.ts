/** A server of tools that answers as it should but for one method. */
import type { JsonObject } from '../../src/core/json.ts'
import type { Serve } from './canary.ts'

type Answered = JsonObject | Serve | undefined

/** A server of tools that answers as it should but for one method. */
export function remote(method: string, answer: (id: JsonObject['id']) => Answered): Serve {
  return (request, response) => {
    if (request.method !== 'POST')
      return void (method === request.method ? (answer(0) as Serve)(request, response) : response.writeHead(405).end())
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { id = null, method: asked, params } = JSON.parse(Buffer.concat(chunks).toString()) as JsonObject
      const given = asked === method ? answer(id) : usual(String(asked), params as JsonObject | undefined)
      if (typeof given === 'function') given(request, response)
      else if (id === null || asked === undefined) response.writeHead(202).end()
      else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...given }))
    })
  }
}

function usual(method: string, params: JsonObject | undefined): JsonObject {
  const about = { capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }
  if (method === 'initialize') return { result: { protocolVersion: params?.protocolVersion ?? '', ...about } }
  if (method === 'tools/list') return { result: { tools: [{ name: 'look', inputSchema: { type: 'object' } }] } }
  if (method === 'tools/call') return { result: { content: [{ type: 'text', text: 'seen' }] } }
  return { error: { code: -32601, message: 'none' } }
}

export const says =
  (body: string | Buffer, type = 'application/json'): Serve =>
  (_request, response) =>
    void response.writeHead(200, { 'content-type': type }).end(body)
export const lines = (...messages: unknown[]): Serve =>
  says(messages.map((message) => `data: ${JSON.stringify(message)}\n\n`).join(''), 'text/event-stream')
export const deep = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
/** An answer with this JSON as its result, which may be too deep to be made of objects. */
export const result =
  (json: string) =>
  (id: JsonObject['id']): Serve =>
    says(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${json}}`)
