/** A receiver of webhooks, scripted: what it was sent, each checked for its signature by hand, and what it answers. */
import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '../../src/core/json.ts'

export const WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
export const FORMER_SECRET = `whsec_${Buffer.alloc(24, 9).toString('base64')}`

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly event: JsonObject & { id: string; type: string; data: JsonObject }
}

export interface WebhookReceiver {
  readonly url: string
  readonly received: Received[]
  /** Events by type, each id once. */
  typesTaken(): string[]
  /** Answers from now on. */
  answer: (request: IncomingMessage, response: ServerResponse) => void
  close(): Promise<void>
}

export const status =
  (code: number, headers: Record<string, string> = {}) =>
  (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(code, headers).end()
  }

/** Standard Webhooks 1.0.0, "Signature scheme", without any library. */
export function expectedSignature({ headers, body }: Received, secret: string): string {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
}

export async function startReceiver(port = 0): Promise<WebhookReceiver> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      received.push({ headers: request.headers, body, event: JSON.parse(body) as Received['event'] })
      receiver.answer(request, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    typesTaken: () => [...new Map(received.map(({ event }) => [event.id, event.type])).values()],
    answer: status(204),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return receiver
}
