/**
 * Responses over a WebSocket: reads messages of clients as requests, and writes failures. OpenAI's guide "WebSocket mode" in
 * its version with `stream_id`; `ResponsesClientEvent` and `ResponsesServerEvent` of the package openai 7.57.0; Open Responses
 * specification 2026-04-24.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import { badField, Fault, type FaultFacts, faultBody } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import { type Member, scanMembers } from '../../machines/json-bytes/json-members.ts'
import type { ClientDialect, SocketAnswer, SocketBody, SocketFormat, SocketRequest } from '../types.ts'

/**
 * Codex names the version of the format: `OpenAI-Beta: responses_websockets=2026-02-06` (codex 0.169.0), and uses HTTP after a 426.
 * Version 2026-02-04 had a message `response.append` in place of `previous_response_id`. OpenAI's SDKs name none.
 */
const KNOWN_VERSION = '2026-02-06'

function knows(headers: IncomingHttpHeaders): boolean {
  const { 'openai-beta': betas } = headers
  const text = Array.isArray(betas) ? betas.join(',') : (betas ?? '')
  const versions = [...text.matchAll(/(?:^|[\s,])responses_websockets=([^\s,]*)/g)]
  return versions.every(([, version]) => version === KNOWN_VERSION)
}

/** Members of a message that a request over HTTP does not have, or that have no meaning here (guide, "Connect and create responses"). */
const ENVELOPE: ReadonlySet<string> = new Set(['type', 'generate', 'stream', 'stream_id', 'input'])

/** Message that Codex sends once it has read a response (codex-api, `ResponseProcessedWsRequest`): it wants no reply. */
const ACKNOWLEDGEMENT = 'response.processed'

const OPENING = Buffer.from('{"stream":true,"input":[')
const COMMA = Buffer.from(',')
const USER_MESSAGE = [Buffer.from('{"role":"user","content":'), Buffer.from('}')] as const

/** A short value; undefined where it is long or no JSON, which the check of the body then finds. */
function shortValue(message: Buffer, member: Member | undefined): unknown {
  if (!member || member.to - member.from > MAX_VALUE_LENGTH) return undefined
  try {
    return JSON.parse(message.toString('utf8', member.from, member.to))
  } catch {
    return undefined
  }
}

const MAX_VALUE_LENGTH = 1024

/** Input for a response that is being generated (`ResponseSteerEvent`). */
const STEERING = 'response.steer'

/** Guide, "Complete example". */
const LANE = /^[\w.-]{1,256}$/

/** @returns undefined for a message that wants no reply. @throws Fault 400. */
function read(message: Buffer): SocketRequest | SocketAnswer | undefined {
  const members = scanMembers(message)
  if (!members) throw new Fault('bad_request', { message: 'message: expected a JSON object' })
  const byName = new Map(members.map((member) => [member.name, member]))
  const value = (name: string): unknown => shortValue(message, byName.get(name))
  const type = value('type')
  if (type === ACKNOWLEDGEMENT) return undefined
  if (type === STEERING) return { answer: steerFailed(message, byName.get('input'), value('previous_response_id')) }
  if (type !== 'response.create') throw badField('type', 'expected response.create')
  const lane = laneIn(message, byName.get('stream_id'))
  const previous = value('previous_response_id') ?? undefined
  const continues = typeof previous === 'string' ? previous : undefined
  const generates = value('generate') !== false
  const rest = members.filter(({ name }) => !ENVELOPE.has(name))
  const input = byName.get('input')
  const body = (history: Buffer | undefined): SocketBody => {
    if (previous !== continues) throw badField('previous_response_id', 'expected the id of a response')
    return joinBody({ message, rest, input, mayLack: !generates }, history)
  }
  return { lane, continues, generates, body }
}

/** @throws Fault 400 with the code of the guide, "Errors to handle". */
function laneIn(message: Buffer, member: Member | undefined): string | undefined {
  if (!member) return undefined
  const lane = shortValue(message, member)
  if (lane === null) return undefined
  if (typeof lane === 'string' && LANE.test(lane)) return lane
  throw new Fault('bad_request', {
    message: 'stream_id: expected 1 to 256 letters, digits, underscores, hyphens and periods',
    metadata: { field: 'stream_id', code: 'invalid_stream_id' },
  })
}

/** The mark of a lane consists of characters that JSON writes as they are. */
const laneMark = (lane: string | undefined): string => (lane === undefined ? '' : `{"stream_id":"${lane}",`)

/**
 * Steering needs a model that takes input while it answers. The client gets its input back, for a `response.create` of its own
 * once the response has ended (`ResponseSteerFailedEvent`, code `steering_not_supported`).
 */
function steerFailed(message: Buffer, input: Member | undefined, previous: unknown): Buffer {
  const valid = typeof previous === 'string' && input !== undefined
  const event = {
    type: 'response.steer.failed',
    sequence_number: 0,
    error: valid
      ? {
          type: 'invalid_request_error',
          code: 'steering_not_supported',
          message: 'Steering is not supported here: send the input with response.create once the response has ended',
        }
      : { type: 'invalid_request_error', code: 'invalid_input', message: 'Expected previous_response_id and input' },
    steer: { previous_response_id: typeof previous === 'string' ? previous : '' },
  }
  if (!input) return Buffer.from(JSON.stringify(event))
  // `steer` stands last.
  return Buffer.concat([
    Buffer.from(`${JSON.stringify(event).slice(0, -2)},"input":`),
    message.subarray(input.from, input.to),
    Buffer.from('}}'),
  ])
}

interface Parts {
  readonly message: Buffer
  /** Members that the body takes over. */
  readonly rest: readonly Member[]
  readonly input: Member | undefined
  /** True where input may be absent: with `generate: false` a message only names a conversation to continue from. */
  readonly mayLack: boolean
}

function joinBody({ message, rest, input, mayLack }: Parts, history: Buffer | undefined): SocketBody {
  const added = inputItems(message, input)
  if (added.length === 0 && history === undefined && input === undefined && !mayLack) throw badField('input', 'is required')
  const between = history !== undefined && history.length > 0 && added.length > 0 ? [COMMA] : []
  const conversation = [...(history ? [history] : []), ...between, ...added]
  const pieces: Buffer[] = [OPENING, ...conversation, Buffer.from(']')]
  for (const { at, to } of rest) pieces.push(COMMA, message.subarray(at, to))
  pieces.push(Buffer.from('}'))
  const bytes = Buffer.concat(pieces)
  const length = conversation.reduce((sum, piece) => sum + piece.length, 0)
  return { bytes, conversation: bytes.subarray(OPENING.length, OPENING.length + length) }
}

/** Returns the items of an input, without the brackets of their array; a text becomes a message of the user. */
function inputItems(message: Buffer, input: Member | undefined): Buffer[] {
  if (input === undefined) return []
  const value = message.subarray(input.from, input.to)
  if (value[0] === 0x22) return [USER_MESSAGE[0], value, USER_MESSAGE[1]]
  const items = insideArray(value)
  if (items === undefined && value.toString('latin1', 0, 5) !== 'null') throw badField('input', 'expected a text or an array of items')
  return items === undefined || items.length === 0 ? [] : [items]
}

/** @returns what stands between the brackets; undefined for what is no array. */
function insideArray(value: Buffer): Buffer | undefined {
  if (value[0] !== 0x5b || value.at(-1) !== 0x5d) return undefined
  const inside = value.subarray(1, -1)
  return inside.toString('latin1', 0, 64).trim() === '' && inside.toString('latin1').trim() === '' ? inside.subarray(0, 0) : inside
}

/** Ends that a client may continue from. One that has failed is none (specification, "WebSocket": a failed turn is evicted). */
const ENDS: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete'])

function after(conversation: Buffer, last: Buffer): Buffer | undefined {
  const event = scanMembers(last)
  const response = event?.find(({ name }) => name === 'response')
  if (
    !response ||
    !ENDS.has(
      shortValue(
        last,
        event?.find(({ name }) => name === 'type'),
      ),
    )
  )
    return undefined
  const output = scanMembers(last, response.from, response.to)?.find(({ name }) => name === 'output')
  const items = output && insideArray(last.subarray(output.from, output.to))
  if (items === undefined) return undefined
  return Buffer.concat(items.length === 0 || conversation.length === 0 ? [conversation, items] : [conversation, COMMA, items])
}

/** Codes of failures by `error_type`: words, since Codex reads no event whose code is a number (codex-api, `WrappedWebsocketError`). */
const CODES: Readonly<Record<string, string>> = {
  authentication: 'invalid_api_key',
  payment_required: 'insufficient_quota',
  rate_limit_exceeded: 'rate_limit_exceeded',
  context_length_exceeded: 'context_length_exceeded',
  provider_overloaded: 'server_is_overloaded',
  server: 'server_error',
  timeout: 'server_error',
  provider_unavailable: 'server_error',
}

/** `ResponsesServerEvent.ResponseWsError`; `error` stands last (`headed`). A fault may name its code in `metadata.code`. */
function failureBody(fault: Fault, { routerMetadata }: FaultFacts): JsonObject {
  const { error, ...beside } = faultBody(fault, { routerMetadata })
  const code = fault.metadata?.code ?? (fault.code === 'model_not_found' ? fault.code : (CODES[fault.type] ?? null))
  return { type: 'error', status: fault.status, ...beside, error: { ...(error as JsonObject), code } }
}

/** The SDK documents the headers inside `error`, Codex reads them beside it. @param json the text of a `failureBody`. */
function headed(json: string, headers: OutgoingHttpHeaders): string {
  const text = `,"headers":${JSON.stringify(headers)}}`
  return `${json.slice(0, -2)}${text}${text}`
}

/** @param client the dialect of the same requests over HTTP. */
export function socketFormat(client: ClientDialect): SocketFormat {
  return {
    client: {
      ...client,
      // The response that it names is the connection's last one: the conversation is in the body.
      check: ({ previous_response_id: _, ...body }) => client.check(body),
      faultBody: failureBody,
    },
    knows,
    read,
    after,
    headed,
    laneMark,
  }
}
