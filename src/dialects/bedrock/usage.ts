/** Token counts of this wire as canonical ones. */
import { isObject, type Json } from '../../core/json.ts'
import { count, statedCount } from '../canon/counts.ts'
import { noUsage, type Usage, withEarlierSides } from '../canon/usage.ts'
import { unknownMembers } from '../canon/usage-members.ts'

/** `TokenUsage`: what was read from the cache and written to it is counted beside the input (recording test_bedrock_cache_write_and_read). */
export function decodeUsage(usage: Json | undefined): Usage | undefined {
  if (!isObject(usage)) return undefined
  const { inputTokens, outputTokens, cacheDetails } = usage
  const counted = { input: statedCount(inputTokens) !== undefined, output: statedCount(outputTokens) !== undefined }
  if (!counted.input && !counted.output) return undefined
  const cached = count(usage.cacheReadInputTokens)
  const cacheWrite = count(usage.cacheWriteInputTokens)
  let long = 0
  for (const each of Array.isArray(cacheDetails) ? cacheDetails : [])
    if (isObject(each) && each.ttl === '1h') long += count(each.inputTokens)
  const own: Usage = { ...noUsage(), input: count(inputTokens) + cached + cacheWrite, output: count(outputTokens), cached, cacheWrite }
  const unknown = unknownMembers('bedrock-converse', usage)
  if (unknown) own.unknownMembers = unknown
  if (long > 0) own.cacheWriteLong = Math.min(long, cacheWrite)
  return withEarlierSides(own, undefined, { input: counted.input || own.input > 0, output: counted.output })
}
