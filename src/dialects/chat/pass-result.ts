/** Whole replies of the pass lane: the provider's body with a short list of patches. */
import { Fault, faultBody } from '../../core/faults.ts'
import { randomTag } from '../../core/ids.ts'
import { asObjects, isObject, type JsonObject } from '../../core/json.ts'
import { argumentsText, isBroken, NO_ARGUMENTS } from '../canon/call-arguments.ts'
import { endBroken } from '../canon/ends.ts'
import type { End } from '../canon/events.ts'
import { createdIn, isPlace } from '../canon/places.ts'
import { noteTier, tierBesideUsage } from '../canon/served-tier.ts'
import { withSearches } from '../canon/usage.ts'
import type { Final, PassResult, ReplyContext } from '../types.ts'
import { firstChoice } from './decode-result.ts'
import { envelope } from './encode-result.ts'
import { choiceEnd, unify } from './ends.ts'
import { encodeFinish, joinParts, mendChoice, mirrorReasoning } from './reply.ts'
import { citeTools, Sources } from './sources.ts'
import { usageIn } from './usage.ts'

/**
 * A call without an id of its own or a type gets them, as in streams: callers answer it by its id. Its arguments are text.
 * @returns true where the arguments of any are no JSON.
 */
function completeCalls(message: JsonObject): boolean {
  if (!message.tool_calls && !message.function_call) return false
  const ids = new Set<unknown>()
  let areBroken = false
  for (const call of [...asObjects(message.tool_calls), { function: message.function_call ?? null, id: 'legacy', type: 'function' }]) {
    if (!isObject(call.function)) continue
    if (typeof call.id !== 'string' || call.id === '' || ids.has(call.id)) call.id = `call_${randomTag()}`
    ids.add(call.id)
    if (typeof call.type !== 'string') call.type = 'function'
    if (!isPlace(call.index)) delete call.index
    const args = argumentsText(call.function.arguments)
    call.function.arguments = args.trim() === '' ? NO_ARGUMENTS : args
    areBroken ||= isBroken(args)
  }
  return areBroken
}

/** Searches that the provider has run; the sources of its tools are put beside them. */
function searchesIn(message: JsonObject): number {
  if (!message.tool_calls && !message.executed_tools) return 0
  const sources = new Sources()
  citeTools(message, sources)
  for (const [place, { function: called }] of asObjects(message.tool_calls).entries())
    if (isObject(called) && typeof called.name === 'string') sources.readCall(called.name, place)
  return sources.searches
}

/** Members of an upstream's reply that are written anew. */
const REWRITTEN: ReadonlySet<string> = new Set(['id', 'object', 'created', 'model', 'provider', 'choices', 'usage', 'service_tier'])

export function passResult(body: JsonObject, ctx: ReplyContext): PassResult {
  const choice = firstChoice(body)
  if (choice instanceof Fault) return { fault: choice, finish: (final) => faultText(ctx, final) }
  const message = choice.message as JsonObject
  if (Array.isArray(message.content)) joinParts(message, message.content)
  mirrorReasoning(message, ctx)
  mendChoice(choice, message)
  const areBroken = completeCalls(message)
  const counted = usageIn(body)
  // Reads citations too, which are the caller's whether usage was counted or not.
  const searches = searchesIn(message)
  const usage = counted && withSearches(counted, searches)
  const { word: raw, fault: failure } = choiceEnd(choice, body)
  const hasCalls = Array.isArray(message.tool_calls) && message.tool_calls.length > 0
  const reason = unify(raw ?? 'stop', hasCalls)
  const end: End = raw === undefined ? { reason } : { reason, raw }
  const fault = failure ?? (areBroken ? endBroken(end) : undefined)
  noteTier(end, tierBesideUsage(body))
  const finish = (final: Final): string => {
    Object.assign(choice, encodeFinish(ctx, final))
    let members = body.system_fingerprint === undefined ? ',"system_fingerprint":null' : ''
    let metadata: string | undefined
    for (const key in body) {
      // A null states that there is no tier.
      const isNoTier = key === 'service_tier' && body[key] === null
      if ((REWRITTEN.has(key) && !isNoTier) || body[key] === undefined) continue
      metadata ??= `${ctx.brand}_metadata`
      if (key !== metadata) members += `,${JSON.stringify(key)}:${JSON.stringify(body[key])}`
    }
    const created = createdIn(body) ?? ctx.created
    return envelope(ctx, final, { created, choices: JSON.stringify([choice]), members })
  }
  return { usage, end, fault, finish }
}

/** A reply that could not be read has nothing to patch. */
function faultText(ctx: ReplyContext, final: Final): string {
  const error = faultBody(final.fault ?? new Fault('upstream_garbled'), ctx).error
  const message = { role: 'assistant', content: null }
  const choices = JSON.stringify([{ index: 0, message, finish_reason: 'error', native_finish_reason: null, error }])
  return envelope(ctx, final, { created: ctx.created, choices, members: ',"system_fingerprint":null' })
}
