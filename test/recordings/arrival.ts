/**
 * Arrival of a recorded request at a provider of the same format: all of it, save the changes that docs/dialects.md
 * lists under `openai-chat`, `openai-responses` and `anthropic`, and the fields that only the gateway reads.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../src/core/json.ts'
import type { Client } from './callers.ts'
import type { Difference } from './compare.ts'
import { list, object } from './expected.ts'
import { UPSTREAM_MODEL } from './providers.ts'
import { listLeaves } from './whole.ts'

/** docs/dialects.md, "Fields that are never sent"; the tier is the endpoint's own. */
const NEVER_SENT = [
  'models',
  'provider',
  'route',
  'plugins',
  'session_id',
  'trace',
  'debug',
  'stop_server_tools_when',
  'max_tool_calls',
  'preset',
  'transforms',
  'fallbacks',
  'service_tier',
]

/** docs/dialects.md, `openai-chat`: left out. */
const NOT_OF_CHAT = ['n', 'usage', 'metadata', 'image_config', 'cache_control', 'include_reasoning']

/** Fields that the gateway refuses, and says so (docs/dialects.md, "Requests that are refused"). */
const REFUSED: Readonly<Record<Client['id'], Readonly<Record<string, (value: Json | undefined) => boolean>>>> = {
  chat: { store: (value) => value === true },
  responses: {
    store: (value) => value === true,
    background: (value) => value === true,
    previous_response_id: (value) => typeof value === 'string',
    conversation: (value) => (value ?? null) !== null,
  },
  messages: {},
}

/** The request without what is refused, and the names of that. */
export function accepted(client: Client, body: JsonObject): { body: JsonObject; refused: string[] } {
  const refused = Object.entries(REFUSED[client.id]).flatMap(([field, refuses]) => (refuses(body[field]) ? [field] : []))
  return { body: Object.fromEntries(Object.entries(body).filter(([field]) => !refused.includes(field))), refused }
}

/** docs/dialects.md, `openai-chat`: what SDKs leave in a reply that comes back. The place of a call says its index. */
function withoutIndex(message: JsonObject): JsonObject {
  if (!Array.isArray(message.tool_calls)) return message
  return { ...message, tool_calls: list(message.tool_calls).map(({ index: _index, ...call }) => call) }
}

function chatArrival(body: JsonObject): JsonObject {
  const arrival: JsonObject = { ...body }
  if (Array.isArray(body.messages)) arrival.messages = list(body.messages).map(withoutIndex)
  for (const field of NOT_OF_CHAT) delete arrival[field]
  // A null stands for what was left blank.
  for (const [field, value] of Object.entries(arrival)) if (value === null) delete arrival[field]
  if (arrival.store !== undefined) arrival.store = false
  if (body.stream === true) arrival.stream_options = { ...object(body.stream_options), include_usage: true }
  else {
    delete arrival.stream
    delete arrival.stream_options
  }
  return arrival
}

function responsesArrival(body: JsonObject): JsonObject {
  const { background: _, previous_response_id: _id, conversation: _conversation, ...rest } = body
  return { stream: false, ...rest, store: false }
}

function messagesArrival(body: JsonObject): JsonObject {
  const { stream, ...rest } = body
  return stream === true ? body : rest
}

const ARRIVALS: Readonly<Record<Client['id'], (body: JsonObject) => JsonObject>> = {
  chat: chatArrival,
  responses: responsesArrival,
  messages: messagesArrival,
}

/** Leaf by leaf, in both directions. */
export function arrivalDifferences(client: Client, request: JsonObject, arrived: JsonObject): Difference[] {
  const sent = Object.fromEntries(Object.entries(request).filter(([field]) => !NEVER_SENT.includes(field)))
  const wanted = new Map(listLeaves({ ...ARRIVALS[client.id](sent), model: UPSTREAM_MODEL }).map(({ path, value }) => [path, value]))
  const found = new Map(listLeaves(arrived).map(({ path, value }) => [path, value]))
  const differences: Difference[] = []
  for (const [path, value] of wanted)
    if (!isDeepStrictEqual(found.get(path), value)) differences.push({ leaf: path, expected: value, got: found.get(path) })
  for (const [path, value] of found) if (!wanted.has(path)) differences.push({ leaf: path, expected: undefined, got: value })
  return differences
}
