/** Token counts of this wire as canonical ones. */
import { asObjects, isObject, type Json } from '../../core/json.ts'
import { count, statedCount } from '../canon/counts.ts'
import { servedTier, type TierReport } from '../canon/served-tier.ts'
import { type Usage, withEarlierSides } from '../canon/usage.ts'
import { unknownMembers } from '../canon/usage-members.ts'

/** Tokens of one modality in a `…TokensDetails` list. */
function ofModality(details: Json | undefined, modality: string): number {
  let sum = 0
  for (const each of asObjects(details)) if (each.modality === modality) sum += count(each.tokenCount)
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
    input: statedCount(usage.promptTokenCount) !== undefined,
    output: statedCount(usage.candidatesTokenCount) !== undefined || statedCount(usage.thoughtsTokenCount) !== undefined,
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
    imageOutput: Math.min(ofModality(usage.candidatesTokensDetails, 'IMAGE'), output - audioOutput),
    audioOutput,
    audioInput: Math.min(audioInput, input),
    unknownMembers: unknownMembers('gemini', usage),
  }
  return withEarlierSides(own, before, reported)
}

export const leavesOutOutput = (usage: Json | undefined): boolean =>
  isObject(usage) && usage.candidatesTokenCount === undefined && usage.thoughtsTokenCount === undefined

/** The Gemini API has `serviceTier`, Vertex AI `trafficType` (`UsageMetadata`, npm @google/genai 3.3.0). */
export function decodeTier(usage: Json | undefined): TierReport | undefined {
  return isObject(usage) ? (servedTier(usage.serviceTier) ?? servedTier(usage.trafficType)) : undefined
}
