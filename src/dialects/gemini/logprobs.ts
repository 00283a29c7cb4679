/** `logprobsResult` of a candidate as logprob entries of the contract. */
import { isObject, type Json, type JsonObject, objectsOf } from '../../core/json.ts'

function entry(candidate: JsonObject): JsonObject {
  const token = typeof candidate.token === 'string' ? candidate.token : ''
  const logprob = typeof candidate.logProbability === 'number' ? candidate.logProbability : 0
  return { token, logprob, bytes: [...Buffer.from(token, 'utf8')] }
}

/** One entry per decoding step: the chosen token and the likeliest ones. */
export function logprobEntries(result: JsonObject): JsonObject[] {
  const tops = Array.isArray(result.topCandidates) ? result.topCandidates : []
  return objectsOf(result.chosenCandidates).map((chosen, step) => {
    const top: Json | undefined = tops[step]
    return { ...entry(chosen), top_logprobs: isObject(top) ? objectsOf(top.candidates).map(entry) : [] }
  })
}
