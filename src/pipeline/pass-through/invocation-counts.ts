/**
 * Counts of tokens that Amazon Bedrock adds to an invocation, whatever format the model has: in headers of a whole reply (recordings test_embeddings,
 * test_bedrock), and in the last chunk of a stream (docs.aws.amazon.com, InvokeModelWithResponseStream: `amazon-bedrock-invocationMetrics`).
 */
import type { IncomingHttpHeaders } from 'node:http'
import { isObject, type Json } from '../../core/json.ts'
import { statedCount } from '../../dialects/canon/counts.ts'
import { noUsage, type Usage } from '../../dialects/canon/usage.ts'

const METRICS = 'amazon-bedrock-invocationMetrics'
const PREFIX = 'x-amzn-bedrock-'

/** @param output undefined for models that write nothing. */
function countsUsage(counts: Readonly<Record<'input' | 'output' | 'cached' | 'written', Json | undefined>>): Usage | undefined {
  const input = statedCount(counts.input)
  if (input === undefined) return undefined
  const [cached, cacheWrite] = [statedCount(counts.cached) ?? 0, statedCount(counts.written) ?? 0]
  // What was read from the cache and written to it stands beside the input (Bedrock, API reference of Converse, `TokenUsage`).
  return { ...noUsage(), input: input + cached + cacheWrite, output: statedCount(counts.output) ?? 0, cached, cacheWrite }
}

export function headerCounts(headers: IncomingHttpHeaders): Usage | undefined {
  const of = (name: string): string | undefined => {
    const value = headers[`${PREFIX}${name}-token-count`]
    return typeof value === 'string' ? value : undefined
  }
  return countsUsage({ input: of('input'), output: of('output'), cached: of('cache-read-input'), written: of('cache-write-input') })
}

/** @param data of one event. */
export function frameCounts(data: string): Usage | undefined {
  if (!data.includes(METRICS)) return undefined
  try {
    const { [METRICS]: metrics } = JSON.parse(data) as Record<string, Json>
    if (metrics === undefined || !isObject(metrics)) return undefined
    const {
      inputTokenCount: input,
      outputTokenCount: output,
      cacheReadInputTokenCount: cached,
      cacheWriteInputTokenCount: written,
    } = metrics
    return countsUsage({ input, output, cached, written })
  } catch {
    return undefined
  }
}
