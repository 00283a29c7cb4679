/** Token counts of this wire as canonical ones. */

import { isObject, type Json, objectsOf } from '../../core/json.ts'
import { count, type Usage, withEarlierSides } from '../canon/usage.ts'

/** Tokens of one modality in a `…TokensDetails` list. */
function ofModality(details: Json | undefined, modality: string): number {
  let sum = 0
  for (const each of objectsOf(details)) if (each.modality === modality) sum += count(each.tokenCount)
  return sum
}

/**
 * `usageMetadata`: thoughts are counted beside the candidates, results of the provider's own tools beside the prompt.
 * @param before an earlier report of the same stream: what the later one leaves out still holds.
 * @returns undefined where there is no such object or it holds no count.
 */
export function decodeUsage(usage: Json | undefined, before?: Usage): Usage | undefined {
  if (!isObject(usage)) return undefined
  const reported = {
    input: typeof usage.promptTokenCount === 'number',
    output: typeof usage.candidatesTokenCount === 'number' || typeof usage.thoughtsTokenCount === 'number',
  }
  if (!reported.input && !reported.output) return undefined
  const reasoning = count(usage.thoughtsTokenCount)
  const input = count(usage.promptTokenCount) + count(usage.toolUsePromptTokenCount)
  const output = count(usage.candidatesTokenCount) + reasoning
  const audioInput = ofModality(usage.promptTokensDetails, 'AUDIO') + ofModality(usage.toolUsePromptTokensDetails, 'AUDIO')
  const audioOutput = Math.min(ofModality(usage.candidatesTokensDetails, 'AUDIO'), output)
  const own: Usage = {
    input,
    output,
    cached: Math.min(count(usage.cachedContentTokenCount), input),
    cacheWrite: 0,
    reasoning,
    audioInput: Math.min(audioInput, input),
    audioOutput,
    imageOutput: Math.min(ofModality(usage.candidatesTokensDetails, 'IMAGE'), output - audioOutput),
  }
  return withEarlierSides(own, before, reported)
}

/** Service tier that served, from `trafficType`; undefined where it names none. */
export function decodeTier(usage: Json | undefined): string | undefined {
  switch (isObject(usage) ? usage.trafficType : undefined) {
    case 'ON_DEMAND':
      return 'default'
    case 'ON_DEMAND_FLEX':
      return 'flex'
    case 'ON_DEMAND_PRIORITY':
      return 'priority'
    default:
      return undefined
  }
}
