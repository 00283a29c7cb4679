/** The Response object (docs/contract.md#responses-reply): one writer for every event and reply that carries it. */
import type { Fault } from '../../core/faults.ts'
import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { JsonSource } from '../../machines/json-bytes/json-source.ts'
import { binary, utf8 } from '../../machines/sse/frames.ts'
import { failedEnd } from '../canon/ends.ts'
import { MEMBERS, type StreamEvent } from '../canon/events.ts'
import type { Opaque } from '../canon/request.ts'
import type { Final, ReplyContext } from '../types.ts'
import { INCOMPLETE, STEERED } from './ends.ts'
import { responseError } from './fault.ts'
import { encodeUsage } from './usage.ts'
import { WIRE } from './wire.ts'

export type Status = 'in_progress' | 'completed' | 'incomplete' | 'failed'

/** End of a reply, in the words of this wire. */
export interface Ending {
  status: Status
  /** `incomplete_details.reason`. */
  reason?: string
  error?: { code: string; message: string; availability?: JsonObject }
  errorType?: string
}

/** Strict clients demand every key of a function tool. */
function echoTool(tool: JsonObject): JsonObject {
  if (tool.type === 'mcp') return withoutSecrets(tool)
  if (isObject(tool.parameters) && tool.parameters.server_label !== undefined)
    return { ...tool, parameters: withoutSecrets(tool.parameters) }
  if (tool.type !== 'function' || (tool.description !== undefined && tool.parameters !== undefined && tool.strict !== undefined))
    return tool
  return { ...tool, description: tool.description ?? null, parameters: tool.parameters ?? null, strict: tool.strict ?? null }
}

/** The caller's very list where nothing is added to any tool. */
function echoTools(tools: Json | undefined): Json[] {
  const echoed = asObjects(tools).map(echoTool)
  return Array.isArray(tools) && echoed.length === tools.length && echoed.every((tool, at) => tool === tools[at]) ? tools : echoed
}

/** Headers that a caller sends along for a server are for that server alone. */
function withoutSecrets({ authorization: _, headers: __, ...shown }: JsonObject): JsonObject {
  return shown
}

function echoText(text: Json | undefined): JsonObject {
  const given = isObject(text) ? text : {}
  return { ...given, format: given.format ?? { type: 'text' } }
}

/** Optional settings that are shown only where the caller sent them. */
const SHOWN_IF_SENT = ['user', 'prompt', 'prompt_cache_options']

/** The caller's settings, with the defaults in place of null where strict clients refuse null. */
function echoes(body: JsonObject): JsonObject {
  const echo: JsonObject = {
    instructions: body.instructions ?? null,
    metadata: body.metadata ?? null,
    temperature: body.temperature ?? 1,
    top_p: body.top_p ?? 1,
    presence_penalty: body.presence_penalty ?? 0,
    frequency_penalty: body.frequency_penalty ?? 0,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    tool_choice: body.tool_choice ?? 'auto',
    tools: echoTools(body.tools),
    text: echoText(body.text),
    reasoning: body.reasoning ?? null,
    truncation: body.truncation ?? 'disabled',
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    top_logprobs: body.top_logprobs ?? 0,
    // Only requests over a WebSocket may name one (check.ts).
    previous_response_id: body.previous_response_id ?? null,
    background: false,
    store: false,
    safety_identifier: body.safety_identifier ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
  }
  for (const key of SHOWN_IF_SENT) if ((body[key] ?? null) !== null) echo[key] = body[key]
  return echo
}

/** The echoes as JSON, with one character per byte: tools can be long, and a stream needs them three times. */
const echoBytes = new WeakMap<ReplyContext, string>()

function echoedFields(ctx: ReplyContext, source?: JsonSource): string {
  let bytes = echoBytes.get(ctx)
  if (bytes === undefined) {
    bytes = written(echoes(ctx.body), source)
    echoBytes.set(ctx, bytes)
  }
  return bytes
}

/** Without the braces. What is the caller's own goes back in the caller's bytes, unless a line ends in them: that would end an event's line, too. */
function written(echo: JsonObject, source: JsonSource | undefined): string {
  const own = source?.write(echo)
  const bytes = own && !own.includes(LF) && !own.includes(CR) ? own : Buffer.from(JSON.stringify(echo))
  return bytes.toString('latin1', 1, bytes.length - 1)
}

const LF = 0x0a
const CR = 0x0d

/** Members of an upstream's object that are not ours to write, such as `moderation` or Azure's `content_filters`: they go on as they came. */
export function responseRest(response: JsonObject): JsonObject {
  const rest: JsonObject = {}
  for (const key in response) if (!OURS.has(key)) rest[key] = response[key]
  return rest
}

/** The same for the encoder of this wire, which writes an object of its own. */
export function restEvents(response: JsonObject, out: StreamEvent[]): void {
  const data = responseRest(response)
  if (Object.keys(data).length > 0) out.push({ type: 'opaque', of: { dialect: WIRE, type: MEMBERS, data } })
}

/** Findings of `restEvents`, where the event is of this wire. */
export function restIn(of: Opaque): JsonObject | undefined {
  return of.dialect === WIRE && of.type === MEMBERS ? of.data : undefined
}

const OURS = new Set([
  ...Object.keys(echoes({})),
  ...SHOWN_IF_SENT,
  'id',
  'object',
  'created_at',
  'completed_at',
  'model',
  'status',
  'output',
  'error',
  'error_type',
  'incomplete_details',
  'usage',
  'service_tier',
])

/** The tier that served: never null, never an alias. */
function servedTier(tier: Json | undefined): string {
  return tier === 'flex' || tier === 'priority' ? tier : tier === 'fast' || tier === 'ultrafast' ? 'priority' : 'default'
}

function failure(fault: Fault): Ending {
  return { status: 'failed', error: responseError(fault), errorType: fault.type }
}

/** @param anything true where some output has been written: a limit of the provider then ends the reply instead of failing it. */
export function finalEnding(final: Final, anything: boolean): Ending {
  const { fault, end } = final
  if (fault) return anything && fault.code === 'upstream_context' ? { status: 'incomplete', reason: 'max_output_tokens' } : failure(fault)
  const { reason, raw } = end
  if (reason === 'error') return failure(failedEnd(raw))
  if (reason === 'stop' || reason === 'tool_calls') return { status: 'completed' }
  if (end.steered) return { status: 'incomplete', reason: STEERED }
  if (raw !== undefined && reason !== 'unknown' && INCOMPLETE.get(raw) === reason) return { status: 'incomplete', reason: raw }
  // An unknown end gets the one word of the wire after which no client goes on as after a success: @ai-sdk/openai 4.0.118 takes any
  // other beside a call for the order to run it, and a missing one for the end of the answer.
  return { status: 'incomplete', reason: reason === 'length' ? 'max_output_tokens' : 'content_filter' }
}

/** The object at the head of a stream, with one character per byte. @param source of the caller's body, while it is there. */
export function openingBytes(ctx: ReplyContext, source: JsonSource | undefined): string {
  const { id, created, model } = ctx
  const before =
    `{"id":${JSON.stringify(id)},"object":"response","created_at":${created},"completed_at":null,"model":${JSON.stringify(model)},` +
    `"status":"in_progress","output":[],"error":null,"incomplete_details":null,`
  return `${binary(before)}${echoedFields(ctx, source)},"service_tier":"default","usage":null}`
}

interface Closing {
  /** The array of output items as JSON text. */
  readonly output: string
  /** Further members from an upstream's own object, none of them ours. */
  readonly rest?: JsonObject | undefined
  readonly tier?: Json | undefined
}

/** Text before and behind the echoes in the object at the end. */
function aroundEchoes(ctx: ReplyContext, final: Final, ending: Ending, { output, rest, tier }: Closing): [before: string, behind: string] {
  const head: JsonObject = {
    id: ctx.id,
    object: 'response',
    created_at: ctx.created,
    completed_at: ending.status === 'completed' ? Math.max(final.completedAt, ctx.created) : null,
    model: ctx.model,
    status: ending.status,
    error: ending.error ?? null,
    incomplete_details: ending.reason ? { reason: ending.reason } : null,
  }
  const tail: JsonObject = { service_tier: servedTier(final.end.tier ?? tier), usage: encodeUsage(final) }
  if (ending.errorType) tail.error_type = ending.errorType
  if (final.metadata) tail[`${ctx.brand}_metadata`] = final.metadata
  Object.assign(tail, rest)
  return [`${JSON.stringify(head).slice(0, -1)},"output":${output},`, `,${JSON.stringify(tail).slice(1)}`]
}

/** The object at the end, as JSON text. */
export function closingJson(ctx: ReplyContext, final: Final, ending: Ending, closing: Closing): string {
  const [before, behind] = aroundEchoes(ctx, final, ending, closing)
  return before + utf8(echoedFields(ctx)) + behind
}

/** The same with one character per byte. */
export function closingBytes(ctx: ReplyContext, final: Final, ending: Ending, closing: Closing): string {
  const [before, behind] = aroundEchoes(ctx, final, ending, closing)
  return binary(before) + echoedFields(ctx) + binary(behind)
}
