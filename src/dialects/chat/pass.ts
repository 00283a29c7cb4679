/** Chat to an OpenAI-compatible provider without the canonical form: bodies travel with a short list of patches. */

import { Fault, faultBody } from '../../core/faults.ts'
import { randomTag } from '../../core/ids.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { End } from '../canon/events.ts'
import { GATEWAY_KEYS } from '../canon/gateway-fields.ts'
import type { Encoded, Final, PassResult, PassWire, ReplyContext, Target } from '../types.ts'
import { needsFunctions } from './client-tools.ts'
import { hidesReasoning, messagesOf } from './decode-request.ts'
import { firstChoice } from './decode-result.ts'
import { choiceFault, servedTier, unify } from './decode-stream.ts'
import { PATH } from './encode-request.ts'
import { envelope } from './encode-result.ts'
import { ChatPassStream } from './pass-stream.ts'
import { dropEmptyMembers, joinParts, mirrorReasoning } from './reply-members.ts'
import { shapeRequest } from './shape-request.ts'
import { usageIn } from './usage.ts'
import { CLIENT_ID, OWN_KEYS } from './wire.ts'

/** Fields of the gateway, and those that it sets itself; what `stream_options` says beside that is kept. */
const NOT_SENT: ReadonlySet<string> = new Set([...GATEWAY_KEYS, ...[...OWN_KEYS].filter((key) => key !== 'stream_options')])

function passRequest(body: JsonObject, target: Target): Encoded {
  const dropped: string[] = []
  const copy: JsonObject = {}
  for (const key of Object.keys(body)) if (!NOT_SENT.has(key)) copy[key] = body[key]
  if (body.include_reasoning !== undefined) copy.include_reasoning = body.include_reasoning
  if (copy.prompt !== undefined) {
    copy.messages = messagesOf(body)
    delete copy.prompt
  }
  shapeRequest(copy, target, dropped)
  return { path: PATH, body: copy, dropped }
}

/** A call without an id or a type gets them, as in streams: callers answer it by its id. */
function completeCalls(message: JsonObject): void {
  for (const call of Array.isArray(message.tool_calls) ? message.tool_calls : []) {
    if (!isObject(call) || !isObject(call.function)) continue
    if (typeof call.id !== 'string' || call.id === '') call.id = `call_${randomTag()}`
    if (typeof call.type !== 'string') call.type = 'function'
  }
}

/** Members of an upstream's reply that are written anew. */
const REWRITTEN: ReadonlySet<string> = new Set(['id', 'object', 'created', 'model', 'provider', 'choices', 'usage'])

function passResult(body: JsonObject, ctx: ReplyContext): PassResult {
  const choice = firstChoice(body)
  if (choice instanceof Fault) return { fault: choice, finish: (final) => faultText(ctx, final) }
  const message = choice.message as JsonObject
  joinParts(message)
  mirrorReasoning(message)
  dropEmptyMembers(message)
  completeCalls(message)
  const usage = usageIn(body)
  const raw = typeof choice.finish_reason === 'string' && choice.finish_reason !== '' ? choice.finish_reason : undefined
  const hasCalls = Array.isArray(message.tool_calls) && message.tool_calls.length > 0
  const reason = unify(raw ?? 'stop', hasCalls)
  const fault = reason === 'error' || isObject(choice.error) ? choiceFault(choice) : undefined
  const end: End = raw === undefined ? { reason } : { reason, raw }
  const tier = servedTier(body.service_tier)
  if (tier !== undefined) end.tier = tier
  const finish = (final: Final): string => {
    choice.finish_reason = final.fault ? 'error' : final.end.reason
    choice.native_finish_reason = final.end.raw ?? (final.fault ? null : final.end.reason)
    if (final.fault) choice.error = faultBody(final.fault).error
    let members = body.system_fingerprint === undefined ? ',"system_fingerprint":null' : ''
    let metadata: string | undefined
    for (const key in body) {
      if (REWRITTEN.has(key) || body[key] === undefined || (key === 'service_tier' && final.end.tier !== undefined)) continue
      metadata ??= `${ctx.brand}_metadata`
      if (key !== metadata) members += `,${JSON.stringify(key)}:${JSON.stringify(body[key])}`
    }
    const created = typeof body.created === 'number' ? body.created : ctx.created
    return envelope(ctx, final, { created, choices: JSON.stringify([choice]), members })
  }
  return { usage, end, fault, finish }
}

/** A reply that could not be read has nothing to patch. */
function faultText(ctx: ReplyContext, final: Final): string {
  const error = faultBody(final.fault ?? new Fault('upstream_garbled')).error
  const message = { role: 'assistant', content: null }
  const choices = JSON.stringify([{ index: 0, message, finish_reason: 'error', native_finish_reason: null, error }])
  return envelope(ctx, final, { created: ctx.created, choices, members: ',"system_fingerprint":null' })
}

export const chatPass: PassWire = {
  client: CLIENT_ID,
  signed:
    /"signature":\s?"(?=[^"])|"type":\s?"reasoning\.encrypted",[^{}]{0,400}?"data":\s?"(?=[^"])|"data":\s?"(?=[\w+/=-]+",[^{}]{0,400}"reasoning\.encrypted")/g,
  // Reasoning that the caller excluded is left out only where the reply is re-encoded, and so are functions in place of other tools.
  admits: (body, { quirks }) => !hidesReasoning(body) && (quirks.custom_tools === true || !needsFunctions(body)),
  request: passRequest,
  result: passResult,
  stream: (ctx) => new ChatPassStream(ctx),
}
