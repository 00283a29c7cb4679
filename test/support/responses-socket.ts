/** A client of Responses over WebSocket: one connection, its messages in order, and how it ended. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import type { JsonObject } from '../../src/core/json.ts'
import { eventually } from './eventually.ts'

const ENDS = new Set<unknown>(['response.completed', 'response.incomplete', 'response.failed', 'error'])

export class ResponsesSocket {
  readonly ws: WebSocket
  /** Every message so far. */
  readonly messages: JsonObject[] = []
  closed: { code: number; reason: string } | undefined
  pings = 0
  private read = 0

  constructor(ws: WebSocket) {
    this.ws = ws
    ws.on('message', (data) => this.messages.push(JSON.parse(String(data)) as JsonObject))
    ws.on('ping', () => this.pings++)
    ws.on('close', (code, reason) => {
      this.closed = { code, reason: String(reason) }
    })
    ws.on('error', () => {})
  }

  /** Requests a response, and waits for the message that ends it. @returns all of its messages. */
  async respond(body: JsonObject): Promise<JsonObject[]> {
    this.send({ type: 'response.create', ...body })
    return this.reply()
  }

  send(message: JsonObject): void {
    this.ws.send(JSON.stringify(message))
  }

  /** The messages up to the next one that ends a response. */
  async reply(): Promise<JsonObject[]> {
    const end = await eventually(
      'the end of a response',
      () => {
        const at = this.messages.findIndex(({ type }, at) => at >= this.read && ENDS.has(type))
        return at === -1 ? undefined : at + 1
      },
      { found: () => ({ messages: this.messages.slice(-3), closed: this.closed }) },
    )
    const reply = this.messages.slice(this.read, end)
    this.read = end
    return reply
  }

  ended(): Promise<{ code: number; reason: string }> {
    return eventually('the end of the connection', () => this.closed)
  }
}

interface Opening {
  readonly url: string
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly path?: string
}

function dial({ url, key, headers, path = '/v1/responses' }: Opening): WebSocket {
  const authorization: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` }
  return new WebSocket(`${url.replace(/^http/, 'ws')}${path}`, { headers: { ...authorization, ...headers } })
}

export async function openSocket(opening: Opening): Promise<ResponsesSocket> {
  const ws = dial(opening)
  const client = new ResponsesSocket(ws)
  await once(ws, 'open')
  return client
}

/** A handshake that is refused. */
export async function refusedSocket(opening: Opening): Promise<{ status: number; headers: IncomingMessage['headers']; body: JsonObject }> {
  const ws = dial(opening)
  ws.on('error', () => {})
  const [, response] = (await once(ws, 'unexpected-response')) as [unknown, IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  return { status: response.statusCode ?? 0, headers: response.headers, body: text === '' ? {} : (JSON.parse(text) as JsonObject) }
}

/** The last message of a reply. */
export function lastEvent(reply: readonly JsonObject[]): JsonObject {
  return reply.at(-1) ?? {}
}

export function responseId(reply: readonly JsonObject[]): string {
  return String((lastEvent(reply).response as JsonObject | undefined)?.id)
}
