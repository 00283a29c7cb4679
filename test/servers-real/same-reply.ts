/** Compares what callers of the gateway get with what the server itself replies to the same request, whole and without the gateway. */
import type { JsonObject } from '../../src/core/json.ts'
import { type Client, foldReply, wireClient } from '../recordings/callers.ts'
import { type Difference, describe, differences } from '../recordings/compare.ts'
import type { Expected } from '../recordings/expected.ts'
import { readMessage } from '../recordings/read-anthropic.ts'
import { readChat } from '../recordings/read-chat.ts'
import { readResponse } from '../recordings/read-responses.ts'
import type { Gateway } from '../support/gateway.ts'
import type { Asked } from '../support/matrix/asked.ts'

export type ServedWire = 'openai-chat' | 'openai-responses' | 'anthropic'

export const WIRES: readonly ServedWire[] = ['openai-chat', 'openai-responses', 'anthropic']
/** Of the gateway, by the wire of its provider. */
export const MODELS: Readonly<Record<ServedWire, string>> = {
  'openai-chat': 'chat/tiny-chat',
  'openai-responses': 'responses/tiny-chat',
  anthropic: 'messages/tiny-chat',
}

const READ: Readonly<Record<ServedWire, (reply: JsonObject) => Expected>> = {
  'openai-chat': readChat,
  'openai-responses': readResponse,
  anthropic: readMessage,
}

/** The body of a client; no thinking at all is a setting of its own in the format of Messages, and no effort. */
export function written(client: Client, { effort, ...asked }: Asked): JsonObject {
  if (effort !== 'none' || client.id !== 'messages') return client.write(effort === undefined ? asked : { ...asked, effort })
  return { ...client.write(asked), thinking: { type: 'disabled' } }
}

/** The server's own reply, parsed, with the output cap under both names that it has in Chat Completions. @throws where it is an error. */
export async function directReply(url: string, wire: ServedWire, asked: Asked, model = 'tiny-chat'): Promise<JsonObject> {
  const client = wireClient(wire)
  const older = wire === 'openai-chat' && asked.cap !== undefined ? { max_tokens: asked.cap } : {}
  const response = await fetch(`${url}${client?.path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({ model, stream: false, ...older, ...(client && written(client, asked)) }),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${response.status}: ${text}`)
  return JSON.parse(text) as JsonObject
}

/** Cached share of a prompt, which depends on what it served before; ids of calls are drawn anew. */
export function expectedReply(wire: ServedWire, reply: JsonObject): Expected {
  const expected = READ[wire](reply)
  for (const call of expected.calls) call.id = ''
  return expected
}

export interface Case {
  client: Client
  wire: ServedWire
  model: string
  stream: boolean
  body: JsonObject
  /** Values that the server draws anew for each reply. */
  drawn?: readonly string[] | undefined
}

/** @returns each difference in words. */
export async function found(
  gateway: Gateway,
  { client, wire, model, stream, body, drawn = [] }: Case,
  expected: Expected,
): Promise<string[]> {
  try {
    const response = await gateway.post(client.path, { model, stream, ...body })
    const text = await response.text()
    if (response.status !== 200) return [`${response.status}: ${text}`]
    const isCounted = ({ leaf }: Difference): boolean => leaf !== 'usage.cached' && leaf !== 'usage.written' && !drawn.includes(leaf)
    return differences(client, wire, expected, foldReply(client, text, stream))
      .filter(isCounted)
      .map(describe)
  } catch (error) {
    return [String(error)]
  }
}
