/** Client and upstream speak Messages: bodies and frames travel with a short list of patches. */

import { Fault } from '../../core/faults.ts'
import { asObjects, asString, isObject, type JsonObject } from '../../core/json.ts'
import { fitsSchema } from '../canon/claude-schema.ts'
import { endBroken } from '../canon/ends.ts'
import { isErrorEvent } from '../canon/error-shape.ts'
import { GATEWAY_KEYS } from '../canon/request-fields.ts'
import { StreamWords } from '../canon/stream-words.ts'
import type { Encoded, Final, PassFacts, PassResult, PassWire, ReplyContext, Target } from '../types.ts'
import { dropBlankTexts } from './blank-texts.ts'
import { markLastBlock, markPrefix } from './cache-prefix.ts'
import { serverToolName } from './check.ts'
import { mendBlock } from './citations.ts'
import { decodeEnd } from './decode-stream.ts'
import { decodeFault } from './fault.ts'
import { encodeError } from './fault-body.ts'
import { betaHeaders, fitToTarget, isPrefill, neverSends, placed } from './fit-request.ts'
import { holdsForeignBlocks } from './foreign-blocks.ts'
import { wantsDefaultFallbacks } from './gateway-fields.ts'
import { KNOWN_BLOCKS } from './known-words.ts'
import { MessagesPassStream } from './pass-stream.ts'
import { failureIn, messageHead, OwnMembers } from './reply.ts'
import { isForced, isForeignThinking, unbindThinking } from './thinking.ts'
import { withInputs } from './tool-input.ts'
import { decodeUsage } from './usage.ts'
import { CLIENT_ID, OPAQUE, WIRE } from './wire.ts'

/** Fields of other wires that this provider has no words for. */
const RECORDED = ['prompt_cache_key', 'prompt_cache_options', 'modalities'] as const
/** Fields that stay here: those, and what the gateway reads itself. */
const OWN_KEYS: ReadonlySet<string> = new Set(['fallbacks', 'user', 'safety_identifier', ...RECORDED])
const NONE: ReadonlySet<string> = new Set()

function hasGatewayTools({ tools }: JsonObject): boolean {
  return asObjects(tools).some((tool) => typeof tool.type === 'string' && serverToolName(tool.type) !== undefined)
}

/** True where the endpoint requires changes within messages or thinking, which the pass lane does not make. */
function needsRewriting(body: JsonObject, target: Target): boolean {
  if (neverSends(target, 'cache_control')) return true
  if (neverSends(target, 'prefill') && Array.isArray(body.messages) && isPrefill(asObjects(body.messages.slice(-1))[0])) return true
  if (isForeignThinking(body, target) || (target.quirks.forced_tools === false && isForced(body.tool_choice))) return true
  const format = isObject(body.output_config) ? body.output_config.format : undefined
  if (isObject(format) && isObject(format.schema) && !fitsSchema(format.schema)) return true
  if (target.quirks.json_schema === 'words' && (isObject(format) || asObjects(body.tools).some(({ strict }) => strict === true)))
    return true
  return target.quirks.system_messages === false && asObjects(body.messages).some(({ role }) => role === 'system')
}

/** The caller's body without the gateway's own fields, fitted to its endpoint. */
function passRequest(body: JsonObject, target: Target): Encoded {
  const copy: JsonObject = {}
  for (const key in body) {
    const ours = key === 'cache_control' ? false : GATEWAY_KEYS.has(key) || OWN_KEYS.has(key)
    // The provider takes no null where it takes nothing at all.
    if (!ours && body[key] !== null) copy[key] = body[key]
  }
  const metadata = isObject(body.metadata) ? body.metadata : {}
  const user = asString(metadata.user_id) ?? asString(body.user) ?? asString(body.safety_identifier)
  if (user !== undefined && metadata.user_id !== user) copy.metadata = { ...metadata, user_id: user }
  const dropped: string[] = RECORDED.filter((key) => (body[key] ?? null) !== null)
  if (wantsDefaultFallbacks(body)) dropped.push('fallbacks')
  dropBlankTexts(copy)
  if (body.cache_control === undefined) markPrefix(copy, target, true)
  fitToTarget(copy, target, dropped)
  markLastBlock(copy, target, dropped)
  const headers = betaHeaders(copy, target, unbindThinking(copy, target, dropped, false) ?? NONE, dropped)
  const path = placed(copy, target)
  const encoded: Encoded = headers ? { path, body: copy, headers, dropped } : { path, body: copy, dropped }
  const format = isObject(copy.output_config) ? copy.output_config.format : undefined
  if (target.quirks.json_schema === 'checked' && isObject(format)) encoded.looseFormat = true
  return encoded
}

function passFacts(body: JsonObject): PassFacts {
  if (isErrorEvent(body, undefined)) return { fault: decodeFault(200, body) }
  if (!Array.isArray(body.content)) return { fault: new Fault('upstream_garbled') }
  const sawCall = body.content.some((block) => isObject(block) && block.type === 'tool_use')
  const usage = decodeUsage(body.usage)
  const end = decodeEnd(body, body.usage, sawCall)
  const strange = new StreamWords()
  for (const block of asObjects(body.content)) {
    mendBlock(block)
    strange.note('item', block.type, KNOWN_BLOCKS)
  }
  strange.addTo(end)
  const fault = withInputs(asObjects(body.content)) ? endBroken(end) : undefined
  return { ...(usage ? { usage } : {}), end, fault }
}

function passResult(body: JsonObject, ctx: ReplyContext): PassResult {
  return {
    ...passFacts(body),
    finish(final: Final): string {
      const own = new OwnMembers()
      own.take({ dialect: WIRE, type: OPAQUE.message, data: { stop_details: body.stop_details ?? null, usage: body.usage } })
      const { id, model, provider, role, type } = messageHead(ctx)
      const message: JsonObject = {
        ...messageHead(ctx),
        ...body,
        ...{ id, model, role, type },
        ...(provider === undefined ? {} : { provider }),
        content: Array.isArray(body.content) ? body.content : [],
        ...own.ending(final, false),
        container: body.container ?? null,
        usage: own.finalUsage(final),
      }
      const failure = failureIn(final)
      if (failure) message.error = encodeError(failure)
      if (final.metadata !== undefined) message[`${ctx.brand}_metadata`] = final.metadata
      return JSON.stringify(message)
    },
  }
}

export const messagesPass: PassWire = {
  client: CLIENT_ID,
  signed: /"signature":\s?"(?=[^"])|"type":\s?"redacted_thinking",\s?"data":\s?"(?=[^"])/g,
  admits: (body, target) => !hasGatewayTools(body) && !needsRewriting(body, target) && !holdsForeignBlocks(body),
  request: passRequest,
  result: passResult,
  stream: (ctx) => new MessagesPassStream(ctx),
}
