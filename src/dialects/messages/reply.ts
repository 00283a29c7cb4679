/** The message around its content: how it begins, and all that is known only at its end. */
import type { Fault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { usd } from '../../core/money.ts'
import { binary } from '../../machines/sse/frames.ts'
import { count } from '../canon/counts.ts'
import { unknownEnd } from '../canon/ends.ts'
import type { Opaque } from '../canon/request.ts'
import { shownTier } from '../canon/served-tier.ts'
import type { Usage } from '../canon/usage.ts'
import type { Final, ReplyContext } from '../types.ts'
import { toStopReason } from './ends.ts'
import { shownRounds } from './usage.ts'
import { eventFrame, OPAQUE, WIRE } from './wire.ts'

/** `usage` of a message that has only begun. */
const NO_USAGE: JsonObject = {
  input_tokens: 0,
  output_tokens: 0,
  output_tokens_details: null,
  cache_creation_input_tokens: null,
  cache_read_input_tokens: null,
  cache_creation: null,
  server_tool_use: null,
  service_tier: null,
  inference_geo: null,
  speed: null,
}

/** `usage` of a message that has begun: callers read there how large their prompt was. The output counts at the end. */
function usageSoFar(counted: Usage | undefined): JsonObject {
  if (counted === undefined || counted.inputUnknown) return NO_USAGE
  return {
    ...NO_USAGE,
    input_tokens: counted.input - counted.cached - counted.cacheWrite,
    cache_creation_input_tokens: counted.cacheWrite,
    cache_read_input_tokens: counted.cached,
  }
}

/** Members of the provider's own `usage` that no count of ours replaces. */
const KEPT = ['inference_geo', 'speed', 'iterations', 'fallback_credit'] as const

/**
 * Token counts as this wire reports them (docs/contract.md#messages): cache reads and writes stand beside `input_tokens`, not within.
 * `usage` of a finished message, with what it cost in USD.
 * @param own the provider's own object, where it speaks this wire.
 */
function encodeUsage(final: Final, own: JsonObject = {}): JsonObject {
  const { usage, serverTools } = final
  const long = usage.cacheWriteLong ?? 0
  const tools = isObject(own.server_tool_use) ? own.server_tool_use : {}
  const fetches = count(tools.web_fetch_requests) + (serverTools?.fetches ?? 0)
  const searches = (usage.webSearches ?? 0) + (serverTools?.searches ?? 0)
  const result: JsonObject = {
    ...NO_USAGE,
    input_tokens: usage.input - usage.cached - usage.cacheWrite,
    output_tokens: usage.output,
    output_tokens_details: { thinking_tokens: usage.reasoning },
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cached,
    cache_creation: { ephemeral_5m_input_tokens: usage.cacheWrite - long, ephemeral_1h_input_tokens: long },
    server_tool_use: searches + fetches > 0 ? { web_search_requests: searches, web_fetch_requests: fetches } : null,
    service_tier: tierName(final.end.tier),
  }
  for (const key of KEPT) if ((own[key] ?? null) !== null) result[key] = key === 'iterations' ? shownRounds(own[key]) : own[key]
  result.cost = usd(final.cost)
  result.cost_details = {
    upstream_inference_cost: usd(final.inputCost + final.outputCost),
    upstream_inference_input_cost: usd(final.inputCost),
    upstream_inference_output_cost: usd(final.outputCost),
  }
  result.is_byok = final.isByok === true
  if (serverTools) {
    const { requested, executed } = serverTools
    const counted = searches > 0 ? { web_search_requests: searches } : {}
    result.server_tool_use_details = { tool_calls_requested: requested, tool_calls_executed: executed, ...counted }
  }
  return result
}

/** The base tier has a name of its own here. */
function tierName(tier: string | undefined): string {
  const shown = shownTier(tier)
  return shown === undefined || shown === 'default' ? 'standard' : shown
}

const isUnknown = ({ fault, end }: Final): boolean => fault === undefined && end.reason === 'unknown'

/** Why a reply is not to be taken for a finished one: it has failed, or nothing is known of its end. */
export function failureIn(final: Final): Fault | undefined {
  return isUnknown(final) ? unknownEnd(final.end) : final.fault
}

/** Members that stand in the `delta` of the last `message_delta`; all others stand beside it. */
const WITHIN: ReadonlySet<string> = new Set(['stop_reason', 'stop_sequence', 'stop_details', 'container'])

/** Report of a provider of this wire about its message, beside content and counts. */
export class OwnMembers {
  private members: JsonObject = {}
  private usage: JsonObject | undefined

  /** Takes a top-level opaque event; of several turns the later one counts. */
  take(of: Opaque): void {
    if (of.dialect !== WIRE || of.type !== OPAQUE.message) return
    const { usage, ...members } = of.data
    this.members = { ...this.members, ...members }
    if (!isObject(usage)) return
    const before = this.usage?.iterations
    // Each turn of a tool loop reports its own rounds.
    const rounds = Array.isArray(before) && Array.isArray(usage.iterations) ? { iterations: [...before, ...usage.iterations] } : {}
    this.usage = { ...this.usage, ...usage, ...rounds }
  }

  /** Stop reason, its details and the members that came from the provider. */
  ending(final: Final, refused: boolean): JsonObject {
    const failure = failureIn(final)
    const reason = toStopReason(failure && !isUnknown(final) ? { reason: 'error' } : final.end, refused)
    return {
      container: null,
      ...this.members,
      stop_reason: reason,
      stop_sequence: reason === 'stop_sequence' ? (final.end.sequence ?? null) : null,
      stop_details:
        this.members.stop_details ??
        (reason === 'refusal' ? { type: 'refusal', category: null, explanation: failure?.message ?? null } : null),
    }
  }

  finalUsage(final: Final): JsonObject {
    return encodeUsage(final, this.usage)
  }
}

const isBeginning = ({ dialect, type }: Opaque): boolean => dialect === WIRE && type === OPAQUE.message

/** The envelope of a message, complete as the types of the SDK want it, but for what its end adds. */
export function messageHead(ctx: ReplyContext): JsonObject {
  const head: JsonObject = {
    id: ctx.id,
    type: 'message',
    role: 'assistant',
    model: ctx.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    context_management: null,
    diagnostics: null,
    usage: usageSoFar(ctx.counted),
  }
  if (ctx.beginning && isBeginning(ctx.beginning)) head.diagnostics = ctx.beginning.data.diagnostics ?? null
  if (ctx.provider !== '') head.provider = ctx.provider
  return head
}

/** `message_start` and the first `ping`, with one character per byte. */
export function openStream(ctx: ReplyContext): string {
  return binary(eventFrame('message_start', `,"message":${JSON.stringify(messageHead(ctx))}`) + eventFrame('ping', ''))
}

/** A `ping`, which every client reads over, that holds the body that goes upstream; it may come before the message begins. */
export function debugEvent(_ctx: ReplyContext, upstreamBody: JsonObject): string {
  return eventFrame('ping', `,"debug":${JSON.stringify({ echo_upstream_body: upstreamBody })}`)
}

/** `message_delta` and `message_stop`. */
export function closeStream(ctx: ReplyContext, final: Final, own: OwnMembers, refused: boolean): string {
  const delta: JsonObject = {}
  const rest: JsonObject = {}
  for (const [key, value] of Object.entries(own.ending(final, refused))) (WITHIN.has(key) ? delta : rest)[key] = value
  const fields = JSON.stringify({ delta, usage: own.finalUsage(final), ...rest }).slice(1, -1)
  const metadata = final.metadata === undefined ? '' : `,${JSON.stringify(`${ctx.brand}_metadata`)}:${JSON.stringify(final.metadata)}`
  return eventFrame('message_delta', `,${fields}`) + eventFrame('message_stop', metadata)
}
