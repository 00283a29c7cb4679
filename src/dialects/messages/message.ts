/** The message around its content: how it begins, and all that is known only at its end. */

import { isObject, type JsonObject } from '../../core/json.ts'
import type { Opaque } from '../canon/request.ts'
import type { Final, ReplyContext } from '../types.ts'
import { stopReasonOf } from './stop-reason.ts'
import { encodeUsage, NO_USAGE } from './usage-write.ts'
import { eventFrame, OPAQUE, WIRE } from './wire.ts'

/** Members that stand in the `delta` of the last `message_delta`; all others stand beside it. */
const WITHIN: ReadonlySet<string> = new Set(['stop_reason', 'stop_sequence', 'stop_details', 'container'])

/** What a provider of this wire reported of its message, beside content and counts. */
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
    const reason = final.fault ? null : stopReasonOf(final.end, refused)
    return {
      container: null,
      ...this.members,
      stop_reason: reason,
      stop_sequence: reason === 'stop_sequence' ? (final.end.sequence ?? null) : null,
      stop_details: this.members.stop_details ?? (reason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null),
    }
  }

  usageOf(final: Final): JsonObject {
    return encodeUsage(final, this.usage)
  }
}

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
    usage: NO_USAGE,
  }
  if (ctx.provider !== '') head.provider = ctx.provider
  return head
}

/** `message_start` and the first `ping`. */
export function openStream(ctx: ReplyContext): string {
  return eventFrame('message_start', `,"message":${JSON.stringify(messageHead(ctx))}`) + eventFrame('ping', '')
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
  const fields = JSON.stringify({ delta, usage: own.usageOf(final), ...rest }).slice(1, -1)
  const metadata = final.metadata === undefined ? '' : `,${JSON.stringify(`${ctx.brand}_metadata`)}:${JSON.stringify(final.metadata)}`
  return eventFrame('message_delta', `,${fields}`) + eventFrame('message_stop', metadata)
}
