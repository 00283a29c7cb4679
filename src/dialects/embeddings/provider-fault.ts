/** Refusals of providers that give embeddings only. */
import { Fault, type FaultCode, upstreamFault } from '../../core/faults.ts'
import { isObject, type Json } from '../../core/json.ts'
import { errorDetail } from '../canon/error-detail.ts'

const TOO_LONG = /too long|(maximum|max|limit)[\w ]{0,40}tokens?|tokens?[\w ,]{0,60}(exceed|limit|maximum)/i
/** Voyage answers 400 for an unknown model (recording `test_embeddings`). */
const NO_MODEL = /^model \S+ is not supported/i
const OVERLOAD = /overload|at capacity/i

/** The sentence, under whichever of its names. */
function sentenceOf(body: Json | undefined): string {
  if (!isObject(body)) return ''
  const { message, detail, error } = body
  const inner = isObject(error) ? error.message : error
  return [message, errorDetail(detail).sentence, inner].find((each): each is string => typeof each === 'string') ?? ''
}

function codeOf(status: number, sentence: string): FaultCode {
  const code = upstreamFault(status)
  if (code === 'upstream_rejected' && NO_MODEL.test(sentence)) return 'upstream_missing'
  if (code === 'upstream_rejected' && TOO_LONG.test(sentence)) return 'upstream_context'
  return code === 'upstream_error' && (status === 503 || OVERLOAD.test(sentence)) ? 'upstream_overloaded' : code
}

/** @param status the HTTP status, or 200 for an error inside a good reply. */
export function decodeFault(status: number, body: Json | undefined): Fault {
  const real = status >= 400 ? status : 500
  const sentence = sentenceOf(body)
  return new Fault(codeOf(real, sentence), { metadata: { provider_code: String(real) }, sentence: sentence === '' ? undefined : sentence })
}
