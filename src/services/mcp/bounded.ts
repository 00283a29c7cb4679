/**
 * Bounds on the messages of a server. The library checks each part of it, and for a part that is wrong that takes a
 * thousand times as long as reading it: three megabytes of `{}` would keep the event loop for a minute.
 */
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { isObject, type JsonObject } from '../../core/json.ts'

/** Items of a list that are looked at. */
const TOOLS = 512
const BLOCKS = 256
/** Values of any kind in one message. */
const PARTS = 20_000
/** Messages in one answer, and of one connection. */
const TOGETHER = 16
const MESSAGES = 2000

/** Applies the bounds to the messages of a transport. @param tooMany called where a connection has more than `MESSAGES`. */
export function boundMessages(transport: Transport, tooMany: () => void): void {
  let listener: Transport['onmessage']
  let messages = 0
  const deliver: NonNullable<Transport['onmessage']> = (message, extra) => {
    if (++messages > MESSAGES) return tooMany()
    const fit = bounded(message)
    if (fit) listener?.(fit, extra)
  }
  Object.defineProperty(transport, 'onmessage', {
    configurable: true,
    get: () => (listener ? deliver : undefined),
    set: (given: Transport['onmessage']) => {
      listener = given
    },
  })
}

/** An answer whose JSON is no long list of messages. */
export function boundAnswer(response: Response): Response {
  const json = response.json.bind(response)
  const value = async (): Promise<unknown> => {
    const data: unknown = await json()
    if (Array.isArray(data) && data.length > TOGETHER) throw new Error('too many messages at once')
    return data
  }
  return Object.defineProperty(response, 'json', { value })
}

/** @returns undefined for an oversized message to which no request waits for an answer. */
function bounded(message: JSONRPCMessage): JSONRPCMessage | undefined {
  if ('result' in message && isObject(message.result)) cutLists(message.result)
  if (!exceeds(message)) return message
  if ('method' in message || message.id === undefined) return undefined
  return { jsonrpc: '2.0', id: message.id, error: { code: -32603, message: 'the answer has too many parts' } }
}

function cutLists(result: JsonObject): void {
  const { tools, content } = result
  if (Array.isArray(tools)) result.tools = tools.slice(0, TOOLS).filter((tool) => isObject(tool) && typeof tool.name === 'string')
  if (Array.isArray(content)) result.content = content.slice(0, BLOCKS).filter((block) => isObject(block) && typeof block.type === 'string')
}

function exceeds(message: unknown): boolean {
  const open: unknown[] = [message]
  let parts = 0
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (typeof at !== 'object' || at === null) continue
    for (const key in at) {
      if (++parts > PARTS) return true
      open.push((at as Record<string, unknown>)[key])
    }
  }
  return false
}
