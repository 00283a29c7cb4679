/** Refusals of providers that give embeddings only. Their sentences are read for their meaning and never passed on. */
import { Fault, type FaultCode, upstreamFault } from '../../core/faults.ts'
import { isObject, type Json } from '../../core/json.ts'

const TOO_LONG = /too long|(maximum|max|limit)[\w ]{0,40}tokens?|tokens?[\w ,]{0,60}(exceed|limit|maximum)/i
const OVERLOAD = /overload|at capacity/i

/** The sentence, under whichever of its names. */
function sentenceOf(body: Json | undefined): string {
  if (!isObject(body)) return ''
  const { message, detail, error } = body
  const inner = isObject(error) ? error.message : error
  return [message, detail, inner].find((each): each is string => typeof each === 'string') ?? ''
}

function codeOf(status: number, sentence: string): FaultCode {
  const code = upstreamFault(status)
  if (code === 'upstream_rejected' && TOO_LONG.test(sentence)) return 'upstream_context'
  return code === 'upstream_error' && (status === 503 || OVERLOAD.test(sentence)) ? 'upstream_overloaded' : code
}

/** @param status the HTTP status, or 200 for an error inside a good reply. */
export function decodeFault(status: number, body: Json | undefined): Fault {
  const real = status >= 400 ? status : 500
  return new Fault(codeOf(real, sentenceOf(body)), { metadata: { provider_code: String(real) } })
}
