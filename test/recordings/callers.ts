/** The three client formats: a short request of each, and how its replies are read. */
import type { JsonObject } from '../../src/core/json.ts'
import type { FoldedReply } from '../support/fold.ts'
import { CLIENTS, type Client } from '../support/matrix/clients.ts'
import type { AnyWireName } from '../support/wire.ts'

/** A request that leaves nothing of a reply out. */
const SHORT: Readonly<Record<Client['id'], JsonObject>> = {
  chat: { messages: [{ role: 'user', content: 'Hello' }] },
  responses: { input: 'Hello', include: ['reasoning.encrypted_content'] },
  messages: { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4096, thinking: { type: 'enabled', budget_tokens: 1024 } },
}

const SAME: Readonly<Record<Client['id'], AnyWireName>> = { chat: 'openai-chat', responses: 'openai-responses', messages: 'anthropic' }

export const sameWire = (client: Client, wire: AnyWireName): boolean => SAME[client.id] === wire

/** The client whose format is this wire. */
export const wireClient = (wire: AnyWireName): Client | undefined => CLIENTS.find((client) => sameWire(client, wire))

export const shortRequest = (client: Client, model: string, stream: boolean): JsonObject => ({ model, ...SHORT[client.id], stream })

export function foldReply(client: Client, body: string, stream: boolean): FoldedReply {
  return stream ? client.foldStream(body) : client.fold(JSON.parse(body) as JsonObject)
}

export { CLIENTS, type Client }
