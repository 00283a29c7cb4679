/** Errors of the service as our faults. */
import { Fault } from '../../core/faults.ts'
import { asString, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { classifyFault } from '../faults/classify.ts'
import { errorIn } from '../faults/stated-error.ts'
import type { ReplyHeaders } from '../types.ts'

/** The place that a refusal names, as in `The text field … at messages.0.content.0 is blank` and `messages.2.content.2.document: …`. */
const FIELD = /(?:\bat |: |^)((?:messages|system|toolConfig|inferenceConfig)(?:\.[A-Za-z0-9_]{1,40}){1,8})(?=[ :.]|$)/

function faultNamed(type: string | undefined, body: JsonObject, status: number): Fault {
  const error = errorIn(body)
  const field = FIELD.exec(error.sentence?.slice(0, 2_000) ?? '')?.[1]
  return classifyFault('bedrock', status, { ...error, words: type === undefined ? [] : [type], field })
}

const headerText = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : header?.[0]

/** `com.amazon.coral.service#UnknownOperationException` and `ValidationException:http://…` by their names alone. */
function typeIn(value: Json | undefined): string | undefined {
  return asString(value)?.replace(/^.*#/, '').replace(/:.*$/s, '')
}

/**
 * An exception within a stream: each is an event of its own.
 * @param type such as `throttlingException`.
 */
export function decodeException(type: string, body: JsonObject): Fault {
  const name = typeIn(type) ?? ''
  return faultNamed(name === '' ? undefined : `${name[0]?.toUpperCase()}${name.slice(1)}`, body, 200)
}

/**
 * @param status the HTTP status; 200 for a reply that is none: a path that the service does not know is answered so
 * (github.com/vercel/ai/issues/17523).
 * @param body `{message}`, or nothing at all: an expired session is a 400 that its header alone explains.
 * @param headers the service has the type of the exception in `x-amzn-errortype`, with an address behind it
 * (github.com/aws-samples/amazon-bedrock-client-for-mac/issues/1); its SDK looks there first, then into the body
 * (`loadRestJsonErrorCode` of npm @smithy/core 3.41.1).
 */
export function decodeFault(status: number, body: Json | undefined, headers: ReplyHeaders = {}): Fault {
  const outer = isObject(body) ? body : {}
  const inner = isObject(outer.Output) ? outer.Output : outer
  const type = typeIn(headerText(headers['x-amzn-errortype'])) ?? typeIn(inner.code) ?? typeIn(inner.__type)
  if (status >= 400) return faultNamed(type, inner, status)
  return type !== undefined && /(?:exception|optinrequired|notauthorized)$/i.test(type)
    ? faultNamed(type, inner, status)
    : new Fault('upstream_garbled')
}
