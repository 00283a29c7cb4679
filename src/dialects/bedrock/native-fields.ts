/** Fields of this wire that callers of other formats may send beside their own, by the service's names. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { CanonicalRequest } from '../canon/request.ts'
import type { Quirks } from '../quirks.ts'
import type { Target } from '../types.ts'

/**
 * Fields that cost nothing beside tokens. `performanceConfig`, `serviceTier` and guardrails have prices of their own: they are the
 * endpoint's (`quirks.body.set`, `tier`, `guardrails`).
 */
const TAKEN: ReadonlySet<string> = new Set([
  'additionalModelRequestFields',
  'additionalModelResponseFieldPaths',
  'promptVariables',
  'requestMetadata',
])

/** Members by which models have a cap or a tier: a hold was computed for other ones. */
const PRICED = /^(max_?(completion_?|output_?|new_?|gen_?)?(tokens|len)(_to_sample)?|service_?tier|speed)$/i

/** @param lost receives the paths of what was taken out. */
function withoutPriced(fields: JsonObject, path: string, lost: Set<string>): JsonObject {
  const kept: JsonObject = {}
  for (const [name, value] of Object.entries(fields)) {
    const at = `${path}.${name}`
    if (PRICED.test(name)) lost.add(at)
    else kept[name] = isObject(value) ? withoutPriced(value, at, lost) : value
  }
  return kept
}

function isFitting(name: string, value: Json | undefined): value is Json {
  return name === 'additionalModelResponseFieldPaths' ? Array.isArray(value) : isObject(value)
}

/** True for a guardrail that the operator lets callers use: AWS bills each text that one reads (aws.amazon.com/bedrock/pricing, Guardrails). */
function isAllowed(value: Json | undefined, quirks: Quirks): value is JsonObject {
  if (!isObject(value)) return false
  const { guardrailIdentifier: name, guardrailVersion: version } = value
  const guardrails = quirks.guardrails ?? []
  return guardrails.includes(String(name)) || guardrails.includes(`${String(name)}:${String(version)}`)
}

/** @returns the fields as they are sent; others are recorded. */
export function nativeFields({ extras }: CanonicalRequest, { quirks }: Target, dropped: Set<string>): JsonObject {
  const body: JsonObject = {}
  for (const [name, value] of Object.entries(extras?.fields ?? {})) {
    if (name === 'guardrailConfig' && isAllowed(value, quirks) && !quirks.body?.drop?.includes(name)) body[name] = value
    else if (!TAKEN.has(name) || !isFitting(name, value) || quirks.body?.drop?.includes(name)) dropped.add(name)
    else if (name === 'additionalModelRequestFields' && isObject(value)) body[name] = withoutPriced(value, name, dropped)
    else body[name] = value
  }
  return body
}

/** `requestMetadata`: at most 16 pairs of these letters (API reference, Converse). */
const PAIR = /^[a-zA-Z0-9\s:_@$#=/+,.-]{0,256}$/
const MOST_PAIRS = 16

/** The caller's own pairs, which the service writes to the operator's invocation logs. */
export function metadataField({ metadata }: CanonicalRequest, dropped: Set<string>): JsonObject {
  if (!metadata) return {}
  const entries = Object.entries(metadata)
  const fitting = entries.filter(([name, value]) => name !== '' && PAIR.test(name) && typeof value === 'string' && PAIR.test(value))
  const sent = fitting.slice(0, MOST_PAIRS)
  if (sent.length < entries.length) dropped.add('metadata')
  return sent.length > 0 ? { requestMetadata: Object.fromEntries(sent) } : {}
}
