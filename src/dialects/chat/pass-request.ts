/** Requests in the pass lane of chat: the caller's body with a short list of patches, and which bodies cannot go so. */
import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { mayBeCited } from '../canon/cited-results.ts'
import { GATEWAY_KEYS } from '../canon/request-fields.ts'
import type { Encoded, Target } from '../types.ts'
import { hidesReasoning } from './check.ts'
import { CUSTOM } from './client-tools.ts'
import { bodyMessages } from './decode-request.ts'
import { PATH } from './encode-request.ts'
import { shapeRequest } from './fit-request.ts'
import { OWN_KEYS } from './wire.ts'

/** Fields of the gateway, and those that it sets itself; what `stream_options` says beside that is kept. */
const NOT_SENT: ReadonlySet<string> = new Set([...GATEWAY_KEYS, ...[...OWN_KEYS].filter((key) => key !== 'stream_options')])

export function passRequest(body: JsonObject, target: Target): Encoded {
  const dropped: string[] = []
  const copy: JsonObject = {}
  for (const key of Object.keys(body)) if (!NOT_SENT.has(key)) copy[key] = body[key]
  if (body.include_reasoning !== undefined) copy.include_reasoning = body.include_reasoning
  if (copy.prompt !== undefined) {
    copy.messages = bodyMessages(body)
    delete copy.prompt
  }
  shapeRequest(copy, target, dropped)
  return { path: PATH, body: copy, dropped }
}

/**
 * True for a body that goes to the target in the pass lane. Reasoning that the caller excluded is left out only where the reply is
 * re-encoded, and so are functions in place of other tools. Sources that the answer cites stand in it as annotations only where it is decoded.
 */
export function admits(body: JsonObject, { quirks }: Pick<Target, 'quirks'>): boolean {
  if (quirks.custom_tools !== true && needsFunctions(body)) return false
  return !(quirks.citations !== undefined && isCited(body, quirks.citations)) && !hidesReasoning(body)
}

/** True where a provider that knows functions alone cannot take the body as it is. */
function needsFunctions({ tools, messages }: JsonObject): boolean {
  if (tools && asObjects(tools).some(isCustom)) return true
  if (!Array.isArray(messages)) return false
  for (const { tool_calls: calls } of messages as JsonObject[]) if (calls && asObjects(calls).some(isCustom)) return true
  return false
}

const isCustom = ({ type, custom }: JsonObject): boolean => type === CUSTOM && isObject(custom)

/** True where annotations of the answer depend on all of its text, or on what the request holds. */
function isCited({ messages }: JsonObject, citations: Target['quirks']['citations']): boolean {
  if (citations !== 'references') return true
  return asObjects(messages).some(({ role, content }) => role === 'tool' && contentTexts(content).some(mayBeCited))
}

const contentTexts = (content: Json | undefined): string[] =>
  typeof content === 'string' ? [content] : asObjects(content).map(({ text }) => (typeof text === 'string' ? text : ''))
