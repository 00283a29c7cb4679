/** Errors of an upstream of this wire, by the fault table. */
import { FAULTS, type Fault } from '../../core/faults.ts'
import { isObject, type Json } from '../../core/json.ts'
import { classifyFault } from '../faults/classify.ts'
import { errorIn } from '../faults/stated-error.ts'

/** Fields of a request: what a refusal names in front of its sentence, as in `messages.0.content: …`. */
const FIELD =
  /^((?:messages|system|tools|tool_choice|max_tokens|temperature|top_p|top_k|stop_sequences|thinking|output_config|metadata|model|service_tier|container|context_management|mcp_servers|cache_control|speed)(?:\.[a-z0-9_]{1,40}){0,8}): /

/**
 * A failure as an upstream of this wire reports it.
 * @param status the HTTP status; 200 for an `error` event or an error inside a reply that began well.
 * @param body `{type: 'error', error: {type, message, details?}, request_id}`, or whatever stands in its place.
 */
export function decodeFault(status: number, body: Json | undefined): Fault {
  const error = errorIn(body)
  const fault = classifyFault('messages', status, { ...error, field: FIELD.exec(error.sentence ?? '')?.[1] ?? error.field })
  const code = FAULTS[fault.code].blame === 'caller' ? errorCode(body) : undefined
  return code === undefined ? fault : fault.with({ metadata: { ...fault.metadata, error_code: code } })
}

/** A name and nothing else. */
const CODE = /^[a-z][a-z0-9_]{0,79}$/

/** `error.details.error_code`, by which the SDKs know a refusal more exactly (npm @anthropic-ai/sdk 1.14.0, resources/shared). */
function errorCode(body: Json | undefined): string | undefined {
  const error = isObject(body) ? body.error : undefined
  const details = isObject(error) ? error.details : undefined
  const code = isObject(details) ? details.error_code : undefined
  return typeof code === 'string' && CODE.test(code) ? code : undefined
}
